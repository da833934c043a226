"""Elements moved."""

from __future__ import annotations

import numpy as np

from tzerlike.graph.meaning.elementwise import Array


def squeeze(x: Array, axis: tuple[int, ...] | None) -> Array:
    return np.squeeze(x, axis=axis)


def concat(*tensors: Array, axis: int) -> Array:
    return np.concatenate(tensors, axis=axis)


def stack(*tensors: Array, axis: int) -> Array:
    return np.stack(tensors, axis=axis)


def split(x: Array, indices_or_sections: int | tuple[int, ...], axis: int) -> tuple[Array, ...]:
    cuts = indices_or_sections if isinstance(indices_or_sections, int) else list(indices_or_sections)
    return tuple(np.split(x, cuts, axis=axis))


def tile(x: Array, repeats: tuple[int, ...]) -> Array:
    return np.tile(x, repeats)


def take(x: Array, indices: Array, axis: int, mode: str) -> Array:
    return np.take(x, indices, axis=axis)


def gather_elements(x: Array, indices: Array, axis: int) -> Array:
    return np.take_along_axis(x, indices, axis=axis)


def scatter_elements(x: Array, indices: Array, updates: Array, axis: int, reduction: str) -> Array:
    """One update a line: several at one place would have no order."""
    old = np.take_along_axis(x, indices, axis=axis)
    merge = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}.get(reduction)
    found = x.copy()
    np.put_along_axis(found, indices, merge(old, updates) if merge else updates, axis=axis)
    return found


def strided_slice(
    x: Array, axes: tuple[int, ...], begin: tuple[int, ...], end: tuple[int, ...], strides: tuple[int, ...]
) -> Array:
    cut = [slice(None)] * x.ndim
    for axis, *ends in zip(axes, begin, end, strides, strict=True):
        cut[axis] = slice(*ends)
    return x[tuple(cut)]
