"""Calls of operators: variables bound one after the other, each from a domain that is never empty.

The order is Isra's (section III-C): arity, first input, attributes, other inputs. Nothing is searched for and nothing
taken back: every binding that its domain allows can be extended. `recognise` goes the same way with everything given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from tzerlike.graph.model import TensorType
from tzerlike.graph.spec.domains import DTYPES, EXTENT, RANK, ROOM, Chance, Choice, Dtypes, NewExtent
from tzerlike.graph.spec.language import Port, Specification
from tzerlike.graph.spec.shapes import Shapes
from tzerlike.graph.spec.terms import Bindings, Integer, Integers, Symbol, Term, compiled, names_of, tuple_source


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """The limits of what is made anew, and the dtypes to prefer."""

    rank: int = 5
    extent: int = 32
    elements: int = 2048
    dtypes: tuple[str, ...] = ()

    def bindings(self) -> Bindings:
        return {RANK: self.rank, EXTENT: self.extent, ROOM: self.elements, DTYPES: self.dtypes}


@dataclass(frozen=True, slots=True)
class Wanted:
    """An input that is to be made: its type, and where its values have to lie."""

    type: TensorType
    low: float
    high: float
    must: bool
    """Whether the call has no meaning on other values."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A call: the inputs, each the number of a tensor or one to make; the attributes; the types of the outputs."""

    inputs: tuple[int | Wanted, ...]
    attributes: dict[str, Any]
    outputs: tuple[TensorType, ...]


class Place:
    """An input or output of a row with what is compiled of it."""

    def __init__(self, port: Port, where: Mapping[str, Choice], known: set[str]) -> None:
        self.port = port
        self.new: list[tuple[str, Choice]] = []
        self.dtypes: tuple[str, ...] = (port.dtype,) if isinstance(port.dtype, str) else ()
        if isinstance(port.dtype, Symbol) and port.dtype.name not in known:
            self._introduce(port.dtype, where, known, ())
            domain = self.new[0][1]
            self.dtypes = domain.dtypes if isinstance(domain, Dtypes) else ()
        for position, part in enumerate(port.shape):
            if isinstance(part, Term) and part.name and part.name not in known:
                self._introduce(part, where, known, port.shape[:position])
        self.parts: list[tuple[str, str, Callable[[Bindings], Any] | None]] = [self._part(part) for part in port.shape]
        self.shape: Callable[[Bindings], tuple[int, ...]] = compiled(tuple_source(port.shape))
        self.dtype: Callable[[Bindings], str] = compiled(
            port.dtype.source if isinstance(port.dtype, Symbol) else repr(port.dtype)
        )
        self.bound = not self.new
        self._lists = [index for index, part in enumerate(port.shape) if isinstance(part, Integers)]
        ends = (port.values.low, port.values.high)
        self._values: Callable[[Bindings], tuple[float, float]] = compiled(tuple_source(ends))
        self.whole = port.shape[0].name if len(port.shape) == 1 and isinstance(port.shape[0], Integers) else ""

    def type_of(self, known: Bindings) -> TensorType:
        return TensorType(self.shape(known), self.dtype(known))

    def draw(self, known: Bindings, chance: Chance) -> TensorType:
        """Bind what is new here, and return the type of the tensor to make."""
        for name, domain in self.new:
            known[name] = domain.draw(known, chance)
        return self.type_of(known)

    def wanted(self, known: Bindings, kind: TensorType | None = None) -> Wanted:
        """Describe the tensor to make, once everything is bound."""
        return Wanted(kind or self.type_of(known), *self._values(known), self.must(known))

    def takes(self, known: Bindings, found: TensorType) -> bool:
        """Bind what is new here to what a tensor has; False, with nothing bound, where it does not fit."""
        bound: Bindings = {}
        if self._bind(known, bound, found):
            known.update(bound)
            return True
        return False

    def must(self, known: Bindings) -> bool:
        """Whether values have to be made for this place, as those that are there may lie anywhere."""
        must = self.port.values.must
        return bool(must) and (self.dtype(known) in must if self._dtype_known(known) else True)

    def takes_rank(self, rank: int) -> bool:
        """Whether a tensor of this rank can fit at all."""
        fixed = len(self.port.shape) - len(self._lists)
        if not self._lists:
            return rank == fixed
        domain = dict(self.new).get(self.whole)
        return rank >= fixed and (not isinstance(domain, Shapes) or domain.low <= rank <= domain.high)

    def _bind(self, known: Bindings, bound: Bindings, found: TensorType) -> bool:
        if self.bound:
            return found.dtype == self.dtype(known) and found.shape == self.shape(known)
        scope = known.copy()
        if self.new and isinstance(self.port.dtype, Symbol) and self.new[0][0] == self.port.dtype.name:
            if found.dtype not in self.dtypes:
                return False
            scope[self.new[0][0]] = bound[self.new[0][0]] = found.dtype
        elif found.dtype != self.dtype(known):
            return False
        pieces = self._pieces(scope, found.shape)
        if pieces is None:
            return False
        domains = dict(self.new)
        for (name, _, value_of), piece in zip(self.parts, pieces, strict=True):
            if name in domains and name not in scope:
                if not domains[name].has(scope, piece):
                    return False
                scope[name] = bound[name] = piece
            elif value_of is not None and value_of(scope) != piece:
                return False
        return True

    def _pieces(self, scope: Bindings, extents: tuple[int, ...]) -> list[Any] | None:
        """Cut a shape into what the parts stand for: one list takes what the others leave."""
        if self.whole:
            return [extents]
        unknown = [i for i in self._lists if self.parts[i][0] and self.parts[i][0] not in scope]
        lengths = [1] * len(self.parts)
        for i in self._lists:
            value_of = self.parts[i][2]
            if i not in unknown and value_of is not None:
                lengths[i] = len(value_of(scope))
        if unknown:
            lengths[unknown[0]] = len(extents) - sum(lengths) + 1
        if min(lengths, default=0) < 0 or sum(lengths) != len(extents):
            return None
        pieces: list[Any] = []
        start = 0
        for i, length in enumerate(lengths):
            pieces.append(extents[start : start + length] if i in self._lists else extents[start])
            start += length
        return pieces

    def _dtype_known(self, known: Bindings) -> bool:
        return isinstance(self.port.dtype, str) or self.port.dtype.name in known

    def _introduce(self, part: Term, where: Mapping[str, Choice], known: set[str], before: Sequence[Any]) -> None:
        domain = where.get(part.name)
        if domain is None:
            domain = Shapes() if isinstance(part, Integers) else NewExtent(*before)
        self.new.append((part.name, domain))
        known.add(part.name)

    def _part(self, part: Integer | Integers | int) -> tuple[str, str, Callable[[Bindings], Any] | None]:
        if isinstance(part, int):
            return "", "", lambda _: part
        return part.name, part.source, compiled(part.source)


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


plan_of: Callable[[Specification], RowPlan] = cache(RowPlan)

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
