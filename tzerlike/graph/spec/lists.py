"""Functions that terms may call in addition to Python's own: on shapes and lists of axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any


def without_axes(extents: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """The extents of the other axes."""
    gone = {axis % len(extents) for axis in axes}
    return tuple(extent for axis, extent in enumerate(extents) if axis not in gone)


def replaced(extents: Sequence[int], axis: int, extent: int) -> tuple[int, ...]:
    """The extents with another one at `axis`."""
    found = list(extents)
    found[axis] = extent
    return tuple(found)


def ones_at(extents: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """The extents with 1 at each of the axes: what a reduction that keeps its axes leaves."""
    found = list(extents)
    for axis in axes:
        found[axis] = 1
    return tuple(found)


def inserted(extents: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """The extents with ones put in, so that they are at `axes` of the result."""
    rank = len(extents) + len(axes)
    new = {axis % rank for axis in axes}
    rest = iter(extents)
    return tuple(1 if axis in new else next(rest) for axis in range(rank))


def permuted(extents: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    return tuple(extents[axis] for axis in order)


def broadcast_shape(*shapes: Sequence[int]) -> tuple[int, ...]:
    """NumPy's rule: aligned at the right, an extent of one stretches."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(one)) + tuple(one) for one in shapes]
    return tuple(max(extents) for extents in zip(*padded, strict=True))


def products(*lists: Sequence[int]) -> tuple[int, ...]:
    return tuple(prod(items) for items in zip(*lists, strict=True))


def room_left(extent: int, room: int, *before: int) -> int:
    """The greatest extent of a new axis, behind others, that leaves a tensor within `room` elements."""
    return max(1, min(extent, room // max(1, prod(before))))


def repeated_tuple(value: int, count: int) -> tuple[int, ...]:
    return (value,) * count


def reversed_list(numbers: Sequence[int]) -> tuple[int, ...]:
    return tuple(numbers[::-1])


def extents_at(extents: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(extents[axis] for axis in axes)


def without_ones(extents: Sequence[int]) -> tuple[int, ...]:
    return tuple(extent for extent in extents if extent != 1)


def stacked(extents: Sequence[int], axis: int, count: int) -> tuple[int, ...]:
    """The extents with a new axis of `count` at `axis` of the result."""
    place = axis % (len(extents) + 1)
    return (*extents[:place], count, *extents[place:])


def padded(extents: Sequence[int], widths: Sequence[int]) -> tuple[int, ...]:
    """The extents with widths added: before and after the first axis, before and after the second, ..."""
    return tuple(extent + widths[2 * i] + widths[2 * i + 1] for i, extent in enumerate(extents))


def unpadded(extents: Sequence[int], widths: Sequence[int]) -> tuple[int, ...]:
    return padded(extents, [-width for width in widths])


def gap(cuts: Sequence[int], index: int, end: int) -> int:
    """The extent of piece number `index` of an axis that is cut."""
    ends = (0, *cuts, end)
    return ends[index + 1] - ends[index]


def unpermuted(extents: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """The extents that `order` permutes into these."""
    return tuple(extents[order.index(axis)] for axis in range(len(extents)))


def quotients(extents: Sequence[int], divisors: Sequence[int]) -> tuple[int, ...]:
    return tuple(extent // divisor for extent, divisor in zip(extents, divisors, strict=True))


def with_axes(extents: Sequence[int], axes: Sequence[int], sizes: Sequence[int]) -> tuple[int, ...]:
    """The extents with new axes of these sizes put in, so that they are at `axes` of the result."""
    rank = len(extents) + len(axes)
    new = dict(zip((axis % rank for axis in axes), sizes, strict=True))
    rest = iter(extents)
    return tuple(new[axis] if axis in new else next(rest) for axis in range(rank))


FUNCTIONS: Mapping[str, Any] = {
    function.__name__: function
    for function in (
        prod, without_axes, replaced, ones_at, inserted, permuted, broadcast_shape, products, room_left, repeated_tuple,
        reversed_list, extents_at, without_ones, stacked, gap, padded, unpadded, unpermuted, quotients, with_axes,
    )
}  # fmt: skip
"""What terms may call, beyond Python's own."""
