"""Forms of models other than operators: tuples, a choice between two computations, and casts.

Each has a row like an operator, and means what NumPy says of it; `tzerlike.graph.bodies` and
`tzerlike.graph.relax` say how it is written. What only one branch of `if` takes is computed in that branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tzerlike.graph.spec.domains import Between, OneOf
from tzerlike.graph.spec.language import ALL_DTYPES, Specification, dtypes, tensor
from tzerlike.graph.spec.shapes import Shapes
from tzerlike.graph.spec.terms import INDEX, INPUT_COUNT, Integers, Symbol, shape, symbol

S, R, KIND, OTHER_KIND, TO = shape("S"), shape("R"), symbol("kind"), symbol("other_kind"), symbol("to")

_ANY = dtypes(*ALL_DTYPES)


def _either(condition: Any, *values: Any) -> tuple[Any, ...]:
    half = len(values) // 2
    return tuple(values[:half] if condition else values[half:])


def _one(condition: Any, one: Any, other: Any) -> Any:
    return one if condition else other


def _same(x: Any, **attributes: Any) -> Any:
    return x


def _tuple(*values: Any, nested: bool) -> tuple[Any, ...]:
    return values


CONDITIONAL = ("if", "if:two")
"""Rows whose first input chooses between the first and the second half of the others."""

ROWS: Sequence[Specification] = (
    Specification(
        name="tuple",
        repeated=tensor(KIND, S),
        arity=Between(1, 4),
        attributes={"nested": TO},
        outputs=(
            tensor(
                Symbol(f'e["*kind"][{INDEX.source}]', frozenset({"*kind", *INDEX.names})),
                Integers(f'e["*S"][{INDEX.source}]', frozenset({"*S", *INDEX.names})),
            ),
        ),
        copies=INPUT_COUNT,
        where={TO: OneOf(False, True), KIND: _ANY, S: Shapes()},
        meaning=_tuple,
    ),
    Specification(
        name="if",
        inputs=(tensor("bool"), tensor(KIND, S), tensor(KIND, S)),
        outputs=(tensor(KIND, S),),
        where={KIND: _ANY, S: Shapes()},
        meaning=_one,
    ),
    Specification(
        name="if:two",
        inputs=(
            tensor("bool"),
            tensor(KIND, S),
            tensor(OTHER_KIND, R),
            tensor(KIND, S),
            tensor(OTHER_KIND, R),
        ),
        outputs=(tensor(KIND, S), tensor(OTHER_KIND, R)),
        where={KIND: _ANY, OTHER_KIND: _ANY, S: Shapes(), R: Shapes()},
        meaning=_either,
    ),
    Specification(
        name="match_cast",
        inputs=(tensor(KIND, S),),
        attributes={"to": TO},
        outputs=(tensor(KIND, S),),
        where={KIND: _ANY, S: Shapes(), TO: OneOf("same", "variables")},
        meaning=_same,
    ),
)
