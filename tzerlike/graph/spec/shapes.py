"""Domains of shapes: any, those that broadcast with another, those with so many elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, product
from math import prod
from typing import Any

from tzerlike.graph.spec.domains import EXTENT, RANK, ROOM, Chance, Listed
from tzerlike.graph.spec.terms import Bindings, Integer, Integers, compiled, names_of, tuple_source


class Shapes:
    """Shapes of a rank from `low` to `high`, within the limits, often a great one; `beside` are axes around it."""

    def __init__(self, low: int = 0, high: int = 64, beside: Sequence[Integer | Integers | int] = ()) -> None:
        self.names = names_of(beside)
        self.low, self.high = low, high
        self._beside = compiled(tuple_source(beside))
        self._fixed = sum(not isinstance(part, Integers) for part in beside)

    def draw(self, known: Bindings, chance: Chance) -> tuple[int, ...]:
        count = self._highest(known) - self.low + 1
        rank = self.low + max(chance.below(count), chance.below(count))
        extents: list[int] = []
        room = known[ROOM] // max(1, prod(self._beside(known)))
        for _ in range(rank):
            extents.append(chance.between(1, max(1, min(known[EXTENT], room))))
            room //= extents[-1]
        return tuple(extents)

    def values(self, known: Bindings) -> Iterator[tuple[int, ...]]:
        room = known[ROOM] // max(1, prod(self._beside(known)))
        for rank in range(self.low, self._highest(known) + 1):
            for extents in product(range(1, known[EXTENT] + 1), repeat=rank):
                if prod(extents) <= max(1, room):
                    yield extents

    def has(self, known: Bindings, value: Any) -> bool:
        return isinstance(value, tuple) and self.low <= len(value) <= self.high and min(value, default=1) >= 1

    def _highest(self, known: Bindings) -> int:
        highest: int = min(self.high, known[RANK] - self._fixed)
        return max(self.low, highest)


class BroadcastWith:
    """Shapes that NumPy broadcasts with `extents`: each aligned pair is alike, or one of the two is 1.

    `into`: only those that do not change it.
    """

    def __init__(self, extents: Integers, into: bool = False) -> None:
        self.names = extents.names
        self._into = into
        self._extents = compiled(extents.source)

    def draw(self, known: Bindings, chance: Chance) -> tuple[int, ...]:
        extents = self._extents(known)
        if chance.below(2):
            return tuple(extents)
        rank = chance.below(self._highest(known, extents) + 1)
        room = known[ROOM] // max(1, prod(extents))
        found: list[int] = []
        for old in self._aligned(extents, rank):
            if old == 1 and not self._into:
                found.append(chance.between(1, max(1, min(known[EXTENT], room))))
                room //= found[-1]
            else:
                found.append((1, old)[chance.below(2)])
        return tuple(found)

    def values(self, known: Bindings) -> Iterator[tuple[int, ...]]:
        extents = self._extents(known)
        found = {tuple(extents): None}
        for rank in range(self._highest(known, extents) + 1):
            for one in product(*(self._extent(known, old) for old in self._aligned(extents, rank))):
                grown = [new for new, old in zip(one, self._aligned(extents, rank), strict=True) if old == 1]
                if prod(grown) <= max(1, known[ROOM] // max(1, prod(extents))):
                    found[one] = None
        return iter(found)

    def has(self, known: Bindings, value: Any) -> bool:
        extents = self._extents(known)
        if not isinstance(value, tuple) or (self._into and len(value) > len(extents)):
            return False
        pairs = zip(reversed(value), reversed(extents), strict=False)
        return all(new == old or new == 1 or (old == 1 and not self._into) for new, old in pairs)

    def _highest(self, known: Bindings, extents: Sequence[int]) -> int:
        return len(extents) if self._into else max(known[RANK], len(extents))

    def _aligned(self, extents: Sequence[int], rank: int) -> Sequence[int]:
        return (1,) * (rank - len(extents)) + tuple(extents[max(0, len(extents) - rank) :])

    def _extent(self, known: Bindings, old: int) -> Sequence[int]:
        return range(1, known[EXTENT] + 1) if old == 1 and not self._into else (1, old)


class Wider:
    """Shapes that a tensor of shape `extents` broadcasts to: extents of one grow, axes come in front."""

    def __init__(self, extents: Integers) -> None:
        self.names = extents.names
        self._extents = compiled(extents.source)

    def draw(self, known: Bindings, chance: Chance) -> tuple[int, ...]:
        extents = self._extents(known)
        room = known[ROOM] // max(1, prod(extents))
        found: list[int] = []
        for old in (1,) * chance.below(max(0, known[RANK] - len(extents)) + 1) + extents:
            grown = chance.between(1, max(1, min(known[EXTENT], room))) if old == 1 else 1
            room //= grown
            found.append(old * grown)
        return tuple(found)

    def values(self, known: Bindings) -> Iterator[tuple[int, ...]]:
        extents = self._extents(known)
        room = max(1, known[ROOM] // max(1, prod(extents)))
        for more in range(max(0, known[RANK] - len(extents)) + 1):
            old = (1,) * more + extents
            for one in product(*(range(1, known[EXTENT] + 1) if extent == 1 else (extent,) for extent in old)):
                if prod(one) <= room * prod(old):
                    yield one

    def has(self, known: Bindings, value: Any) -> bool:
        extents = self._extents(known)
        return (
            isinstance(value, tuple)
            and len(value) >= len(extents)
            and all(extent >= 1 for extent in value)
            and all(new == old or old == 1 for new, old in zip(reversed(value), reversed(extents), strict=False))
        )


class Factors(Listed):
    """Shapes with as many elements as `size`, of a rank up to the limit."""

    def __init__(self, size: Integer) -> None:
        self.names = size.names
        self._size = compiled(size.source)

    def draw(self, known: Bindings, chance: Chance) -> tuple[int, ...]:
        size = self._size(known)
        rank = chance.below(known[RANK] + 1) if size == 1 else 1 + chance.below(known[RANK])
        found = [1] * rank
        for factor in _prime_factors(size):
            found[chance.below(rank)] *= factor
        return tuple(found)

    def values(self, known: Bindings) -> Iterator[tuple[int, ...]]:
        size = self._size(known)
        divisors = [divisor for divisor in range(1, size + 1) if size % divisor == 0]
        shapes = chain.from_iterable(product(divisors, repeat=rank) for rank in range(known[RANK] + 1))
        return (one for one in shapes if prod(one) == size)

    def has(self, known: Bindings, value: Any) -> bool:
        return isinstance(value, tuple) and all(extent > 0 for extent in value) and prod(value) == self._size(known)


def _prime_factors(number: int) -> list[int]:
    found, factor = [], 2
    while factor * factor <= number:
        while number % factor == 0:
            found.append(factor)
            number //= factor
        factor += 1
    return [*found, number] if number > 1 else found
