"""Domains of axes: one, some, all in some order, and positions of new ones."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations, pairwise, permutations, product
from typing import Any

from tzerlike.graph.spec.domains import Chance, Listed
from tzerlike.graph.spec.terms import Bindings, Integer, compiled


class Axis(Listed):
    """An axis of a tensor of this rank, counted from either end."""

    def __init__(self, rank: Integer) -> None:
        self.names = rank.names
        self._rank = compiled(rank.source)

    def values(self, known: Bindings) -> Iterator[int]:
        rank = self._rank(known)
        return iter(range(-rank, rank))


class Axes(Listed):
    """Axes of a tensor of this rank, at least `least`, ascending, counted from the left or all from the right."""

    def __init__(self, rank: Integer, least: int = 1) -> None:
        self.names = rank.names
        self._rank = compiled(rank.source)
        self._least = least

    def values(self, known: Bindings) -> Iterator[tuple[int, ...]]:
        rank = self._rank(known)
        for count in range(self._least, rank + 1):
            for axes in combinations(range(rank), count):
                yield axes
                if axes:
                    yield tuple(axis - rank for axis in axes)

    def has(self, known: Bindings, value: Any) -> bool:
        if not isinstance(value, tuple) or len(value) < self._least:
            return False
        rank = self._rank(known)
        low = -rank if value and value[0] < 0 else 0
        return all(low <= axis < low + rank for axis in value) and all(one < other for one, other in pairwise(value))


class AnyAxes(Listed):
    """Axes of a tensor of this rank, at least one and at most `most`, in any order, each counted from either end."""

    def __init__(self, rank: Integer, most: int = 5) -> None:
        self.names = rank.names
        self._rank = compiled(rank.source)
        self._most = most

    def draw(self, known: Bindings, chance: Chance) -> tuple[int, ...]:
        rank = self._rank(known)
        left = list(range(rank))
        count = 1 + chance.below(min(rank, self._most))
        axes = (left.pop(chance.below(len(left))) for _ in range(count))
        return tuple(axis - rank if chance.below(2) else axis for axis in axes)

    def values(self, known: Bindings) -> Iterator[tuple[int, ...]]:
        rank = self._rank(known)
        for count in range(1, min(rank, self._most) + 1):
            for axes in permutations(range(rank), count):
                yield from product(*((axis, axis - rank) for axis in axes))

    def has(self, known: Bindings, value: Any) -> bool:
        rank = self._rank(known)
        return (
            isinstance(value, tuple)
            and 1 <= len(value) <= min(rank, self._most)
            and all(-rank <= axis < rank for axis in value)
            and len({axis % rank for axis in value}) == len(value)
        )


class Behind(Listed):
    """All axes from number `first` to the last, and nothing else."""

    def __init__(self, first: int, rank: Integer) -> None:
        self.names = rank.names
        self._first, self._rank = first, compiled(rank.source)

    def values(self, known: Bindings) -> Iterator[tuple[int, ...]]:
        yield tuple(range(self._first, self._rank(known)))


class NewAxes(Listed):
    """Where one or two new axes are in the result, counted as in Axes."""

    def __init__(self, rank: Integer) -> None:
        self.names = rank.names
        self._rank = compiled(rank.source)

    def values(self, known: Bindings) -> Iterator[tuple[int, ...]]:
        for count in (1, 2):
            rank = self._rank(known) + count
            for axes in combinations(range(rank), count):
                yield axes
                yield tuple(axis - rank for axis in axes)


class Cuts(Listed):
    """Up to two places at which an axis of this extent is cut, none of the pieces empty."""

    def __init__(self, extent: Integer) -> None:
        self.names = extent.names
        self._extent = compiled(extent.source)

    def values(self, known: Bindings) -> Iterator[tuple[int, ...]]:
        places = range(1, self._extent(known))
        return chain.from_iterable(combinations(places, count) for count in range(3))

    def has(self, known: Bindings, value: Any) -> bool:
        if not isinstance(value, tuple) or len(value) > 2:
            return False
        return all(one < other for one, other in pairwise((0, *value, self._extent(known))))


class Order(Listed):
    """An order of the axes of a tensor of this rank."""

    def __init__(self, rank: Integer) -> None:
        self.names = rank.names
        self._rank = compiled(rank.source)

    def draw(self, known: Bindings, chance: Chance) -> tuple[int, ...]:
        left = list(range(self._rank(known)))
        return tuple(left.pop(chance.below(len(left))) for _ in range(len(left)))

    def values(self, known: Bindings) -> Iterator[tuple[int, ...]]:
        return permutations(range(self._rank(known)))

    def has(self, known: Bindings, value: Any) -> bool:
        return isinstance(value, tuple) and sorted(value) == list(range(self._rank(known)))
