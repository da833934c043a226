"""Reducers of models: they make a model smaller and leave each call as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random

import msgspec

from tzerlike.core.errors import UserError
from tzerlike.graph.dice import Dice
from tzerlike.graph.evolve import MODEL_LIMITS
from tzerlike.graph.model import Attribute, Model, Origin, TensorType, Vertex
from tzerlike.graph.prune import pruned
from tzerlike.graph.rebuild import Edit, Rebuilding, put_again
from tzerlike.graph.spec import ROWS
from tzerlike.graph.spec.language import Specification
from tzerlike.graph.symbols import fewer_variables, with_extent, with_those_of


class _Strict(Rebuilding):
    """A model whose calls are never drawn again: UserError where one would have to be."""

    def draw(self, row: Specification, wishes: Sequence[int]) -> tuple[int, ...]:
        raise UserError(f"{row.name} does not take that")


def single_outputs(model: Model) -> Iterator[Model]:
    """One tensor comes out; first those that take few calls."""
    made = range(len(model.sources), len(model.types()))
    yield from (pruned(model, (number,)) for number in made if model.outputs != (number,))


def fewer_outputs(model: Model) -> Iterator[Model]:
    if len(model.outputs) > 1:
        for number in model.outputs:
            yield pruned(model, (one for one in model.outputs if one != number))


def without_calls(model: Model) -> Iterator[Model]:
    """Something that comes in, or an input of the same type, in the place of what a call gives."""
    for at in range(len(model.vertices)):
        for bypassed in (True, False):
            found = _without(model, at, bypassed)
            if found is not None and found.vertices:
                yield found


def _without(model: Model, at: int, bypassed: bool) -> Model | None:
    into = _strict()

    def edit(number: int, vertex: Vertex, inputs: Sequence[int]) -> Sequence[int] | None:
        return [into.instead(kind, inputs if bypassed else ()) for kind in vertex.outputs] if number == at else None

    return _put(into, model, edit, model.sources)


def smaller_extents(model: Model) -> Iterator[Model]:
    """A number less wherever it stands: in the shapes of what comes in, and in attributes."""
    numbers = sorted({extent for one in model.sources for extent in one.type.shape if extent > 1}, reverse=True)
    for number in numbers:
        for less in sorted({1, 2, number // 2, number - 1} - {number, 0}):
            for attributes in (True, False):
                sources = [
                    msgspec.structs.replace(
                        one, type=TensorType(_swapped(one.type.shape, number, less), one.type.dtype)
                    )
                    for one in model.sources
                ]
                yield from _retyped(with_extent(model, number, less), sources, {number: less} if attributes else {})


def fewer_dimensions(model: Model) -> Iterator[Model]:
    """One shape less a dimension; then a number less in one shape alone."""
    for at, source in enumerate(model.sources):
        shape = source.type.shape
        for axis, extent in enumerate(shape):
            for other in ((*shape[:axis], *shape[axis + 1 :]), (*shape[:axis], 1, *shape[axis + 1 :])):
                if other != shape and not (extent == 1 and len(other) == len(shape)):
                    kind = TensorType(other, source.type.dtype)
                    sources = [
                        msgspec.structs.replace(s, type=kind) if n == at else s for n, s in enumerate(model.sources)
                    ]
                    yield from _retyped(model, sources, {})


def plainer_sources(model: Model) -> Iterator[Model]:
    """Inputs for constants."""
    for at, source in enumerate(model.sources):
        if source.kind == "constant":
            plain = msgspec.structs.replace(source, kind="input")
            yield msgspec.structs.replace(
                model, sources=tuple(plain if n == at else s for n, s in enumerate(model.sources))
            )


def plainer_forms(model: Model) -> Iterator[Model]:
    """No functions, or one less; extents that vary less, or not at all."""
    marks = sorted({mark for vertex in model.vertices for mark in vertex.within})
    for gone in (marks, *([mark] for mark in marks if len(marks) > 1)):
        vertices = (
            msgspec.structs.replace(one, within=tuple(mark for mark in one.within if mark not in gone))
            for one in model.vertices
        )
        if marks:
            yield msgspec.structs.replace(model, vertices=tuple(vertices))
    yield from fewer_variables(model)


def _retyped(model: Model, sources: Sequence[Origin], swaps: Mapping[int, int]) -> Iterator[Model]:
    into = _strict()

    def edit(number: int, vertex: Vertex, inputs: Sequence[int]) -> Sequence[int]:
        attributes: dict[str, Attribute] = {
            key: tuple(swaps.get(int(one), one) for one in value) if isinstance(value, tuple) else value
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


def _swapped(shape: tuple[int, ...], number: int, less: int) -> tuple[int, ...]:
    return tuple(less if extent == number else extent for extent in shape)
