"""Which worker confirms a finding that several have met: the first that lays a claim to its signature.

A claim is a file of its name under `claims/` that holds the worker's number, and is there while the worker is at it.
In a directory that is one machine's copy (a mirror), a claim is a wish until the campaign's own directory has granted
it; where nobody answers, each machine goes by itself, and what is confirmed twice is still bundled once.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tzerlike.core.storage import write_atomic, write_new

STALE = 600.0
"""Seconds after which a claim is nobody's: whoever laid it has gone with its machine."""

MIRROR = ".mirror"
"""The file that a mirror has."""

WISH = ".wish"
_PATIENCE = 3.0
_EVERY = 0.05


class Claims:
    """The claims of one worker in a campaign's directory."""

    def __init__(self, root: Path, number: int, alive: Callable[[], None] = lambda: None) -> None:
        self._claims = root / "claims"
        self._mirror = root / MIRROR
        self._number = str(number)
        self._alive = alive

    @contextlib.contextmanager
    def held(self, signature: str) -> Iterator[bool]:
        """Within, whether this worker is the one to confirm what has the signature."""
        ours = self._lay(signature)
        try:
            yield ours
        finally:
            if ours:
                self._give_up(signature)

    def forget(self) -> None:
        """Give up what this worker claimed before it was ended."""
        for path in list(self._claims.glob("*")) if self._claims.is_dir() else ():
            if not path.name.endswith(WISH) and _holder(path) == self._number:
                self._give_up(path.name)

    def _lay(self, signature: str) -> bool:
        self._claims.mkdir(exist_ok=True)
        path = self._claims / signature
        if self._mirror.exists():
            return self._wish(path)
        if write_new(path, self._number):
            return True
        with contextlib.suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > STALE:
                path.unlink()
                return write_new(path, self._number)
        return _holder(path) in (self._number, None)

    def _wish(self, path: Path) -> bool:
        write_atomic(path.with_name(f"{path.name}.{self._number}{WISH}"), "")
        until = time.monotonic() + _PATIENCE
        while (holder := _holder(path)) is None and time.monotonic() < until:
            self._alive()
            time.sleep(_EVERY)
        return holder in (self._number, None)

    def _give_up(self, signature: str) -> None:
        for name in (f"{signature}.{self._number}{WISH}", signature):
            with contextlib.suppress(OSError):
                os.unlink(self._claims / name)


def _holder(path: Path) -> str | None:
    """The worker that has a claim; None where none has."""
    try:
        return path.read_text()
    except OSError:
        return None
