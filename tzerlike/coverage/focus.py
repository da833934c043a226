"""The blocks that a campaign focuses on: those of functions that another build does not have."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tzerlike.core.schema import Count, Schema, Text
from tzerlike.core.storage import write_atomic
from tzerlike.coverage.protocol import CoveredLibrary, Indices


@dataclass(frozen=True, slots=True)
class Focus:
    """Of each library by its name, which is the same on all machines, where such functions begin and end in its file,
    ascending."""

    libraries: Mapping[Text, list[tuple[Count, Count]]]

    def of(self, covered: Sequence[CoveredLibrary]) -> Callable[[Indices], int]:
        """Return what counts the blocks of such functions among some of these libraries' blocks."""
        inside = np.concatenate([np.zeros(0, np.bool_), *map(self._inside, covered)])
        return lambda blocks: int(np.count_nonzero(inside[blocks]))

    def _inside(self, library: CoveredLibrary) -> npt.NDArray[np.bool_]:
        ranges = np.array(self.libraries.get(library.path.name, []), np.uint64).reshape(-1, 2)
        begun = np.searchsorted(ranges[:, 0], library.addresses, side="right")
        ended = np.searchsorted(ranges[:, 1], library.addresses, side="right")
        return begun > ended


_SCHEMA = Schema(Focus, "focus")


def write_focus(path: Path, focus: Focus) -> None:
    """StorageError where it cannot be written."""
    write_atomic(path, json.dumps(_SCHEMA.stamped({"libraries": dict(focus.libraries)})))


def read_focus(path: Path) -> Focus:
    """UserError that names the file and the place where it is none."""
    return _SCHEMA.read(path)
