"""Quantized numbers."""

from __future__ import annotations

import numpy as np

from tzerlike.graph.meaning.elementwise import Array


def quantize(x: Array, scale: Array, zero_point: Array, out_dtype: str, axis: int = -1) -> Array:
    limits = np.iinfo(out_dtype)
    # In the dtype that it is documented for, as halves are rounded to one side or the other.
    quotient = x.astype(np.float32) / _along(scale, x, axis).astype(np.float32)
    found = np.rint(quotient) + _along(zero_point, x, axis).astype(np.float64)
    return np.asarray(np.clip(found, limits.min, limits.max))


def dequantize(x: Array, scale: Array, zero_point: Array, out_dtype: str, axis: int = -1) -> Array:
    shifted = x.astype(np.float64) - _along(zero_point, x, axis).astype(np.float64)
    return np.asarray(_along(scale, x, axis) * shifted)


def _along(parameter: Array, x: Array, axis: int) -> Array:
    extents = [1] * x.ndim
    extents[axis] = -1
    return parameter.reshape(extents) if parameter.ndim else parameter
