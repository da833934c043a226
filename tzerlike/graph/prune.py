"""A part of a model: some of its tensors, and everything that they depend on."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tzerlike.graph.model import Model
from tzerlike.graph.spec import ROWS
from tzerlike.graph.symbols import with_those_of


def pruned(model: Model, outputs: Iterable[int]) -> Model:
    """Return the model with some of its tensors for outputs, and what they take to compute."""
    outputs = tuple(outputs)
    needed, keep = set(outputs), set[int]()
    for number, vertex in reversed(list(model.first_outputs())):
        if any(number + index in needed for index in range(len(vertex.outputs))):
            keep.add(number)
            needed.update(vertex.inputs)
    sources = [number for number in range(len(model.sources)) if number in needed]
    vertices = [(number, vertex) for number, vertex in model.first_outputs() if number in keep]
    made = [number + index for number, vertex in vertices for index in range(len(vertex.outputs))]
    place = {number: new for new, number in enumerate((*sources, *made))}
    found = Model(
        tuple(model.sources[number] for number in sources),
        tuple(msgspec.structs.replace(one, inputs=tuple(place[i] for i in one.inputs)) for _, one in vertices),
        tuple(place[number] for number in outputs),
    )
    return with_those_of(found, model, ROWS)
