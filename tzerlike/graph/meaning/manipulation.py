"""Operators that move elements."""

from __future__ import annotations

import numpy as np

from tzerlike.graph.meaning.elementwise import Array


def squeeze(x: Array, axis: tuple[int, ...] | None) -> Array:
    return np.squeeze(x, axis=axis)


def concat(*tensors: Array, axis: int | None) -> Array:
    return np.concatenate(tensors, axis=axis)


def stack(*tensors: Array, axis: int) -> Array:
    return np.stack(tensors, axis=axis)


def split(x: Array, indices_or_sections: int | tuple[int, ...], axis: int) -> tuple[Array, ...]:
    cuts = indices_or_sections if isinstance(indices_or_sections, int) else list(indices_or_sections)
    return tuple(np.split(x, cuts, axis=axis))


def tile(x: Array, repeats: tuple[int, ...]) -> Array:
    return np.tile(x, repeats)


def strided_slice(
    x: Array, axes: tuple[int, ...], begin: tuple[int, ...], end: tuple[int, ...], strides: tuple[int, ...]
) -> Array:
    cut = [slice(None)] * x.ndim
    for axis, *ends in zip(axes, begin, end, strides, strict=True):
        cut[axis] = slice(*ends)
    return x[tuple(cut)]


def collapse_sum_to(x: Array, shape: tuple[int, ...]) -> Array:
    """Add up what broadcasting from `shape` would repeat."""
    lead = x.ndim - len(shape)
    axes = [*range(lead), *(lead + i for i, extent in enumerate(shape) if extent == 1 != x.shape[lead + i])]
    return np.asarray(np.sum(x, axis=tuple(axes), keepdims=True)).reshape(shape)


def collapse_sum_like(x: Array, target: Array) -> Array:
    return collapse_sum_to(x, target.shape)
