"""How the inputs of a call should change so that its outputs change as wanted: the backward half of the search.

A wish is an array of changes, 0 where nothing is asked for. It goes back through a call by proxy derivatives (NNSmith,
section 3.3): slopes of the meaning over a wide step, which floors and comparisons have too; and by which elements of
the inputs come out unchanged. What is neither is tried in one direction: all elements shifted, scaled, or at random.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.spec import elementwise
from tzerlike.graph.spec.language import Specification

BY_ELEMENT = frozenset(row.name for row in elementwise.ROWS)
"""Rows that calculate element by element, of inputs that NumPy broadcasts."""

_STEP = 0.5
_FAINT = 0.05
"""The least slope that is believed; below it the function goes up as far as we know."""

_HALVINGS = 3
"""How many times a step is halved that leaves what a call is defined on."""

_PROBES = np.sort(np.concatenate([sign * np.geomspace(1e-3, 20, 40) for sign in (-1, 1)] + [np.zeros(1)]))
"""Where a function of one float is looked up that slopes do not lead to what is wished for."""


def wishes_for_inputs(
    row: Specification,
    inputs: Sequence[Array],
    attributes: dict[str, Any],
    outputs: Sequence[Array],
    wishes: Sequence[Array],
    rng: np.random.Generator,
) -> list[Array]:
    """Return what to change of each input, so that the outputs change by `wishes`."""
    if row.name in BY_ELEMENT:
        return _by_slopes(row, inputs, attributes, outputs[0].astype(np.float64), wishes[0])
    if row.operator in ("min", "max", "sum", "mean"):
        return [_through_axes(row.operator, inputs[0], attributes["axis"], wishes[0], outputs[0])]
    free = [index for index, one in enumerate(inputs) if one.dtype.kind not in "iub" or row.operator == "astype"]
    free = free or list(range(len(inputs)))
    found = [np.zeros(one.shape) for one in inputs]
    wanted = np.concatenate([one.ravel() for one in wishes])
    given = np.concatenate([one.ravel().astype(np.float64) for one in outputs])
    missed = _by_identity([inputs[index] for index in free], [found[index] for index in free], given, wanted)
    if missed:
        for index in free:
            found[index] = found[index] + _by_direction(row, inputs, attributes, index, given, wanted, rng)
    return found


def _by_slopes(
    row: Specification, inputs: Sequence[Array], attributes: dict[str, Any], here: Array, wish: Array
) -> list[Array]:
    def meaning(values: Sequence[Array]) -> Array:
        return np.asarray(row.meaning(*values, **attributes)).astype(np.float64)

    slopes = []
    for index, one in enumerate(inputs):
        if _must(row, index, one):
            slopes.append(np.zeros(wish.shape))
            continue
        down, up, width = _around(one)
        low, high = (meaning([*inputs[:index], moved, *inputs[index + 1 :]]) for moved in (down, up))
        slope = (high - low) / width
        for side in (high - here, here - low):
            # At the edge of where a function is defined, it has one side alone.
            slope = np.where(np.isfinite(slope), slope, 2 * side / width)
        slopes.append(np.where(np.isfinite(slope) & (np.abs(slope) > _FAINT), slope, 1.0 if len(inputs) == 1 else 0.0))
    total = sum(slope**2 for slope in slopes)
    shares = [np.where(total > 0, wish * slope / np.where(total > 0, total, 1), 0) for slope in slopes]
    if any(one.dtype.kind in "iub" for one in inputs):
        return [_gathered(share, one.shape) for share, one in zip(shares, inputs, strict=True)]
    for _ in range(_HALVINGS):
        outside = ~np.isfinite(meaning([one + share for one, share in zip(inputs, shares, strict=True)]))
        if not outside.any():
            break
        shares = [np.where(outside, share / 2, share) for share in shares]
    if len(inputs) == 1:
        shares = [_looked_up(meaning, inputs[0], shares[0], here, wish)]
    return [_gathered(share, one.shape) for share, one in zip(shares, inputs, strict=True)]


def _looked_up(
    meaning: Callable[[Sequence[Array]], Array], one: Array, share: Array, here: Array, wish: Array
) -> Array:
    """A step to where a function of one float is nearest to what is wished for, if that is far nearer than `share`."""
    known = meaning([_PROBES])
    if known.shape != _PROBES.shape:
        return share
    finite = np.isfinite(known)
    places, known = _PROBES[finite], known[finite]
    if not len(known):
        return share
    order = np.argsort(known, kind="stable")
    places, known, wanted = places[order], known[order], here + wish
    above = np.clip(np.searchsorted(known, wanted), 1, len(known) - 1) if len(known) > 1 else np.zeros(one.shape, int)
    below = np.maximum(above - 1, 0)
    best = np.where(np.abs(known[below] - wanted) < np.abs(known[above] - wanted), below, above)
    off = np.abs(np.nan_to_num(meaning([one + share]), nan=np.inf) - wanted)
    return np.where((wish != 0) & (np.abs(known[best] - wanted) < 0.5 * off), places[best] - one, share)


def _must(row: Specification, index: int, one: Array) -> bool:
    return index < len(row.inputs) and one.dtype.name in row.inputs[index].values.must


def _around(x: Array) -> tuple[Array, Array, float]:
    """Values below and above, and how far apart they are."""
    if x.dtype == bool:
        return np.zeros_like(x), np.ones_like(x), 1.0
    if x.dtype.kind in "iu":
        return x - x.dtype.type(1), x + x.dtype.type(1), 2.0
    return x - _STEP, x + _STEP, 2 * _STEP


def _gathered(share: Array, shape: tuple[int, ...]) -> Array:
    """The mean wish for each element that broadcasting repeats, of those that wish for anything."""
    if share.shape == shape:
        return share
    lead = share.ndim - len(shape)
    axes = (*range(lead), *(lead + i for i, extent in enumerate(shape) if extent == 1))
    count = np.maximum(np.count_nonzero(share, axis=axes, keepdims=True), 1)
    return np.asarray(share.sum(axis=axes, keepdims=True) / count).reshape(shape)


def _through_axes(operator: str, x: Array, axis: int | tuple[int, ...] | None, wish: Array, output: Array) -> Array:
    """To all elements that a sum is made of alike; to all of those that would be more extreme than is wished for."""
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis
    kept = [1 if i in {one % x.ndim for one in axes} else extent for i, extent in enumerate(x.shape)]
    wide = wish.reshape(kept)
    if operator in ("sum", "mean"):
        return np.broadcast_to(wide if operator == "mean" else wide * wide.size / x.size, x.shape)
    beyond = (output.astype(np.float64) + wish).reshape(kept) - x
    worse = beyond > 0 if operator == "min" else beyond < 0
    extreme = (x == output.reshape(kept)) & (wide != 0)
    return np.where(worse & (wide != 0), beyond, np.where(extreme, wide, 0))


def _by_identity(inputs: Sequence[Array], found: Sequence[Array], given: Array, wanted: Array) -> bool:
    """Hand wishes on to elements of the inputs that come out as they are; whether there are others."""
    places = np.flatnonzero(wanted)
    values = np.concatenate([one.ravel().astype(np.float64) for one in inputs] or [np.zeros(0)])
    if not len(values) or not len(places):
        return bool(len(places))
    order = np.argsort(values, kind="stable")
    asked = given[places]
    at = order[np.minimum(np.searchsorted(values, asked, sorter=order), len(values) - 1)]
    same = values[at] == asked
    sums = np.bincount(at[same], wanted[places[same]], len(values))
    counts = np.maximum(np.bincount(at[same], minlength=len(values)), 1)
    # Equal elements cannot be told from each other here: all of them are to change.
    sums, counts = _alike(values, order, sums / counts)
    start = 0
    for one, wish in zip(inputs, found, strict=True):
        wish += sums[start : start + one.size].reshape(one.shape)
        start += one.size
    return not bool(same.all())


def _alike(values: Array, order: Array, wish: Array) -> tuple[Array, Array]:
    firsts = order[np.searchsorted(values, values, sorter=order)]
    return wish[firsts], firsts


def _by_direction(
    row: Specification,
    inputs: Sequence[Array],
    attributes: dict[str, Any],
    index: int,
    given: Array,
    wanted: Array,
    rng: np.random.Generator,
) -> Array:
    """The step in one direction that comes nearest to what is wished for."""
    one = inputs[index].astype(np.float64)
    kind = rng.integers(3)
    direction = np.ones(one.shape) if kind == 0 else one if kind == 1 else rng.uniform(-1, 1, one.shape)
    moved = row.meaning(*inputs[:index], one + 0.1 * direction, *inputs[index + 1 :], **attributes)
    parts = [np.asarray(part).ravel().astype(np.float64) for part in (moved if isinstance(moved, tuple) else (moved,))]
    change = np.nan_to_num((np.concatenate(parts) - given) / 0.1, posinf=0, neginf=0)
    where = wanted != 0
    size = float(np.sum(change[where] ** 2))
    step = float(np.sum(change[where] * wanted[where])) / size if size > 1e-12 else 0.0
    return np.asarray(direction * step)
