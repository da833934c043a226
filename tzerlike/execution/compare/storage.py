"""Arguments in memory: logical values written in a buffer's dtype, and read back.

A logical array is what `tzerlike.tir.interpreter.Argument` describes. In memory it lies between two zones that
nothing may write to, so that a build that strays from its buffer by a little is noticed, and those between pages that
nobody may touch (`tzerlike.execution.compare.islands`). Shapes and strides are kept here: those of the tensor are
compiled code's.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import ml_dtypes
import numpy
from numpy.typing import NDArray

from tzerlike.core.dtypes import DType
from tzerlike.execution.compare.islands import Island
from tzerlike.systems.tvm_build import tensor_over

_NATIVE = ("float16", "float32", "float64")
_ZONE = 320
"""Bytes: behind as many a buffer is aligned to 64 and no more. So TVM's own allocator does it, and generated code may
rely on it."""
_MARK = 0xA5


def element_type(dtype: DType) -> numpy.dtype[Any] | None:
    """Return NumPy's type of one lane; None for a dtype whose elements are not whole bytes, or that NumPy lacks."""
    if dtype.is_bool:
        return numpy.dtype(numpy.bool_)
    if dtype.scalar in _NATIVE or (dtype.is_int and dtype.bits in (8, 16, 32, 64)):
        return numpy.dtype(dtype.scalar)
    if dtype.is_float and dtype.bits in (8, 16) and hasattr(ml_dtypes, dtype.scalar):
        small: numpy.dtype[Any] = numpy.dtype(getattr(ml_dtypes, dtype.scalar))
        return small
    return None


def stores(dtype: DType) -> bool:
    return element_type(dtype) is not None


def strides_allowed(dtype: DType) -> bool:
    """Whether a tensor of this dtype can be made with strides of its own."""
    return dtype.lanes == 1 and (dtype.is_int or dtype.scalar in _NATIVE)


def representable(values: NDArray[numpy.float64], dtype: DType) -> NDArray[numpy.float64]:
    """Return the values rounded to a float dtype, as float64."""
    return numpy.asarray(values).astype(element_type(dtype)).astype(numpy.float64)


class BufferCell:
    """One buffer argument in memory; `tensor` is what compiled code gets."""

    def __init__(self, values: NDArray[Any], dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        """Lay down `values`, a logical array; `strides` in elements, empty where the buffer is compact.

        MemoryError where there is no room for it.
        """
        kind = element_type(dtype)
        assert kind is not None
        self._dtype, self._kind, self._shape, self._strides = dtype, kind, shape, strides
        if strides:
            elements = 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
            self._size = elements * kind.itemsize if math.prod(shape) else 0
        else:
            self._size = math.prod(shape) * dtype.lanes * kind.itemsize
        first = numpy.full(self._size, _MARK, numpy.uint8)
        self._elements(first)[...] = values.astype(kind)
        self._first = first.tobytes()
        self._island = Island(_ZONE + self._size + _ZONE)
        self._island.bytes[...] = _MARK
        self.body = self._island.bytes[_ZONE : _ZONE + self._size]
        """The bytes that the buffer lies in, for who hands them on; what is there now is `values`."""
        self.reset()
        memory = self._elements(self.body) if strides else self.body
        self.tensor = tensor_over(memory, shape, str(dtype), strided=bool(strides))

    def _elements(self, raw: NDArray[numpy.uint8]) -> NDArray[Any]:
        """The elements in the bytes of a buffer."""
        flat = raw.view(self._kind)
        if self._strides:
            steps = tuple(stride * self._kind.itemsize for stride in self._strides)
            return numpy.lib.stride_tricks.as_strided(flat, self._shape, steps)
        return flat.reshape(self._shape if self._dtype.lanes == 1 else (*self._shape, self._dtype.lanes))

    def values(self) -> NDArray[Any]:
        """Return what lies there now as a logical array."""
        elements = self._elements(self._island.read(_ZONE, self._size))
        if self._dtype.is_float:
            return numpy.asarray(elements.astype(numpy.float64))
        if self._dtype.is_bool:
            return numpy.asarray(elements.view(numpy.uint8) != 0)
        kind = numpy.int64 if self._dtype.base == "int" else numpy.uint64
        return numpy.asarray(elements.astype(kind))

    def intact(self) -> bool:
        """Whether nothing was written around the buffer."""
        end = _ZONE + self._size
        around = (self._island.read(0, _ZONE), self._island.read(end, self._island.size - end))
        return all(bool((zone == _MARK).all()) for zone in around)

    def take(self, body: bytes) -> None:
        """Have the bytes of the buffer replaced, by what a device made of them; ValueError when there are others."""
        if len(body) != self._size:
            raise ValueError(f"{len(body)} bytes for {self._size}")
        ctypes.memmove(self._island.address + _ZONE, body, self._size)

    def reset(self) -> None:
        """Put the first values back."""
        self.take(self._first)
