"""Reducers of models: fewer calls, and these on less and plainer things."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, islice
from math import prod
from random import Random
from types import MappingProxyType

import msgspec

from tzerlike.core.errors import UserError
from tzerlike.graph.dice import Dice
from tzerlike.graph.evolve import MODEL_LIMITS
from tzerlike.graph.generate import random_model
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import CLOSURES, PLAINEST, Attribute, Model, Origin, TensorType, VaryingExtent, Vertex
from tzerlike.graph.place import SizeLimits
from tzerlike.graph.prune import pruned
from tzerlike.graph.rebuild import Edit, Rebuilding, put_again
from tzerlike.graph.solve import with_attributes
from tzerlike.graph.spec import ROWS
from tzerlike.graph.spec.language import Specification
from tzerlike.graph.symbols import fewer_variables, with_extent, with_those_of

_CLOSURE, _MAKER = CLOSURES
_FUNCTION, _PACKED = "function", "packed"


class _Strict(Rebuilding):
    """A model whose calls are never drawn again: UserError where one would have to be."""

    def draw(self, row: Specification, wishes: Sequence[int]) -> tuple[int, ...]:
        raise UserError(f"{row.name} does not take that")


def single_outputs(model: Model) -> Iterator[Model]:
    """One tensor comes out; first those that take few calls."""
    made = range(len(model.sources), len(model.types()))
    yield from (pruned(model, (number,)) for number in made if model.outputs != (number,))


def fewer_outputs(model: Model) -> Iterator[Model]:
    """One tensor less comes out: left away, or taken by a later call in the place of what comes in."""
    if len(model.outputs) > 1:
        for number in model.outputs:
            yield pruned(model, (one for one in model.outputs if one != number))
    kinds, coming = model.types(), len(model.sources)
    for number in model.outputs:
        others = tuple(one for one in model.outputs if one != number)
        for at, (first, vertex) in enumerate(model.first_outputs()):
            for place, taken in enumerate(vertex.inputs):
                if number < first and taken < coming and kinds[taken] == kinds[number]:
                    inputs = (*vertex.inputs[:place], number, *vertex.inputs[place + 1 :])
                    changed = msgspec.structs.replace(vertex, inputs=inputs)
                    vertices = (*model.vertices[:at], changed, *model.vertices[at + 1 :])
                    yield pruned(msgspec.structs.replace(model, vertices=vertices), others)


def without_calls(model: Model) -> Iterator[Model]:
    """Something that comes in, or an input of the same type, in the place of what a call gives."""
    for at in range(len(model.vertices)):
        for bypassed in (True, False):
            found = _without(model, {at}, bypassed)
            if found is not None and found.vertices:
                yield found


def plainer_calls(model: Model) -> Iterator[Model]:
    """One of PLAINEST in the place of another operator, of the same type or of its first input's: what that computes
    does not matter."""
    for at, vertex in enumerate(model.vertices):
        for row in PLAINEST[: unusualness(vertex.row)] if len(vertex.outputs) == 1 else ():
            for kept in (True, False):
                yield from _as_plain(model, at, row, kept)


def _as_plain(model: Model, at: int, row: str, kept: bool) -> Iterator[Model]:
    into = _strict()

    def edit(number: int, vertex: Vertex, inputs: Sequence[int]) -> Sequence[int] | None:
        if number != at or not (kept or inputs):
            return None
        first = into.instead(vertex.outputs[0], inputs) if kept else inputs[0]
        others = [into.instead(into.types[first], ()) for _ in ROWS[row].inputs[1:]]
        return into.call(ROWS[row], [first, *others], {})

    if (found := _put(into, model, edit, model.sources)) is not None:
        yield found


def unusualness(row: str) -> int:
    """How far an operator is from the plainest one."""
    return PLAINEST.index(row) if row in PLAINEST else len(PLAINEST)


def coming_in(model: Model, calls: Collection[Vertex]) -> Model | None:
    """Return what makes the output of a model, which its last call gives, where inputs take the place of what some
    calls give; None where that is one of them."""
    if model.vertices[-1] in calls:
        return None
    found = _without(model, {at for at, vertex in enumerate(model.vertices) if vertex in calls}, bypassed=False)
    return found and pruned(found, found.outputs[-1:])


def _without(model: Model, calls: Collection[int], bypassed: bool) -> Model | None:
    into = _strict()

    def edit(number: int, vertex: Vertex, inputs: Sequence[int]) -> Sequence[int] | None:
        return [into.instead(kind, inputs if bypassed else ()) for kind in vertex.outputs] if number in calls else None

    return _put(into, model, edit, model.sources)


def smaller_extents(model: Model) -> Iterator[Model]:
    """A number less wherever it stands: in the shapes of what comes in, and in attributes."""
    numbers = sorted({extent for one in model.sources for extent in one.type.shape if extent > 1}, reverse=True)
    for number in numbers:
        for less in sorted({1, 2, number // 2, number - 1} - {number, 0}):
            for attributes in (True, False):
                sources = _shaped(model.sources, [_swapped(one.type.shape, number, less) for one in model.sources])
                yield from _retyped(with_extent(model, number, less), sources, {number: less} if attributes else {})


def fewer_dimensions(model: Model) -> Iterator[Model]:
    """Several shapes less their last dimensions of one extent, or one less a dimension; then a number less in one
    shape alone."""
    for extent in sorted({extent for one in model.sources for extent in one.type.shape}):
        having = [at for at, one in enumerate(model.sources) if extent in one.type.shape]
        for count in range(len(having), 1, -1):
            for less in islice(combinations(having, count), _TOGETHER):
                shapes = [
                    _without_last(one.type.shape, extent) if at in less else one.type.shape
                    for at, one in enumerate(model.sources)
                ]
                yield from _retyped(model, _shaped(model.sources, shapes), {})
    for at, source in enumerate(model.sources):
        shape = source.type.shape
        for axis, extent in enumerate(shape):
            for other in ((*shape[:axis], *shape[axis + 1 :]), (*shape[:axis], 1, *shape[axis + 1 :])):
                if other != shape and not (extent == 1 and len(other) == len(shape)):
                    shapes = [other if n == at else s.type.shape for n, s in enumerate(model.sources)]
                    yield from _retyped(model, _shaped(model.sources, shapes), {})


def _shaped(sources: Sequence[Origin], shapes: Sequence[tuple[int, ...]]) -> list[Origin]:
    return [
        msgspec.structs.replace(one, type=TensorType(shape, one.type.dtype))
        for one, shape in zip(sources, shapes, strict=True)
    ]


def plainer_relations(model: Model) -> Iterator[Model]:
    """Twice a variable in the place of any other extent that varies by it."""
    for one in model.written:
        twice = VaryingExtent(2 * model.variables[one.variables[0]][0], one.variables[:1], 2)
        if one != twice and weight_of_relation(one) > weight_of_relation(twice):
            written = (twice if other == one else other for other in model.written)
            shapes = [_swapped(source.type.shape, one.extent, twice.extent) for source in model.sources]
            changed = msgspec.structs.replace(model, written=tuple(written))
            yield from _retyped(changed, _shaped(model.sources, shapes), {one.extent: twice.extent})


def weight_of_relation(extent: VaryingExtent) -> int:
    """How much there is to say of an extent that varies: 1 for a variable alone."""
    return len(extent.variables) + (extent.factor > 1) + 2 * (extent.plus > 0)


def redrawn_calls(model: Model) -> Iterator[Model]:
    """Another call of an operator that takes only what comes in, on few dimensions of small extents: dimensions and the
    attributes that name them go only together."""
    for at, vertex in _first_calls(model):
        for rank in range(1, _RANKS):
            limits = SizeLimits(rank=rank, extent=2, elements=1 << rank)
            yield from _redrawn(model, at, ROWS[vertex.row], limits)


def eased_calls(model: Model) -> Iterator[Model]:
    """The same call with one attribute closer to zero, on extents that go with that and are no larger."""
    kinds = model.types()
    for at, vertex in _first_calls(model):
        shapes = [kinds[number].shape for number in vertex.inputs]
        limits = SizeLimits(
            rank=max(map(len, shapes), default=0),
            extent=max((extent for shape in shapes for extent in shape), default=1),
            elements=max(map(prod, shapes), default=1),
        )
        for attributes in _with_simpler(vertex.attributes):
            yield from _redrawn(model, at, with_attributes(ROWS[vertex.row], attributes), limits)


def _first_calls(model: Model) -> Iterator[tuple[int, Vertex]]:
    """The calls of a small model that take only what comes in, by their places."""
    if not model.variables and len(model.vertices) <= _FEW:
        for at, vertex in enumerate(model.vertices):
            if all(number < len(model.sources) for number in vertex.inputs):
                yield at, vertex


def _redrawn(model: Model, at: int, row: Specification, limits: SizeLimits) -> Iterator[Model]:
    if len(model.vertices) > 1:
        # What takes the results takes them in their dtype alone.
        dtypes = tuple(dict.fromkeys(kind.dtype for kind in model.vertices[at].outputs))
        limits = replace(limits, dtypes=dtypes)
    for seed in range(_DRAWS):
        drawn = random_model(Random(seed), 1, Menu([row]), limits)
        if len(drawn.vertices) == 1:
            yield from _with_call(model, at, drawn)


def _with_call(model: Model, at: int, other: Model) -> Iterator[Model]:
    """The only call of another model in the place of one, on what that takes."""
    into, (call,) = _strict(), other.vertices

    def edit(number: int, vertex: Vertex, inputs: Sequence[int]) -> Sequence[int] | None:
        if number != at:
            return None
        taken = [into.source(one) for one in other.sources]
        return into.call(ROWS[call.row], [taken[one] for one in call.inputs], dict(call.attributes))

    if (found := _put(into, model, edit, model.sources)) is not None:
        yield found


_RANKS, _DRAWS, _FEW = 4, 6, 3

_TOGETHER = 8
"""Sets of so many shapes that lose the same dimensions."""


def fewer_inputs(model: Model) -> Iterator[Model]:
    """One input of a call less; one tensor that comes in for another of its type."""
    for at, vertex in enumerate(model.vertices):
        for place in range(len(vertex.inputs) if len(vertex.inputs) > 1 else 0):
            yield from _called_otherwise(model, at, partial(_without_place, place))
    for one, other in combinations(range(len(model.sources)), 2):
        if model.sources[one].type == model.sources[other].type:
            yield from _called_otherwise(model, None, partial(_exchanged, one, other))


def _without_place(place: int, inputs: Sequence[int]) -> Sequence[int]:
    return [*inputs[:place], *inputs[place + 1 :]]


def _exchanged(new: int, old: int, inputs: Sequence[int]) -> Sequence[int]:
    return [new if number == old else number for number in inputs]


def simpler_attributes(model: Model) -> Iterator[Model]:
    """Each attribute that is a number, or has some, closer to zero."""
    for at, vertex in enumerate(model.vertices):
        for attributes in _with_simpler(vertex.attributes):
            yield from _called_otherwise(model, at, tuple, attributes)


def _with_simpler(attributes: Mapping[str, Attribute]) -> Iterator[dict[str, Attribute]]:
    for name, value in attributes.items():
        for simpler in _simpler(value):
            yield {**attributes, name: simpler}


def _simpler(value: Attribute) -> Iterator[Attribute]:
    if isinstance(value, tuple):
        for place, one in enumerate(value):
            for simpler in _simpler(one):
                assert isinstance(simpler, int | float)
                yield (*value[:place], simpler, *value[place + 1 :])
    elif isinstance(value, bool):
        yield from (False,) * value
    elif isinstance(value, int):
        yield from (one for one in dict.fromkeys((0, 1, int(value / 2))) if abs(one) < abs(value))
    elif isinstance(value, float):
        yield from (one for one in (0.0, 1.0) if weight_of(one) < weight_of(value))


def weight_of(value: Attribute) -> float:
    """How far from zero an attribute is; words count nothing."""
    if isinstance(value, tuple):
        return sum(map(weight_of, value))
    if isinstance(value, float):
        return 0 if value == 0 else 1 if value == 1 else 2
    return abs(value) if isinstance(value, int) else 0


def plainer_dtypes(model: Model) -> Iterator[Model]:
    """float32 and int32 for another dtype, in what comes in and in attributes."""
    for old in sorted({source.type.dtype for source in model.sources}):
        new = usual_dtype(old)
        if new != old:
            yield from with_dtype(model, old, new)


def with_dtype(model: Model, old: str, new: str) -> Iterator[Model]:
    """One dtype for another, in what comes in and in attributes; nothing where the calls do not take it."""
    sources = [
        msgspec.structs.replace(one, type=TensorType(one.type.shape, new)) if one.type.dtype == old else one
        for one in model.sources
    ]
    yield from _retyped(model, sources, {}, {old: new})


def with_operator(model: Model, at: int, row: str) -> Iterator[Model]:
    """The operator of another row in the call at a place; nothing where it, or what comes after, does not take that."""
    into = _strict()

    def edit(number: int, vertex: Vertex, inputs: Sequence[int]) -> Sequence[int] | None:
        return into.call(ROWS[row], inputs, dict(vertex.attributes)) if number == at else None

    if (found := _put(into, model, edit, model.sources)) is not None:
        yield found


def usual_dtype(dtype: str) -> str:
    return "float32" if "float" in dtype else "int32" if "int" in dtype else dtype


def plainer_sources(model: Model) -> Iterator[Model]:
    """Inputs for constants."""
    for at, source in enumerate(model.sources):
        if source.kind == "constant":
            plain = msgspec.structs.replace(source, kind="input")
            yield msgspec.structs.replace(
                model, sources=tuple(plain if n == at else s for n, s in enumerate(model.sources))
            )


def plainer_forms(model: Model) -> Iterator[Model]:
    """No functions, or one less; closures made where they are called, and arguments that are no tuple; extents that
    vary less, or not at all."""
    marks = sorted({mark for vertex in model.vertices for mark in vertex.within})
    if marks:
        yield _marked(model, dict.fromkeys(marks, ""))
    if len(marks) > 1:
        yield from (_marked(model, {mark: ""}) for mark in marks)
    for special, plain in ((_MAKER, _CLOSURE), (_PACKED, _FUNCTION)):
        others = {mark: mark.replace(special, plain) for mark in marks if mark.startswith(special)}
        yield from (_marked(model, {mark: other}) for mark, other in others.items() if other not in marks)
    yield from fewer_variables(model)


def _marked(model: Model, others: Mapping[str, str]) -> Model:
    """The model with other marks in the place of some, or without those for which there is none."""
    vertices = (
        msgspec.structs.replace(one, within=tuple(other for mark in one.within if (other := others.get(mark, mark))))
        for one in model.vertices
    )
    return msgspec.structs.replace(model, vertices=tuple(vertices))


def _called_otherwise(
    model: Model,
    at: int | None,
    inputs_of: Callable[[Sequence[int]], Sequence[int]],
    attributes: Mapping[str, Attribute] | None = None,
) -> Iterator[Model]:
    """The model with other inputs and attributes in the call at a place, or, where there is none, in all calls."""
    into = _strict()

    def edit(number: int, vertex: Vertex, inputs: Sequence[int]) -> Sequence[int] | None:
        if at is not None and number != at:
            return None
        return into.call(ROWS[vertex.row], inputs_of(inputs), dict(attributes or vertex.attributes))

    if (found := _put(into, model, edit, model.sources)) is not None:
        yield found


def _retyped(
    model: Model, sources: Sequence[Origin], swaps: Mapping[int, int], dtypes: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Model]:
    into = _strict()

    def edit(number: int, vertex: Vertex, inputs: Sequence[int]) -> Sequence[int]:
        attributes: dict[str, Attribute] = {
            key: tuple(swaps.get(int(one), one) for one in value)
            if isinstance(value, tuple)
            else dtypes.get(value, value)
            if isinstance(value, str)
            else value
            for key, value in vertex.attributes.items()
        }
        return into.call(ROWS[vertex.row], inputs, attributes)

    found = _put(into, model, edit, sources)
    if found is not None:
        yield found


def _put(into: Rebuilding, model: Model, edit: Edit, sources: Sequence[Origin]) -> Model | None:
    try:
        put_again(into, model, edit, [into.source(one) for one in sources])
    except UserError:
        return None
    found = with_those_of(into.model(), model, ROWS)
    return pruned(found, found.outputs) if found.outputs else None


def _strict() -> Rebuilding:
    return _Strict(ROWS, Dice(Random(0)), MODEL_LIMITS)


def _without_last(shape: tuple[int, ...], extent: int) -> tuple[int, ...]:
    at = len(shape) - 1 - shape[::-1].index(extent)
    return (*shape[:at], *shape[at + 1 :])


def _swapped(shape: tuple[int, ...], number: int, less: int) -> tuple[int, ...]:
    return tuple(less if extent == number else extent for extent in shape)
