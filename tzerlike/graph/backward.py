"""Calls generated from their required outputs: the other direction of NNSmith's insertion.

The first output's type binds what it says outright; a row whose output rule has to be turned around says how in
`backward`. The rest is drawn as ever, and the row then judges the call as it would judge a stored one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from tzerlike.graph.model import TensorType
from tzerlike.graph.place import Place, SizeLimits
from tzerlike.graph.solve import Drawn, output_types, plan_of, recognise
from tzerlike.graph.spec.axes import Axis
from tzerlike.graph.spec.domains import Chance, Choice
from tzerlike.graph.spec.language import Port, Specification
from tzerlike.graph.spec.terms import OUT, Term


class _Turned:
    """A row turned around: what binds the output's type, and the variables to draw then."""

    def __init__(self, row: Specification) -> None:
        plan = plan_of(row)
        where = {term.name: domain for term, domain in row.where.items()}
        port = row.outputs[0]
        shape = (OUT,) if row.backward else port.shape
        self.output = Place(Port(port.dtype, shape), where, set())
        self.takes_rank = Place(port, where, set()).takes_rank
        self.least_rank = int(any(isinstance(domain, Axis) for domain in row.backward.values()))
        bound = {name for name, _ in self.output.new}
        self.possible = row.repeated is None and (bool(row.backward) or _readable(row, self.output, bound))
        steps = [(term.name, domain) for term, domain in row.backward.items()]
        for place in plan.first:
            steps += place.new
        steps += plan.variables
        for place in plan.rest:
            steps += place.new
        self.steps: list[tuple[str, Choice]] = []
        for name, domain in steps:
            if name not in bound:
                self.steps.append((name, domain))
                bound.add(name)


_turned: Callable[[Specification], _Turned] = cache(_Turned)


def draws_backward(row: Specification) -> bool:
    """Whether calls of this row can be drawn from their first output."""
    return _turned(row).possible


def draw_producer(row: Specification, wanted: TensorType, chance: Chance, limits: SizeLimits) -> Drawn | None:
    """Draw a call whose first output is `wanted`, all inputs to be made; None where this row gives no such tensor."""
    turned, plan = _turned(row), plan_of(row)
    known = limits.bindings()
    plan.begin(known, len(row.inputs))
    rank = len(wanted.shape)
    if not turned.possible or rank < turned.least_rank or not turned.takes_rank(rank):
        return None
    if not turned.output.takes(known, wanted):
        return None
    for name, domain in turned.steps:
        known[name] = domain.draw(known, chance)
    inputs = [place.wanted(known) for place in (*plan.first, *plan.rest)]
    attributes = {name: value_of(known) for name, value_of in plan.attributes.items()}
    checked = recognise(row, [one.type for one in inputs], attributes)
    outputs = output_types(row, known)
    return Drawn(tuple(inputs), attributes, outputs) if checked is not None and outputs[0] == wanted else None


def _readable(row: Specification, output: Place, bound: set[str]) -> bool:
    """Whether the output's parts are variables that depend on nothing drawn later."""
    bare = all(not isinstance(part, Term) or part.name for part in output.port.shape)
    return bare and row.copies is None and all(domain.names <= bound for _, domain in output.new)
