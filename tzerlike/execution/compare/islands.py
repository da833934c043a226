"""Guarded memory, in which stray writes of compiled code are noticed.

Compiled code gets its buffers on islands, between pages that nobody may touch: what strays far from a buffer dies of
it. What the buffers are compared with is in pages that cannot be written to, shapes and all. Nothing of NumPy's own
that a wild store may have met, such as the shape of an array made before, has a say in a judgement.
"""

from __future__ import annotations

import ctypes
import errno
import json
import math
import mmap
import os
from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

_NO_ACCESS = 0
_ALIGNMENT = 64
_libc = ctypes.CDLL(None, use_errno=True)

MOAT = 1 << 20
"""Bytes on each side of an island that nobody may touch."""


class Island:
    """Zeroed memory of `size` bytes or more up to a whole page, alone between two moats.

    `bytes` is all of it, for those who write to it or hand it on; it lives as long as that does. MemoryError where
    there is no room for it.
    """

    def __init__(self, size: int) -> None:
        self.size = _whole_pages(size)
        mapping = _mapped(MOAT + self.size + MOAT)
        everything = numpy.frombuffer(mapping, numpy.uint8)
        start = everything.ctypes.data
        _protect(start, MOAT, _NO_ACCESS)
        _protect(start + MOAT + self.size, MOAT, _NO_ACCESS)
        self.address = start + MOAT
        self.bytes = everything[MOAT : MOAT + self.size]

    def read(self, start: int, size: int) -> NDArray[numpy.uint8]:
        """Return a copy of `size` bytes from `start` on."""
        copy = numpy.empty(size, numpy.uint8)
        ctypes.memmove(copy.ctypes.data, self.address + start, size)
        return copy


class Sealed:
    """Arrays of numbers, and what JSON can hold about them, that stay what they are: they lie in read-only memory."""

    def __init__(self, notes: Any, arrays: Sequence[NDArray[Any]]) -> None:
        """MemoryError where there is no room for them."""
        parts = [numpy.asarray(array, order="C") for array in arrays]
        described = [(part.dtype.str, part.shape) for part in parts]
        head = json.dumps({"notes": notes, "arrays": described}).encode()
        size = _aligned(len(head)) + sum(_aligned(part.nbytes) for part in parts)
        self._head = len(head)
        self._mapping = _mapped(_whole_pages(size))
        self._mapping[: len(head)] = head
        start = _aligned(len(head))
        for part in parts:
            self._mapping[start : start + part.nbytes] = part.tobytes()
            start += _aligned(part.nbytes)
        _protect(numpy.frombuffer(self._mapping, numpy.uint8).ctypes.data, len(self._mapping), mmap.PROT_READ)

    def open(self) -> tuple[Any, list[NDArray[Any]]]:
        """Return the notes as JSON has them, and arrays that cannot be written to."""
        head = json.loads(self._mapping[: self._head])
        memory = memoryview(self._mapping).toreadonly()
        arrays, start = [], _aligned(self._head)
        for kind, shape in head["arrays"]:
            dtype, count = numpy.dtype(kind), math.prod(shape)
            arrays.append(numpy.frombuffer(memory, dtype, count, start).reshape(shape))
            start += _aligned(count * dtype.itemsize)
        return head["notes"], arrays


def _aligned(size: int) -> int:
    """A place for the next array behind `size` bytes; there is room for an empty one behind it."""
    return (size // _ALIGNMENT + 1) * _ALIGNMENT


def _whole_pages(size: int) -> int:
    return max(1, -(-size // mmap.PAGESIZE)) * mmap.PAGESIZE


def _mapped(size: int) -> mmap.mmap:
    try:
        return mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        if error.errno == errno.ENOMEM:
            raise MemoryError(f"{size} bytes") from error
        raise


def _protect(address: int, size: int, protection: int) -> None:
    if _libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), protection):
        number = ctypes.get_errno()
        raise MemoryError(os.strerror(number)) if number == errno.ENOMEM else OSError(number, os.strerror(number))
