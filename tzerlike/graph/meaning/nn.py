"""Layers, with plain loops over the positions of kernels."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tzerlike.graph.meaning.elementwise import Array

Numbers = tuple[int, ...]
Index = tuple[Any, ...]


def convolution(
    x: Array, kernel: Array, strides: Numbers, padding: Numbers, dilation: Numbers, groups: int, **others: str
) -> Array:
    x = _padded(x.astype(others.get("out_dtype", x.dtype)), padding, 0)
    kernel = kernel.astype(x.dtype)
    extents = _outputs(x.shape[2:], kernel.shape[2:], strides, dilation)
    width, height = kernel.shape[1], kernel.shape[0] // groups
    found = np.zeros((x.shape[0], kernel.shape[0], *extents), x.dtype)
    for group in range(groups):
        rows = slice(group * height, (group + 1) * height)
        part = x[:, group * width : (group + 1) * width]
        for place in product(*map(range, kernel.shape[2:])):
            seen = part[_seen(place, extents, strides, dilation)]
            weights: Index = (rows, slice(None), *place)
            found[:, rows] += np.einsum("ni...,oi->no...", seen, kernel[weights])
    return found


def convolution_last(
    x: Array, kernel: Array, strides: Numbers, padding: Numbers, dilation: Numbers, **others: str
) -> Array:
    """Channels last, and kernels as height, width, in, out."""
    found = convolution(np.moveaxis(x, 3, 1), kernel.transpose(3, 2, 0, 1), strides, padding, dilation, 1)
    return np.moveaxis(found, 1, 3)


def transposed_convolution(
    x: Array,
    kernel: Array,
    strides: Numbers,
    padding: Numbers,
    dilation: Numbers,
    output_padding: Numbers,
    groups: int,
    **layouts: str,
) -> Array:
    rank = len(strides)
    whole = [
        (x.shape[i + 2] - 1) * strides[i] + dilation[i] * (kernel.shape[i + 2] - 1) + 1 + output_padding[i]
        for i in range(rank)
    ]
    width, height = x.shape[1] // groups, kernel.shape[1]
    found = np.zeros((x.shape[0], height * groups, *whole), x.dtype)
    for group in range(groups):
        rows, part = slice(group * width, (group + 1) * width), slice(group * height, (group + 1) * height)
        for place in product(*map(range, kernel.shape[2:])):
            weights: Index = (rows, slice(None), *place)
            added = np.einsum("ni...,io->no...", x[:, rows], kernel[weights])
            found[:, part][_seen(place, x.shape[2:], strides, dilation)] += added
    cut: Index = tuple(slice(padding[i], whole[i] - padding[i + rank]) for i in range(rank))
    return found[(slice(None), slice(None), *cut)]


def max_pool(
    x: Array, pool_size: Numbers, strides: Numbers, padding: Numbers, dilation: Numbers, **others: object
) -> Array:
    return np.asarray(_windows(_padded(x, padding, -np.inf), pool_size, strides, dilation).max(axis=0))


def max_pool_of_all(x: Array, pool_size: Numbers, strides: Numbers, padding: Numbers, ceil_mode: bool) -> Array:
    """The last window may reach over the end, but not begin there, as in PyTorch."""
    over = []
    for extent, size, stride in zip(x.shape[2:], pool_size, strides, strict=True):
        beyond = -(extent - size) % stride
        over.append(beyond if extent - size + beyond < extent else 0)
    return max_pool(x, pool_size, strides, (0, 0, *over), (1, 1))


def max_pool_last(x: Array, pool_size: Numbers, strides: Numbers, layout: str) -> Array:
    return np.moveaxis(max_pool(np.moveaxis(x, 3, 1), pool_size, strides, (0, 0, 0, 0), (1, 1)), 1, 3)


def average_pool_last(x: Array, pool_size: Numbers, strides: Numbers, layout: str) -> Array:
    return np.moveaxis(average_pool(np.moveaxis(x, 3, 1), pool_size, strides, (0, 0, 0, 0), (1, 1), False), 1, 3)


def average_pool(
    x: Array,
    pool_size: Numbers,
    strides: Numbers,
    padding: Numbers,
    dilation: Numbers,
    count_include_pad: bool,
    **others: object,
) -> Array:
    total = np.sum(_windows(_padded(x, padding, 0), pool_size, strides, dilation), axis=0)
    inside = _padded(np.ones_like(x), padding, 1 if count_include_pad else 0)
    return np.asarray(total / np.sum(_windows(inside, pool_size, strides, dilation), axis=0))


def adaptive_average(x: Array, output_size: Numbers, layout: str) -> Array:
    found = np.zeros((*x.shape[:2], *output_size), x.dtype)
    for place in product(*map(range, output_size)):
        ends = zip(place, output_size, x.shape[2:], strict=True)
        window: Index = tuple(slice(i * extent // size, -(-(i + 1) * extent // size)) for i, size, extent in ends)
        part = x[(slice(None), slice(None), *window)]
        target: Index = (slice(None), slice(None), *place)
        found[target] = part.mean(axis=tuple(range(2, x.ndim)))
    return found


def batch_flatten(x: Array) -> Array:
    return x.reshape(x.shape[0], -1)


def layer_norm(x: Array, gamma: Array, beta: Array, axes: Numbers, epsilon: float, center: bool, scale: bool) -> Array:
    mean, variance = x.mean(axis=axes, keepdims=True), x.var(axis=axes, keepdims=True)
    return np.asarray((x - mean) / np.sqrt(variance + epsilon) * _spread(gamma, axes, x) + _spread(beta, axes, x))


def rms_norm(x: Array, gamma: Array, axes: Numbers, epsilon: float) -> Array:
    return np.asarray(x / np.sqrt(np.square(x).mean(axis=axes, keepdims=True) + epsilon) * _spread(gamma, axes, x))


def batch_norm(
    x: Array,
    gamma: Array,
    beta: Array,
    mean: Array,
    variance: Array,
    axis: int,
    epsilon: float,
    center: bool,
    scale: bool,
    momentum: float,
    training: bool,
) -> tuple[Array, Array, Array]:
    found = (x - _spread(mean, (axis,), x)) / np.sqrt(_spread(variance, (axis,), x) + epsilon)
    found = found * _spread(gamma, (axis,), x) if scale else found
    return found + _spread(beta, (axis,), x) if center else found, mean, variance


def prelu(x: Array, alpha: Array, axis: int) -> Array:
    return np.where(x > 0, x, x * _spread(alpha, (axis,), x))


def pad(x: Array, pad_width: Numbers, pad_mode: str, pad_value: float = 0.0) -> Array:
    pairs = list(zip(pad_width[::2], pad_width[1::2], strict=True))
    if pad_mode == "constant":
        return np.pad(x, pairs, constant_values=np.asarray(pad_value).astype(x.dtype))
    if pad_mode == "reflect":
        return np.pad(x, pairs, "reflect")
    return np.pad(x, pairs, "edge") if pad_mode == "replicate" else np.pad(x, pairs, "wrap")


def pixel_shuffle(x: Array, upscale_factor: int) -> Array:
    *batch, c, h, w = x.shape
    r = upscale_factor
    lead = len(batch)
    apart = x.reshape(*batch, c // (r * r), r, r, h, w)
    order = [*range(lead), lead, lead + 3, lead + 1, lead + 4, lead + 2]
    return apart.transpose(order).reshape(*batch, c // (r * r), h * r, w * r)


def _padded(x: Array, padding: Numbers, value: float) -> Array:
    rank = len(padding) // 2
    return np.pad(x, [(0, 0), (0, 0), *zip(padding[:rank], padding[rank:], strict=True)], constant_values=value)


def _outputs(extents: Numbers, sizes: Numbers, strides: Numbers, dilation: Numbers) -> Numbers:
    every = zip(extents, sizes, strides, dilation, strict=True)
    return tuple((extent - d * (size - 1) - 1) // s + 1 for extent, size, s, d in every)


def _seen(place: Numbers, outputs: Numbers, strides: Numbers, dilation: Numbers) -> Index:
    """What one place of a window meets as the window moves."""
    every = zip(place, outputs, strides, dilation, strict=True)
    return (slice(None), slice(None), *(slice(i * d, i * d + (count - 1) * s + 1, s) for i, count, s, d in every))


def _windows(x: Array, sizes: Numbers, strides: Numbers, dilation: Numbers) -> Array:
    """The places of the window on a first axis, its positions on the others."""
    extents = _outputs(x.shape[2:], sizes, strides, dilation)
    places = product(*map(range, sizes))
    return np.stack([x[_seen(one, extents, strides, dilation)] for one in places])


def _spread(parameter: Array, axes: Numbers, x: Array) -> Array:
    """Shape a parameter of some axes so that it broadcasts with `x`."""
    extents = [1] * x.ndim
    for axis in axes:
        extents[axis] = x.shape[axis]
    return parameter.reshape(extents)
