"""Values for which a model is numerically valid: no operator gives NaN or an infinity (NNSmith, section 3.3).

First values are drawn as ever. Then, again and again, the first call that gives an exceptional value says how its
inputs should change: into what the row says of their values; wishes go back to the tensors that come in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from tzerlike.core.dtypes import parse
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import Model, Origin, TensorType, Vertex
from tzerlike.graph.solve import plan_of, recognise
from tzerlike.graph.spec.language import Specification
from tzerlike.graph.values import drawn_values, numpy_dtype
from tzerlike.graph.wish import BY_ELEMENT, wishes_for_inputs

ROUNDS = 20
"""How many times values are computed before a model is given up."""

_FRESH = {4: (1.0, True, 0.0), 7: (0.25, True, 1.2), 11: (0.25, True, 0.0), 15: (0.1, False, 0.0)}
"""After so many rounds the first values are taken up again, so much smaller, positive where it says so, and so much
further up."""

_LARGEST = 1e6

_INNER = (0.2, 0.05)
"""How far inside of its limits a value is wished, in turn, as a share of what lies between them."""


@dataclass(frozen=True)
class Searched:
    """The values of all sources, whether the model is valid on them, and how often it was computed."""

    values: list[Array]
    valid: bool
    rounds: int


def valid_values(model: Model, rows: Mapping[str, Specification], seed: int, rounds: int = ROUNDS) -> Searched:
    """Search for values of all sources; the same for the same model and seed."""
    fixed = _fixed(model, rows)
    rng = np.random.default_rng(seed)
    values = first = [drawn_values(origin, seed) for origin in model.sources]
    with np.errstate(all="ignore"):
        for number in range(1, rounds + 1):
            tensors, place = _computed(model, rows, values)
            if place is None:
                return Searched(values, True, number)
            if number in _FRESH:
                values = _scaled(first, fixed, *_FRESH[number])
            else:
                values = _changed(model, rows, values, tensors, place, fixed, rng, _INNER[number % len(_INNER)])
    return Searched(first, False, rounds)


def made_valid(model: Model, rows: Mapping[str, Specification], seed: int) -> tuple[Model, list[Array]]:
    """A model that is valid, with its values: calls that no values were found for take new tensors that come in.

    It may still be exceptional where such a call is on those too.
    """
    found = valid_values(model, rows, seed)
    tried: set[int] = set()
    while not found.valid:
        place = exceptional_place(model, rows, found.values)
        if place is None or place in tried:
            break
        tried.add(place)
        model = _fed_anew(model, rows, place)
        found = valid_values(model, rows, seed)
    return model, found.values


def prepared(model: Model, rows: Mapping[str, Specification], seed: int) -> Model:
    """What `made_valid` makes of a model; it says that values are searched for only where it takes that."""
    found, values = made_valid(model, rows, seed)
    drawn = all(
        np.array_equal(value, drawn_values(one, seed)) for value, one in zip(values, found.sources, strict=True)
    )
    return msgspec.structs.replace(found, searched=not drawn)


def _fed_anew(model: Model, rows: Mapping[str, Specification], place: int) -> Model:
    """The same model, with a call that takes nothing but new sources."""
    vertex, count = model.vertices[place], len(model.sources)
    others = [one for at, one in enumerate(model.vertices) if at != place]
    row, kinds = rows[vertex.row], model.types()
    known = recognise(row, [kinds[one] for one in vertex.inputs], vertex.attributes)
    assert known is not None
    plan = plan_of(row)
    places = (*plan.first, *plan.places(len(vertex.inputs)))
    wanted = [one.wanted(known, kinds[number]) for one, number in zip(places, vertex.inputs, strict=False)]
    origins = [
        Origin(one.type, "input", float(one.low), float(one.high), count + index) for index, one in enumerate(wanted)
    ]
    more = len(origins)
    moved = [
        msgspec.structs.replace(one, inputs=tuple(n if n < count else n + more for n in one.inputs))
        for one in model.vertices
    ]
    moved[place] = msgspec.structs.replace(vertex, inputs=tuple(range(count, count + more)))
    left = {number for number in vertex.inputs if not any(number in one.inputs for one in others)}
    numbers = (*model.outputs, *sorted(n for n in left - {*model.outputs} if n >= count))
    outputs = tuple(number if number < count else number + more for number in numbers)
    return Model((*model.sources, *origins), tuple(moved), outputs)


def exceptional_place(model: Model, rows: Mapping[str, Specification], values: Sequence[Array]) -> int | None:
    """The place of the first call that gives NaN or an infinity; None where the model is numerically valid."""
    with np.errstate(all="ignore"):
        return _computed(model, rows, values)[1]


def _computed(
    model: Model, rows: Mapping[str, Specification], values: Sequence[Array]
) -> tuple[list[Array], int | None]:
    """All tensors, up to those of the first exceptional call, whose place is returned."""
    tensors = list(values)
    for place, vertex in enumerate(model.vertices):
        made = rows[vertex.row].meaning(*(_wide(tensors[one]) for one in vertex.inputs), **vertex.attributes)
        parts = made if isinstance(made, tuple) else (made,)
        outputs = [np.asarray(one).astype(numpy_dtype(k.dtype)) for one, k in zip(parts, vertex.outputs, strict=True)]
        tensors += outputs
        if not all(_finite(one) for one in outputs):
            return tensors, place
    return tensors, None


def _changed(
    model: Model,
    rows: Mapping[str, Specification],
    values: Sequence[Array],
    tensors: Sequence[Array],
    place: int,
    fixed: frozenset[int],
    rng: np.random.Generator,
    inner: float,
) -> list[Array]:
    """Other values, by what the exceptional call wishes for."""
    makers = {number: at for at, (number, _) in enumerate(model.first_outputs())}
    firsts = list(makers)
    kinds = model.types()
    wishes: dict[int, Array] = {}
    vertex = model.vertices[place]
    for number, wish in zip(
        vertex.inputs, _first_wishes(rows, vertex, tensors, firsts[place], kinds, inner), strict=True
    ):
        _wish(wishes, number, wish)
    for at in range(place - 1, -1, -1):
        vertex, first = model.vertices[at], firsts[at]
        asked = [wishes.get(first + index) for index in range(len(vertex.outputs))]
        if all(one is None for one in asked):
            continue
        outputs = tensors[first : first + len(asked)]
        full = [np.zeros(out.shape) if one is None else one for one, out in zip(asked, outputs, strict=True)]
        inputs = [_wide(tensors[one]) for one in vertex.inputs]
        back = wishes_for_inputs(rows[vertex.row], inputs, vertex.attributes, outputs, full, rng)
        for number, wish in zip(vertex.inputs, back, strict=True):
            _wish(wishes, number, wish)
    return [
        value if number in fixed or number not in wishes else _moved(origin, value, wishes[number])
        for number, (value, origin) in enumerate(zip(values, model.sources, strict=True))
    ]


def _wish(wishes: dict[int, Array], number: int, wish: Array) -> None:
    if not np.any(wish):
        return
    wishes[number] = wishes[number] + wish if number in wishes else wish


def _first_wishes(
    rows: Mapping[str, Specification],
    vertex: Vertex,
    tensors: Sequence[Array],
    first: int,
    kinds: Sequence[TensorType],
    share: float,
) -> list[Array]:
    """Into what the row says of its inputs, for all elements or, where it calculates by element, the exceptional."""
    row = rows[vertex.row]
    known = recognise(row, [kinds[one] for one in vertex.inputs], vertex.attributes)
    assert known is not None
    plan = plan_of(row)
    inputs = [_wide(tensors[one]) for one in vertex.inputs]
    found: list[Array] = []
    for place, value in zip((*plan.first, *plan.places(len(inputs))), inputs, strict=False):
        wanted = place.wanted(known, kinds[vertex.inputs[len(found)]])
        inner = share * (wanted.high - wanted.low)
        wide = value.astype(np.float64)
        inside = (wide >= wanted.low) & (wide <= wanted.high)
        target = np.clip(wide, wanted.low + inner, wanted.high - inner)
        found.append(np.where(inside, 0, target - wide))
    if row.name in BY_ELEMENT:
        bad = ~np.isfinite(tensors[first].astype(np.float64))
        found = [np.where(_touched(bad, wish.shape), wish, 0) for wish in found]
    if not any(map(np.any, found)):
        found = [-0.5 * value.astype(np.float64) for value in inputs]
    return found


def _touched(bad: Array, shape: tuple[int, ...]) -> Array:
    """Which elements of an input the exceptional ones of the output are made of."""
    lead = bad.ndim - len(shape)
    axes = (*range(lead), *(lead + i for i, extent in enumerate(shape) if extent == 1))
    return np.asarray(bad.any(axis=axes, keepdims=True)).reshape(shape)


def _moved(origin: Origin, value: Array, wish: Array) -> Array:
    kind = parse(origin.type.dtype)
    moved = value.astype(np.float64) + np.nan_to_num(np.clip(wish, -_LARGEST, _LARGEST))
    if origin.type.dtype == "bool":
        return np.asarray(moved >= 0.5)
    if kind is not None and kind.is_int:
        moved = np.clip(np.rint(moved), max(kind.low, -_LARGEST), min(kind.high, _LARGEST))
    return np.asarray(moved.astype(value.dtype))


def _scaled(values: Sequence[Array], fixed: frozenset[int], scale: float, positive: bool, offset: float) -> list[Array]:
    return [
        value
        if number in fixed or value.dtype.kind in "iub"
        else np.asarray((np.abs(value) if positive else value) * value.dtype.type(scale) + value.dtype.type(offset))
        for number, value in enumerate(values)
    ]


def _fixed(model: Model, rows: Mapping[str, Specification]) -> frozenset[int]:
    """Sources whose values a call has no meaning without: indices and the like."""
    kinds = model.types()
    found: set[int] = set()
    for vertex in model.vertices:
        row = rows[vertex.row]
        known: dict[str, Any] | None = None
        plan = plan_of(row)
        for number, place in zip(vertex.inputs, (*plan.first, *plan.places(len(vertex.inputs))), strict=False):
            if number < len(model.sources) and place.port.values.must:
                known = known or recognise(row, [kinds[one] for one in vertex.inputs], vertex.attributes)
                if known is None or place.must(known):
                    found.add(number)
    return frozenset(found)


def _wide(x: Array) -> Array:
    return x if x.dtype.kind in "iub" else x.astype(np.float64)


def _finite(x: Array) -> bool:
    return x.dtype.kind in "iub" or bool(np.isfinite(x.astype(np.float64)).all())
