"""Models with gradients: all inputs are floats, and the only output is a scalar.

What TVM has no rule for is known by the names of the operators that it has one for (`rules`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod
from random import Random

import msgspec

from tzerlike.graph.generate import random_model
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import Attribute, Model, Origin, TensorType, Vertex, varied
from tzerlike.graph.place import SizeLimits
from tzerlike.graph.prune import pruned
from tzerlike.graph.reference import tried
from tzerlike.graph.spec import ROWS
from tzerlike.graph.spec.forms import CONDITIONAL
from tzerlike.graph.spec.language import Specification
from tzerlike.graph.values import drawn_values, numpy_dtype
from tzerlike.graph.wish import BY_ELEMENT

GRADIENT_DTYPES = ("float32", "float64")

_LIMITS = SizeLimits(rank=4, extent=5, elements=64, dtypes=GRADIENT_DTYPES)

_MOST_CALLS = 6

_DRAWS = 4

_MOST_SLOPES = 512
"""Elements in all that calls are computed again for, one by one."""

_WEIGHTS = (0.5, 2.0)

_NO_GRADIENT = {"nn.nll_loss": 2}
"""Floats, by their place, that an operator is documented to give no gradient by."""


def differentiable(model: Model, rules: Collection[str]) -> bool:
    """Whether the gradients of a model can be had, from TVM and by differences."""
    kinds = model.types()
    varying = {number for number, one in enumerate(model.sources) if one.kind == "input"}
    if not is_loss(model) or not varying:
        return False
    if any(kind.dtype not in GRADIENT_DTYPES for kind in kinds if "float" in kind.dtype):
        return False
    if any(kinds[number].dtype not in GRADIENT_DTYPES for number in varying):
        return False
    slopes = 0
    for first, vertex in model.first_outputs():
        if varying.isdisjoint(vertex.inputs):
            continue
        row = ROWS[vertex.row]
        if row.operator not in rules or (row.operator == "astype" and kinds[first].dtype not in GRADIENT_DTYPES):
            return False
        if _without_gradient(vertex) & varying:
            return False
        if row.name not in BY_ELEMENT:
            slopes += sum(prod(kinds[number].shape) for number in vertex.inputs if number in varying)
        varying.update(range(first, first + len(vertex.outputs)))
    return slopes <= _MOST_SLOPES and model.outputs[0] in varying and model.outputs[0] >= len(model.sources)


def is_loss(model: Model) -> bool:
    """Whether a model is one that TVM documents to make gradients of: floats come in, and a scalar comes out, of one
    dataflow block; without extents that vary."""
    plain = not model.variables and not any(one.within or one.row in CONDITIONAL for one in model.vertices)
    if not plain or not model.vertices or len(model.outputs) != 1:
        return False
    out = model.types()[model.outputs[0]]
    floats = all("float" in one.type.dtype for one in model.sources if one.kind == "input")
    return floats and "float" in out.dtype and not out.shape


def _without_gradient(vertex: Vertex) -> set[int]:
    place = _NO_GRADIENT.get(ROWS[vertex.row].operator)
    return set() if place is None else {*vertex.inputs[place : place + 1]}


def with_loss(model: Model, numbers: Sequence[int]) -> Model:
    """Return what it takes for some tensors of a model, and for its only output the sum of them, each element times a
    constant but those of scalars. Floats that come in are inputs, and all else is constant."""
    model = pruned(model, numbers)
    count, kinds = len(model.sources), model.types()
    weighed = [number for number in dict.fromkeys(model.outputs) if kinds[number].shape]
    weights = [Origin(kinds[number], "constant", *_WEIGHTS, seed=number) for number in weighed]
    fixed = {number for vertex in model.vertices for number in _without_gradient(vertex)}
    sources = [
        msgspec.structs.replace(
            one, kind="input" if one.type.dtype in GRADIENT_DTYPES and n not in fixed else "constant"
        )
        for n, one in enumerate(model.sources)
    ]

    def moved(number: int) -> int:
        return number if number < count else number + len(weights)

    vertices = [msgspec.structs.replace(one, inputs=tuple(map(moved, one.inputs))) for one in model.vertices]
    made = len(kinds) + len(weights) - len(vertices)

    def call(row: str, kind: TensorType, *inputs: int, **attributes: Attribute) -> int:
        vertices.append(Vertex(row, inputs, attributes, (kind,)))
        return made + len(vertices) - 1

    scalars = [moved(number) for number in dict.fromkeys(model.outputs) if not kinds[number].shape]
    for place, number in enumerate(weighed):
        product = call("multiply", kinds[number], moved(number), count + place)
        scalars.append(call("sum:all", _scalar(kinds[number]), product, axis=None, keepdims=False))
    total = scalars[0]
    for number in scalars[1:]:
        total = call("add", _scalar(kinds[model.outputs[0]]), total, number)
    return Model((*sources, *weights), tuple(vertices), (total,))


def _scalar(kind: TensorType) -> TensorType:
    return TensorType((), kind.dtype)


def drawn_loss(model: Model, rng: Random, rules: frozenset[str]) -> Model | None:
    """Return a model that has gradients: of the largest part of this one, or as often of one of a few new ones."""
    new = (random_model(rng, rng.randint(1, _MOST_CALLS), _menu(rules), _LIMITS) for _ in range(_DRAWS))
    for one in new if rng.random() < 1 / 2 else (model, *new):
        found = _largest_loss(one, rules)
        if found is not None:
            return found
    return None


def _largest_loss(model: Model, rules: frozenset[str]) -> Model | None:
    kinds = model.types()
    made = (
        number for number in reversed(range(len(model.sources), len(kinds))) if kinds[number].dtype in GRADIENT_DTYPES
    )
    losses = (with_loss(model, [number]) for number in made)
    return next((one for one in losses if differentiable(one, rules)), None)


def losses_of_calls(
    model: Model, rows: Mapping[str, Specification], sources: Sequence[Array], *, made: bool = False
) -> Iterator[tuple[Vertex, Model, list[Array]]]:
    """Yield each call that gradients go through, the last first, as a model of its own, and the values that come in.

    With `made`, they go through all that a call gives, be it of constants alone: so TVM has them, for nothing.
    """
    tensors, kinds, varying = [value for value, _, _ in tried(model, rows, sources)[0]], model.types(), varied(model)
    if made:
        varying = varying.union(range(len(model.sources), len(kinds)))
    for vertex in reversed(model.vertices):
        taken = list(dict.fromkeys(vertex.inputs))
        given = [len(taken) + n for n, kind in enumerate(vertex.outputs) if kind.dtype in GRADIENT_DTYPES]
        if varying.isdisjoint(taken) or not given:
            continue
        origins = tuple(Origin(kinds[number]) for number in taken)
        call = msgspec.structs.replace(vertex, inputs=tuple(map(taken.index, vertex.inputs)))
        loss = with_loss(Model(origins, (call,), tuple(given)), given)
        held = [msgspec.structs.replace(one, kind="constant") for one in loss.sources]
        held[: len(taken)] = (
            one
            if number in varying and one.type.dtype in GRADIENT_DTYPES
            else msgspec.structs.replace(one, kind="constant")
            for number, one in zip(taken, loss.sources, strict=False)
        )
        values = [tensors[number].astype(numpy_dtype(kinds[number].dtype)) for number in taken]
        values += (drawn_values(one, 0) for one in loss.sources[len(taken) :])
        yield vertex, msgspec.structs.replace(loss, sources=tuple(held)), values


@lru_cache(4)
def _menu(rules: frozenset[str]) -> Menu:
    return Menu([row for row in ROWS.values() if row.operator in rules])
