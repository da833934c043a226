"""Calls that break a row in one place, and are refused by all rows of the operator (HirFuzz's disruptive mode)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from tzerlike.graph.model import Model, Origin, TensorType, Vertex
from tzerlike.graph.solve import recognise
from tzerlike.graph.spec import OPERATOR_ROWS
from tzerlike.graph.spec.domains import OneOf
from tzerlike.graph.spec.language import ALL_DTYPES, Specification
from tzerlike.graph.spec.terms import Term

NUMBERS_TO_TRY = (-99, -1, 0, 1, 2, 99)
CHANGES_TO_TRY = 8


@dataclass(frozen=True, slots=True)
class Disrupted:
    """A call that no row allows; `what` says what was changed: `input 1: extent`, `attribute axis`."""

    row: str
    types: tuple[TensorType, ...]
    attributes: dict[str, Any]
    what: str


def disrupted(
    rng: Random,
    row: Specification,
    forms: Sequence[Specification],
    types: Sequence[TensorType],
    attributes: dict[str, Any],
) -> Disrupted | None:
    """Change one thing about a call that `row` allows; None where a few changes leave what one of `forms` allows."""
    for _ in range(CHANGES_TO_TRY):
        names = [name for name, value in attributes.items() if not _takes_any(row, name, value)]
        number = rng.randrange(len(types) + len(names)) if types or names else 0
        found = list(types)
        given = dict(attributes)
        if number < len(types):
            found[number], what = _other_type(rng, types[number])
            what = f"input {number}: {what}"
        elif names:
            name = names[number - len(types)]
            given[name] = _other_value(rng, attributes[name])
            what = f"attribute {name}"
        else:
            return None
        if not any(recognise(form, found, given) is not None for form in forms):
            return Disrupted(row.name, tuple(found), given, what)
    return None


def disrupted_model(rng: Random, model: Model, rows: Mapping[str, Specification]) -> Model | None:
    """Return a model of one call of `model` that breaks its row in one place; None where the draw finds none."""
    vertices = [vertex for vertex in model.vertices if vertex.row in OPERATOR_ROWS]
    if not vertices:
        return None
    kinds, vertex = model.types(), vertices[rng.randrange(len(vertices))]
    row = rows[vertex.row]
    found = disrupted(rng, row, _forms(row, rows), [kinds[one] for one in vertex.inputs], vertex.attributes)
    if found is None:
        return None
    count = len(found.types)
    call = Vertex(row.name, tuple(range(count)), found.attributes, vertex.outputs, broken=found.what)
    outputs = tuple(range(count, count + len(vertex.outputs)))
    return Model(tuple(Origin(kind, seed=n) for n, kind in enumerate(found.types)), (call,), outputs)


def wrong_disruption(model: Model, rows: Mapping[str, Specification]) -> str:
    """Say in a line why a model is none of `disrupted_model`'s; "" where it is."""
    if len(model.vertices) != 1 or model.variables or any(one.kind != "input" for one in model.sources):
        return "more than one call that is to be refused"
    (vertex,) = model.vertices
    row, count = rows.get(vertex.row), len(model.sources)
    if row is None or row.name not in OPERATOR_ROWS:
        return f"no operator {vertex.row}"
    if not vertex.attributes.keys() <= row.attributes.keys():
        return f"%{count}: attributes that {vertex.row} has not got"
    if vertex.inputs != tuple(range(count)) or any(one >= len(model.types()) for one in model.outputs):
        return "a call of other tensors"
    kinds = [one.type for one in model.sources]
    if any(recognise(form, kinds, vertex.attributes) is not None for form in _forms(row, rows)):
        return f"%{count}: {vertex.row} breaks no row"
    return ""


def _forms(row: Specification, rows: Mapping[str, Specification]) -> list[Specification]:
    return [form for form in rows.values() if form.operator == row.operator]


def _takes_any(row: Specification, name: str, value: Any) -> bool:
    """Whether an attribute is a number of which a row has examples: any other may be meant too."""
    pattern, domains = row.attributes[name], {term.name: domain for term, domain in row.where.items()}
    constrained = isinstance(pattern, Term) and not isinstance(domains.get(pattern.name), OneOf)
    return isinstance(value, int | float) and not constrained


def _other_type(rng: Random, kind: TensorType) -> tuple[TensorType, str]:
    extents = list(kind.shape)
    change = rng.randrange(3)
    if change == 0 and extents:
        axis = rng.randrange(len(extents))
        extents[axis] = max(1, extents[axis] + (-1, 1, 2)[rng.randrange(3)])
        return TensorType(tuple(extents), kind.dtype), "extent"
    if change == 1:
        return TensorType(kind.shape, ALL_DTYPES[rng.randrange(len(ALL_DTYPES))]), "dtype"
    if extents and rng.randrange(2):
        extents.pop(rng.randrange(len(extents)))
    else:
        extents.insert(rng.randrange(len(extents) + 1), 2)
    return TensorType(tuple(extents), kind.dtype), "rank"


def _other_value(rng: Random, value: Any) -> Any:
    number = NUMBERS_TO_TRY[rng.randrange(len(NUMBERS_TO_TRY))]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, str):
        return "nonsense"
    if not isinstance(value, tuple):
        return type(value)(number)
    items = list(value)
    change = rng.randrange(3)
    if change == 0 or not items:
        items.insert(rng.randrange(len(items) + 1), number)
    elif change == 1:
        items.pop(rng.randrange(len(items)))
    else:
        items[rng.randrange(len(items))] = number
    return tuple(items)
