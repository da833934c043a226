"""Mutators of models. Each returns another model, or None if it does not apply; later calls are drawn again if their
rows no longer allow them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

import msgspec

from tzerlike.graph.dice import Dice
from tzerlike.graph.disrupt import disrupted_model
from tzerlike.graph.enclose import enclosed, repeated
from tzerlike.graph.generate import random_model
from tzerlike.graph.loss import drawn_loss
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import Model, Origin, TensorType, Vertex
from tzerlike.graph.place import SizeLimits
from tzerlike.graph.rebuild import Edit, Rebuilding, put_again
from tzerlike.graph.sound import oversized
from tzerlike.graph.spec import forms, kernels
from tzerlike.graph.spec.language import Specification
from tzerlike.graph.symbols import with_those_of, with_variables

MODEL_LIMITS = SizeLimits(rank=4, extent=12, elements=512)

MOST_VERTICES = 24

_STRUCTURED = 0.3
"""How many new models have functions, and how many extents that vary."""

_MOST_EXCHANGED = 6
"""Calls of a new model for an import: of more, one is likely to have no words in an opset."""

_EXCHANGED_LIMITS = replace(MODEL_LIMITS, dtypes=("float32", "int64"))
"""Importers take operators of few of the other dtypes, and ONNX of fewer in older opsets."""

_REWIRED = 0.7
"""How often what follows an inserted call takes its result in place of what the call takes."""


@dataclass(frozen=True)
class Surroundings:
    """What a mutator draws from."""

    rows: Mapping[str, Specification]
    menu: Menu
    rng: Random
    donor: Callable[[], Model]
    rules: frozenset[str] = frozenset()
    """The operators that there are gradients of."""
    exchanges: Sequence[Menu] = ()
    """What each importer can be given calls of."""


def _insert(model: Model, around: Surroundings) -> Model | None:
    """A call of any operator on any tensor; what comes after it may take its result instead."""
    into, dice = _begun(around)
    at, row = dice.below(len(model.vertices) + 1), _row(around, dice)
    return _inserted(model, into, dice, at, row)


def _of_rows(rows: Sequence[Specification]) -> Callable[[Model, Surroundings], Model | None]:
    """A call of one of some rows, in the same way."""

    def insert(model: Model, around: Surroundings) -> Model | None:
        into, dice = _begun(around)
        at, row = dice.below(len(model.vertices) + 1), rows[dice.below(len(rows))]
        return _inserted(model, into, dice, at, row)

    return insert


def _inserted(model: Model, into: Rebuilding, dice: Dice, at: int, row: Specification) -> Model:
    moved: dict[int, int] = {}

    def edit(number: int, vertex: Vertex, inputs: Sequence[int]) -> Sequence[int] | None:
        if number == at:
            taken = inputs[dice.below(len(inputs))] if inputs else 0
            outputs = into.draw(row, [taken] if into.types else [])
            if outputs and dice.uniform() < _REWIRED:
                moved[taken] = outputs[0]
        if not any(one in moved for one in inputs):
            return None
        return into.call(into.rows[vertex.row], [moved.get(one, one) for one in inputs], vertex.attributes)

    put_again(into, model, edit, _sources(into, model))
    if at == len(model.vertices):
        into.draw(row, [dice.below(len(into.types))] if into.types else [])
    return into.model()


def _delete(model: Model, around: Surroundings) -> Model | None:
    """One call less; what took its results takes one of its inputs, or something that comes in."""
    if len(model.vertices) < 2:
        return None
    into, dice = _begun(around)

    return _edited(into, model, dice, lambda vertex, inputs: [into.instead(kind, inputs) for kind in vertex.outputs])


def _replace_call(model: Model, around: Surroundings) -> Model | None:
    """Another operator in the place of one."""
    into, dice = _begun(around)
    row = _row(around, dice)
    return _edited(into, model, dice, lambda vertex, inputs: into.draw(row, inputs))


def _redraw(model: Model, around: Surroundings) -> Model | None:
    """Other attributes of a call."""
    into, dice = _begun(around)
    return _edited(into, model, dice, lambda vertex, inputs: into.draw(into.rows[vertex.row], inputs))


def _retype(model: Model, around: Surroundings) -> Model | None:
    """Another shape or dtype of something that comes in."""
    if not model.sources:
        return None
    into, dice = _begun(around)
    at = dice.below(len(model.sources))
    old = model.sources[at]
    kind = _other_type(old.type, dice)
    origins = [msgspec.structs.replace(one, type=kind) if n == at else one for n, one in enumerate(model.sources)]
    put_again(into, model, _unchanged, [into.source(one) for one in origins])
    return into.model()


def _splice(model: Model, around: Surroundings) -> Model | None:
    """Another model behind this one, which takes its tensors for some of what comes in."""
    into, dice = _begun(around)
    put_again(into, model, _unchanged, _sources(into, model))
    donor = around.donor()
    if donor.disrupted:
        return None

    def source(origin: Origin) -> int:
        same = [n for n, kind in enumerate(into.types) if kind == origin.type and into.origins[n] is None]
        if same and dice.uniform() < _REWIRED:
            return same[dice.below(len(same))]
        any_ = dice.below(len(into.types))
        return any_ if dice.uniform() < (1 - _REWIRED) else into.source(origin)

    put_again(into, donor, _unchanged, [source(one) for one in donor.sources])
    return into.model()


def _generate(model: Model, around: Surroundings) -> Model | None:
    """A new model, some with functions, some with extents that vary."""
    found = random_model(around.rng, around.rng.randint(1, 10), around.menu, MODEL_LIMITS)
    if around.rng.random() < _STRUCTURED:
        found = enclosed(found, Dice(around.rng)) or found
    return (_vary(found, around) or found) if around.rng.random() < _STRUCTURED else found


def _enclose(model: Model, around: Surroundings) -> Model | None:
    """Some calls that follow each other in a function of their own, or no longer in one."""
    return enclosed(model, Dice(around.rng))


def _repeat(model: Model, around: Surroundings) -> Model | None:
    """A function called once more, on other tensors of the same types."""
    return repeated(model, Dice(around.rng))


def _vary(model: Model, around: Surroundings) -> Model | None:
    """Extents that vary, with new variables."""
    return with_variables(model, around.rows, Dice(around.rng))


MODEL_MUTATORS: Mapping[str, Callable[[Model, Surroundings], Model | None]] = {
    "insert": _insert,
    "delete": _delete,
    "replace": _replace_call,
    "attributes": _redraw,
    "types": _retype,
    "splice": _splice,
    "generate": _generate,
    "form": _of_rows(forms.ROWS),
    "kernel": _of_rows(kernels.ROWS),
    "enclose": _enclose,
    "repeat": _repeat,
    "vary": _vary,
}


def _disrupt(model: Model, around: Surroundings) -> Model | None:
    """One call alone, with one constraint of its row broken."""
    return disrupted_model(around.rng, model, around.rows)


DISRUPTIVE: Mapping[str, Callable[[Model, Surroundings], Model | None]] = {"disrupt": _disrupt}
"""What makes models that are to be refused; only where an oracle is about those."""


def _loss(model: Model, around: Surroundings) -> Model | None:
    """A model that has gradients, by its inputs, of a sum."""
    return drawn_loss(model, around.rng, around.rules)


LOSSES: Mapping[str, Callable[[Model, Surroundings], Model | None]] = {"loss": _loss}
"""What makes models that have gradients; only where an oracle is about those."""


def _exchange(model: Model, around: Surroundings) -> Model | None:
    """A new model that an importer has words for."""
    if not around.exchanges:
        return None
    menu = around.exchanges[0] if len(around.exchanges) == 1 else around.rng.choice(around.exchanges)
    return random_model(around.rng, around.rng.randint(1, _MOST_EXCHANGED), menu, _EXCHANGED_LIMITS)


EXCHANGES: Mapping[str, Callable[[Model, Surroundings], Model | None]] = {"exchange": _exchange}
"""What makes models that can be imported; only where an oracle asks for that."""


_WITH_OWN_VARIABLES = ("generate", "vary")
"""Mutators that draw variables; what others make has those of the model, if it can."""


def mutated(name: str, model: Model, around: Surroundings) -> Model | None:
    """Return what a mutator makes of a model; None for nothing, nothing new, and too much."""
    model = _generate(model, around) or model if model.disrupted else model
    found = {**MODEL_MUTATORS, **DISRUPTIVE, **LOSSES, **EXCHANGES}[name](model, around)
    if found is not None and found.disrupted:
        return found
    if found is not None and name not in _WITH_OWN_VARIABLES:
        found = with_those_of(msgspec.structs.replace(found, variables=(), written=()), model, around.rows)
    if found is None or found == model or not 0 < len(found.vertices) <= MOST_VERTICES:
        return None
    return None if oversized(found) else found


def _begun(around: Surroundings) -> tuple[Rebuilding, Dice]:
    dice = Dice(around.rng)
    return Rebuilding(around.rows, dice, MODEL_LIMITS), dice


def _sources(into: Rebuilding, model: Model) -> list[int]:
    return [into.source(one) for one in model.sources]


def _unchanged(number: int, vertex: Vertex, inputs: Sequence[int]) -> None:
    return None


def _row(around: Surroundings, dice: Dice) -> Specification:
    forms = around.menu.choose(dice)
    return forms[dice.below(len(forms))]


def _edited(
    into: Rebuilding, model: Model, dice: Dice, other: Callable[[Vertex, Sequence[int]], Sequence[int]]
) -> Model:
    """The model with `other` in the place of one call."""
    at = dice.below(len(model.vertices))
    edit: Edit = lambda number, vertex, inputs: other(vertex, inputs) if number == at else None  # noqa: E731
    put_again(into, model, edit, _sources(into, model))
    return into.model()


def _other_type(kind: TensorType, dice: Dice) -> TensorType:
    dtypes = ("float32", "float16", "float64", "bfloat16", "int32", "int64", "int8", "uint8", "bool")
    shape = list(kind.shape)
    if shape and dice.uniform() < 2 / 3:
        shape[dice.below(len(shape))] = dice.between(1, MODEL_LIMITS.extent)
        return TensorType(tuple(shape), kind.dtype)
    return TensorType(tuple(shape), dtypes[dice.below(len(dtypes))])
