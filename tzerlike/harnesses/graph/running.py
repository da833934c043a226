"""What a child does with a model: build it, and compare what the build computes with NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np

from tzerlike.core.case import Case, PassSpec
from tzerlike.core.effort import Check, Effort
from tzerlike.core.observation import REFUSED_CLEANLY, Exit, Offence, Stage
from tzerlike.core.results import Difference, Ending, Ran, Rejection, Results
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import Model
from tzerlike.graph.reference import ExpectedOutput, beyond, expected_outputs, wrong_calls
from tzerlike.graph.relax import relax_module
from tzerlike.graph.runs import values_of_runs
from tzerlike.graph.spec import ROWS
from tzerlike.graph.stored import COMPILED, WITHOUT_PLANNING, model_of
from tzerlike.harnesses.graph.makers import maker_of_failure
from tzerlike.harnesses.graph.offences import PassJudge
from tzerlike.harnesses.graph.passes import least_unit, made_pass, suited
from tzerlike.harnesses.graph.refusals import label_of
from tzerlike.harnesses.graph.to_refuse import accepted_wrongly, without_words
from tzerlike.passes.label import Label
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import RunContext
from tzerlike.systems import tvm_api
from tzerlike.systems.refusal import CompilerRefused, ask_compiler

_relax = tvm_api.part("relax")

_DEFAULT, _LOWERED_ONLY = "default", "default_build"
"""The pipelines of `relax.build`; the second one legalises and lowers, and that is all."""

_LITTLE = 1e-2
"""The relative error of what is inaccurate and not wrong altogether."""


@dataclass(frozen=True)
class Run:
    """One run of what is built: the model with the extents that it has there, what comes in, and what comes out."""

    model: Model
    sources: Sequence[Array]
    expected: Sequence[ExpectedOutput]


class Building:
    """The builds of a case; each step is noted before it is taken."""

    def __init__(self, case: Case, channel: Channel, effort: Effort) -> None:
        self.case, self.channel, self.effort = case, channel, effort
        self.offences: list[Offence] = []
        self._runs: list[tuple[Model, list[Array]]] = []

    def runs(self, model: Model) -> list[tuple[Model, list[Array]]]:
        """The runs with the values of what comes in, which do not depend on what comes out."""
        if not self._runs:
            self._runs = values_of_runs(model, ROWS, self.case.input_seed)
        return self._runs

    def module(self, model: Model) -> Any:
        """The model with its constants, which it takes in their order."""
        values = zip(self.runs(model)[0][1], model.sources, strict=True)
        constants = iter([value for value, one in values if one.kind == "constant"])
        return ask_compiler(lambda: relax_module(model, lambda origin: next(constants)))

    def build(
        self,
        module: Any,
        passes: Sequence[PassSpec],
        around: RunContext | None = None,
        pipeline: str = _DEFAULT,
        instruments: Sequence[Any] = (),
    ) -> tuple[Any, list[int]]:
        """Return what the module becomes behind `passes`, and the blocks that each was the first to reach."""
        channel, reached = self.channel, [0 if around is None else around.blocks()]
        target = ask_compiler(lambda: tvm_api.target_of(self.case.target))
        watch = tvm_api.PassWatch(channel.note_pass)
        with target, tvm_api.pass_context(self.case.config, [watch, *instruments]):
            for spec in passes:
                channel.note_pass(spec.name)
                step = made_pass(spec)
                judge = None if around is None or self.offences else PassJudge(spec.name, module, self.effort)
                module = ask_compiler(lambda step=step, module=module: step(module))  # type: ignore[misc]
                if around is not None:
                    reached.append(around.blocks())
                if judge is not None:
                    self.offences += ask_compiler(lambda judge=judge, module=module: [*judge.offences(module)])  # type: ignore[misc]
            channel.note_pass("")
            if around is not None:
                channel.enter_stage(Stage.BUILD)
            mode = "compiled" if COMPILED in passes else "bytecode"
            chosen = _relax.get_pipeline(pipeline)
            built = ask_compiler(lambda: _relax.build(module, target, relax_pipeline=chosen, exec_mode=mode))
        channel.note_pass("")
        return built, [after - before for before, after in pairwise(reached)]

    def outputs(self, model: Model, built: Any, sources: Sequence[Array]) -> list[Array]:
        """Run what was built."""

        def run() -> list[Array]:
            inputs = [value for value, one in zip(sources, model.sources, strict=True) if one.kind == "input"]
            # Of the executable, it would have a model without code of its own compiled as C, by a compiler for that.
            machine = _relax.VirtualMachine(built.mod, tvm_api.tvm.cpu())
            found = machine[tvm_api.ENTRY](*map(tvm_api.tvm.runtime.tensor, inputs))
            return [one.numpy().copy() for one in found]

        return ask_compiler(run)


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
    except CompilerRefused as refusal:
        record = refusal.record() | {"stage": channel.stage().value, "pass": channel.pass_name()}
        if Check.REJECTIONS in effort.checks and record["exit"] == Exit.REJECTED.value:
            rejection = _rejection(building, model, refusal.message)
            record["rejection"] = rejection.to_json()
            if rejection.support and rejection.well_formed:
                record |= _maker(building, model, record["pass"])
        return record | _offences(building)
    record = {"exit": Exit.OK.value, "pass_blocks": blocks} | _offences(building)
    if Check.RESULTS in effort.checks and not building.offences:
        record["results"] = _compared(building, model, built).to_json()
    channel.enter_stage(Stage.DONE)
    return record


def _to_be_refused(building: Building, model: Model) -> dict[str, Any]:
    """A call that breaks its row: what type inference says of it, and what a build does where that says nothing."""
    (vertex,) = model.vertices
    operator, channel = vertex.row.partition(":")[0], building.channel
    try:
        module = building.module(model)
        said = accepted_wrongly(model, module)
        channel.enter_stage(Stage.BUILD)
        building.build(module, ())
    except CompilerRefused as refusal:
        record = refusal.record() | {"stage": channel.stage().value, "pass": channel.pass_name()}
        if record["exit"] == Exit.REJECTED.value:
            record["rejection"] = Rejection(Label.DOCUMENTED_REFUSAL.value, False, "").to_json()
            said = without_words(refusal.message)
        return record | _breaches(operator, vertex.broken, said)
    channel.enter_stage(Stage.DONE)
    return {"exit": Exit.OK.value} | _breaches(operator, vertex.broken, said)


def _breaches(operator: str, broken: str, said: str) -> dict[str, Any]:
    return {"offences": [asdict(Offence(REFUSED_CLEANLY, operator, broken, said))]} if said else {}


def _offences(building: Building) -> dict[str, Any]:
    return {"offences": [asdict(one) for one in building.offences]} if building.offences else {}


def _rejection(building: Building, model: Model, message: str) -> Rejection:
    """What speaks for a model that was refused: it builds without passes of its own, or has none to blame."""
    label, bare = label_of(message, model), not building.case.passes
    if label is not Label.INTERNAL_ERROR:
        return Rejection(label.value, bare=bare)
    if bare:
        return Rejection(label.value, not building.offences, "defined", bare=True)
    building.channel.enter_stage(Stage.BUILD_BASELINE)
    builds = _builds(building, model)
    return Rejection(label.value, not building.offences, "builds" if builds else "", bare=not builds)


def _maker(building: Building, model: Model, failing: str) -> dict[str, Any]:
    """The pass that is to blame in place of the one that failed, where that is known."""

    def build(case: Case, instruments: Sequence[Any]) -> None:
        again = Building(case, building.channel, building.effort)
        again.build(again.module(model), case.passes, instruments=instruments)

    found = maker_of_failure(building.case, failing, build)
    return {} if found is None else {"origin": asdict(found)}


def _builds(building: Building, model: Model) -> bool:
    try:
        building.build(building.module(model), ())
    except CompilerRefused:
        return False
    return True


def _compared(building: Building, model: Model, built: Any) -> Results:
    channel = building.channel
    channel.enter_stage(Stage.INTERPRET)
    if suited(building.case.passes, model) != building.case.passes:
        return Results("unknown", "no-meaning")
    runs = expected_runs(building, model)
    if not any(one.counts for run in runs for one in run.expected):
        return Results("unknown", "no-meaning")
    results = Results("defined")
    channel.note_results(results)
    channel.enter_stage(Stage.RUN)
    results = replace(results, optimised=ran(building, built, runs))
    return _blamed(building, model, runs, results) if results.optimised.ending.wrong else results


def expected_runs(building: Building, model: Model) -> list[Run]:
    """Return the runs of a model, each with what it is expected to give."""
    unit = least_unit(building.case.passes)
    return [Run(one, values, expected_outputs(one, ROWS, values, unit)) for one, values in building.runs(model)]


def ran(building: Building, built: Any, runs: Sequence[Run]) -> Ran:
    """What comes of the runs; outputs are counted through all of them."""
    before = 0
    for run in runs:
        try:
            outputs = building.outputs(run.model, built, run.sources)
        except CompilerRefused as refusal:
            return Ran(Ending.RAISED, refusal.message)
        for number, (want, got) in enumerate(zip(run.expected, outputs, strict=True), before):
            if want.counts and (found := _difference(number, want, got)):
                return Ran(Ending.DIFFERS, difference=found)
        before += len(outputs)
    return Ran(Ending.AGREES)


def _blamed(building: Building, model: Model, runs: Sequence[Run], results: Results) -> Results:
    """Say who is wrong: an operator in the baseline build already, or the first pass with which the results are."""
    building.channel.note_results(results)
    building.channel.enter_stage(Stage.BUILD_BASELINE)
    try:
        built, _ = building.build(building.module(model), (), pipeline=_LOWERED_ONLY)
    except CompilerRefused as refusal:
        return replace(results, baseline=Ran(Ending.REFUSED, refusal.message))
    baseline = ran(building, built, runs)
    results = replace(results, baseline=baseline)
    if baseline.ending is Ending.DIFFERS:
        return _of_operator(building, model, runs, results)
    if baseline.ending is not Ending.AGREES:
        return results
    for count in range(len(building.case.passes) + 1):
        built, _ = building.build(building.module(model), building.case.passes[:count])
        if ran(building, built, runs).ending.wrong:
            return replace(results, guilty=building.case.passes[count - 1].name if count else "default pipeline")
    return results


def _of_operator(building: Building, model: Model, runs: Sequence[Run], results: Results) -> Results:
    """Judge each call on what a build gave it. Where none is wrong by itself, errors have grown, and nobody is."""
    first = len(model.sources)
    bare = msgspec.structs.replace(model, outputs=tuple(range(first, len(model.types()))))
    built, _ = building.build(building.module(bare), (), pipeline=_LOWERED_ONLY)
    for run in runs:
        found = wrong_calls(run.model, ROWS, run.sources, building.outputs(bare, built, run.sources))
        if found:
            return replace(results, guilty=found[0][0].row.partition(":")[0])
    return _of_planning(building, model, runs, results)


def _of_planning(building: Building, model: Model, runs: Sequence[Run], results: Results) -> Results:
    """Judge a model whose calls are right one by one: with memory of its own for each tensor, errors alone can grow."""
    apart = Building(replace(building.case, config=WITHOUT_PLANNING), building.channel, building.effort)
    built, _ = apart.build(apart.module(model), ())
    if ran(apart, built, runs).ending.wrong:
        return Results("unknown", "errors-grow")
    return replace(results, guilty="StaticPlanBlockMemory")


def _difference(number: int, want: ExpectedOutput, got: Array) -> Difference | None:
    bad = beyond(want.values, want.bound, got)
    if not bad.any():
        return None
    index = tuple(int(one) for one in np.argwhere(bad)[0])
    same = got.shape == want.values.shape
    value, expected = (got[index], want.values[index]) if same else (got.shape, want.values.shape)
    return Difference(
        number,
        f"output{number}",
        str(got.dtype),
        index,
        str(expected),
        str(want.bound[index]) if same else "0",
        str(value),
        int(bad.sum()),
        int(bad.size),
        _nature(float(value), float(expected), want.values) if same else "shape",
    )


def _nature(value: float, expected: float, values: Array) -> str:
    if np.isnan(value):
        return "nan"
    if np.isinf(value):
        return "infinity"
    return "inaccurate" if values.dtype.kind == "f" and abs(value - expected) < _LITTLE * abs(expected) else "value"
