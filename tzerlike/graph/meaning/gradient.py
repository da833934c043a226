"""Gradients, and operators that do nothing outside training."""

from __future__ import annotations

from itertools import product

import numpy as np

from tzerlike.graph.meaning.elementwise import Array

Numbers = tuple[int, ...]


def same(x: Array) -> Array:
    return x


def dropout(x: Array, rate: float) -> tuple[Array, Array]:
    """Nothing is dropped, and the mask says so."""
    return x, np.ones_like(x)


def take(grad: Array, x: Array, indices: Array, axis: int) -> Array:
    found = np.zeros_like(x)
    np.add.at(found, indices, grad)
    return found


def nll_loss(
    grad: Array, predictions: Array, targets: Array, weights: Array, reduction: str, ignore_index: int
) -> Array:
    share = weights[targets] / (weights[targets].sum() if reduction == "mean" else 1)
    found = np.zeros_like(predictions)
    np.put_along_axis(found, targets[:, None], (-grad * share)[:, None], axis=1)
    return found


def average_pool(grad: Array, x: Array, pool_size: Numbers, strides: Numbers, **others: object) -> Array:
    found = np.zeros_like(x)
    for place in product(*map(range, pool_size)):
        found[_seen(place, grad.shape[2:], strides)] += grad / np.prod(pool_size)
    return found


def max_pool(grad: Array, x: Array, pool_size: Numbers, strides: Numbers, **others: object) -> Array:
    """The greatest of each window takes the gradient, the first of equal ones."""
    places = [_seen(place, grad.shape[2:], strides) for place in product(*map(range, pool_size))]
    greatest = np.argmax(np.stack([x[place] for place in places]), axis=0)
    found = np.zeros_like(x)
    for number, place in enumerate(places):
        found[place] += grad * (greatest == number)
    return found


def _seen(place: Numbers, outputs: Numbers, strides: Numbers) -> tuple[slice, ...]:
    every = zip(place, outputs, strides, strict=True)
    return (slice(None), slice(None), *(slice(i, i + (count - 1) * s + 1, s) for i, count, s in every))
