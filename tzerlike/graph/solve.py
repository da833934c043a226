"""Calls of operators: variables bound one after the other, each from a domain that is never empty.

The order is Isra's (section III-C): arity, first input, attributes, other inputs. Nothing is searched for and nothing
taken back: every binding that its domain allows can be extended. `recognise` goes the same way with everything given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from tzerlike.graph.model import TensorType
from tzerlike.graph.place import Place, SizeLimits, Wanted
from tzerlike.graph.spec.domains import Chance, Choice, Rather
from tzerlike.graph.spec.language import Specification
from tzerlike.graph.spec.terms import Bindings, Term, compiled, names_of, tuple_source


@dataclass(frozen=True, slots=True)
class Drawn:
    """A call: the inputs, each the number of a tensor or one to make; the attributes; the types of the outputs."""

    inputs: tuple[int | Wanted, ...]
    attributes: dict[str, Any]
    outputs: tuple[TensorType, ...]


class RowPlan:
    """A row with the order in which its variables are bound."""

    def __init__(self, row: Specification) -> None:
        self.row = row
        where = {term.name: domain for term, domain in row.where.items()}
        known: set[str] = set()
        self.first = [Place(port, where, known) for port in row.inputs[:1]]
        self.variables: list[tuple[str, Choice]] = []
        for name in _attribute_variables(row):
            if name not in known:
                self.variables.append((name, where[name]))
                known.add(name)
        self.rest = [Place(port, where, known) for port in row.inputs[1:]]
        self.repeated = Place(row.repeated, where, known) if row.repeated else None
        known |= {f"*{name}" for name, _ in self.repeated.new} if self.repeated else set()
        self.copies = compiled(row.copies.source) if row.copies is not None else None
        self.outputs = [Place(port, where, known) for port in row.outputs]
        self.attributes = {name: _compiled_attribute(value) for name, value in row.attributes.items()}

    def places(self, arity: int) -> Iterator[Place]:
        """The inputs behind the first one."""
        yield from self.rest
        if self.repeated is not None:
            for _ in range(arity - len(self.first) - len(self.rest)):
                yield self.repeated

    def begin(self, known: Bindings, arity: int) -> None:
        known["arity"] = arity
        if self.repeated is not None:
            for name, _ in self.repeated.new:
                known[f"*{name}"] = ()

    def repeat(self, known: Bindings, place: Place) -> None:
        """Take down what the repeated input has bound, and free its variables for the next."""
        if place is self.repeated:
            for name, _ in place.new:
                known[f"*{name}"] += (known.pop(name),)


_PLANS = 1024
"""Rows whose plans are kept: more than there are, since some are made for one search."""

plan_of: Callable[[Specification], RowPlan] = lru_cache(_PLANS)(RowPlan)

Offer = Callable[[Place, Bindings], int | None]
"""Looks for a tensor of the model that a place takes, binds what is new there, and returns its number; or None."""


def no_offer(place: Place, known: Bindings) -> None:
    return None


def draw_call(row: Specification, chance: Chance, limits: SizeLimits, offer: Offer = no_offer) -> Drawn:
    """Draw a call of an operator; inputs are those that `offer` finds, or to be made."""
    plan = plan_of(row)
    known = limits.bindings()
    arity = row.arity.draw(known, chance) if row.arity else len(row.inputs)
    plan.begin(known, arity)
    places = [*plan.first, *plan.places(arity)]
    inputs = [_filled(place, known, chance, offer) for place in plan.first]
    for name, domain in plan.variables:
        known[name] = domain.draw(known, chance)
    for place in places[len(plan.first) :]:
        inputs.append(_filled(place, known, chance, offer))
        plan.repeat(known, place)
    made = tuple(
        one if isinstance(one, int) else place.wanted(known, one) for one, place in zip(inputs, places, strict=True)
    )
    attributes = {name: value_of(known) for name, value_of in plan.attributes.items()}
    return Drawn(made, attributes, output_types(row, known))


def recognise(row: Specification, inputs: Sequence[TensorType], attributes: Mapping[str, Any]) -> Bindings | None:
    """Return the bindings of a call; None where the row does not allow it."""
    plan = plan_of(row)
    known = SizeLimits().bindings()
    plan.begin(known, len(inputs))
    if attributes.keys() != row.attributes.keys():
        return None
    if row.arity is None and len(inputs) != len(row.inputs):
        return None
    if row.arity is not None and not row.arity.has(known, len(inputs)):
        return None
    if any(not place.takes(known, inputs[0]) for place in plan.first):
        return None
    if not _read_attributes(plan, attributes, known):
        return None
    for place, found in zip(plan.places(len(inputs)), inputs[len(plan.first) :], strict=True):
        if not place.takes(known, found):
            return None
        plan.repeat(known, place)
    return known


def with_attributes(row: Specification, attributes: Mapping[str, Any]) -> Specification:
    """Return a row that draws these attributes, as far as what is bound before allows them."""
    given: Bindings = {}
    for name, pattern in row.attributes.items():
        _read(pattern, attributes[name], given)
    rather = {term: Rather(given[term.name], domain) for term, domain in row.where.items() if term.name in given}
    return replace(row, where={**row.where, **rather}, backward={})


def output_types(row: Specification, known: Bindings) -> tuple[TensorType, ...]:
    """Return the types that the output rule gives for the bindings of a call."""
    plan = plan_of(row)
    if plan.copies is None:
        return tuple(place.type_of(known) for place in plan.outputs)
    return tuple(plan.outputs[0].type_of(known | {"index": index}) for index in range(plan.copies(known)))


def _filled(place: Place, known: Bindings, chance: Chance, offer: Offer) -> int | TensorType:
    found = offer(place, known)
    return place.draw(known, chance) if found is None else found


def _read_attributes(plan: RowPlan, attributes: Mapping[str, Any], known: Bindings) -> bool:
    """Bind the variables of the attributes in their order, and compare the attributes with what they then say."""
    given: Bindings = {}
    for name, pattern in plan.row.attributes.items():
        _read(pattern, attributes[name], given)
    for name, domain in plan.variables:
        if name not in given or not domain.has(known, given[name]):
            return False
        known[name] = given[name]
    return all(_same(value_of(known), attributes[name]) for name, value_of in plan.attributes.items())


def _read(pattern: object, value: Any, given: Bindings) -> None:
    if isinstance(pattern, Term) and pattern.name:
        given.setdefault(pattern.name, value)
    elif isinstance(pattern, tuple) and isinstance(value, tuple) and len(pattern) == len(value):
        for part, one in zip(pattern, value, strict=True):
            _read(part, one, given)


def _same(expected: object, found: object) -> bool:
    return type(expected) is type(found) and expected == found


def _attribute_variables(row: Specification) -> Iterator[str]:
    """Variables of attributes in the order of `where`, which may make one depend on another."""
    used = names_of(
        [part for value in row.attributes.values() for part in (value if isinstance(value, tuple) else (value,))]
    )
    yield from (term.name for term in row.where if term.name in used)


def _compiled_attribute(value: object) -> Callable[[Bindings], Any]:
    if isinstance(value, tuple):
        return compiled(tuple_source(value))
    return compiled(value.source) if isinstance(value, Term) else lambda _: value
