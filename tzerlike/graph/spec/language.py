"""The language in which a row describes an operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tzerlike.graph.spec.domains import Choice, Dtypes
from tzerlike.graph.spec.terms import Integer, Integers, Symbol, Term

FLOAT_DTYPES = ("float32", "float16", "float64", "bfloat16")
SIGNED_DTYPES = ("int32", "int64", "int8", "int16")
UNSIGNED_DTYPES = ("uint8", "uint16", "uint32", "uint64")
WHOLE_DTYPES = (*SIGNED_DTYPES, *UNSIGNED_DTYPES)
NUMBER_DTYPES = (*FLOAT_DTYPES, *WHOLE_DTYPES)
ALL_DTYPES = (*NUMBER_DTYPES, "bool")


@dataclass(frozen=True, slots=True)
class Values:
    """Where the elements of an input have to lie for a finite result.

    For the dtypes in `must` the meaning is not even defined outside: indices, divisors of whole numbers, shifts.
    """

    low: float | Integer
    high: float | Integer
    must: tuple[str, ...] = ()


USUAL = Values(-4, 4)


@dataclass(frozen=True, slots=True)
class Port:
    """An input or an output: a dtype, the parts of a shape (numbers, and lists spliced in), and its values."""

    dtype: Symbol | str
    shape: tuple[Integer | Integers | int, ...]
    values: Values = USUAL


def tensor(dtype: Symbol | str, *shape: Integer | Integers | int, values: Values = USUAL) -> Port:
    return Port(dtype, shape, values)


Computation = Callable[..., Any]
"""What an operator computes: arrays and keyword attributes to an array, or a tuple of arrays."""


@dataclass(frozen=True, slots=True)
class Rounding:
    """How far a result may be from the exact one: `ulps` of the result, and of the sum of `terms` absolute values.

    `absolute`: one ulp is that of 1 at least, as of what is computed as a difference. `deviation` says how far off it
    may be beside: it takes the unit of roundings, the inputs and the attributes (tzerlike.graph.meaning.deviation).
    """

    ulps: float = 0.0
    terms: Integer | int = 0
    absolute: bool = False
    deviation: Computation | None = None


EXACT = Rounding()
CLOSE = Rounding(ulps=4, absolute=True)


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Specification:
    """One operator. `name` is TVM's without `relax.`, and behind a colon the form, where there are several rows.

    Variables are bound in Isra's order: arity, first input, attributes, the other inputs. `where` has their domains;
    an extent has 1 and more without, a list any shape. A variable stands bare in an input or an attribute, so that it
    can be read off a call. `repeated` is the input that follows the others until there are `arity` inputs; the output
    is there `copies` times, with INDEX from 0.

    `backward` has domains in terms of OUT, the shape of the first output, for rows whose output rule calculates.
    """

    name: str
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...]
    attributes: Mapping[str, object] = field(default_factory=dict)
    where: Mapping[Term, Choice] = field(default_factory=dict)
    backward: Mapping[Term, Choice] = field(default_factory=dict)
    repeated: Port | None = None
    arity: Choice | None = None
    copies: Integer | None = None
    meaning: Computation
    rounding: Rounding = EXACT

    @property
    def operator(self) -> str:
        """TVM's name of the operator, without `relax.`."""
        return self.name.partition(":")[0]


def dtypes(*names: str) -> Dtypes:
    return Dtypes(*names)
