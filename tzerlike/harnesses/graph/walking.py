"""Walking along the steps of a model's case: which raises, which leaves ill-formed IR, which changes the results."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.observation import Stage
from tzerlike.core.results import Ran
from tzerlike.execution.diagnosis.walk import Change, Walk
from tzerlike.graph.model import Model
from tzerlike.graph.steps import leading, noted_as
from tzerlike.graph.stored import model_of
from tzerlike.harnesses.graph.building import Building, expected_runs, ran
from tzerlike.harnesses.graph.offences import ALL_CHECKS, PassJudge
from tzerlike.processes.channel import Channel
from tzerlike.systems import tvm_build, tvm_passes
from tzerlike.systems.program_diff import program_diff
from tzerlike.systems.refusal import CompilerRefused, ask_compiler

WALK = "walk-model"
"""What the job is called."""


@dataclass(frozen=True)
class _Step:
    """A step at its place, with the module before it and behind it."""

    index: int
    name: str
    before: Any
    after: Any

    def walk(self, count: int, change: Change, detail: str) -> Walk:
        diff = program_diff(self.name, self.before, self.after)
        return Walk(count, change, (self.name,), self.index, detail, diff=diff)


def walk_model(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    """Walk along the steps of a case and lay down the Walk; the item is that of tzerlike.execution.diagnosis.ask."""
    case = Case.from_json(item["case"])
    channel.enter_stage(Stage.PASSES)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    model, building = model_of(case.ir), Building(case, channel, ALL_CHECKS)
    walk = _stepped(building, model, channel, item["stop"]) or _built(building, model, channel)
    signal.setitimer(signal.ITIMER_PROF, 0)
    channel.add_result({"walk": walk.to_json()})


def _stepped(building: Building, model: Model, channel: Channel, stop: int | None) -> Walk | None:
    """The walk that ends at a step which raises, or leaves what it may not."""
    case, module = building.case, building.module(model)
    count = len(case.passes)
    target = ask_compiler(lambda: tvm_build.target_of(case.target))
    with target, tvm_passes.pass_context(case.config, []):
        for index, spec in enumerate(case.passes):
            if index == stop:
                return _Step(index, noted_as(spec), module, module).walk(count, Change.NONE, "")
            channel.add_result({"at": index, "name": noted_as(spec)})
            judge = PassJudge(spec, module, ALL_CHECKS)
            try:
                after = ask_compiler(partial(building.step(spec), module))
                found = ask_compiler(lambda judge=judge, after=after: [*judge.offences(after)])  # type: ignore[misc]
            except CompilerRefused as refusal:
                return _Step(index, noted_as(spec), module, module).walk(count, Change.RAISED, refusal.message)
            if found:
                detail = f"{found[0].rule}: {found[0].where}"
                return _Step(index, noted_as(spec), module, after).walk(count, Change.ILL_FORMED, detail)
            module = after
    return None


def _built(building: Building, model: Model, channel: Channel) -> Walk:
    """The walk to the first step behind which a build fails, or computes something else."""
    case = building.case
    count = len(case.passes)
    channel.add_result({"at": None, "name": ""})
    runs = expected_runs(building, model)
    for length in range(len(leading(case.passes)), count + 1):
        try:
            built = building.built(model, case.passes[:length])
            # What kills a process from here on is no pass.
            channel.enter_stage(Stage.RUN)
            found = ran(building, built, runs)
            channel.enter_stage(Stage.PASSES)
        except CompilerRefused as refusal:
            if length:
                return Walk(count, Change.NONE, (noted_as(case.passes[length - 1]),), detail=refusal.message)
            name = channel.pass_name()
            return Walk(count, Change.RAISED, (name,) if name else (), detail=refusal.message)
        if found.ending.wrong:
            return _wrong(building, model, length, found)
    return Walk(count)


def _wrong(building: Building, model: Model, length: int, found: Ran) -> Walk:
    """What is wrong in front of all passes already, an operator, its gradient or its import, or the planning of memory
    is known to be guilty of."""
    passes = building.case.passes
    if length == len(leading(passes)):
        return Walk(len(passes), difference=found.difference)
    modules = [_behind(building, model, passes[:end]) for end in (length - 1, length)]
    walk = _Step(length - 1, noted_as(passes[length - 1]), *modules).walk(len(passes), Change.RESULT, found.message)
    return Walk(walk.passes, walk.change, walk.suspects, walk.index, walk.detail, found.difference, walk.diff)


def _behind(building: Building, model: Model, passes: Sequence[Any]) -> Any:
    module = building.module(model)
    target = ask_compiler(lambda: tvm_build.target_of(building.case.target))
    with target, tvm_passes.pass_context(building.case.config, []):
        for spec in passes:
            module = ask_compiler(partial(building.step(spec), module))
    return module
