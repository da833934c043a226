"""The evidence for a program that TVM refused.

The child that TVM refused it in labels the refusal. For an internal error, another child looks at the program, since
TVM's verifiers die of some.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.effort import Check, Effort
from tzerlike.core.limits import Limits
from tzerlike.core.observation import ILL_FORMED, Exit, Observation, Offence, Stage, message_template
from tzerlike.core.results import Rejection
from tzerlike.core.targets import arch_of_target, kind_of_target
from tzerlike.execution.cuda.source import first_refusal, runs_confined
from tzerlike.execution.cuda.toolchain import find_cuda_toolchain
from tzerlike.execution.definedness import never_divides_by_zero, verdict_of
from tzerlike.execution.diagnosis.ask import Call
from tzerlike.execution.offences import FormWatch, OriginWatch, formed_but_for_threads, jumps_within_loops
from tzerlike.execution.origin import as_record, borne_out, concerns, failure_of, origin_in, without_pass
from tzerlike.passes import dlight
from tzerlike.passes.facts import Fact, facts_of
from tzerlike.passes.given import GivenPasses
from tzerlike.passes.label import Label, blames_a_value, divides_by_zero, label
from tzerlike.passes.naming import short_name
from tzerlike.passes.pipeline import default_pipeline
from tzerlike.passes.tilelang import is_drivers_own
from tzerlike.processes.channel import Channel
from tzerlike.processes.heap import stir
from tzerlike.processes.job import Job
from tzerlike.systems import tvm_api, tvm_build, tvm_passes
from tzerlike.systems.baseline import REFERENCE_TARGET, baseline_config
from tzerlike.systems.compilation import Compilation, load
from tzerlike.systems.optional import LEVELS
from tzerlike.systems.refusal import CompilerRefused, ask_compiler
from tzerlike.tir.honest import in_plain_blocks
from tzerlike.tir.interpreter import Verdict
from tzerlike.tir.tile_checks import tiles_fit
from tzerlike.tir.views import views_fit

_JOB = "weigh-rejection"


def label_rejection(case: Case, pass_name: str, message: str) -> Rejection:
    """Say what kind of refusal it is that TVM gave with `message` in `pass_name`. In a child: it loads the program."""
    try:
        whole = case.config.pipeline != "default"
        tail = () if whole else case.config.enabled(default_pipeline(case.target, case.config).passes)
        module = load(case.ir)
    except CompilerRefused:
        return Rejection(Label.DOCUMENTED_REFUSAL.value)
    if short_name(pass_name) == dlight.NAME and not in_plain_blocks(tvm_api.entry_of(module)):
        # It schedules what operators are lowered to.
        return Rejection(Label.DOCUMENTED_REFUSAL.value)
    return Rejection(label((*case.passes, *tail), facts_of(case.ir), pass_name, message).value)


def weighed(call: Call, case: Case, seen: Observation, limits: Limits, effort: Effort) -> Observation:
    """Return `seen` with what speaks for a program that met an internal error.

    Where the compiler dies of its baseline build, that is what is returned.
    """
    internal = Label.INTERNAL_ERROR.value
    if seen.exit is not Exit.REJECTED or Check.REJECTIONS not in effort.checks:
        return seen
    if seen.rejection is not None and not in_doubt(seen.rejection, seen.message):
        return seen
    item = {
        "case": case.to_json(),
        "effort": effort.to_json(),
        "pass": seen.pass_name,
        "message": seen.message,
        "of source": seen.stage is Stage.COMPILE_DEVICE,
    }
    records, death = call(_JOB, item, limits)
    judged = bool(records) and "sources" in records[-1]
    if death is not None and records and records[-1].get("well_formed") and not judged:
        return death
    rejection = Rejection.from_json(records[-1]) if records else Rejection(internal)
    sources = records[-1].get("sources", ()) if records else ()
    toolchain = find_cuda_toolchain() if sources else None
    if toolchain is not None and first_refusal(toolchain, sources, arch_of_target(case.target)) is not None:
        rejection = replace(rejection, support="")
    origin = origin_in(records[-1]) if records else None
    if origin is not None and origin.check == ILL_FORMED and seen.stage is not Stage.COMPILE_DEVICE:
        origin = origin if concerns(call, case, origin.pass_name, seen, limits, effort.layout) else None
    return replace(seen, rejection=rejection, origin=origin)


def weigh(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    """The job of `weighed`: lay down a Rejection after each thing that is found out, so that a death can be attributed.

    The last one has the `sources` beside it that are left to the worker to have compiled.
    """
    case, effort = Case.from_json(item["case"]), Effort.from_json(item["effort"])
    stir(effort.layout)
    channel.enter_stage(Stage.BUILD_BASELINE)
    signal.setitimer(signal.ITIMER_PROF, 2 * seconds)
    rejection = label_rejection(case, item["pass"], item["message"])
    channel.add_result(rejection.to_json())
    if not in_doubt(rejection, item["message"]):
        return
    maker = _maker_of_ill_formed(case, item["of source"])
    if maker is None:
        return
    internal = Rejection(Label.INTERNAL_ERROR.value, well_formed=True)
    excused = rejection.label != internal.label
    rejection = rejection if excused else internal
    channel.add_result(rejection.to_json())
    signal.setitimer(signal.ITIMER_PROF, 0)
    channel.enter_stage(Stage.INTERPRET)
    module = tvm_api.load_ir(case.ir)
    sources: list[str] = []
    if excused:
        if never_divides_by_zero(case, module, effort):
            rejection = replace(internal, support="defined")
    elif Fact.TILES in facts_of(case.ir):
        rejection = replace(rejection, support="defined" if tiles_fit(tvm_api.entry_of(module)) else "")
    elif (verdict := verdict_of(case, module, effort)) == Verdict.DEFINED:
        rejection = replace(rejection, support="defined")
    elif verdict != Verdict.UNDEFINED and not blames_a_value(item["message"]):
        channel.enter_stage(Stage.BUILD_BASELINE)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        builds, sources = _builds(case, module, channel, effort.baseline)
        rejection = replace(rejection, support="builds" if builds else "")
    record = rejection.to_json() | {"sources": sources}
    if rejection.support or sources:
        # Of what nothing speaks for, nobody asks whose fault it is, and that takes as long as all before.
        channel.add_result(record)
        channel.enter_stage(Stage.BUILD_BASELINE)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        record |= as_record(_origin(case, maker, item))
    channel.add_result(record)


def _origin(case: Case, maker: str, item: Mapping[str, Any]) -> Offence | None:
    """Who broke what the failing step was given; `maker` is the pass that made it ill-formed, "" for none."""
    watch = _watched(case)
    left = watch.left_by(maker)
    rule = "well-formed" if left is None else left.rule
    origin = Offence(ILL_FORMED, maker, rule, "") if maker else watch.offence
    if item["of source"]:
        return origin
    if origin is watch.offence:
        origin = _needed(case, origin, (item["pass"], message_template(item["message"])))
    return borne_out(case, watch.suspicion, item["pass"], item["message"]) or origin


def _needed(case: Case, origin: Offence | None, failure: tuple[str, str]) -> Offence | None:
    """The origin, if the case does not fail the same without what left ill-typed IR; else the one that it has then."""
    if origin is None or origin.check != Check.TYPES or origin.pass_name in case.config.disabled_passes:
        return origin
    rest = without_pass(case, origin.pass_name)
    return _needed(rest, _watched(rest).offence, failure) if failure_of(rest) == failure else origin


def _watched(case: Case) -> OriginWatch:
    watch = OriginWatch([spec.name for spec in case.passes])
    with suppress(CompilerRefused):
        Compilation(case.target, case.config, GivenPasses(case.passes).steps, [watch]).build(load(case.ir))
    return watch


def in_doubt(rejection: Rejection, message: str) -> bool:
    """Whether it takes a look at the program to say if a refusal is an internal error on a valid one."""
    if rejection.label == Label.DOCUMENTED_REFUSAL.value:
        return divides_by_zero(message)
    return rejection.label == Label.INTERNAL_ERROR.value


def _maker_of_ill_formed(case: Case, of_source: bool) -> str | None:
    """Return the pass of the default pipeline that made ill-formed what TVM's verifiers accept, "" for none.

    None where they refuse the program, or what passes of the case's own gave the failing step.

    With `of_source` nothing failed up to the source, and it is what the case's own passes made that they look at.

    They accept what the default pipeline gives each of its passes. A pass that another has given something ill-formed,
    or something that its preconditions exclude, is not the one to blame.
    """
    module = tvm_api.load_ir(case.ir)
    if not tvm_api.well_formed(module) or not views_fit(tvm_api.entry_of(module)):
        return None
    watch = tvm_passes.ModuleWatch()
    passes = GivenPasses(case.passes)
    compilation = Compilation(case.target, case.config, passes.steps, [watch])
    try:
        compilation.build(module)
    except CompilerRefused:
        if of_source or passes.misused:
            return None
        given = watch.module or module
    else:
        if not of_source:
            return None
        given = compilation.lower(module)
    if not tvm_api.well_formed(given):
        if case.passes and is_drivers_own(case):
            # Its passes leave each other what TVM's verifiers refuse: a failure of theirs is nobody else's.
            return ""
        if of_source or case.passes:
            return None
        # What threads say of themselves counts less than what is wrong besides: later passes seldom read it.
        return _first_to_break(case, FormWatch(formed_but_for_threads)) or _first_to_break(case, FormWatch())
    if case.passes or jumps_within_loops(given) or not jumps_within_loops(module):
        return ""
    return _first_to_break(case, FormWatch(jumps_within_loops)) or ""


def _first_to_break(case: Case, watch: FormWatch) -> str | None:
    """The pass of a pipeline that leaves what `watch` looks for; None where its passes come through."""
    try:
        Compilation(case.target, case.config, instruments=[watch]).build(tvm_api.load_ir(case.ir))
    except CompilerRefused:
        return watch.maker or None
    return None


def _builds(case: Case, module: Any, channel: Channel, baseline: str) -> tuple[bool, list[str]]:
    """Whether the baseline build compiles, and device sources that are left to the worker to compile.

    No machine code is generated for the host.
    """
    on_host = kind_of_target(case.target) == "llvm"
    wanted, baseline = (REFERENCE_TARGET, baseline) if on_host else (case.target, LEVELS)
    try:
        watch = tvm_passes.PassWatch(channel.note_pass)
        built = Compilation(wanted, baseline_config(baseline), instruments=[watch]).build(module)
        sources = ask_compiler(lambda: tvm_build.cuda_sources(built.executable.mod))
    except CompilerRefused:
        return False, []
    toolchain = find_cuda_toolchain() if sources else None
    if toolchain is None or not runs_confined(toolchain):
        return True, [] if toolchain is None else sources
    return first_refusal(toolchain, sources, arch_of_target(wanted)) is None, []


JOBS: Mapping[str, Job] = MappingProxyType({_JOB: weigh})
