"""A machine's mirror of a campaign's directory: what is new in it, and what comes from elsewhere."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

from tzerlike.campaign.claims import MIRROR, WISH
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
from tzerlike.campaign.directory import FOUND_ELSEWHERE, CampaignDir
from tzerlike.campaign.shard import Part
from tzerlike.core.storage import write_atomic, write_new

_Stamp = tuple[int, int]
"""When a file was written last, in ns, and its size."""

_SAVES_EVERY = 15.0
"""Seconds between two looks at what the workers save of themselves, every two seconds."""

_OWN = ("corpus", "findings", "faults", "set-aside", "corrupt")


class Mirror:
    """The directory in which one machine works. What it has sent counts as sent once the answer is here."""

    def __init__(self, root: Path, part: Part) -> None:
        self.directory = CampaignDir(root)
        self._part = part
        self._sent: dict[str, _Stamp] = {}
        self._under_way: dict[str, _Stamp] = {}
        self._wished: set[str] = set()
        self._last = News()
        self._saved = -_SAVES_EVERY

    def begin(self, pieces: PiecesByPath) -> None:
        """Make the directory, with what the campaign has already; none of that is sent back."""
        root = self.directory.root
        root.mkdir(parents=True, exist_ok=True)
        (root / MIRROR).touch()
        for path, piece in pieces.items():
            lay_down(root, path, piece)
            self._sent[path] = _stamp(root / path)

    def parcel(self, everything: bool = False) -> Parcel:
        """Return what the campaign has not got yet, as far as it fits; `everything` leaves nothing for later."""
        if everything:
            self._saved = -_SAVES_EVERY
        self._under_way = {}
        pieces: PiecesByPath = {}
        size, last = 0, ""
        for path in self._own_files():
            name = path.relative_to(self.directory.root).as_posix()
            # A bundle comes as a whole, or its directory would be there with a part of it.
            if size > LARGEST and _bundle(name) != last:
                break
            last = _bundle(name) or name
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
        wishes = tuple(self._wishes())
        done = tuple(self._wished - {signature for signature, _ in wishes})
        return Parcel(pieces, wishes, done, self._last.heard)

    def take(self, sent: Parcel, answer: News) -> None:
        """Note that a parcel has arrived, and lay down what came back for it."""
        self._last = answer
        self._sent.update(self._under_way)
        for path in answer.broken:
            self._sent.pop(path, None)
        for path, piece in answer.pieces.items():
            lay_down(self.directory.root, path, piece)
            self._sent[path] = _stamp(self.directory.root / path)
        if answer.elsewhere:
            write_atomic(self.directory.root / FOUND_ELSEWHERE, "\n".join(answer.elsewhere))
        self._wished = {signature for signature, _ in sent.wishes}
        for signature, holder in answer.holders.items():
            claim = self.directory.claims / signature
            write_new(claim, holder)

    def _own_files(self) -> Iterator[Path]:
        """What this machine writes, the small and the most wanted first."""
        directory = self.directory
        yield from (path for path in (directory.environment, directory.node(self._part.node)) if path.exists())
        if time.monotonic() - self._saved > _SAVES_EVERY:
            self._saved = time.monotonic()
            yield directory.worker_coverage(self._part.numbers.start)
            for number in self._part.numbers:
                yield from (path for path in files_below(directory.worker(number)) if path.suffix != ".bits")
        for name in _OWN:
            yield from files_below(directory.root / name)

    def _wishes(self) -> Iterator[tuple[str, str]]:
        for path in self.directory.claims.glob(f"*{WISH}"):
            signature, _, worker = path.name.removesuffix(WISH).rpartition(".")
            yield signature, worker


def _bundle(name: str) -> str:
    """The bundle that a file is of, "" where it is of none."""
    room, _, rest = name.partition("/")
    return f"{room}/{rest.partition('/')[0]}" if room == "findings" else ""


def _stamp(path: Path) -> _Stamp:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def _read(path: Path, offset: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        return file.read()
