"""Reducers of the values that come into models: others, rounder ones, and those that a call gets inside of a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import ceil, floor

import msgspec
import numpy as np

from tzerlike.core.dtypes import parse
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import Model, Origin, TensorType, Vertex
from tzerlike.graph.reference import source_values, tried
from tzerlike.graph.smaller import fewer_dimensions, fewer_inputs, smaller_extents, without_calls
from tzerlike.graph.sound import unsound
from tzerlike.graph.spec import ROWS

_PLAIN = Origin(TensorType((), "float32"))

_OTHER_VALUES = ((1, 1), (2, 1), (3, 4))
"""What is added to seeds, and how many times wider the usual range is."""

_SEEDS = range(3)
"""What is added to seeds, where the range is that of other values."""

_ROUND = (1.0, 2.0, 0.5, 0.1, 100.0, 0.0)
"""Numbers that all elements of a tensor may be, in place of different ones; zero last, which fresh memory may hold."""


def on_other_values(model: Model) -> Iterator[Model]:
    """Fewer calls, inputs and dimensions, and smaller shapes, once more with other values for what comes in: those that
    show wrong code go with the shapes that they are drawn for."""
    for reducer in (without_calls, fewer_inputs, smaller_extents, fewer_dimensions):
        for found in reducer(model):
            for seed, times in _OTHER_VALUES:
                yield _fed(found, (_drawn_otherwise(one, seed, times) for one in found.sources))


def calls_alone(model: Model, seed: int) -> Iterator[Model]:
    """One call alone, on values between the least and the greatest that it gets in the model."""
    if len(model.vertices) < 2 or model.variables:
        return
    tensors = [value for value, *_ in tried(model, ROWS, source_values(model, ROWS, seed))[0]]
    for vertex in model.vertices:
        taken = list(dict.fromkeys(vertex.inputs))
        if all(np.isfinite(tensors[number].astype(float)).all() for number in taken):
            kinds = model.types()
            sources = [_like(kinds[number], tensors[number]) for number in taken]
            alone = msgspec.structs.replace(vertex, inputs=tuple(map(taken.index, vertex.inputs)), within=())
            for other in _SEEDS:
                yield from _sound(_of_call(alone, (_drawn_otherwise(one, other, 1) for one in sources)))


def _like(kind: TensorType, values: Array) -> Origin:
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    return Origin(kind, "input", low, high)


def _of_call(vertex: Vertex, sources: Iterable[Origin]) -> Model:
    found = tuple(sources)
    return Model(found, (vertex,), tuple(range(len(found), len(found) + len(vertex.outputs))))


def rounder_values(model: Model) -> Iterator[Model]:
    """One round number for all elements of what comes in, or whole ones: in all tensors, then in one of them."""
    everywhere = range(len(model.sources))
    for places in dict.fromkeys((tuple(everywhere), *((at,) for at in everywhere))):
        changed = [list(_rounder(one)) if at in places else [] for at, one in enumerate(model.sources)]
        for number in range(max(map(len, changed), default=0)):
            chosen = zip(model.sources, changed, strict=True)
            yield from _sound(_fed(model, (new[number] if number < len(new) else old for old, new in chosen)))


def _rounder(origin: Origin) -> Iterator[Origin]:
    for value in _ROUND if roughness(origin) else ():
        yield msgspec.structs.replace(origin, low=value, high=value, seed=0)
    if roughness(origin) > 1 and ceil(origin.low) < floor(origin.high):
        for seed in _SEEDS:
            yield msgspec.structs.replace(origin, whole=True, seed=seed)


def roughness(origin: Origin) -> int:
    """How far the values of what comes in are from one number for all."""
    if origin.type.dtype == "bool" or origin.low == origin.high:
        return 0
    kind = parse(origin.type.dtype)
    return 1 if origin.whole or (kind is not None and kind.is_int) else 2


def _drawn_otherwise(origin: Origin, seed: int, times: int) -> Origin:
    wider = times if (origin.low, origin.high) == (_PLAIN.low, _PLAIN.high) else 1
    return msgspec.structs.replace(origin, seed=origin.seed + seed, low=origin.low * wider, high=origin.high * wider)


def _fed(model: Model, sources: Iterable[Origin]) -> Model:
    return msgspec.structs.replace(model, sources=tuple(sources))


def _sound(model: Model) -> Iterator[Model]:
    """The model, unless some values must not come in where they do."""
    if not unsound(model, ROWS):
        yield model
