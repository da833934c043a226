"""The coverage interface that a run needs, whichever the backend, and the backend that records nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class CoveredLibrary:
    """The blocks of one library: those from `first` on, and where each begins, as in the file."""

    path: Path
    first: int
    addresses: npt.NDArray[np.unsignedinteger[Any]]

    def counted(self, snapshot: bytes) -> int:
        """Return how many of its blocks are in a snapshot of all libraries' coverage."""
        start, bits = self.first % 8, self.first % 8 + len(self.addresses)
        own = np.frombuffer(snapshot, np.uint8, offset=self.first // 8, count=-(-bits // 8))
        return int(np.count_nonzero(np.unpackbits(own, bitorder="little")[start:bits]))


class Coverage(Protocol):
    """The coverage of one or more libraries, shared by a process and all that it forks.

    A slot is the log of one worker: the blocks that its children reached first. A block is logged once, by
    whoever reaches it first, until it is armed again. Slots are numbered from 0.
    """

    backend: str
    """`breakpoint`, `sancov` or `none`."""
    total: int
    """The number of blocks that exist; with `sancov`, of edges, and so for every block below."""

    libraries: tuple[CoveredLibrary, ...]
    """Where the blocks are."""

    def covered(self) -> int:
        """Return the number of blocks counted so far, by all workers."""

    def enter(self, slot: int) -> None:
        """In a forked child: record from here on, into `slot`. There is no way back."""

    def begin(self, slot: int) -> None:
        """Forget the log of `slot`, counted or not."""

    def new(self, slot: int) -> int:
        """Return the length of the log; the child itself may ask as well."""

    def new_indices(self, slot: int) -> Indices:
        """Return a copy of the log: block indices in the order in which they were noticed."""

    def commit(self, slot: int, start: int = 0) -> int:
        """Count the log from position `start` on; return how many blocks were new to `covered()`."""

    def rearm(self, slot: int, start: int = 0) -> None:
        """Make the blocks of the log from `start` on discoverable again, and cut the log there."""

    def reset(self) -> None:
        """Forget everything: as if just opened."""

    def snapshot(self) -> bytes:
        """Return the set of counted blocks, eight a byte, the lowest bit first."""

    def restore(self, bits: bytes) -> None:
        """Add the blocks of a snapshot to those counted; ValueError when it is of another library."""


class NoCoverage:
    """A blind run: nothing is recorded, and the caller decides what that means."""

    backend = "none"
    total = 0
    libraries: tuple[CoveredLibrary, ...] = ()

    def covered(self) -> int:
        return 0

    def enter(self, slot: int) -> None:
        pass

    def begin(self, slot: int) -> None:
        pass

    def new(self, slot: int) -> int:
        return 0

    def new_indices(self, slot: int) -> Indices:
        return np.zeros(0, np.uint32)

    def commit(self, slot: int, start: int = 0) -> int:
        return 0

    def rearm(self, slot: int, start: int = 0) -> None:
        pass

    def reset(self) -> None:
        pass

    def snapshot(self) -> bytes:
        return b""

    def restore(self, bits: bytes) -> None:
        if bits:
            raise ValueError("a snapshot with blocks, but this run has no coverage")
