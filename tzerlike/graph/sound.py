"""Whether a model may run: it obeys its rows, and values lie where calls have a meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from math import prod

from tzerlike.graph.model import Model, Origin, TensorType
from tzerlike.graph.solve import plan_of, recognise
from tzerlike.graph.spec.language import Specification
from tzerlike.graph.spec.terms import Bindings
from tzerlike.graph.verify import wrong_vertex

ELEMENTS = 1 << 16
"""Elements of a tensor at most."""


def oversized(model: Model) -> bool:
    """Whether some tensor of a model is too large to compute with."""
    return any(prod(kind.shape) > ELEMENTS for kind in model.types())


def unsound(model: Model, rows: Mapping[str, Specification]) -> str:
    """Say in a line why a model may not run; "" where it may."""
    types = model.types()
    if oversized(model) or any(0 in kind.shape for kind in types):
        return "a tensor that is empty or too large"
    wrong = wrong_vertex(model, rows)
    if wrong:
        return wrong
    origins: list[Origin | None] = [*model.sources, *[None] * (len(types) - len(model.sources))]
    for number, vertex in model.first_outputs():
        row, kinds = rows[vertex.row], [types[one] for one in vertex.inputs]
        known = recognise(row, kinds, vertex.attributes)
        if known is None or not in_place(row, known, kinds, [origins[one] for one in vertex.inputs]):
            return f"%{number}: {vertex.row} has no meaning on some of these values"
    return ""


def in_place(
    row: Specification, known: Bindings, kinds: Sequence[TensorType], origins: Sequence[Origin | None]
) -> bool:
    """Whether inputs that have to lie somewhere are sources that do; `known` is what `recognise` found."""
    plan = plan_of(row)
    for place, kind, origin in zip(chain(plan.first, plan.places(len(kinds))), kinds, origins, strict=True):
        if place.must(known):
            wanted = place.wanted(known, kind)
            if origin is None or origin.low < wanted.low or origin.high > wanted.high:
                return False
    return True
