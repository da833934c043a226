"""Which worker confirms a finding that several have met: the first that claims its signature.

A claim is a file of its name under `claims/` that holds the worker's number, and is there while the worker is at it.
In a directory that is one machine's copy (a mirror), a claim is a wish until the campaign's own directory has said who
holds it; where nobody answers, each machine goes by itself, and what is confirmed twice is still bundled once.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tzerlike.campaign.directory import MIRROR
from tzerlike.core.storage import TEMPORARY, write_atomic, write_new

STALE = 600.0
"""Seconds after which a claim is nobody's: whoever laid it has gone with its machine."""

_WISH = ".wish"
_ANSWER = ".answer"
"""How the names of a worker's wish, and of the answer to it, end."""

_PATIENCE = 3.0
_EVERY = 0.05


class Claims:
    """The claims of one worker in a campaign's directory."""

    def __init__(
        self,
        root: Path,
        number: int,
        alive: Callable[[], None] = lambda: None,
        keep: Callable[[Callable[[], bool]], bool] = lambda write: write(),
    ) -> None:
        """`alive` is called while an answer is waited for, `keep` writes as `Room.keep` does."""
        self._keep = keep
        self._claims = root / "claims"
        self._mirror = root / MIRROR
        self._number = str(number)
        self._alive = alive

    @contextlib.contextmanager
    def held(self, signature: str) -> Iterator[bool]:
        """Within, whether this worker is the one to confirm what has the signature."""
        try:
            yield self._keep(partial(self._lay, signature))
        finally:
            self._give_up(signature)

    def forget(self) -> None:
        """Give up what this worker claimed before it was ended."""
        for path in list(self._claims.glob("*")) if self._claims.is_dir() else ():
            if _holder(path) == self._number or path.name.endswith(f".{self._number}{_WISH}"):
                self._give_up(path.name.partition(".")[0])

    def _lay(self, signature: str) -> bool:
        self._claims.mkdir(exist_ok=True)
        if self._mirror.exists():
            return self._wish(signature)
        path = self._claims / signature
        if write_new(path, self._number):
            return True
        with contextlib.suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > STALE:
                path.unlink()
                return write_new(path, self._number)
        return _holder(path) in (self._number, None)

    def _wish(self, signature: str) -> bool:
        wish, answer = (_file(self._claims, signature, self._number, which) for which in (_WISH, _ANSWER))
        answer.unlink(missing_ok=True)
        write_atomic(wish, "")
        until = time.monotonic() + _PATIENCE
        while (holder := _holder(answer)) is None and time.monotonic() < until:
            self._alive()
            time.sleep(_EVERY)
        return holder in (self._number, None)

    def _give_up(self, signature: str) -> None:
        """Remove the wish, and the claim where it is this worker's."""
        files = [_file(self._claims, signature, self._number, which) for which in (_WISH, _ANSWER)]
        claim = self._claims / signature
        for path in (*files, claim) if _holder(claim) == self._number else files:
            with contextlib.suppress(OSError):
                os.unlink(path)


def wishes(claims: Path) -> Iterator[tuple[str, str]]:
    """The claims that workers wish for in a mirror's `claims`, each as the signature and the worker."""
    for path in claims.glob(f"*{_WISH}"):
        if not path.name.startswith(TEMPORARY):
            signature, _, worker = path.name.removesuffix(_WISH).partition(".")
            yield signature, worker


def awaited(claims: Path) -> bool:
    """Whether a worker of a mirror waits for an answer."""
    return any(not _file(claims, *wish, _ANSWER).exists() for wish in wishes(claims))


def answer_wish(claims: Path, signature: str, worker: str, holder: str) -> None:
    """Let a worker of a mirror know who holds the claim that it wishes for, if it still does."""
    answer = _file(claims, signature, worker, _ANSWER)
    if _file(claims, signature, worker, _WISH).exists() and _holder(answer) != holder:
        write_atomic(answer, holder)


def _file(claims: Path, signature: str, worker: str, which: str) -> Path:
    return claims / f"{signature}.{worker}{which}"


def _holder(path: Path) -> str | None:
    """The worker that has a claim; None where none has."""
    try:
        return path.read_text()
    except OSError:
        return None
