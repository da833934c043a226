"""A model rebuilt from parts of others: calls stay as they are where their rows still allow it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from tzerlike.graph.dice import Dice
from tzerlike.graph.model import Attribute, Model, Origin, TensorType, Vertex
from tzerlike.graph.place import Place, SizeLimits, Wanted
from tzerlike.graph.solve import draw_call, output_types, recognise
from tzerlike.graph.sound import in_place
from tzerlike.graph.spec.language import Specification
from tzerlike.graph.spec.terms import Bindings

_OTHERS = 4
"""Tensors that a place looks at where it does not take the one that it is to have."""

_CONSTANT = 0.3


class Rebuilding:
    """A model under construction; its tensors have the numbers in which they came.

    Calls are within the marks of `within`.
    """

    def __init__(self, rows: Mapping[str, Specification], dice: Dice, limits: SizeLimits) -> None:
        self.rows, self.dice, self.limits = rows, dice, limits
        self.types: list[TensorType] = []
        self.origins: list[Origin | None] = []
        self.within: tuple[str, ...] = ()
        self._calls: list[tuple[str, tuple[int, ...], dict[str, Attribute], tuple[int, ...], tuple[str, ...]]] = []
        self._outputs: list[int] = []
        self._idle: set[int] = set()

    def source(self, origin: Origin) -> int:
        return self._add(origin.type, origin)

    def call(self, row: Specification, inputs: Sequence[int], attributes: dict[str, Attribute]) -> tuple[int, ...]:
        """Call an operator as it stands, or where its row does not allow that, as much like it as it does."""
        kinds = [self.types[one] for one in inputs]
        known = recognise(row, kinds, attributes)
        if known is None or not in_place(row, known, kinds, [self.origins[one] for one in inputs]):
            return self.draw(row, inputs)
        return self._called(row, tuple(inputs), attributes, output_types(row, known))

    def draw(self, row: Specification, wishes: Sequence[int]) -> tuple[int, ...]:
        """Call an operator with attributes of its own, on the tensors of `wishes` that it takes."""
        waiting = list(wishes)

        def offer(place: Place, known: Bindings) -> int | None:
            wish = [waiting.pop(0)] if waiting else []
            if place.must(known) or not self.types:
                return None
            others = [self.dice.below(len(self.types)) for _ in range(_OTHERS)]
            return next((one for one in (*wish, *others) if place.takes(known, self.types[one])), None)

        drawn = draw_call(row, self.dice, self.limits, offer)
        inputs = tuple(one if isinstance(one, int) else self.source(self._origin(one)) for one in drawn.inputs)
        return self._called(row, inputs, drawn.attributes, drawn.outputs)

    def origin_like(self, kind: TensorType) -> Origin:
        return Origin(kind, seed=self.dice.below(1 << 20))

    def instead(self, kind: TensorType, among: Sequence[int]) -> int:
        """A tensor of a type among some, or one that comes in."""
        same = (one for one in among if self.types[one] == kind)
        found = next(same, None)
        return self.source(self.origin_like(kind)) if found is None else found

    def model(self) -> Model:
        """Return what there is; results that nothing takes come out, but for those that are to stay idle beside one of
        the same call that does not, and sources that nothing takes stay out."""
        used = {one for _, inputs, *_ in self._calls for one in inputs}
        alive = used.union(self._outputs)
        idle = {one for *_, outputs, _ in self._calls if alive.intersection(outputs) for one in outputs} & self._idle
        sources = [n for n, origin in enumerate(self.origins) if origin is not None and n in used]
        made = [one for *_, outputs, _ in self._calls for one in outputs]
        place = {number: new for new, number in enumerate((*sources, *made))}
        vertices = tuple(
            Vertex(
                row, tuple(place[one] for one in inputs), attributes, tuple(self.types[one] for one in outputs), within
            )
            for row, inputs, attributes, outputs, within in self._calls
        )
        taken = used | idle
        out = tuple(place[one] for one in made if one not in taken or one in self._outputs)
        return Model(tuple(origin for n in sources if (origin := self.origins[n])), vertices, out)

    def comes_out(self, number: int) -> None:
        self._outputs.append(number)

    def stays_idle(self, number: int) -> None:
        self._idle.add(number)

    def _origin(self, wanted: Wanted) -> Origin:
        origin = Origin(wanted.type, "input", float(wanted.low), float(wanted.high), self.dice.below(1 << 20))
        return replace(origin, kind="constant") if self.dice.uniform() < _CONSTANT else origin

    def _called(
        self,
        row: Specification,
        inputs: tuple[int, ...],
        attributes: dict[str, Attribute],
        kinds: Sequence[TensorType],
    ) -> tuple[int, ...]:
        outputs = tuple(self._add(kind, None) for kind in kinds)
        self._calls.append((row.name, inputs, attributes, outputs, self.within))
        return outputs

    def _add(self, kind: TensorType, origin: Origin | None) -> int:
        self.types.append(kind)
        self.origins.append(origin)
        return len(self.types) - 1


Edit = Callable[[int, Vertex, Sequence[int]], Sequence[int] | None]
"""Takes the number of a vertex, the vertex, and its inputs; returns the tensors to take for its outputs, or None where
it stays."""


def put_again(into: Rebuilding, model: Model, edit: Edit, sources: Sequence[int]) -> None:
    """Put the vertices of a model in their order, with `sources` for what comes in, each after it went by `edit`."""
    place = list(sources)
    for number, vertex in enumerate(model.vertices):
        inputs, into.within = [place[one] for one in vertex.inputs], vertex.within
        found = edit(number, vertex, inputs)
        outputs = into.call(into.rows[vertex.row], inputs, vertex.attributes) if found is None else found
        for index, kind in enumerate(vertex.outputs):
            # A call that was drawn again may have fewer outputs.
            place.append(outputs[index] if index < len(outputs) else into.source(into.origin_like(kind)))
    for one in model.outputs:
        if into.origins[place[one]] is None:
            into.comes_out(place[one])
    taken = {*model.outputs, *(one for vertex in model.vertices for one in vertex.inputs)}
    for one in range(len(model.sources), len(place)):
        if one not in taken:
            into.stays_idle(place[one])
