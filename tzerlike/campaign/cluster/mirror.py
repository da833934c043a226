"""A machine's mirror of a campaign's directory: new local files, and files from other machines."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from tzerlike.campaign.claims import answer_wish, wishes
from tzerlike.campaign.cluster.parcel import (
    GROWING,
    LARGEST,
    News,
    Parcel,
    Piece,
    PiecesByPath,
    files_below,
    lay_down,
)
from tzerlike.campaign.directory import FOUND_ELSEWHERE, MIRROR, CampaignDir
from tzerlike.campaign.shard import Part
from tzerlike.core.storage import write_atomic
from tzerlike.core.untrusted import is_directory

_Stamp = tuple[int, int]
"""When a file was written last, in ns, and its size."""

_SAVES_EVERY = 15.0
"""Seconds between two looks at what the workers save of themselves, every two seconds."""

_CHANGES_EVERY = 5.0
"""Seconds between two looks at whether anything has changed in a bundle that was sent."""

_CORPUS = "corpus"
_OWN = (_CORPUS, "findings", "faults", "set-aside", "corrupt")


class Mirror:
    """The directory in which one machine works. What it has sent counts as sent once the answer is here."""

    def __init__(self, root: Path, part: Part) -> None:
        self.directory = CampaignDir(root)
        self._part = part
        self._sent: dict[str, _Stamp] = {}
        self._known: set[str] = set()
        """The cases, bundles and so on of which anything has been sent, or has come from elsewhere."""
        self._under_way: dict[str, _Stamp] = {}
        self._last = News()
        self._saved = -_SAVES_EVERY
        self._compared = -_CHANGES_EVERY

    def begin(self, pieces: PiecesByPath) -> None:
        """Make the directory, with what the campaign has already; none of that is sent back."""
        root = self.directory.root
        root.mkdir(parents=True, exist_ok=True)
        (root / MIRROR).touch()
        for path, piece in pieces.items():
            self._lay_down(path, piece)

    def parcel(self, everything: bool = False) -> Parcel:
        """Return what the campaign has not got yet, as far as it fits; `everything` leaves nothing for later."""
        if everything:
            self._saved, self._compared = -_SAVES_EVERY, -_CHANGES_EVERY
        self._under_way = {}
        pieces: PiecesByPath = {}
        size, last = 0, ""
        for path in self._own_files():
            name = path.relative_to(self.directory.root).as_posix()
            # A bundle comes as a whole, or its directory would be there with a part of it.
            if size > LARGEST and _thing(name) != last:
                break
            last = _thing(name)
            with contextlib.suppress(FileNotFoundError):
                stamp = _stamp(path)
                if self._sent.get(name) == stamp:
                    continue
                offset = self._sent[name][1] if path.name == GROWING and name in self._sent else 0
                if offset > stamp[1]:
                    offset = 0
                data = _read(path, offset)
                pieces[name], self._under_way[name] = Piece.of(data, offset), (stamp[0], offset + len(data))
                size += len(data)
        return Parcel(pieces, tuple(wishes(self.directory.claims)), self._last.heard)

    def take(self, sent: Parcel, answer: News) -> None:
        """Lay down what came back for a parcel, and note that it has arrived; StorageError where there is no room, and
        then it is sent again."""
        if answer.elsewhere != self._last.elsewhere:
            write_atomic(self.directory.root / FOUND_ELSEWHERE, "\n".join(answer.elsewhere))
        for signature, worker in sent.wishes:
            if holder := answer.holders.get(signature):
                answer_wish(self.directory.claims, signature, worker, holder)
        for path, piece in answer.pieces.items():
            self._lay_down(path, piece)
        self._last = answer
        self._sent.update(self._under_way)
        self._known.update(map(_thing, self._under_way))
        for path in answer.broken:
            self._sent.pop(path, None)

    def _lay_down(self, path: str, piece: Piece) -> None:
        lay_down(self.directory.root, path, piece)
        self._sent[path] = _stamp(self.directory.root / path)
        self._known.add(_thing(path))

    def _own_files(self) -> Iterator[Path]:
        """What this machine writes, the small and the most wanted first."""
        directory = self.directory
        yield from (path for path in (directory.environment, directory.node(self._part.node)) if path.exists())
        if time.monotonic() - self._saved > _SAVES_EVERY:
            self._saved = time.monotonic()
            yield directory.worker_coverage(self._part.numbers.start)
            for number in self._part.numbers:
                yield from (path for path in files_below(directory.worker(number)) if path.suffix != ".bits")
        compares = time.monotonic() - self._compared > _CHANGES_EVERY
        if compares:
            self._compared = time.monotonic()
        for room in _OWN:
            known = () if compares and room != _CORPUS else self._known
            for name in _listed(directory.root / room):
                # There are thousands of cases, and none of them changes.
                if f"{room}/{name}" not in known:
                    path = directory.root / room / name
                    yield from files_below(path) if is_directory(path) else [path]


def _thing(path: str) -> str:
    """The case, bundle or worker that a file is of."""
    return "/".join(path.split("/")[:2])


def _listed(room: Path) -> list[str]:
    """What is in a directory as a whole, in order; nothing where there is none."""
    try:
        return sorted(name for name in os.listdir(room) if not name.startswith("."))
    except FileNotFoundError:
        return []


def _stamp(path: Path) -> _Stamp:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def _read(path: Path, offset: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        return file.read()
