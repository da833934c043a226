"""Whether a case is one that a user of the compiler might have, and cases that are: checked, and made, in a child."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from tzerlike.core.case import Case, ContextConfig
from tzerlike.core.effort import Effort
from tzerlike.core.observation import Stage
from tzerlike.core.targets import kind_of_target, target_text
from tzerlike.core.untrusted import PROGRAM_BYTES
from tzerlike.execution.definedness import verdict_of
from tzerlike.execution.executor import ForkExecutor
from tzerlike.execution.rendering import rendered
from tzerlike.passes.catalog import steps_of
from tzerlike.passes.dlight import SHIPPED_SCHEDULE, lacks_threads
from tzerlike.passes.facts import facts_of
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import Job
from tzerlike.systems import tvm_api, tvm_build
from tzerlike.systems.compilation import Compilation, load
from tzerlike.systems.refusal import CompilerRefused, ask_compiler
from tzerlike.tir.hints import HINTED, hinted
from tzerlike.tir.interpreter import Verdict
from tzerlike.tir.odd.forms import mended, oddities
from tzerlike.tir.plain import binds_threads, odd_in
from tzerlike.tir.typecheck import is_well_typed

_PLAIN, _AFTER, _MENDED, _HINTED = "plain-program", "program-after", "program-mended", "program-hinted"


def plain_program(executor: ForkExecutor, case: Case, *, printed: bool) -> bool:
    """Whether somebody would write the program of `case`, and it is typed, well-formed and defined on its inputs.

    With `printed`, it has to come back from its own TVMScript as well. Fault on one of ours.
    """
    if odd_in(case.ir, threads=_has_threads(case)):
        return False
    records = executor.recall(_PLAIN, {"case": _bare(case).to_json()})
    return bool(records and records[-1]["plain"]) and (not printed or rendered(executor, case).faithful)


def odd_forms(case: Case) -> frozenset[str]:
    """Return what is odd about the form of the program of `case`; in this process. What TVM raises where it does not
    read."""
    return frozenset(odd.what for odd in oddities(tvm_api.entry_of(load(case.ir)), threads=_has_threads(case)))


def plain_case(case: Case) -> Case:
    """Return the case of the same program in the default pipeline with default options.

    For a device, a program without threads gets those that TVM's pipelines give to what models are lowered to.
    """
    if not _has_threads(case):
        return replace(case, passes=(), config=ContextConfig(), target="llvm")
    passes = (SHIPPED_SCHEDULE,) if lacks_threads(facts_of(case.ir)) else ()
    return replace(case, passes=passes, config=ContextConfig())


def _bare(case: Case) -> Case:
    """The case without what does not matter to its program."""
    return replace(case, passes=(), config=ContextConfig())


def program_after(executor: ForkExecutor, case: Case, passes: int) -> Case | None:
    """Return the plain case of what so many of the passes of `case` make of its program; None where one of them
    fails, leaves no entry, or makes a program that is too large for a case."""
    records = executor.recall(_AFTER, {"case": replace(case, passes=case.passes[:passes]).to_json()})
    return replace(plain_case(case), ir=records[-1]["ir"]) if records else None


def program_hinted(executor: ForkExecutor, case: Case) -> Case | None:
    """Return the plain case of the program of `case` that asks for its options itself; None where it cannot."""
    if not HINTED.keys() & dict(case.config.options):
        return None
    records = executor.recall(_HINTED, {"case": case.to_json()})
    return replace(plain_case(case), ir=records[-1]["ir"]) if records else None


def case_of_device(case: Case) -> Case | None:
    """Return the case for a device where its program has loops for threads, which its target has not, else None."""
    return None if _has_threads(case) or not binds_threads(case.ir) else replace(case, target=target_text("cuda"))


def mended_programs(executor: ForkExecutor, case: Case) -> list[Case]:
    """Return cases of programs like that of `case` with nothing odd about their form; they may compute something else.

    Of the program itself, and of the one that its TVMScript is read as. Where nothing is odd there are none.
    """
    found: dict[str, None] = {}
    for ir in filter(None, (case.ir, rendered(executor, case).again)):
        records = executor.recall(_MENDED, {"case": replace(_bare(case), ir=ir).to_json()})
        found |= dict.fromkeys(record["ir"] for record in records)
    return [replace(case, ir=ir) for ir in found if ir != case.ir]


def _has_threads(case: Case) -> bool:
    return kind_of_target(case.target) != "llvm"


def _look(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    channel.enter_stage(Stage.INTERPRET)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    case = Case.from_json(item["case"])
    try:
        module = load(case.ir)
        entry = tvm_api.entry_of(module)
        plain = next(oddities(entry, threads=_has_threads(case)), None) is None and is_well_typed(entry)
        plain = plain and bool(ask_compiler(lambda: tvm_api.well_formed(module)))
    except CompilerRefused:
        plain = False
    if plain:
        plain = verdict_of(case, module, Effort()) == Verdict.DEFINED
    signal.setitimer(signal.ITIMER_PROF, 0)
    channel.add_result({"plain": plain})


def _apply(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    case = Case.from_json(item["case"])
    try:
        module = Compilation(case.target, case.config, steps_of(case.passes), notes=channel).lower(load(case.ir))
        ir = ask_compiler(lambda: tvm_api.dump_ir(tvm_build.without_target(module)))
    except (CompilerRefused, KeyError):
        return
    signal.setitimer(signal.ITIMER_PROF, 0)
    # Loops that are unrolled may leave more than a case holds.
    if len(json.dumps(ir)) <= PROGRAM_BYTES:
        channel.add_result({"ir": ir})


def _hint(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    case = Case.from_json(item["case"])
    func = hinted(tvm_api.entry_of(load(case.ir)), dict(case.config.options))
    signal.setitimer(signal.ITIMER_PROF, 0)
    if func is not None:
        channel.add_result({"ir": tvm_api.dump_ir(tvm_api.module_of(func))})


def _mend(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    case = Case.from_json(item["case"])
    for way in (0, 1):
        try:
            func = mended(tvm_api.entry_of(load(case.ir)), way, threads=_has_threads(case))
        except (CompilerRefused, *tvm_api.CONSTRUCTION_ERRORS) as error:
            if not isinstance(error, CompilerRefused) and not tvm_api.raised_by_tvm(error):
                raise
            continue
        if func is not None:
            channel.add_result({"ir": tvm_api.dump_ir(tvm_api.module_of(func))})
    signal.setitimer(signal.ITIMER_PROF, 0)


JOBS: Mapping[str, Job] = MappingProxyType({_PLAIN: _look, _AFTER: _apply, _MENDED: _mend, _HINTED: _hint})
