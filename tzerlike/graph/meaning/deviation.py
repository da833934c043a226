"""Error bounds of results that are differences of large numbers; `step` is the unit of rounding.

A variance may be had as the mean of squares less the square of the mean, which is off by roundings of the squares.
"""

from __future__ import annotations

from math import prod

import numpy as np

from tzerlike.graph.meaning.elementwise import Array

Axes = int | tuple[int, ...] | None

_MORE = 8
"""Roundings beside one for each term of a sum."""


def variance(step: float, x: Array, axis: Axes, keepdims: bool) -> Array:
    """Infinite where the squares overflow."""
    square = np.mean(np.square(x), axis=axis, keepdims=keepdims)
    terms = x.size // max(square.size, 1)
    return np.asarray(step * (terms + _MORE) * square + _too_large(step, square * terms))


def std(step: float, x: Array, axis: Axes, keepdims: bool) -> Array:
    """As far as squares below the least number tell."""
    off, exact = variance(step, x, axis, keepdims), np.var(x, axis=axis, keepdims=keepdims)
    least = 2.0 ** (1 - _RANGES.get(step, 1024.0) / 2)
    return np.asarray(np.where(exact > off, off / np.sqrt(np.maximum(exact, off)), np.sqrt(off)) + least)


def rms_norm(step: float, x: Array, weight: Array, axes: tuple[int, ...], epsilon: float, **others: object) -> Array:
    """Infinite where the squares overflow."""
    return _too_large(step, np.sum(np.square(x), axis=axes, keepdims=True))


def window(step: float, x: Array, pool_size: tuple[int, ...] = (), **others: object) -> Array:
    """Infinite where the sum of a window, or of all that there is, may overflow before it is divided."""
    most = np.abs(x).max(initial=0.0)
    return _too_large(step, np.asarray(most * prod(pool_size or x.shape[2:])))


def layer_norm(
    step: float, x: Array, gamma: Array, beta: Array, axes: tuple[int, ...], epsilon: float, **others: object
) -> Array:
    extents = [x.shape[axis] if axis in {one % x.ndim for one in axes} else 1 for axis in range(x.ndim)]
    return _normal(step, x, axes, epsilon) * np.abs(gamma.reshape(extents))


def group_norm(
    step: float, x: Array, gamma: Array, beta: Array, num_groups: int, epsilon: float, **others: object
) -> Array:
    found = _normal(step, x.reshape(x.shape[0], num_groups, -1), (2,), epsilon)
    return found.reshape(x.shape) * np.abs(gamma.reshape(-1, *(1,) * (x.ndim - 2)))


def instance_norm(step: float, x: Array, gamma: Array, beta: Array, epsilon: float, **others: object) -> Array:
    return group_norm(step, x, gamma, beta, x.shape[1], epsilon)


def log_softmax(step: float, x: Array, axis: int) -> Array:
    """Differences to the greatest one."""
    return np.asarray(step * _MORE * (np.abs(x) + np.abs(x).max(axis=axis, keepdims=True)))


def attention(
    step: float, query: Array, key: Array, value: Array, bias: Array | None = None, **others: object
) -> Array:
    """Scores off by roundings of what they are made of; a weight is off by as large a share of itself."""
    made = np.einsum("bqhd,bkhd->bhqk", np.abs(query), np.abs(key)) / np.sqrt(query.shape[-1])
    made = made if bias is None else made + np.abs(bias)
    off = step * (query.shape[-1] + _MORE) * made.max(axis=3)
    most = np.abs(value).max(axis=1)[:, None]
    scaled_later = _too_large(step, made.max(axis=3) * np.sqrt(query.shape[-1])).transpose(0, 2, 1)[..., None]
    return np.asarray(np.expm1(np.minimum(2 * off, 1.0)).transpose(0, 2, 1)[..., None] * most * 2 + scaled_later)


def product(step: float, x: Array, axis: Axes, **others: object) -> Array:
    """Infinite where a part of the product leaves the range of its dtype, as parts are multiplied in any order."""
    over, under = (np.sum(one, axis=axis, keepdims=bool(others.get("keepdims"))) for one in _digits(x))
    return _out_of_range(step, over, under)


def scanned_product(step: float, x: Array, axis: int, exclusive: bool) -> Array:
    over, under = (np.cumsum(one, axis=axis) for one in _digits(x))
    return _out_of_range(step, over, under)


def mean(step: float, x: Array, axis: Axes, keepdims: bool) -> Array:
    """Infinite where the sum overflows."""
    return _too_large(step, np.sum(np.abs(x), axis=axis, keepdims=keepdims))


def float_remainder(step: float, x: Array, y: Array) -> Array:
    """The dividend less a multiple of the divisor; another one where the quotient is nearly whole, and any where it
    overflows."""
    off = step * _MORE * np.abs(x) + float_quotient(step, x, y) * np.abs(y)
    return np.asarray(off + _too_large(step, np.abs(x / y)))


def float_quotient(step: float, x: Array, y: Array) -> Array:
    """The next whole number where the quotient is nearly whole, and what rounding takes from a large one."""
    quotient = x / y
    off = _MORE * step * np.abs(quotient)
    return np.where(np.abs(quotient - np.rint(quotient)) <= off, 1.0 + off, 0.0)


def resize(step: float, x: Array, **others: object) -> Array:
    """Between pixels that are far apart, where a place is off by roundings."""
    return _sampled(step, x, sum(x.shape[2:]))


def grid_sample(step: float, x: Array, grid: Array, **others: object) -> Array:
    return _sampled(step, x, sum(x.shape[2:]) * float(1 + np.abs(grid).max()))


def affine_grid(step: float, x: Array, **others: object) -> Array:
    return np.asarray(step * _MORE * np.abs(x).sum(axis=2))[..., None, None]


def _sampled(step: float, x: Array, extent: float) -> Array:
    return np.asarray(step * _MORE * extent * np.abs(x).max(axis=tuple(range(2, x.ndim)), keepdims=True))


_RANGES = {2.0**-10: 16.0, 2.0**-7: 128.0, 2.0**-23: 128.0, 2.0**-52: 1024.0}
"""How many binary digits the largest number has before the point, by the unit of roundings."""


def _digits(x: Array) -> tuple[Array, Array]:
    """How many binary digits of each number lie before the point, and how many zeros behind it; none of 0."""
    digits = np.log2(np.where(x == 0, 1.0, np.abs(x)))
    return np.maximum(digits, 0), np.maximum(-digits, 0)


def _out_of_range(step: float, over: Array, under: Array) -> Array:
    most = _RANGES.get(step, 1024.0)
    return np.where((over >= most) | (under >= most - 2), np.inf, 0.0)


def _too_large(step: float, sizes: Array) -> Array:
    """Infinite where what is computed on the way is no number of its dtype."""
    return _out_of_range(step, np.log2(np.maximum(sizes, 1.0)), np.zeros(np.shape(sizes)))


def _normal(step: float, x: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    """Of what is less its mean and over its standard deviation; infinite where the variance may come out as nothing."""
    terms = prod(x.shape[axis] for axis in axes) + _MORE
    exact = np.var(x, axis=axes, keepdims=True) + epsilon
    share = variance(step, x, axes, True) / exact
    off_by_scale = 1 / np.sqrt(np.maximum(1 - share, 0)) - 1
    normal = np.abs(x - x.mean(axis=axes, keepdims=True)) / np.sqrt(exact)
    mean = step * terms * np.abs(x).mean(axis=axes, keepdims=True) / np.sqrt(exact)
    return np.asarray(np.where(share < 1, (normal + mean) * off_by_scale + mean, np.inf))
