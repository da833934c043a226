"""Terms over ranks, extents and attributes: `(h + p0 + p1 - d * (k - 1) - 1) // s + 1`, `S[axis]`, `S.rank`.

A term is a piece of Python over the bindings of one call of an operator. It is compiled once, when it is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from tzerlike.graph.spec.lists import FUNCTIONS

Bindings = dict[str, Any]
"""What the variables of a row stand for in one call: numbers, tuples of numbers, dtypes and other symbols."""


class Term:
    """A piece of Python with the variables in it; `name` is that of a term that is a variable itself."""

    __slots__ = ("name", "names", "source")

    def __init__(self, source: str, names: frozenset[str], name: str = "") -> None:
        self.source = source
        self.names = names
        self.name = name

    def __repr__(self) -> str:
        return self.source.replace('e["', "").replace('"]', "")


class Truth(Term):
    """A condition."""

    __slots__ = ()

    def __and__(self, other: Truth) -> Truth:
        return Truth(f"({self.source} and {other.source})", self.names | other.names)

    def __or__(self, other: Truth) -> Truth:
        return Truth(f"({self.source} or {other.source})", self.names | other.names)


class Symbol(Term):
    """A dtype, a flag, a word or a real number: what is chosen from a list, and not calculated with."""

    __slots__ = ()

    def among(self, values: Sequence[object]) -> Truth:
        return Truth(f"({self.source} in {tuple(values)!r})", self.names)

    def is_(self, value: object) -> Truth:
        return Truth(f"({self.source} == {value!r})", self.names)


class Integer(Term):
    """A whole number: an extent, a rank, an axis, a stride."""

    __slots__ = ()

    def __add__(self, other: Integer | int) -> Integer:
        return _combined(self, "+", other)

    def __radd__(self, other: int) -> Integer:
        return _combined(other, "+", self)

    def __sub__(self, other: Integer | int) -> Integer:
        return _combined(self, "-", other)

    def __rsub__(self, other: int) -> Integer:
        return _combined(other, "-", self)

    def __mul__(self, other: Integer | int) -> Integer:
        return _combined(self, "*", other)

    def __rmul__(self, other: int) -> Integer:
        return _combined(other, "*", self)

    def __floordiv__(self, other: Integer | int) -> Integer:
        return _combined(self, "//", other)

    def __mod__(self, other: Integer | int) -> Integer:
        return _combined(self, "%", other)

    def __neg__(self) -> Integer:
        return Integer(f"(-{self.source})", self.names)

    def __ge__(self, other: Integer | int) -> Truth:
        return Truth(f"({self.source} >= {_source(other)})", self.names | _names(other))

    def equals(self, other: Integer | int) -> Truth:
        return Truth(f"({self.source} == {_source(other)})", self.names | _names(other))

    def differs(self, other: Integer | int) -> Truth:
        return Truth(f"({self.source} != {_source(other)})", self.names | _names(other))


class Integers(Term):
    """A tuple of whole numbers: a shape, a list of axes, one attribute for each axis."""

    __slots__ = ()

    @property
    def rank(self) -> Integer:
        return Integer(f"len({self.source})", self.names)

    @property
    def size(self) -> Integer:
        """The product: of a shape, the number of elements."""
        return Integer(f"prod({self.source})", self.names)

    @property
    def total(self) -> Integer:
        return Integer(f"sum({self.source})", self.names)

    def __getitem__(self, index: Integer | int) -> Integer:
        return Integer(f"{self.source}[{_source(index)}]", self.names | _names(index))

    def sliced(self, low: Integer | int | None, high: Integer | int | None) -> Integers:
        ends = ["" if end is None else _source(end) for end in (low, high)]
        return Integers(f"{self.source}[{ends[0]}:{ends[1]}]", self.names | _names(low) | _names(high))


def made(function: str, *operands: Term | int) -> Integers:
    """The list that a function of `FUNCTIONS` makes of the operands."""
    return Integers(f"{function}({', '.join(map(_source, operands))})", frozenset().union(*map(_names, operands)))


def computed(function: str, *operands: Term | int) -> Integer:
    """The number that a function of `FUNCTIONS` makes of the operands."""
    return Integer(f"{function}({', '.join(map(_source, operands))})", frozenset().union(*map(_names, operands)))


def changed(
    extents: Integers, axis: Integer, extent: Integer | Integers | int
) -> tuple[Integers, Integer | Integers | int, Integers]:
    """The parts of a shape with another extent, or several, at `axis`; they may be variables that are new."""
    left = axis % extents.rank
    return extents.sliced(0, left), extent, extents.sliced(left + 1, None)


def either(condition: Symbol | Truth, one: Integers, other: Integers) -> Integers:
    """`one` where the condition holds, else `other`."""
    source = f"({one.source} if {condition.source} else {other.source})"
    return Integers(source, condition.names | one.names | other.names)


def least(*operands: Integer | int) -> Integer:
    return computed("min", *operands)


def greatest(*operands: Integer | int) -> Integer:
    return computed("max", *operands)


def spliced(*parts: Term | int) -> Integers:
    """The list of these numbers, with lists spliced in."""
    return Integers(tuple_source(parts), frozenset().union(*map(_names, parts)))


def integers(names: str) -> list[Integer]:
    """Variables for numbers, by names with spaces between them."""
    return [Integer(f'e["{name}"]', frozenset({name}), name) for name in names.split()]


def shape(name: str) -> Integers:
    """A variable for a list of numbers."""
    return Integers(f'e["{name}"]', frozenset({name}), name)


def symbol(name: str) -> Symbol:
    return Symbol(f'e["{name}"]', frozenset({name}), name)


INPUT_COUNT = Integer('e["arity"]', frozenset({"arity"}))
"""How many inputs the call has."""

INDEX = Integer('e["index"]', frozenset({"index"}))
"""The place of an output among those that a row has several of."""


OUT = shape("out")
"""The shape of the first output, where a call is drawn from it."""


def each(variable: Integer | Integers) -> Integers:
    """What a variable of the repeated input stands for in each repetition, as a list."""
    return Integers(f'e["*{variable.name}"]', frozenset({f"*{variable.name}"}))


@cache
def compiled(source: str) -> Callable[[Bindings], Any]:
    """The function of the bindings that a term's source is."""
    function: Callable[[Bindings], Any] = eval(f"lambda e: {source}", dict(FUNCTIONS))  # rows are code of ours
    return function


def tuple_source(parts: Sequence[object]) -> str:
    """The source of a tuple of parts, with lists spliced in."""
    return (
        "("
        + "".join(f"*{_source(part)}, " if isinstance(part, Integers) else f"{_source(part)}, " for part in parts)
        + ")"
    )


def names_of(parts: Sequence[object]) -> frozenset[str]:
    return frozenset().union(*map(_names, parts))


def _combined(left: Integer | int, operator: str, right: Integer | int) -> Integer:
    return Integer(f"({_source(left)} {operator} {_source(right)})", _names(left) | _names(right))


def _source(part: object) -> str:
    return part.source if isinstance(part, Term) else repr(part)


def _names(part: object) -> frozenset[str]:
    return part.names if isinstance(part, Term) else frozenset()
