"""Resizing and sampling of images."""

from __future__ import annotations

from itertools import product

import numpy as np

from tzerlike.graph.meaning.elementwise import Array


def resize(
    x: Array,
    size: tuple[int, ...],
    layout: str,
    method: str,
    coordinate_transformation_mode: str,
    rounding_method: str,
) -> Array:
    """ONNX's Resize, one axis after the other; one size is that of all."""
    size = size * (x.ndim - 2) if len(size) == 1 else size
    for axis, extent in enumerate(size, 2):
        places = _coordinates(extent, x.shape[axis], coordinate_transformation_mode)
        if method == "nearest_neighbor":
            x = np.take(x, _inside(np.floor(places + 1e-5), x.shape[axis]), axis=axis)
            continue
        low = np.floor(places)
        share = (places - low).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
        one, other = (np.take(x, _inside(low + i, x.shape[axis]), axis=axis) for i in (0, 1))
        x = one * (1 - share) + other * share
    return x


def grid_sample(x: Array, grid: Array, method: str, layout: str, padding_mode: str, align_corners: bool) -> Array:
    """Bilinear; what lies outside counts as zero. The grid has x and y on its second axis."""
    height, width = x.shape[2:]
    places = [_scaled(grid[:, i], extent, align_corners) for i, extent in ((1, height), (0, width))]
    low = [np.floor(one) for one in places]
    found = np.zeros((*x.shape[:2], *grid.shape[2:]), x.dtype)
    batch = np.arange(len(x)).reshape(-1, 1, 1)
    for corner in product((0, 1), repeat=2):
        rows, columns = (one + i for one, i in zip(low, corner, strict=True))
        share = (1 - np.abs(places[0] - rows)) * (1 - np.abs(places[1] - columns))
        share = share * ((rows >= 0) & (rows < height) & (columns >= 0) & (columns < width))
        seen = x[batch, :, _inside(rows, height), _inside(columns, width)]
        found += np.moveaxis(seen * share[..., None], -1, 1)
    return found


def affine_grid(x: Array, size: tuple[int, int], align_corners: bool) -> Array:
    rows, columns = (_steps(extent, align_corners) for extent in size)
    points = np.stack([*np.meshgrid(columns, rows), np.ones(size)])
    return np.asarray(np.einsum("nij,jhw->nihw", x, points))


def _coordinates(size: int, extent: int, mode: str) -> Array:
    """Where each pixel of the result lies in the source."""
    places = np.arange(size)
    if mode == "half_pixel":
        return np.asarray((places + 0.5) * (extent / size) - 0.5)
    if mode == "align_corners":
        return np.asarray(places * ((extent - 1) / (size - 1) if size > 1 else 0.0))
    return np.asarray(places * (extent / size))


def _inside(places: Array, extent: int) -> Array:
    return np.clip(places, 0, extent - 1).astype(np.int64)


def _scaled(grid: Array, extent: int, align_corners: bool) -> Array:
    if align_corners:
        return np.asarray((grid + 1) * (extent - 1) / 2)
    return np.asarray(((grid + 1) * extent - 1) / 2)


def _steps(extent: int, align_corners: bool) -> Array:
    return np.linspace(-1, 1, extent) if align_corners else (2 * np.arange(extent) + 1) / extent - 1
