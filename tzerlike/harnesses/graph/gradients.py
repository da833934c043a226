"""Which operator's gradient makes TVM fail on a model that it builds without gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tzerlike.core.case import PassSpec
from tzerlike.core.observation import NOT_KEPT, Offence, message_template
from tzerlike.core.results import GRADIENT_OF
from tzerlike.graph.calls import shapes_of
from tzerlike.graph.loss import is_loss, losses_of_calls
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import Model, Vertex
from tzerlike.graph.smaller import coming_in
from tzerlike.graph.spec import ROWS
from tzerlike.graph.steps import GRADIENT, RAISES, WRONG_SHAPE
from tzerlike.graph.values import drawn_values
from tzerlike.harnesses.graph.building import DEFAULT_BUILD, LOWERED_ONLY, Building
from tzerlike.harnesses.graph.passes import ADJOINT, made_pass
from tzerlike.harnesses.graph.refusals import label_of
from tzerlike.passes.label import Label
from tzerlike.passes.naming import short_name
from tzerlike.systems import tvm_api
from tzerlike.systems.refusal import CompilerRefused, ask_compiler


def gradient_at_fault(building: Building, model: Model, failing: str, message: str) -> Offence | None:
    """Return what is wrong with the gradient of an operator of a model that was refused in the pass `failing`.

    The model is refused with gradients alone, in the words of `message`. A model of one call is refused in the same
    words, or its gradient has another shape than what it is by; and where what such calls give comes in, the rest is
    not refused in these words. None where no operator is like that.
    """
    if GRADIENT not in building.case.passes or not is_loss(model):
        return None
    ((_, sources),) = building.runs(model)
    refused = message_template(message)
    if message_template(_refusal(building, model, sources, (GRADIENT,), DEFAULT_BUILD)) != refused:
        return None
    in_pass = short_name(failing) == short_name(GRADIENT.name)
    faults = list(_faults(building, model, sources, in_pass=in_pass))
    for first in {found.pass_name: found for _, found in reversed(faults)}.values():
        if first.rule == RAISES and message_template(first.where) != refused:
            continue
        without = coming_in(model, [vertex for vertex, found in faults if found.pass_name == first.pass_name])
        values = [] if without is None else [drawn_values(one, 0) for one in without.sources]
        if (
            without is None
            or message_template(_refusal(building, without, values, (GRADIENT,), DEFAULT_BUILD)) != refused
        ):
            return first
    return None


def _faults(
    building: Building, model: Model, sources: Sequence[Array], *, in_pass: bool
) -> Iterator[tuple[Vertex, Offence]]:
    """Calls, the last first, and what is wrong with the gradient of each in a model of its own; `in_pass`: if that is
    seen when it is made, and not when it is built."""
    for vertex, alone, values in losses_of_calls(model, ROWS, sources, made=True):
        guilty = f"{GRADIENT_OF}{vertex.operator}"
        try:
            module = gradients_of(building, alone, values)
        except CompilerRefused as refusal:
            said, wrong = refusal.message, ""
        else:
            wrong = wrong_shape(module)
            said = "" if wrong or in_pass else _refusal(building, alone, values, (GRADIENT,), LOWERED_ONLY)
            if said and _refusal(building, alone, values, (), LOWERED_ONLY):
                continue
        if wrong:
            yield vertex, Offence(NOT_KEPT, guilty, WRONG_SHAPE, wrong)
        elif said and label_of(said, alone) is Label.INTERNAL_ERROR:
            yield vertex, Offence(NOT_KEPT, guilty, RAISES, said)


def gradients_of(building: Building, model: Model, values: Sequence[Array]) -> Any:
    """Return a model with the function of its gradients; CompilerRefused where TVM does not make them."""
    return ask_compiler(lambda: made_pass(GRADIENT)(building.module(model, values)))


def wrong_shape(module: Any) -> str:
    """Say which gradient has another shape than what it is by, "" for none."""
    adjoint = module[ADJOINT]
    for taken, shape in zip(adjoint.params, shapes_of(adjoint.ret_ty.fields[1]), strict=True):
        (wanted,) = shapes_of(tvm_api.type_of(taken))
        if None not in (shape, wanted) and shape != wanted:
            return f"by a tensor of shape {wanted} has shape {shape}"
    return ""


def _refusal(
    building: Building, model: Model, values: Sequence[Array], passes: Sequence[PassSpec], pipeline: str
) -> str:
    """What TVM says where it refuses to build a model behind passes, "" where it builds."""
    try:
        building.built(model, passes, pipeline, values)
    except CompilerRefused as refusal:
        return refusal.message
    return ""
