"""Who broke what the compiler dies of: the passes of a compilation that crashed, watched while it runs once more."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import asdict, replace
from types import MappingProxyType
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.effort import Check, Effort
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation, Offence, Stage
from tzerlike.core.schema import converted
from tzerlike.execution.diagnosis.ask import Call
from tzerlike.execution.offences import OriginWatch
from tzerlike.passes.catalog import steps_of
from tzerlike.processes.channel import Channel
from tzerlike.processes.heap import stir
from tzerlike.processes.job import Job
from tzerlike.systems.compilation import Compilation, load
from tzerlike.systems.refusal import CompilerRefused

_JOB = "trace-origin"


def with_origin(call: Call, case: Case, seen: Observation, limits: Limits, effort: Effort) -> Observation:
    """Return `seen` with the `origin` of a crash, where an earlier pass broke what the one was given that crashed.

    Asked of what is asked of rejections too.
    """
    if Check.REJECTIONS not in effort.checks or seen.exit is not Exit.CRASH:
        return seen
    if seen.stage not in (Stage.PASSES, Stage.BUILD):
        return seen
    records, death = call(_JOB, {"case": case.to_json(), "layout": effort.layout}, limits)
    return replace(seen, origin=origin_in(records[-1])) if records and death is not None else seen


def origin_in(record: Mapping[str, Any]) -> Offence | None:
    """The offence in a record of a child."""
    found = record.get("origin")
    return None if found is None else converted(found, Offence, "origin")


def as_record(offence: Offence | None) -> dict[str, Any]:
    return {"origin": None if offence is None else asdict(offence)}


def _trace(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    case = Case.from_json(item["case"])
    stir(item["layout"])
    channel.enter_stage(Stage.PASSES)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    watch = OriginWatch([spec.name for spec in case.passes], lambda offence: channel.add_result(as_record(offence)))
    try:
        Compilation(case.target, case.config, steps_of(case.passes), [watch]).build(load(case.ir))
    except CompilerRefused:
        return
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


JOBS: Mapping[str, Job] = MappingProxyType({_JOB: _trace})
