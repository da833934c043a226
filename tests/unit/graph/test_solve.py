"""Draws of calls are those that the rows allow: all of them, no others, and no draw ever gets stuck."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

import pytest

from tests.unit.graph.paths import all_draws
from tzerlike.graph.model import TensorType
from tzerlike.graph.place import Place, SizeLimits, Wanted
from tzerlike.graph.solve import Drawn, draw_call, output_types, plan_of, recognise
from tzerlike.graph.spec import OPERATOR_ROWS, ROWS
from tzerlike.graph.spec.domains import Dtypes, OneOf
from tzerlike.graph.spec.language import Specification
from tzerlike.graph.spec.terms import Integer, Integers, Term

SMALL = SizeLimits(rank=2, extent=2, elements=1 << 20, dtypes=("float32", "int64"))
NUMBERS = range(-2, 3)
SHORT = [item for length in range(3) for item in product(NUMBERS, repeat=length)]
AFFORDABLE = 1_000_000

Call = tuple[tuple[TensorType, ...], tuple[tuple[str, Any], ...]]


def _call(inputs: tuple[TensorType, ...], attributes: dict[str, Any]) -> Call:
    return inputs, tuple(attributes.items())


def _types(place: Place) -> Iterator[TensorType]:
    """Every tensor of a small box that may fit."""
    fixed = len(place.port.shape)
    dtypes = [one for one in place.dtypes if one in SMALL.dtypes] or place.dtypes or SMALL.dtypes
    for rank in range(max(SMALL.rank, fixed) + 1):
        if place.takes_rank(rank):
            for extents in product((1, 2), repeat=rank):
                yield from (TensorType(extents, dtype) for dtype in dtypes)


def _values(row: Specification, pattern: object) -> list[Any]:
    """Values to try for an attribute, in and out of its domain."""
    if isinstance(pattern, tuple):
        return list(product(*(_values(row, part) for part in pattern)))
    if not isinstance(pattern, Term):
        return [pattern]
    if isinstance(pattern, Integer):
        return list(NUMBERS)
    if isinstance(pattern, Integers):
        return SHORT
    domain = next(one for term, one in row.where.items() if term.name == pattern.name)
    assert isinstance(domain, OneOf | Dtypes)
    return [*domain.values(SMALL.bindings()), "another"]


def _box(row: Specification) -> tuple[list[list[list[TensorType]]], list[list[Any]]]:
    plan = plan_of(row)
    arities = range(1, 3) if row.arity else [len(row.inputs)]
    inputs = [[list(_types(place)) for place in (*plan.first, *plan.places(arity))] for arity in arities]
    return inputs, [_values(row, pattern) for pattern in row.attributes.values()]


def _cost(row: Specification) -> int:
    inputs, attributes = _box(row)
    return prod(map(len, attributes)) * sum(prod(map(len, places)) for places in inputs)


def _allowed(row: Specification) -> set[Call]:
    """The calls of the box that the row recognises."""
    inputs, attributes = _box(row)
    found = set()
    for places in inputs:
        for types in product(*places):
            for values in product(*attributes):
                given = dict(zip(row.attributes, values, strict=True))
                if recognise(row, types, given) is not None:
                    found.add(_call(types, given))
    return found


def _drawn_calls(row: Specification) -> set[Call]:
    def types(drawn: Drawn) -> tuple[TensorType, ...]:
        return tuple(one.type for one in drawn.inputs if isinstance(one, Wanted))

    draws = all_draws(lambda chance: draw_call(row, chance, SMALL))
    return {_call(types(drawn), drawn.attributes) for drawn in draws}


def _in_box(row: Specification, calls: set[Call]) -> set[Call]:
    inputs, attributes = _box(row)
    tried = [set(map(repr, values)) for values in attributes]
    return {
        (types, given)
        for types, given in calls
        if any(
            len(types) == len(places) and all(one in place for one, place in zip(types, places, strict=True))
            for places in inputs
        )
        and all(repr(value) in values for (_, value), values in zip(given, tried, strict=True))
    }


CHEAP = (
    "add",
    "sum",
    "take",
    "concat",
    "matmul",
    "permute_dims",
    "squeeze",
    "split:at",
    "reshape",
    "nn.adaptive_avg_pool1d",
)


def _check(name: str) -> None:
    row = ROWS[name]
    drawn = _drawn_calls(row)
    assert all(recognise(row, types, dict(given)) is not None for types, given in drawn)
    assert _in_box(row, drawn) == _allowed(row)


@pytest.mark.parametrize("name", CHEAP)
def test_what_is_drawn_is_what_brute_force_finds(name: str) -> None:
    _check(name)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(set(OPERATOR_ROWS) - set(CHEAP)))
def test_what_is_drawn_is_what_brute_force_finds_for_every_row(name: str) -> None:
    if _cost(ROWS[name]) > AFFORDABLE:
        pytest.skip("the box is too large")
    _check(name)


@pytest.mark.parametrize("name", ["nn.conv1d", "nn.conv2d", "nn.max_pool2d"])
def test_a_call_is_recognised_with_the_outputs_that_it_was_drawn_with(name: str) -> None:
    from random import Random

    from tzerlike.graph.dice import Dice

    dice = Dice(Random(5))
    for _ in range(200):
        drawn = draw_call(ROWS[name], dice, SizeLimits())
        types = [one.type for one in drawn.inputs if isinstance(one, Wanted)]
        known = recognise(ROWS[name], types, drawn.attributes)
        assert known is not None
        assert output_types(ROWS[name], known) == drawn.outputs
        assert min(drawn.outputs[0].shape) >= 1


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_a_variable_depends_on_earlier_ones_alone(row: Specification) -> None:
    plan = plan_of(row)
    known = {"arity"}
    for place in plan.first:
        known |= _ordered(place.new, known)
    known |= _ordered(plan.variables, known)
    for place in (*plan.rest, *([plan.repeated] if plan.repeated else [])):
        known |= _ordered(place.new, known)
    declared = {term.name for term in row.where}
    assert declared <= known, "a domain of nothing"


def _ordered(new: Any, known: set[str]) -> set[str]:
    bound = set(known)
    for name, domain in new:
        assert domain.names <= bound, name
        bound.add(name)
    return bound
