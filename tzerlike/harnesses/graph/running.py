"""A model in a child: build it, and compare the results of the build with NumPy's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.effort import Check, Effort
from tzerlike.core.observation import REFUSED_CLEANLY, Exit, Offence, Stage
from tzerlike.core.results import Rejection, Results
from tzerlike.core.targets import kind_of_target
from tzerlike.execution.cuda.offering import offer_sources
from tzerlike.graph.loss import is_loss
from tzerlike.graph.model import Model
from tzerlike.graph.steps import GRADIENT
from tzerlike.graph.stored import model_of
from tzerlike.harnesses.graph.building import Building, expected_runs, ran
from tzerlike.harnesses.graph.gradients import gradient_at_fault
from tzerlike.harnesses.graph.makers import maker_of_failure
from tzerlike.harnesses.graph.passes import suited
from tzerlike.harnesses.graph.refusals import label_of
from tzerlike.harnesses.graph.to_refuse import accepted_wrongly, without_words
from tzerlike.harnesses.graph.written import Unimportable
from tzerlike.passes.label import Label
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import ALONE, RunContext
from tzerlike.systems import tvm_build
from tzerlike.systems.refusal import CompilerRefused


def run_case(
    case: Case, channel: Channel, around: RunContext, effort: Effort, baseline_known: bool, /
) -> dict[str, Any]:
    """Take a case through its stages (tzerlike.processes.job.RunCase)."""
    channel.enter_stage(Stage.LOAD)
    model, building = model_of(case.ir), Building(case, channel, effort)
    if model.disrupted:
        return _to_be_refused(building, model)
    try:
        module = building.module(model)
        channel.enter_stage(Stage.PASSES)
        built, blocks = building.build(module, case.passes, around)
        if Check.DEVICE_SOURCE in effort.checks:
            _offer(building, built, around)
    except Unimportable as why:
        refused = Rejection(Label.DOCUMENTED_REFUSAL.value)
        return {"exit": Exit.REJECTED.value, "message": f"nothing to import: {why}", "rejection": refused.to_json()}
    except CompilerRefused as refusal:
        record = refusal.record() | {"stage": channel.stage().value, "pass": channel.pass_name()}
        if Check.REJECTIONS in effort.checks and record["exit"] == Exit.REJECTED.value:
            rejection = _rejection(building, model, refusal.message)
            record["rejection"] = rejection.to_json()
            if rejection.support and rejection.well_formed:
                record |= _maker(building, model, record, refusal.message)
        return record | _offences(building)
    record = {"exit": Exit.OK.value, "pass_blocks": blocks} | _offences(building)
    if Check.RESULTS in effort.checks and not building.offences:
        record["results"] = _compared(building, model, built).to_json()
    channel.enter_stage(Stage.DONE)
    return record


def _offer(building: Building, built: Any, around: RunContext) -> None:
    """Have the source for a GPU compiled where NVRTC is at hand; CompilerRefused with its complaint.

    Another compiler is a program, which a child may not start.
    """
    offer_sources(tvm_build.cuda_sources(built.mod), building.case, building.channel, around)


def _to_be_refused(building: Building, model: Model) -> dict[str, Any]:
    """A call that breaks its row: what type inference says of it, and what a build does where that says nothing."""
    (vertex,) = model.vertices
    operator, channel = vertex.operator, building.channel
    try:
        module = building.module(model)
        said = accepted_wrongly(model, module)
        channel.enter_stage(Stage.BUILD)
        building.build(module, ())
    except CompilerRefused as refusal:
        record = refusal.record() | {"stage": channel.stage().value, "pass": channel.pass_name()}
        if record["exit"] == Exit.REJECTED.value:
            record["rejection"] = Rejection(Label.DOCUMENTED_REFUSAL.value, False, "").to_json()
            # What type inference takes in another dtype may be meant, and it is not this operator that fails then.
            late = channel.stage() is Stage.BUILD
            meant = late and vertex.broken.endswith("dtype")
            said = "" if meant else without_words(refusal.message, vertex.broken, late=late)
        return record | _breaches(operator, vertex.broken, said)
    channel.enter_stage(Stage.DONE)
    return {"exit": Exit.OK.value} | _breaches(operator, vertex.broken, said)


def _breaches(operator: str, broken: str, said: str) -> dict[str, Any]:
    return {"offences": [asdict(Offence(REFUSED_CLEANLY, operator, broken, said))]} if said else {}


def _offences(building: Building) -> dict[str, Any]:
    return {"offences": [asdict(one) for one in building.offences]} if building.offences else {}


def _rejection(building: Building, model: Model, message: str) -> Rejection:
    """What speaks for a model that was refused: it builds without passes of its own, or has none to blame."""
    label, bare = label_of(message, model, building.channel.pass_name()), not building.case.passes
    if GRADIENT in building.case.passes and not is_loss(model):
        label = Label.DOCUMENTED_REFUSAL
    if label is not Label.INTERNAL_ERROR:
        return Rejection(label.value, bare=bare)
    if bare:
        return Rejection(label.value, not building.offences, "defined", bare=True)
    builds = _builds(building, model)
    return Rejection(label.value, not building.offences, "builds" if builds else "", bare=not builds)


def _maker(building: Building, model: Model, record: Mapping[str, Any], message: str) -> dict[str, Any]:
    """Who is to blame in place of the pass that failed by a `record`, where that is known: another pass, or an
    operator's gradient."""
    failing, of_source = record["pass"], record["stage"] == Stage.COMPILE_DEVICE.value

    def build(case: Case, instruments: Sequence[Any]) -> None:
        again = Building(case, building.channel, building.effort)
        built, _ = again.build(again.module(model), case.passes, instruments=instruments)
        if of_source:
            _offer(again, built, ALONE)

    found = gradient_at_fault(building, model, failing, message) or maker_of_failure(building.case, failing, build)
    return {} if found is None else {"origin": asdict(found)}


def _builds(building: Building, model: Model) -> bool:
    of_source = building.channel.stage() is Stage.COMPILE_DEVICE
    building.channel.enter_stage(Stage.BUILD_BASELINE)
    try:
        built = building.built(model, ())
        if of_source:
            _offer(building, built, ALONE)
    except CompilerRefused:
        return False
    return True


def _compared(building: Building, model: Model, built: Any) -> Results:
    channel = building.channel
    channel.enter_stage(Stage.INTERPRET)
    if kind_of_target(building.case.target) != "llvm":
        # What is built for a GPU is not run.
        return Results("unknown", "not-run")
    if suited(building.case.passes, model) != building.case.passes:
        return Results("unknown", "no-meaning")
    runs = expected_runs(building, model)
    if not any(one.counts for run in runs for one in run.expected):
        return Results("unknown", "no-meaning")
    results = Results("defined")
    channel.note_results(results)
    channel.enter_stage(Stage.RUN)
    return replace(results, optimised=ran(building, built, runs))
