"""Random models: each call uses existing tensors where its row allows it, and has the others made.

A vertex is put behind tensors, or before one that comes in, whose place its output takes (NNSmith). Of a few tensors
the first input is the one that brings most that is new; a call whose types were there is drawn again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from graphlib import TopologicalSorter
from math import prod
from random import Random

from tzerlike.graph.backward import draw_producer
from tzerlike.graph.dice import Dice
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import Model, Origin, TensorType, Vertex
from tzerlike.graph.novelty import Novelty
from tzerlike.graph.place import Place, SizeLimits, Wanted
from tzerlike.graph.reach import ANYWHERE, Whereabouts, easily_led, need_before, need_of, reach_of
from tzerlike.graph.solve import Drawn, draw_call
from tzerlike.graph.spec.language import Specification
from tzerlike.graph.spec.terms import Bindings


@dataclass(frozen=True, slots=True)
class Manner:
    """How models are drawn: shares of choices, and numbers of tries."""

    picking: float = 0.97
    """How often a tensor that is there is looked for before one is made: Isra's picking rate."""
    tries: int = 4
    """How many tensors a place looks at before one is made for it."""
    looks: int = 8
    """How many tensors are looked at for the first input of a new vertex."""
    redraws: int = 2
    """How often another call is drawn where the types of the first one are not new to the operator."""
    backward: float = 0.2
    """How often a vertex is put before a tensor that comes in."""
    constant: float = 0.3
    """How often what is made is a constant."""
    hard: float = 0.3
    """How often a call that few values suit takes what is hard to lead there: sums, norms, convolutions."""
    output: float = 0.05
    """How often a tensor that others take comes out too."""


USUAL_LIMITS = SizeLimits()
USUAL_MANNER = Manner()


@dataclass(slots=True)
class _Tensor:
    """A tensor of a model under construction: who gives it, by operator and by place, and what feeds that one."""

    type: TensorType
    origin: Origin | None
    maker: str = ""
    vertex: int = -1
    before: tuple[str, ...] = ()
    takers: list[int] = field(default_factory=list)
    fixed: bool = False
    """Whether its values have to lie where its origin says."""
    reach: Whereabouts = ANYWHERE
    plain: bool = True
    """Whether it is made from what comes in by calls that are."""


class Growing:
    """A model under construction."""

    def __init__(self, dice: Dice, menu: Menu, limits: SizeLimits, manner: Manner, novelty: Novelty) -> None:
        self.dice, self.menu, self.limits, self.manner, self.novelty = dice, menu, limits, manner, novelty
        self.tensors: list[_Tensor] = []
        self.vertices: list[tuple[Specification, Drawn, list[int], list[int]]] = []
        self.usable: list[int] = []
        self.by_type: dict[TensorType, list[int]] = {}
        self.by_kind: dict[tuple[str, int], list[int]] = {}
        self._ahead: int | None = None

    def grow(self) -> None:
        """Add a vertex."""
        if self.dice.uniform() >= self.manner.backward or not self._put_before():
            self._put_behind()

    def model(self) -> Model:
        """Return what there is; tensors that nothing takes come out."""
        sources = [number for number, one in enumerate(self.tensors) if one.origin is not None]
        order = self._order()
        made = [number for place in order for number in self.vertices[place][3]]
        place = {number: new for new, number in enumerate((*sources, *made))}
        vertices = [
            Vertex(row.name, tuple(place[number] for number in inputs), drawn.attributes, drawn.outputs)
            for row, drawn, inputs, _ in map(self.vertices.__getitem__, order)
        ]
        outputs = [
            place[number]
            for number in made
            if not self.tensors[number].takers or self.dice.uniform() < self.manner.output
        ]
        origins = [one.origin for one in self.tensors if one.origin is not None]
        return Model(tuple(origins), tuple(vertices), tuple(outputs))

    def _choice(self, forms: Sequence[Specification]) -> tuple[Specification, int | None]:
        """A form, and the tensor that it is to take first; None where any will do."""
        found: tuple[Specification, int | None] = forms[self.dice.below(len(forms))], None
        most = -1
        for _ in range(self.manner.looks if self.usable else 0):
            row = forms[self.dice.below(len(forms))]
            number = self.usable[self.dice.below(len(self.usable))]
            one = self.tensors[number]
            if self.menu.takes(row, one.type):
                promise = self.novelty.promise(one.before, one.maker, row.operator, one.type)
                if promise > most:
                    found, most = (row, number), promise
        return found

    def _put_behind(self) -> None:
        """Have a vertex take what is there; of a few calls the first one that is new."""
        forms = self.menu.choose(self.dice)
        found: tuple[Specification, Drawn] | None = None
        most = -1
        for _ in range(1 + self.manner.redraws):
            row, self._ahead = self._choice(forms)
            drawn = draw_call(row, self.dice, self.limits, self._offer)
            types = tuple(self.tensors[one].type if isinstance(one, int) else one.type for one in drawn.inputs)
            worth = self.novelty.worth(row.operator, types, drawn.attributes)
            if worth > most:
                found, most = (row, drawn), worth
            if worth == 2:
                break
        if found is not None:
            self._add_vertex(*found, None)

    def _put_before(self) -> bool:
        """Have a vertex give what comes in so far; False where the row that is drawn cannot."""
        row = self.menu.choose_backward(self.dice)
        if row is None or not self.tensors:
            return False
        number = self.dice.below(len(self.tensors))
        one = self.tensors[number]
        if one.origin is None or one.fixed:
            return False
        drawn = draw_producer(row, one.type, self.dice, self.limits)
        if drawn is None or not reach_of(row, [ANYWHERE] * len(drawn.inputs), drawn.attributes).meets(one.reach):
            return False
        one.origin = None
        self._add_vertex(row, replace(drawn, inputs=tuple(map(self._source_or_new, drawn.inputs))), number)
        for taker in one.takers:
            operator, outputs = self.vertices[taker][0].operator, self.vertices[taker][3]
            self.novelty.note_edge(one.before, one.maker, operator)
            for output in outputs:
                self.tensors[output].before += (one.maker,)
        return True

    def _source_or_new(self, wanted: int | Wanted) -> int | Wanted:
        """Something of the same type that comes in, which no result can depend on; or what is wanted."""
        if isinstance(wanted, int) or wanted.must or self.dice.uniform() >= self.manner.picking:
            return wanted
        same = self.by_type.get(wanted.type)
        number = same[self.dice.below(len(same))] if same else 0
        return number if same and self.tensors[number].origin is not None else wanted

    def _add_vertex(self, row: Specification, drawn: Drawn, first: int | None) -> None:
        """Add a call; `first` is the tensor that its first output is, if that is there already."""
        suited = (self._suited(row, place, one) for place, one in enumerate(drawn.inputs))
        inputs = [one if isinstance(one, int) else self._add_source(one) for one in suited]
        before = []
        for number in inputs:
            one = self.tensors[number]
            one.takers.append(len(self.vertices))
            before.append(one.maker)
            self.novelty.note_edge(one.before, one.maker, row.operator)
        makers = tuple(maker for maker in before if maker)
        types = tuple(self.tensors[number].type for number in inputs)
        self.novelty.note_call(row.operator, types, drawn.attributes)
        reach = self._reach(row, drawn, inputs)
        plain = easily_led(row) and all(self.tensors[number].plain for number in inputs)
        outputs = []
        for index, kind in enumerate(drawn.outputs):
            if index == 0 and first is not None:
                one = self.tensors[first]
                one.maker, one.vertex, one.before = row.operator, len(self.vertices), makers
                one.reach, one.plain = reach.within(one.reach), plain
                outputs.append(first)
            else:
                made = _Tensor(kind, None, row.operator, len(self.vertices), makers, reach=reach, plain=plain)
                outputs.append(self._add(made))
        self.vertices.append((row, drawn, inputs, outputs))
        if first is not None:
            self._narrow(first, self.tensors[first].reach)

    def _reach(self, row: Specification, drawn: Drawn, inputs: Sequence[int]) -> Whereabouts:
        """Where the results of a call lie, with what it needs of its inputs taken down."""
        for place, number in enumerate(inputs):
            need = need_of(row, place)
            if need is not None and _is_float(self.tensors[number].type):
                self._narrow(number, need)
        reaches = [self.tensors[number].reach for number in inputs]
        return reach_of(row, reaches, drawn.attributes, alike=len({*inputs}) == 1 < len(inputs))

    def _suited(self, row: Specification, place: int, one: int | Wanted) -> int | Wanted:
        """What a call is to take, or in place of a tensor that has no values for it another one of the type."""
        need = need_of(row, place)
        if need is None or not isinstance(one, int) or not _is_float(self.tensors[one].type):
            return one
        if self._meets(one, need) and (self.tensors[one].plain or self.dice.uniform() < self.manner.hard):
            return one
        kind = self.tensors[one].type
        low, high = row.inputs[place].values.low, row.inputs[place].values.high
        assert isinstance(low, int | float) and isinstance(high, int | float), "needs are of rows with plain values"
        same = (number for number in self.by_type.get(kind, ()) if number != one and self.tensors[number].plain)
        other = next((number for number in same if self._meets(number, need)), None)
        return Wanted(kind, low, high, must=False) if other is None else other

    def _meets(self, number: int, need: Whereabouts) -> bool:
        one = self.tensors[number]
        if not _is_float(one.type):
            return True
        return one.reach.meets(need) and all(self._meets(*asked) for asked in self._asked_before(one, need))

    def _narrow(self, number: int, need: Whereabouts) -> None:
        one = self.tensors[number]
        one.reach = one.reach.within(need)
        for asked in self._asked_before(one, need):
            self._narrow(*asked)

    def _asked_before(self, one: _Tensor, need: Whereabouts) -> list[tuple[int, Whereabouts]]:
        """What is needed of the tensors that one is made from, for it to suit a need."""
        if one.vertex < 0 or one.vertex >= len(self.vertices):
            return []
        row, _, inputs, _ = self.vertices[one.vertex]
        before = need_before(row, need)
        same = (number for number in inputs if self.tensors[number].type.dtype == one.type.dtype)
        return [] if before is None else [(number, before) for number in same]

    def _offer(self, place: Place, known: Bindings) -> int | None:
        if self._ahead is not None:
            number, self._ahead = self._ahead, None
            if not place.must(known) and place.takes(known, self.tensors[number].type):
                return number
        if place.must(known) or self.dice.uniform() >= self.manner.picking:
            return None
        if place.bound:
            same = self.by_type.get(place.type_of(known))
            return same[self.dice.below(len(same))] if same else None
        dtypes = place.dtypes or (place.dtype(known),)
        kinds = [kind for kind in self.by_kind if kind[0] in dtypes and place.takes_rank(kind[1])]
        for _ in range(self.manner.tries if kinds else 0):
            among = self.by_kind[kinds[self.dice.below(len(kinds))]]
            number = among[self.dice.below(len(among))]
            if place.takes(known, self.tensors[number].type):
                return number
        return None

    def _add_source(self, wanted: Wanted) -> int:
        constant = self.dice.uniform() < self.manner.constant
        seed = self.dice.below(1 << 20)
        origin = Origin(wanted.type, "constant" if constant else "input", float(wanted.low), float(wanted.high), seed)
        return self._add(_Tensor(wanted.type, origin, fixed=wanted.must))

    def _add(self, tensor: _Tensor) -> int:
        number = len(self.tensors)
        self.tensors.append(tensor)
        kind = tensor.type
        if prod(kind.shape) <= self.limits.elements and len(kind.shape) <= self.limits.rank:
            self.usable.append(number)
            self.by_type.setdefault(kind, []).append(number)
            self.by_kind.setdefault((kind.dtype, len(kind.shape)), []).append(number)
        return number

    def _order(self) -> list[int]:
        """The vertices, each behind those whose results it takes."""
        needs = {
            place: {self.tensors[number].vertex for number in inputs if self.tensors[number].origin is None}
            for place, (_, _, inputs, _) in enumerate(self.vertices)
        }
        if all(one < place for place, others in needs.items() for one in others):
            return list(needs)
        return list(TopologicalSorter(needs).static_order())


def _is_float(kind: TensorType) -> bool:
    return "float" in kind.dtype


def random_model(
    rng: Random,
    size: int,
    menu: Menu,
    limits: SizeLimits = USUAL_LIMITS,
    manner: Manner = USUAL_MANNER,
    novelty: Novelty | None = None,
) -> Model:
    """Draw a model of `size` vertices; `novelty` is what others had before."""
    growing = Growing(Dice(rng), menu, limits, manner, Novelty(bytes(size * 64)) if novelty is None else novelty)
    for _ in range(size):
        growing.grow()
    return growing.model()
