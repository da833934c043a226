"""Arguments in memory: logical values written in a buffer's dtype, and read back.

A logical array is what `tzerlike.reference.Argument` describes. In memory it lies between two zones that
nothing may write to, so that a build that strays from its buffer by a little is noticed.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy
from numpy.typing import NDArray

from tzerlike.dtypes import DType
from tzerlike.tvm_api import tensor_over

_NATIVE = ("float16", "float32", "float64")
_ALIGNMENT = 64
"""Bytes: what TVM's own allocator gives, and what generated code may rely on."""

_ZONE = 256
_MARK = 0xA5


def element_type(dtype: DType) -> numpy.dtype[Any] | None:
    """Return NumPy's type of one lane; None for a dtype whose elements are not whole bytes, or that NumPy lacks."""
    if dtype.is_bool:
        return numpy.dtype(numpy.bool_)
    if dtype.scalar in _NATIVE or (dtype.is_int and dtype.bits in (8, 16, 32, 64)):
        native: numpy.dtype[Any] = numpy.dtype(dtype.scalar)
        return native
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


class Cell:
    """One buffer argument in memory; `tensor` is what compiled code gets."""

    def __init__(self, values: NDArray[Any], dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        """Lay down `values`, a logical array; `strides` in elements, empty where the buffer is compact."""
        kind = element_type(dtype)
        assert kind is not None
        self._dtype = dtype
        if strides:
            elements = 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
            size = elements * kind.itemsize if math.prod(shape) else 0
        else:
            size = math.prod(shape) * dtype.lanes * kind.itemsize
        arena = numpy.full(2 * _ZONE + size + _ALIGNMENT, _MARK, numpy.uint8)
        start = _ZONE + -(arena.ctypes.data + _ZONE) % _ALIGNMENT
        body = arena[start : start + size]
        self._zones = (arena[:start], arena[start + size :])
        flat = body.view(kind)
        if strides:
            steps = tuple(stride * kind.itemsize for stride in strides)
            self._elements = numpy.lib.stride_tricks.as_strided(flat, shape, steps)
        else:
            self._elements = flat.reshape(shape if dtype.lanes == 1 else (*shape, dtype.lanes))
        self._elements[...] = values.astype(kind)
        self._first = body.copy()
        self._body = body
        self.tensor = tensor_over(self._elements if strides else body, shape, str(dtype), strided=bool(strides))

    def values(self) -> NDArray[Any]:
        """Return what lies there now as a logical array."""
        if self._dtype.is_float:
            return numpy.asarray(self._elements.astype(numpy.float64))
        if self._dtype.is_bool:
            return numpy.asarray(self._elements.view(numpy.uint8) != 0)
        kind = numpy.int64 if self._dtype.base == "int" else numpy.uint64
        return numpy.asarray(self._elements.astype(kind))

    def intact(self) -> bool:
        """Whether nothing was written around the buffer."""
        return all(bool((zone == _MARK).all()) for zone in self._zones)

    def take(self, body: NDArray[numpy.uint8]) -> None:
        """Have the bytes of the buffer replaced, by what a device made of them."""
        self._body[...] = body

    @property
    def body(self) -> NDArray[numpy.uint8]:
        """The bytes that the buffer lies in."""
        return self._body

    def reset(self) -> None:
        """Put the first values back."""
        self._body[...] = self._first
