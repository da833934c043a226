"""A forked child's work on a case: load, apply the passes, build, and whatever its effort asks for beyond that.

Each step is noted in the channel before it is taken, so that a death is attributed exactly.
Whatever TVM raises is the behaviour of the compiler and becomes data here; an exception of
our own code passes through and is reported as FAULT by the executor.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.effort import COMPILE_ONLY, Check, Effort
from tzerlike.core.observation import Exit, Stage
from tzerlike.core.targets import kind_of_target
from tzerlike.execution.compare.inputs import Inputs
from tzerlike.execution.compare.results import Builds, compile_baseline, judge_builds
from tzerlike.execution.cuda.lowered import JUDGED_BEFORE, judge_lowered
from tzerlike.execution.cuda.offering import offer_sources
from tzerlike.execution.diagnosis.meaning import Meaning
from tzerlike.execution.diagnosis.search import Correctness
from tzerlike.execution.offences import WATCHES, checks_due, offences_in
from tzerlike.execution.rejection import label_rejection
from tzerlike.passes.catalog import steps_of
from tzerlike.passes.dlight import SCHEDULING
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import ALONE, RunContext
from tzerlike.systems import tvm_api, tvm_build, tvm_passes
from tzerlike.systems.compilation import Compilation, load
from tzerlike.systems.refusal import CompilerRefused
from tzerlike.tir.allowlist import native
from tzerlike.tir.interpreter import Judgement

_LOWERED_BEFORE = "tirx.LowerTVMBuiltin"
"""The pass of the default pipeline whose input is interpreted in place of a run on the host: by then arguments are
packed and small floats stored as integers, and what is left is hardly ever wrong, and not modelled."""


def run_case(
    case: Case,
    channel: Channel,
    around: RunContext = ALONE,
    effort: Effort = COMPILE_ONLY,
    baseline_known: bool = False,
) -> dict[str, Any]:
    """Take `case` through its stages and return its record: exit, message, backtrace, blocks by pass, results.

    It has `sources` where device source is left to tzerlike.execution.sources. With `baseline_known` the baseline build
    has been right on this program and these inputs before.
    """
    names = [spec.name for spec in case.passes]
    looks = [WATCHES[check](names) for check in checks_due(effort.checks, case.id, around.exploring)]
    on_host = kind_of_target(case.target) == "llvm"
    reached: list[int] = []
    left: list[str] = []
    try:
        module = load(case.ir)
        lowered = tvm_passes.ModuleBefore(_LOWERED_BEFORE if on_host else JUDGED_BEFORE)
        keeping = [lowered] if around.spares_run or not on_host else []
        watches = [tvm_passes.PassWatch(channel.note_pass), *keeping, *looks]
        passes = steps_of(case.passes)
        between = lambda: reached.append(around.blocks())  # noqa: E731
        built = Compilation(case.target, case.config, passes, watches, channel, between).build(module)
        if not on_host and Check.DEVICE_SOURCE in effort.checks:
            left = offer_sources(tvm_build.cuda_sources(built.executable.mod), case, channel, around)
    except CompilerRefused as refusal:
        record = refusal.record() | offences_in(looks)
        if Check.REJECTIONS in effort.checks and record["exit"] == Exit.REJECTED.value:
            record |= {"stage": channel.stage().value, "pass": channel.pass_name()}
            record["rejection"] = label_rejection(case, channel.pass_name(), refusal.message).to_json()
        return record
    record = {"exit": Exit.OK.value, "pass_blocks": [after - before for before, after in pairwise(reached)]}
    record |= offences_in(looks)
    if left:
        record["sources"] = left
    if Check.RESULTS in effort.checks and not on_host:
        entry = tvm_api.entry_of(module)
        lowering = (lowered.module, case.config, case.input_seed, effort, channel, around.paced)
        seen = judge_lowered(entry, *lowering, scheduled=not SCHEDULING.isdisjoint(names))
        record["results"] = seen.to_json()
    elif Check.RESULTS in effort.checks:
        entry = tvm_api.entry_of(module)
        brings = around.blocks() > reached[0]
        builds = Builds(
            lambda: compile_baseline(module, channel, effort.baseline),
            lambda: native.entry_point(module, built),
            # Over the step budget there is nothing but the baseline build to compare with, be that right.
            around.spares_baseline or baseline_known,
            lambda *meant: not brings and _alike(lowered.module, entry, *meant),
        )
        computed = lambda digest: record.update(computes=digest)  # noqa: E731
        how = (case.input_seed, effort, channel, around.paced)
        record["results"] = judge_builds(entry, builds, *how, computed=computed).to_json()
    channel.enter_stage(Stage.DONE)
    return record


def _alike(lowered: Any | None, func: Any, inputs: Inputs, judgement: Judgement) -> bool:
    """Whether a module that passes have left, if there is one, is known to compute what `func` does."""
    meaning = Meaning(func, inputs, judgement, once=True)
    return lowered is not None and meaning.look(lowered).state is Correctness.RIGHT


def touch(case: Case) -> None:
    """Take the first, cheap steps of a case that is known to compile, for what they leave behind: memory that is ours.

    After a fork, the first write to each page of the parent's costs a fault and a copy. A child that has time before
    its case arrives makes the copies that every case needs.
    """
    steps_of(case.passes)
    Compilation(case.target, case.config, instruments=[tvm_passes.PassWatch(lambda name: None)]).lower(load(case.ir))
