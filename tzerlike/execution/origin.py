"""Which pass broke the IR on which the compiler dies: the passes of a compilation, watched while it runs once more."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import asdict, replace
from types import MappingProxyType
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.effort import Check, Effort
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation, Offence, Stage, message_template
from tzerlike.core.refused import about_a_definition
from tzerlike.core.schema import converted
from tzerlike.execution.diagnosis.ask import Call
from tzerlike.execution.offences import OriginWatch
from tzerlike.passes.catalog import steps_of
from tzerlike.processes.channel import Channel
from tzerlike.processes.heap import stir
from tzerlike.processes.job import Job
from tzerlike.systems import tvm_passes, under_test
from tzerlike.systems.compilation import Compilation, load
from tzerlike.systems.refusal import CompilerRefused

_JOB = "trace-origin"
_SUSPICION, _BUILT, _REFUSED = "suspicion", "built", "refused"


def with_origin(call: Call, case: Case, seen: Observation, limits: Limits, effort: Effort) -> Observation:
    """Return `seen` with the `origin` of a crash, where an earlier pass broke what the one was given that crashed.

    Asked of what is asked of rejections too.
    """
    if Check.REJECTIONS not in effort.checks or seen.exit is not Exit.CRASH:
        return seen
    if seen.stage not in (Stage.PASSES, Stage.BUILD):
        return seen
    item = {"case": case.to_json(), "layout": effort.layout}
    records, death = call(_JOB, item, limits)
    if not records or death is None:
        return seen
    suspicion = _offence_in(records[-1], _SUSPICION)
    if suspicion is not None and suspicion.pass_name != seen.pass_name:
        spared, died = call(_JOB, item | {"case": without_pass(case, suspicion.pass_name).to_json()}, limits)
        if died is None and spared and _BUILT in spared[-1]:
            return replace(seen, origin=suspicion)
    return replace(seen, origin=origin_in(records[-1]))


def concerns(call: Call, case: Case, maker: str, seen: Observation, limits: Limits, layout: int) -> bool:
    """Whether it is because of the ill-formed IR that the pass `maker` leaves that a later one fails.

    Not where the same fails without it. Where it cannot be done without, that takes a failure about a definition.
    """
    records, death = call(_JOB, {"case": without_pass(case, maker).to_json(), "layout": layout}, limits)
    last = records[-1] if records and death is None else {}
    if _BUILT in last:
        return True
    where, said = last.get(_REFUSED, ("", ""))
    if said and where == seen.pass_name:
        return bool(said != message_template(seen.message))
    return about_a_definition(seen.message)


def origin_in(record: Mapping[str, Any]) -> Offence | None:
    """The offence in a record of a child."""
    return _offence_in(record, "origin")


def _offence_in(record: Mapping[str, Any], key: str) -> Offence | None:
    found = record.get(key)
    return None if found is None else converted(found, Offence, key)


def as_record(offence: Offence | None) -> dict[str, Any]:
    return {"origin": None if offence is None else asdict(offence)}


def without_pass(case: Case, name: str) -> Case:
    """Return the case without a pass, be it one of its own or one of the default pipeline."""
    disabled = (*case.config.disabled_passes, name)
    left = tuple(spec for spec in case.passes if under_test().name_in_tvm(spec.name) != name and spec.name != name)
    return replace(case, passes=left, config=replace(case.config, disabled_passes=disabled))


def borne_out(case: Case, suspicion: Offence | None, failed_in: str, message: str) -> Offence | None:
    """Return the suspicion where what failed with `message` in the pass `failed_in` does not without the pass that is
    under it: all goes well, or that one fails of something else. In a child."""
    if suspicion is None or suspicion.pass_name == failed_in:
        return None
    where, said = failure_of(without_pass(case, suspicion.pass_name)) or (failed_in, "")
    return suspicion if where == failed_in and said != message_template(message) else None


def failure_of(case: Case) -> tuple[str, str] | None:
    """Return the pass in which a compilation is refused, and the template of what it says; None where none is. In a
    child."""
    under_way = [""]
    watch = tvm_passes.PassWatch(under_way.append)
    try:
        Compilation(case.target, case.config, steps_of(case.passes), [watch]).build(load(case.ir))
    except CompilerRefused as refusal:
        return under_way[-1], message_template(refusal.message)
    return None


def _trace(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    case = Case.from_json(item["case"])
    stir(item["layout"])
    channel.enter_stage(Stage.PASSES)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    names = [spec.name for spec in case.passes]

    def note(offence: Offence | None) -> None:
        suspicion = None if watch.suspicion is None else asdict(watch.suspicion)
        channel.add_result(as_record(offence) | {_SUSPICION: suspicion})

    watch, under_way = OriginWatch(names, note), [""]
    watches = [watch, tvm_passes.PassWatch(under_way.append)]
    try:
        Compilation(case.target, case.config, steps_of(case.passes), watches).build(load(case.ir))
        channel.add_result({_BUILT: True})
    except CompilerRefused as refusal:
        channel.add_result({_REFUSED: (under_way[-1], message_template(refusal.message))})
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


JOBS: Mapping[str, Job] = MappingProxyType({_JOB: _trace})
