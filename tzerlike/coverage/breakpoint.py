"""Coverage of the stock wheel: a one-shot breakpoint at each basic block that nobody has reached yet."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tzerlike.core.errors import TzerlikeError, UserError
from tzerlike.coverage.native import CLoaded, NativeCoverage, load_memcov, u32_p
from tzerlike.coverage.protocol import CoveredLibrary, Indices


@dataclass(frozen=True, slots=True)
class LoadedCode:
    """The code of a library in this process.

    `base` is its load bias, `blocks` its basic blocks as ascending file addresses (uint32), and `successors` for each
    the index of the block that is certain to run next, or 0xFFFFFFFF; these spare traps and change nothing else.
    `path` is the library's file.
    """

    base: int
    blocks: Indices
    successors: Indices | None = None
    path: Path = Path()

    def __post_init__(self) -> None:
        if self.successors is not None and len(self.successors) != len(self.blocks):
            raise ValueError("not one successor a block")


class BreakpointCoverage(NativeCoverage):
    """Coverage of loaded libraries by one-shot breakpoints; see `Coverage` for the methods.

    The blocks of each follow those of the one before. Only a forked child that calls `enter` runs text with
    breakpoints.
    """

    backend = "breakpoint"

    def __init__(self, codes: Sequence[LoadedCode], slots: int) -> None:
        arrays = [(_words(code.blocks), None if code.successors is None else _words(code.successors)) for code in codes]
        loaded = (CLoaded * len(codes))(
            *(
                CLoaded(code.base, _pointer(blocks), None if successors is None else _pointer(successors), len(blocks))
                for code, (blocks, successors) in zip(codes, arrays, strict=True)
            )
        )
        handle = load_memcov().memcov_create(loaded, len(codes), slots)
        if not handle:
            number = ctypes.get_errno()
            why = f"cannot prepare breakpoint coverage: {os.strerror(number)}"
            if number in (errno.EFBIG, errno.ENOMEM):
                raise UserError(f"{why}; allow larger files and more memory (ulimit -f, ulimit -v), or --coverage none")
            raise TzerlikeError(why)
        found: list[CoveredLibrary] = []
        for code, (blocks, _) in zip(codes, arrays, strict=True):
            found.append(CoveredLibrary(code.path, sum(len(other.addresses) for other in found), blocks))
        super().__init__("memcov_", handle, sum(len(library.addresses) for library in found))
        self.libraries: tuple[CoveredLibrary, ...] = tuple(found)


def _words(array: Indices) -> Indices:
    return np.ascontiguousarray(array, np.uint32)


def _pointer(array: Indices) -> ctypes._Pointer[ctypes.c_uint32]:
    return array.ctypes.data_as(u32_p)
