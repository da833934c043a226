"""Coverage of the stock wheel: a one-shot breakpoint at each basic block that nobody has reached yet."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

import numpy as np

from tzerlike.core.errors import TzerlikeError, UserError
from tzerlike.coverage.native import NativeCoverage, load_memcov, u32_p
from tzerlike.coverage.protocol import CoveredLibrary, Indices


class BreakpointCoverage(NativeCoverage):
    """Coverage of a loaded library by one-shot breakpoints; see `Coverage` for the methods.

    `base` is the library's load bias, `blocks` its basic blocks as ascending file addresses (uint32), and
    `successors` for each the index of the block that is certain to run next, or 0xFFFFFFFF; these spare traps and
    change nothing else. Only a forked child that calls `enter` runs text with breakpoints. `path` is the library's
    file.
    """

    backend = "breakpoint"

    def __init__(
        self, base: int, blocks: Indices, slots: int, successors: Indices | None = None, path: Path = Path()
    ) -> None:
        if successors is not None and len(successors) != len(blocks):
            raise ValueError("not one successor a block")
        blocks = np.ascontiguousarray(blocks, np.uint32)
        chains = None if successors is None else np.ascontiguousarray(successors, np.uint32)
        chains_p = None if chains is None else chains.ctypes.data_as(u32_p)
        handle = load_memcov().memcov_create(base, blocks.ctypes.data_as(u32_p), chains_p, len(blocks), slots)
        if not handle:
            number = ctypes.get_errno()
            why = f"cannot prepare breakpoint coverage: {os.strerror(number)}"
            if number in (errno.EFBIG, errno.ENOMEM):
                raise UserError(f"{why}; allow larger files and more memory (ulimit -f, ulimit -v), or --coverage none")
            raise TzerlikeError(why)
        super().__init__("memcov_", handle, len(blocks))
        self.libraries: tuple[CoveredLibrary, ...] = (CoveredLibrary(path, 0, blocks),)
