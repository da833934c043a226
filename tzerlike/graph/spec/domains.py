"""Finite domains: the values that a variable of a row can take once those before it are known.

A domain draws a value, lists all of them, and says whether it has a given one; the three agree (tested exhaustively).
Sizes are drawn by exponential bins (NNSmith, section 3.2): as many from 1 to 2 as from 16 to 31.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import product
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


class Listed(ABC):
    """Domains that are small enough to be listed for a draw."""

    names: frozenset[str]

    def draw(self, known: Bindings, chance: Chance) -> Any:
        found = list(self.values(known))
        return found[chance.below(len(found))]

    @abstractmethod
    def values(self, known: Bindings) -> Iterator[Any]:
        """All values."""

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


class Exactly(Listed):
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


class OneOf(Listed):
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


class Dtypes(Listed):
    """Any of these dtypes; where some of them are preferred, one of those."""

    def __init__(self, *dtypes: str) -> None:
        self.names = frozenset()
        self.dtypes = dtypes

    def values(self, known: Bindings) -> Iterator[str]:
        return iter([dtype for dtype in self.dtypes if dtype in known[DTYPES]] or self.dtypes)

    def has(self, known: Bindings, value: Any) -> bool:
        return value in self.dtypes


class Divisors(Listed):
    """Divisors of a number."""

    def __init__(self, number: Integer) -> None:
        self.names = number.names
        self._number = compiled(number.source)

    def values(self, known: Bindings) -> Iterator[int]:
        number = self._number(known)
        return (divisor for divisor in range(1, number + 1) if number % divisor == 0)

    def has(self, known: Bindings, value: Any) -> bool:
        return isinstance(value, int) and value >= 1 and self._number(known) % value == 0


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


class Rather:
    """A domain of which `value` is drawn wherever it has that."""

    def __init__(self, value: object, domain: Choice) -> None:
        self.names = domain.names
        self._value, self._domain = value, domain

    def draw(self, known: Bindings, chance: Chance) -> Any:
        return self._value if self.has(known, self._value) else self._domain.draw(known, chance)

    def values(self, known: Bindings) -> Iterator[Any]:
        return self._domain.values(known)

    def has(self, known: Bindings, value: Any) -> bool:
        return self._domain.has(known, value)
