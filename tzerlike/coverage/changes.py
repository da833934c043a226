"""Where the code of two libraries differs: by function, independent of the linker.

A function is changed where the other library has none with the same instructions, but for the distances to what lies
outside of it. What is not code counts as it is: where it differs, two libraries are not the same.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tzerlike.core.errors import UserError
from tzerlike.coverage.native import load_memcov, u32_p, u64_p
from tzerlike.coverage.protocol import Indices
from tzerlike.coverage.sections import constants_of
from tzerlike.coverage.symbols import exported_at, function_at

Hashes = npt.NDArray[np.uint64]
_SHOWN = 5
_END = np.uint32(0xFFFFFFFF)
"""Where the last function of a library ends: behind all blocks."""

_ASKED = 1000
"""Functions that are looked up to name a few: of most no symbol says anything."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A function of `library` that starts `offset` bytes into it."""

    library: Path
    offset: int

    @property
    def name(self) -> str:
        """Its demangled name, or the library and the offset where no symbol says."""
        known = function_at(self.library, self.offset) or exported_at(self.library, self.offset)
        return known or f"{self.library.name}+{self.offset:#x}"


@dataclass(frozen=True, slots=True)
class CodeComparison:
    """`changed` are the functions that only the new code has, `gone` how many only the old one has; `constants` says
    whether what they read is not the same; `starts` are those of all functions of each new library, ascending."""

    functions: int
    changed: tuple[Changed, ...]
    gone: int
    constants: bool
    starts: Mapping[Path, Indices] = field(default_factory=dict)

    @property
    def same(self) -> bool:
        return not self.changed and not self.gone and not self.constants

    @property
    def ranges(self) -> dict[str, list[tuple[int, int]]]:
        """By name, where the changed functions of each new library begin and end in it, ascending."""
        found = {}
        for library, starts in self.starts.items():
            changed = [function.offset for function in self.changed if function.library == library]
            ends = np.append(starts[1:], _END)[np.isin(starts, changed)]
            found[library.name] = list(zip(changed, ends.tolist(), strict=True))
        return found

    def names(self, most: int) -> str:
        """The changed functions that symbols name, in the order of the code; "" where there is none."""
        known = [name for function in self.changed[:_ASKED] if "+0x" not in (name := function.name)]
        return ", ".join(known[:most]) + (", ..." if len(known) > most else "")

    def __str__(self) -> str:
        if self.same:
            return f"all {self.functions:,} functions are the same"
        beside = f", {self.gone:,} are gone" if self.gone else ""
        named = f": {names}" if (names := self.names(_SHOWN)) else ""
        return f"{len(self.changed):,} of {self.functions:,} functions are new or changed{beside}{named}"


def hashed_functions(library: Path, prefix: str | None) -> tuple[Indices, Hashes]:
    """Return where the program's own functions start in the file, ascending, and a hash of each.

    `prefix` is that of the program's sources, None to take all functions. UserError where there is no such code.
    """
    lib, starts, hashes = load_memcov(), u32_p(), u64_p()
    own = None if prefix is None else prefix.encode()
    n = lib.memcov_find_functions(os.fsencode(library), own, ctypes.byref(starts), ctypes.byref(hashes))
    if n < 0:
        raise UserError(f"cannot find the code of {library}: {os.strerror(-n)}")
    try:
        if not n:
            return np.zeros(0, np.uint32), np.zeros(0, np.uint64)
        return np.ctypeslib.as_array(starts, (n,)).copy(), np.ctypeslib.as_array(hashes, (n,)).copy()
    finally:
        lib.memcov_free(starts)
        lib.memcov_free(hashes)


def compare_code(new: Sequence[Path], old: Sequence[Path], prefix: str | None) -> CodeComparison:
    """Compare the code of a program that is spread over libraries; UserError as of `hashed_functions`."""
    ours = [(library, *hashed_functions(library, prefix)) for library in new]
    theirs = [hashed_functions(library, prefix)[1] for library in old]
    before, now = _all(theirs), _all([hashes for _, _, hashes in ours])
    changed = tuple(
        Changed(library, int(start))
        for library, starts, hashes in ours
        for start in starts[~np.isin(hashes, before)].tolist()
    )
    gone = int(np.count_nonzero(~np.isin(before, now)))
    differ = list(map(constants_of, new)) != list(map(constants_of, old))
    return CodeComparison(len(now), changed, gone, differ, {library: starts for library, starts, _ in ours})


def _all(hashes: Sequence[Hashes]) -> Hashes:
    return np.concatenate(hashes) if hashes else np.zeros(0, np.uint64)
