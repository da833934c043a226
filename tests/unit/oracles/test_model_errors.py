"""Errors on models, by what they say."""

from __future__ import annotations

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import Rejection
from tzerlike.oracles.models import judge_errors

MODULE = "The IR with diagnostic is:\n" + "".join(f"    T.evaluate({number})\n" for number in range(20))


def _found(primitive: str, reason: str, module: str = MODULE) -> Finding:
    message = f"ScheduleError: An error occurred in the schedule primitive '{primitive}'.\n\n{module}"
    seen = Observation(
        Exit.REJECTED,
        Stage.BUILD,
        f"ScheduleError: {message}Error message: {reason}\nmore of it",
        "ApplyDefaultSchedule",
        rejection=Rejection("internal-error", True, "builds"),
    )
    found = judge_errors(Case("{}", harness="graph"), seen)
    assert found is not None
    return found


def test_schedules_that_cannot_be_made_for_two_reasons_are_two_findings() -> None:
    one, other = "it is not a complete block", "the loop is bound already"
    assert _found("bind", one).signature == _found("bind", one, MODULE * 2).signature
    assert len({_found(*told).signature for told in (("bind", one), ("bind", other), ("fuse", one))}) == 3
    assert "ScheduleError: bind: it is not a complete block" in _found("bind", one).parts
