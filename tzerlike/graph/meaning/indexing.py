"""Operators that access elements by index."""

from __future__ import annotations

import numpy as np

from tzerlike.graph.meaning.elementwise import Array

_MERGES = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def take(x: Array, indices: Array, axis: int | None, mode: str) -> Array:
    return np.take(x, indices, axis=axis, mode="wrap" if mode == "wrap" else "clip")


def gather_elements(x: Array, indices: Array, axis: int) -> Array:
    """As in ONNX, along the other axes only as far as the indices go."""
    if indices.ndim == x.ndim:
        at = axis % x.ndim
        x = x[tuple(slice(None) if i == at else slice(extent) for i, extent in enumerate(indices.shape))]
    return np.take_along_axis(x, indices, axis=axis)


def scatter_elements(x: Array, indices: Array, updates: Array, axis: int, reduction: str) -> Array:
    """One update a line: several at one place would have no order."""
    old = np.take_along_axis(x, indices, axis=axis)
    merge = _MERGES.get(reduction)
    found = x.copy()
    np.put_along_axis(found, indices, merge(old, updates) if merge else updates, axis=axis)
    return found


def gather_nd(x: Array, indices: Array, batch_dims: int) -> Array:
    return np.asarray(x[tuple(np.moveaxis(indices, -1, 0))])


def scatter_nd(x: Array, indices: Array, updates: Array, reduction: str) -> Array:
    """One update: several at one place would have no order."""
    place, merge, found = int(indices[0, 0]), _MERGES.get(reduction), x.copy()
    found[place] = merge(found[place], updates[0]) if merge else updates[0]
    return found


def index_tensor(x: Array, *indices: Array) -> Array:
    return np.asarray(x[indices])


def index_put(x: Array, rows: Array, columns: Array, values: Array, accumulate: bool) -> Array:
    found = x.copy()
    found[rows, columns] = found[rows, columns] + values if accumulate else values
    return found


def one_hot(indices: Array, on_value: float, off_value: float, depth: int, axis: int) -> Array:
    chosen = indices[..., None] == np.arange(depth)
    return np.moveaxis(np.where(chosen, on_value, off_value), -1, axis)


def reverse_sequence(x: Array, lengths: Array, seq_axis: int, batch_axis: int) -> Array:
    along = np.moveaxis(x, (batch_axis, seq_axis), (0, 1))
    found = along.copy()
    for line, length in enumerate(lengths):
        found[line, :length] = along[line, :length][::-1]
    return np.moveaxis(found, (0, 1), (batch_axis, seq_axis))


def slice_scatter(x: Array, source: Array, start: int, end: int, step: int, axis: int) -> Array:
    found = x.copy()
    np.moveaxis(found, axis, 0)[start:end:step] = np.moveaxis(source, axis, 0)
    return found


def sort(x: Array, axis: int, descending: bool) -> Array:
    found = np.sort(x, axis=axis)
    return np.flip(found, axis=axis) if descending else found


def argsort(x: Array, axis: int, descending: bool, dtype: str) -> Array:
    return np.argsort(-x if descending else x, axis=axis, kind="stable")


def topk(x: Array, k: int, axis: int, ret_type: str, largest: bool, dtype: str) -> tuple[Array, Array]:
    places = np.take(np.argsort(-x if largest else x, axis=axis, kind="stable"), np.arange(k), axis=axis)
    return np.take_along_axis(x, places, axis=axis), places


def topk_part(x: Array, k: int, axis: int, ret_type: str, largest: bool, dtype: str) -> Array:
    return topk(x, k, axis, ret_type, largest, dtype)[ret_type == "indices"]


def bucketize(x: Array, boundaries: Array, out_int32: bool, right: bool) -> Array:
    return np.asarray(np.searchsorted(boundaries, x, side="right" if right else "left"))


def meshgrid(*tensors: Array, indexing: str) -> tuple[Array, ...]:
    return tuple(np.meshgrid(*tensors, indexing="ij"))
