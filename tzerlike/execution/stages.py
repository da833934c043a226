"""What a forked child does with a case: load, apply the passes, build, and what its effort asks for beyond that.

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
from tzerlike.core.targets import arch_of_target
from tzerlike.execution.compare.results import Builds, compile_baseline, judge_builds
from tzerlike.execution.cuda.lowered import JUDGED_BEFORE, judge_lowered
from tzerlike.execution.cuda.source import SourceRefused, due, first_refusal, runs_confined
from tzerlike.execution.cuda.toolchain import find_toolchain
from tzerlike.execution.rejection import label_rejection
from tzerlike.passes import instantiate
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import ALONE, RunContext
from tzerlike.processes.refusal import CompilerRefused, ask_compiler
from tzerlike.systems import tvm_api
from tzerlike.tir.allowlist import native


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
    reached = []
    left: list[str] = []
    try:
        module = original = ask_compiler(lambda: tvm_api.load_ir(case.ir))
        target = ask_compiler(lambda: tvm_api.target_of(case.target))
        passes = [instantiate(spec) for spec in case.passes]
        watch = tvm_api.PassWatch(channel.note_pass)
        lowered = None if tvm_api.runs_here(target) else tvm_api.ModuleBefore(JUDGED_BEFORE)
        watches = [watch] if lowered is None else [watch, lowered]
        context = ask_compiler(lambda: tvm_api.pass_context(case.config, watches))
        with target, context:
            channel.enter_stage(Stage.PASSES)
            reached.append(around.blocks())
            module = ask_compiler(lambda: tvm_api.bind_target(module, target))
            for spec, step in zip(case.passes, passes, strict=True):
                channel.note_pass(spec.name)
                module = ask_compiler(lambda step=step, module=module: step(module))  # type: ignore[misc]
                reached.append(around.blocks())
            channel.note_pass("")
            channel.enter_stage(Stage.BUILD)
            built = ask_compiler(lambda: tvm_api.build(module, target, case.config.pipeline))
            channel.note_pass("")
            if lowered is not None and Check.DEVICE_SOURCE in effort.checks:
                left = _offer_source(built, case, channel, around)
    except CompilerRefused as refusal:
        record = refusal.record()
        if Check.REJECTIONS in effort.checks and record["exit"] == Exit.REJECTED.value:
            record |= {"stage": channel.stage().value, "pass": channel.pass_name()}
            record["rejection"] = label_rejection(case, channel.pass_name(), refusal.message).to_json()
        return record
    record = {"exit": Exit.OK.value, "pass_blocks": [after - before for before, after in pairwise(reached)]}
    if left:
        record["sources"] = left
    if Check.RESULTS in effort.checks and lowered is not None:
        entry = tvm_api.entry_of(original)
        seen = judge_lowered(entry, lowered.module, case.config, case.input_seed, effort, channel, around.paced)
        record["results"] = seen.to_json()
    elif Check.RESULTS in effort.checks:
        builds = Builds(
            None if baseline_known else lambda: compile_baseline(original, channel),
            lambda: native.entry_point(original, built),
        )
        entry = tvm_api.entry_of(original)
        record["results"] = judge_builds(entry, builds, case.input_seed, effort, channel, around.paced).to_json()
    channel.enter_stage(Stage.DONE)
    return record


def _offer_source(built: tvm_api.Built, case: Case, channel: Channel, around: RunContext) -> list[str]:
    """Have the device source compiled where a compiler for it is at hand; CompilerRefused with its complaint.

    Returns the sources that are to be compiled elsewhere, where the compiler is none for a confined child.
    """
    sources = tvm_api.cuda_sources(built)
    toolchain = find_toolchain() if sources else None
    if toolchain is None or not due(toolchain, sources, case.id, around.exploring):
        return []
    if not runs_confined(toolchain):
        return sources
    channel.enter_stage(Stage.COMPILE_DEVICE)
    # It has all of the time for itself.
    around.paced(True)
    said = first_refusal(toolchain, sources, arch_of_target(case.target))
    if said is not None:
        raise CompilerRefused(SourceRefused(said))
    around.paced(True)
    return []


def touch(case: Case) -> None:
    """Take the first, cheap steps of a case that is known to compile, for what they leave behind: memory that is ours.

    After a fork, the first write to each page of the parent's costs a fault and a copy. A child that has time before
    its case arrives makes the copies that every case needs.
    """
    module = tvm_api.load_ir(case.ir)
    target = tvm_api.target_of(case.target)
    with target, tvm_api.pass_context(case.config, [tvm_api.PassWatch(lambda name: None)]):
        for spec in case.passes:
            instantiate(spec)
        tvm_api.bind_target(module, target)
