"""Operators along axes."""

from __future__ import annotations

import numpy as np

from tzerlike.graph.meaning.elementwise import Array


def argmax(x: Array, axis: int | None, keepdims: bool) -> Array:
    """The first of equal ones, as ONNX has it by default."""
    return np.asarray(np.argmax(x, axis=axis, keepdims=keepdims))


def argmin(x: Array, axis: int | None, keepdims: bool) -> Array:
    return np.asarray(np.argmin(x, axis=axis, keepdims=keepdims))


def median(x: Array, axis: int, keepdims: bool) -> tuple[Array, Array]:
    """PyTorch's: the lower of two in the middle, and where it stands."""
    order = np.argsort(x, axis=axis, kind="stable")
    place = np.take(order, [(x.shape[axis] - 1) // 2], axis=axis)
    value = np.take_along_axis(x, place, axis=axis)
    return (value, place) if keepdims else (value.squeeze(axis), place.squeeze(axis))


def median_of_all(x: Array, axis: None, keepdims: bool) -> Array:
    return np.asarray(np.sort(x, axis=None)[(x.size - 1) // 2])


def cumsum(x: Array, axis: int, exclusive: bool) -> Array:
    return _shifted(np.cumsum(x, axis=axis), axis, 0) if exclusive else np.cumsum(x, axis=axis)


def cumprod(x: Array, axis: int, exclusive: bool) -> Array:
    return _shifted(np.cumprod(x, axis=axis), axis, 1) if exclusive else np.cumprod(x, axis=axis)


def softmax(x: Array, axis: int) -> Array:
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return np.asarray(powers / powers.sum(axis=axis, keepdims=True))


def log_softmax(x: Array, axis: int) -> Array:
    shifted = x - x.max(axis=axis, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True)))


def _shifted(x: Array, axis: int, first: int) -> Array:
    """Move everything on by one, and begin with `first`."""
    found = np.roll(x, 1, axis=axis)
    start = [slice(None)] * x.ndim
    start[axis] = slice(0, 1)
    found[tuple(start)] = first
    return found
