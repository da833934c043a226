"""Finite domains: the values that a variable of a row can take once those before it are known.

A domain draws a value, lists all of them, and says whether it has a given one; the three agree (tested exhaustively).
Sizes are drawn by exponential bins (NNSmith, section 3.2): as many from 1 to 2 as from 16 to 31.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations, permutations, product
from math import prod
from typing import Any, Protocol

from tzerlike.graph.spec.terms import Bindings, Integer, Integers, Term, Truth, compiled, names_of, tuple_source

RANK, EXTENT, ROOM, DTYPES = "rank limit", "extent limit", "element limit", "dtypes"
"""Bindings that bound what is made anew: ranks, extents, elements of a tensor; and the dtypes to prefer."""


class Chance(Protocol):
    """Where draws come from."""

    def below(self, count: int) -> int:
        """A number from 0 to count - 1, each alike."""

    def between(self, low: int, high: int) -> int:
        """A size from low to high, by exponential bins above `low`."""


class Choice(Protocol):
    """A domain."""

    @property
    def names(self) -> frozenset[str]:
        """The variables that it depends on."""

    def draw(self, known: Bindings, chance: Chance) -> Any:
        """One of `values`, each with some probability."""

    def values(self, known: Bindings) -> Iterator[Any]:
        """All values within the limits."""

    def has(self, known: Bindings, value: Any) -> bool:
        """Whether `value` is in the domain; limits do not count here."""


class _Listed:
    """Domains that are small enough to be spliced for a draw."""

    names: frozenset[str]

    def draw(self, known: Bindings, chance: Chance) -> Any:
        found = list(self.values(known))
        return found[chance.below(len(found))]

    def values(self, known: Bindings) -> Iterator[Any]:
        raise NotImplementedError

    def has(self, known: Bindings, value: Any) -> bool:
        return value in self.values(known)


class Between:
    """Numbers from `low` to `high`."""

    def __init__(self, low: Integer | int, high: Integer | int) -> None:
        self.names = names_of((low, high))
        self._ends = compiled(tuple_source((low, high)))

    def draw(self, known: Bindings, chance: Chance) -> int:
        low, high = self._ends(known)
        return chance.between(low, high)

    def values(self, known: Bindings) -> Iterator[int]:
        low, high = self._ends(known)
        return iter(range(low, high + 1))

    def has(self, known: Bindings, value: Any) -> bool:
        low, high = self._ends(known)
        return isinstance(value, int) and low <= value <= high


class Exactly(_Listed):
    """This number or list, and nothing else."""

    def __init__(self, value: Integer | Integers) -> None:
        self.names = value.names
        self._value = compiled(value.source)

    def values(self, known: Bindings) -> Iterator[Any]:
        yield self._value(known)


class NewExtent:
    """Extents of an axis that is new: 1 and more, as many as leave room in a tensor that has the axes `before`."""

    def __init__(self, *before: Integer | Integers | int) -> None:
        self.names = names_of(before)
        self._high = compiled(f'room_left(e["{EXTENT}"], e["{ROOM}"], *{tuple_source(before)})')

    def draw(self, known: Bindings, chance: Chance) -> int:
        return chance.between(1, self._high(known))

    def values(self, known: Bindings) -> Iterator[int]:
        return iter(range(1, self._high(known) + 1))

    def has(self, known: Bindings, value: Any) -> bool:
        return isinstance(value, int) and value >= 1


class Multiples:
    """Multiples of `unit`: that number itself and more."""

    def __init__(self, unit: Integer) -> None:
        self.names = unit.names
        self._unit = compiled(unit.source)

    def draw(self, known: Bindings, chance: Chance) -> int:
        unit: int = self._unit(known)
        return unit * chance.between(1, max(1, known[EXTENT] // unit))

    def values(self, known: Bindings) -> Iterator[int]:
        unit = self._unit(known)
        return (unit * times for times in range(1, max(1, known[EXTENT] // unit) + 1))

    def has(self, known: Bindings, value: Any) -> bool:
        return isinstance(value, int) and value >= 1 and value % self._unit(known) == 0


class OneOf(_Listed):
    """Any of these: words, flags, real numbers, None."""

    def __init__(self, *values: object) -> None:
        self.names = frozenset()
        self._values = values

    def draw(self, known: Bindings, chance: Chance) -> Any:
        return self._values[chance.below(len(self._values))]

    def values(self, known: Bindings) -> Iterator[Any]:
        return iter(self._values)

    def has(self, known: Bindings, value: Any) -> bool:
        return any(type(value) is type(one) and value == one for one in self._values)


class Dtypes(_Listed):
    """Any of these dtypes; where some of them are preferred, one of those."""

    def __init__(self, *dtypes: str) -> None:
        self.names = frozenset()
        self.dtypes = dtypes

    def values(self, known: Bindings) -> Iterator[str]:
        return iter([dtype for dtype in self.dtypes if dtype in known[DTYPES]] or self.dtypes)

    def has(self, known: Bindings, value: Any) -> bool:
        return value in self.dtypes


class Divisors(_Listed):
    """Divisors of a number."""

    def __init__(self, number: Integer) -> None:
        self.names = number.names
        self._number = compiled(number.source)

    def values(self, known: Bindings) -> Iterator[int]:
        number = self._number(known)
        return (divisor for divisor in range(1, number + 1) if number % divisor == 0)

    def has(self, known: Bindings, value: Any) -> bool:
        return isinstance(value, int) and value >= 1 and self._number(known) % value == 0


class Axis(_Listed):
    """An axis of a tensor of this rank, counted from either end."""

    def __init__(self, rank: Integer) -> None:
        self.names = rank.names
        self._rank = compiled(rank.source)

    def values(self, known: Bindings) -> Iterator[int]:
        rank = self._rank(known)
        return iter(range(-rank, rank))


class Axes(_Listed):
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


class AnyAxes(_Listed):
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


class Behind(_Listed):
    """All axes from number `first` to the last, and nothing else."""

    def __init__(self, first: int, rank: Integer) -> None:
        self.names = rank.names
        self._first, self._rank = first, compiled(rank.source)

    def values(self, known: Bindings) -> Iterator[tuple[int, ...]]:
        yield tuple(range(self._first, self._rank(known)))


class NewAxes(_Listed):
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


class Cuts(_Listed):
    """Up to two places at which an axis of this extent is cut, none of the pieces empty."""

    def __init__(self, extent: Integer) -> None:
        self.names = extent.names
        self._extent = compiled(extent.source)

    def values(self, known: Bindings) -> Iterator[tuple[int, ...]]:
        places = range(1, self._extent(known))
        return chain.from_iterable(combinations(places, count) for count in range(3))


class Order(_Listed):
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


class Factors(_Listed):
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


class Each:
    """Lists with an element for each of 0 to `count` - 1, which `index` stands for in the domain of the element."""

    def __init__(self, count: Integer | int, index: Integer, domain: Choice) -> None:
        self.names = names_of((count,)) | (domain.names - {index.name})
        self._count = compiled(tuple_source((count,)))
        self._index, self._domain = index.name, domain

    def draw(self, known: Bindings, chance: Chance) -> tuple[Any, ...]:
        return tuple(self._domain.draw(known | {self._index: i}, chance) for i in range(*self._count(known)))

    def values(self, known: Bindings) -> Iterator[tuple[Any, ...]]:
        return product(*(self._domain.values(known | {self._index: i}) for i in range(*self._count(known))))

    def has(self, known: Bindings, value: Any) -> bool:
        return (
            isinstance(value, tuple)
            and len(value) == self._count(known)[0]
            and all(self._domain.has(known | {self._index: i}, one) for i, one in enumerate(value))
        )


class Such:
    """Those of a small domain that a condition holds for, in which `it` stands for the value."""

    def __init__(self, domain: Choice, it: Term, condition: Truth) -> None:
        self.names = domain.names | (condition.names - {it.name})
        self._domain, self._it, self._holds = domain, it.name, compiled(condition.source)

    def draw(self, known: Bindings, chance: Chance) -> Any:
        found = list(self.values(known))
        return found[chance.below(len(found))]

    def values(self, known: Bindings) -> Iterator[Any]:
        return (one for one in self._domain.values(known) if self._holds(known | {self._it: one}))

    def has(self, known: Bindings, value: Any) -> bool:
        return self._domain.has(known, value) and bool(self._holds(known | {self._it: value}))


def _prime_factors(number: int) -> list[int]:
    found, factor = [], 2
    while factor * factor <= number:
        while number % factor == 0:
            found.append(factor)
            number //= factor
        factor += 1
    return [*found, number] if number > 1 else found
