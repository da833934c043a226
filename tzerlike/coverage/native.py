"""libmemcov through ctypes, and the common parts of its backends. memcov/memcov.h is the contract of the C side."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from tzerlike.core.errors import TzerlikeError, UserError
from tzerlike.core.package import MEMCOV, NOT_BUILT
from tzerlike.coverage.protocol import Indices

_ABI: Final = 9
_FRAMES: Final = 64
_STACKS: Final = 8
_STACK_FRAMES: Final = 256

u32_p = ctypes.POINTER(ctypes.c_uint32)
u64_p = ctypes.POINTER(ctypes.c_uint64)
_loaded: ctypes.CDLL | None = None

_OF_EVERY_BACKEND: Final[dict[str, tuple[object, tuple[object, ...]]]] = {
    "restore": (ctypes.c_int, (ctypes.c_void_p, u32_p, ctypes.c_size_t)),
    "enter": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_uint)),
    "begin": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_uint)),
    "new": (ctypes.c_int64, (ctypes.c_void_p, ctypes.c_uint, ctypes.POINTER(u32_p))),
    "commit": (ctypes.c_int64, (ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t)),
    "rearm": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t)),
    "reset": (ctypes.c_int, (ctypes.c_void_p,)),
    "total": (ctypes.c_int64, (ctypes.c_void_p,)),
    "counted": (ctypes.POINTER(ctypes.c_uint8), (ctypes.c_void_p,)),
}
"""Functions that each backend has under a prefix of its own."""


class CDeath(ctypes.Structure):
    """memcov_death."""

    _fields_ = (
        ("signal", ctypes.c_int32),
        ("code", ctypes.c_int32),
        ("call", ctypes.c_int32),
        ("address", ctypes.c_uint64),
        ("stack", ctypes.c_uint64),
        ("n", ctypes.c_uint32),
        ("depth", ctypes.c_uint32),
        ("frames", ctypes.c_uint64 * _FRAMES),
    )


class CStack(ctypes.Structure):
    """memcov_stack."""

    _fields_ = (("n", ctypes.c_uint32), ("depth", ctypes.c_uint32), ("frames", ctypes.c_uint64 * _STACK_FRAMES))


class CStacks(ctypes.Structure):
    """memcov_stacks."""

    _fields_ = (("n", ctypes.c_uint32), ("stacks", CStack * _STACKS))


class CLoaded(ctypes.Structure):
    """memcov_library."""

    _fields_ = (("base", ctypes.c_size_t), ("blocks", u32_p), ("successors", u32_p), ("n", ctypes.c_size_t))


class CLibrary(ctypes.Structure):
    """memcov_sancov_library."""

    _fields_ = (
        ("path", ctypes.c_char_p),
        ("base", ctypes.c_size_t),
        ("first", ctypes.c_size_t),
        ("n", ctypes.c_size_t),
        ("pcs", ctypes.POINTER(ctypes.c_uint64)),
    )


def load_memcov() -> ctypes.CDLL:
    """Return libmemcov, loaded once and with its types declared; UserError where it cannot be."""
    global _loaded
    if _loaded is not None:
        return _loaded
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "AMD64"):
        raise UserError(f"coverage needs x86-64 Linux, this is {platform.machine()} {sys.platform}")
    if not MEMCOV.exists():
        raise UserError(f"{MEMCOV.name} {NOT_BUILT}")
    lib = ctypes.CDLL(str(MEMCOV), use_errno=True)
    if (found := lib.memcov_abi()) != _ABI:
        raise UserError(f"{MEMCOV.name} has ABI {found}, but {_ABI} is needed; run `make setup`")
    size, unsigned, i64, void = ctypes.c_size_t, ctypes.c_uint, ctypes.c_int64, ctypes.c_void_p
    signatures: dict[str, tuple[object, tuple[object, ...]]] = {
        "memcov_find_blocks": (i64, (ctypes.c_char_p, ctypes.c_char_p, *(ctypes.POINTER(u32_p),) * 2)),
        "memcov_find_functions": (
            i64,
            (ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(u32_p), ctypes.POINTER(u64_p)),
        ),
        "memcov_base": (ctypes.c_int, (ctypes.c_char_p, ctypes.POINTER(size))),
        "memcov_free": (None, (void,)),
        "memcov_create": (void, (ctypes.POINTER(CLoaded), size, unsigned)),
        "memcov_sancov_present": (ctypes.c_int, ()),
        "memcov_sancov_create": (void, (unsigned,)),
        "memcov_sancov_libraries": (size, (void, ctypes.POINTER(ctypes.POINTER(CLibrary)))),
        "memcov_watch_death": (ctypes.c_int, (ctypes.POINTER(CDeath),)),
        "memcov_watch_time": (ctypes.c_int, (ctypes.POINTER(CStacks), ctypes.c_uint64)),
        "memcov_soil_stack": (ctypes.c_int, (ctypes.c_ubyte,)),
        "memcov_seal": (ctypes.c_int, (ctypes.c_int,)),
        "memcov_sancov_seal": (ctypes.c_int, (ctypes.c_int,)),
        "memcov_confine": (ctypes.c_int, (ctypes.c_uint64,)),
        "memcov_syscall_name": (ctypes.c_char_p, (ctypes.c_int,)),
        "memcov_demangle": (None, (ctypes.c_char_p, ctypes.c_char_p, size)),
        "memcov_describe": (
            ctypes.c_int,
            (void, ctypes.c_char_p, size, ctypes.c_char_p, size, ctypes.POINTER(ctypes.c_uint64)),
        ),
    }
    for prefix in ("memcov_", "memcov_sancov_"):
        signatures |= {prefix + name: signature for name, signature in _OF_EVERY_BACKEND.items()}
    for name, (result, arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    _loaded = lib
    return lib


def errno_checked(result: int) -> int:
    """Return what a function of memcov returned; TzerlikeError when that is a negative errno."""
    if result < 0:
        raise TzerlikeError(f"memcov: {os.strerror(-result)}")
    return int(result)


@contextmanager
def sealed() -> Iterator[None]:
    """Make what this process shares with others for coverage read-only meanwhile, so that a wild store cannot reach it.

    For a child that has called `enter`, around compiled code; blocks are recorded all the same. Elsewhere it does
    nothing.
    """
    _seal(1)
    try:
        yield
    finally:
        _seal(0)


def _seal(on: int) -> None:
    if _loaded is not None:
        errno_checked(_loaded.memcov_seal(on))
        errno_checked(_loaded.memcov_sancov_seal(on))


class NativeCoverage:
    """The methods of `Coverage` over one backend of memcov, whose functions begin with `prefix`.

    `handle` is what the backend's create function returned, and `total` the number of its blocks. Lives as long as the
    process: children may be using the memory that it owns.
    """

    def __init__(self, prefix: str, handle: int, total: int) -> None:
        self.total = total
        self._functions = {name: getattr(load_memcov(), prefix + name) for name in _OF_EVERY_BACKEND}
        self._handle = handle
        self._counted = np.ctypeslib.as_array(self._functions["counted"](handle), shape=(total,))

    def covered(self) -> int:
        return self._call("total")

    def enter(self, slot: int) -> None:
        self._call("enter", slot)

    def begin(self, slot: int) -> None:
        self._call("begin", slot)

    def new(self, slot: int) -> int:
        return self._call("new", slot, None)

    def new_indices(self, slot: int) -> Indices:
        indices = u32_p()
        n = self._call("new", slot, ctypes.byref(indices))
        return np.ctypeslib.as_array(indices, shape=(n,)).copy() if n else np.zeros(0, np.uint32)

    def commit(self, slot: int, start: int = 0) -> int:
        return self._call("commit", slot, start)

    def rearm(self, slot: int, start: int = 0) -> None:
        self._call("rearm", slot, start)

    def reset(self) -> None:
        self._call("reset")

    def snapshot(self) -> bytes:
        return np.packbits(self._counted, bitorder="little").tobytes()

    def restore(self, bits: bytes) -> None:
        if len(bits) != (self.total + 7) // 8:
            raise ValueError(f"a snapshot of {len(bits)} bytes does not fit {self.total} blocks")
        flags = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")[: self.total]
        indices = np.flatnonzero(flags).astype(np.uint32)
        self._call("restore", indices.ctypes.data_as(u32_p), len(indices))

    def _call(self, function: str, *arguments: Any) -> int:
        return errno_checked(self._functions[function](self._handle, *arguments))
