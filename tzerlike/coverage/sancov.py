"""Coverage of a TVM that clang instrumented: edges, by SanitizerCoverage's flags."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

import numpy as np

from tzerlike.core.errors import TzerlikeError, UserError
from tzerlike.coverage.native import CLibrary, NativeCoverage, load_memcov
from tzerlike.coverage.protocol import CoveredLibrary


class SancovCoverage(NativeCoverage):
    """Coverage of all instrumented libraries that this process has loaded; see `Coverage` for the methods.

    UserError when there is none, or one that was not linked for this.
    """

    backend = "sancov"

    def __init__(self, slots: int) -> None:
        handle = load_memcov().memcov_sancov_create(slots)
        if not handle:
            raise _explained(ctypes.get_errno())
        libraries = ctypes.POINTER(CLibrary)()
        n = load_memcov().memcov_sancov_libraries(handle, ctypes.byref(libraries))
        self.libraries = tuple(_described(libraries[i]) for i in range(n))
        super().__init__("memcov_sancov_", handle, sum(len(library.addresses) for library in self.libraries))


def instrumented() -> bool:
    """Whether this process has loaded an instrumented library that `SancovCoverage` can follow."""
    return bool(load_memcov().memcov_sancov_present())


def _explained(error: int) -> TzerlikeError:
    if error == errno.ENOENT:
        return UserError("--coverage sancov: this TVM is not instrumented; build one with `tzerlike tvm build`")
    if error == errno.ENOTSUP:
        return UserError("--coverage sancov: this TVM was linked without sancov.ld; build it with `tzerlike tvm build`")
    return TzerlikeError(f"cannot prepare sancov coverage: {os.strerror(error)}")


def _described(library: CLibrary) -> CoveredLibrary:
    table = np.ctypeslib.as_array(library.pcs, shape=(library.n, 2))
    return CoveredLibrary(Path(os.fsdecode(library.path)), library.first, table[:, 0] - np.uint64(library.base))
