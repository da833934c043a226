"""Models drawn at random: each vertex takes tensors that are there where its row allows it, and has the rest made."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tzerlike.graph.model import Model, Origin, TensorType, Vertex
from tzerlike.graph.solve import Drawn, Place, SizeLimits, Wanted, draw_call
from tzerlike.graph.spec.language import Specification
from tzerlike.graph.spec.terms import Bindings

USUAL_LIMITS = SizeLimits()

PICKING = 0.97
"""How often a tensor that is there is looked for before one is made: Isra's picking rate."""

CONSTANT = 0.3
"""How often what is made is a constant."""

TRIES = 4
"""How many tensors a place looks at before one is made for it."""


class Dice:
    """Draws for domains."""

    def __init__(self, rng: Random) -> None:
        self.uniform = rng.random

    def below(self, count: int) -> int:
        return int(self.uniform() * count)

    def between(self, low: int, high: int) -> int:
        """`low` and then bins of 1, 2, 4, ... numbers, each bin alike."""
        span = high - low
        bin_ = int(self.uniform() * (span.bit_length() + 1))
        if bin_ == 0:
            return low
        first = 1 << (bin_ - 1)
        return low + first + int(self.uniform() * (min(2 * first - 1, span) - first + 1))


class Growing:
    """A model under construction: its tensors by number, and those that may be inputs by what they are."""

    def __init__(self, dice: Dice, limits: SizeLimits) -> None:
        self.limits = limits
        self.dice = dice
        self.sources: list[Origin] = []
        self.vertices: list[tuple[Specification, Drawn, list[int]]] = []
        self.types: list[TensorType] = []
        self.uses: list[int] = []
        self.by_type: dict[TensorType, list[int]] = {}
        self.by_kind: dict[tuple[str, int], list[int]] = {}
        self.is_source: list[bool] = []

    def grow(self, row: Specification) -> None:
        """Add a call of an operator, with the inputs that it needs."""
        drawn = draw_call(row, self.dice, self.limits, self._offer)
        inputs = [one if isinstance(one, int) else self._add_source(one) for one in drawn.inputs]
        for number in inputs:
            self.uses[number] += 1
        self.vertices.append((row, drawn, inputs))
        for kind in drawn.outputs:
            self._add(kind, False)

    def model(self) -> Model:
        """Return what there is; tensors that nothing uses are outputs."""
        place = [0] * len(self.types)
        ordered = [number for number, source in enumerate(self.is_source) if source]
        ordered += [number for number, source in enumerate(self.is_source) if not source]
        for new, number in enumerate(ordered):
            place[number] = new
        vertices = tuple(
            Vertex(row.name, tuple(place[number] for number in inputs), drawn.attributes, drawn.outputs)
            for row, drawn, inputs in self.vertices
        )
        outputs = tuple(
            place[number]
            for number, uses in enumerate(self.uses)
            if not self.is_source[number] and (uses == 0 or self.dice.uniform() < 0.05)
        )
        return Model(tuple(self.sources), vertices, outputs)

    def _offer(self, place: Place, known: Bindings) -> int | None:
        if place.must(known) or self.dice.uniform() >= PICKING:
            return None
        if place.bound:
            found = self.by_type.get(place.type_of(known))
            return found[self.dice.below(len(found))] if found else None
        dtypes = place.dtypes or (place.dtype(known),)
        kinds = [kind for kind in self.by_kind if kind[0] in dtypes and place.takes_rank(kind[1])]
        for _ in range(TRIES if kinds else 0):
            among = self.by_kind[kinds[self.dice.below(len(kinds))]]
            number = among[self.dice.below(len(among))]
            if place.takes(known, self.types[number]):
                return number
        return None

    def _add_source(self, wanted: Wanted) -> int:
        constant = self.dice.uniform() < CONSTANT
        low, high, seed = float(wanted.low), float(wanted.high), self.dice.below(1 << 20)
        self.sources.append(Origin(wanted.type, "constant" if constant else "input", low, high, seed))
        return self._add(wanted.type, True)

    def _add(self, kind: TensorType, source: bool) -> int:
        number = len(self.types)
        self.types.append(kind)
        self.uses.append(0)
        self.is_source.append(source)
        elements = 1
        for extent in kind.shape:
            elements *= extent
        if elements <= self.limits.elements and len(kind.shape) <= self.limits.rank:
            self.by_type.setdefault(kind, []).append(number)
            self.by_kind.setdefault((kind.dtype, len(kind.shape)), []).append(number)
        return number


def random_model(rng: Random, size: int, rows: Sequence[Specification], limits: SizeLimits = USUAL_LIMITS) -> Model:
    """Draw a model of `size` vertices."""
    dice = Dice(rng)
    growing = Growing(dice, limits)
    for _ in range(size):
        growing.grow(rows[dice.below(len(rows))])
    return growing.model()
