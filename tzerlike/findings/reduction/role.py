"""Reduction of one bundle: the role `reduce` of a worker process."""

from __future__ import annotations

import socket
import time
from dataclasses import replace
from types import FrameType
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.errors import UserError
from tzerlike.core.shrink import Outcome, Task, last_that, search
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.bisect.role import bisect_by, has_culprit
from tzerlike.findings.bundles.bundle import Bundle
from tzerlike.findings.programs import CaseSize, Programs
from tzerlike.findings.reduction.alone import with_last_step_alone
from tzerlike.findings.reduction.earlier import as_reduced
from tzerlike.findings.reduction.haste import hasty
from tzerlike.findings.reduction.held import search_held
from tzerlike.findings.reduction.judge import FindingJudge
from tzerlike.findings.reduction.record import Recorder
from tzerlike.findings.retrial import retrial_of
from tzerlike.oracles import effort_for
from tzerlike.processes.lane import Lane, Report
from tzerlike.processes.stop import on_stop

_CONFIRMING = 2.0
"""What it takes to confirm and write a case, in the time that it takes to see the first one in all of its runs."""

_SAID = 1.0
"""Seconds beyond the budget that are not said."""


class _Patience:
    """Says when the search is to end: once its time is up, or once the worker is asked to stop.

    A part of the time is kept for what comes behind the search: what it found is confirmed and written.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = self._last = time.monotonic() + seconds
        self.interrupted = False
        on_stop(self._interrupt)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self.interrupted = True

    def keep(self, seconds: float) -> None:
        """Keep so many seconds, but half of the time at most, for what comes behind the search."""
        self._last = self._end - min(seconds, self._seconds / 2)

    @property
    def over(self) -> float:
        """Seconds beyond the time."""
        return time.monotonic() - self._end

    def ended(self) -> bool:
        return self.interrupted or time.monotonic() >= self._last


def reduce_bundle(
    bundle: Bundle, programs: Programs, lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]
) -> None:
    """Reduce a bundle for at most `seconds`, have its culprit shown, and report what came of it.

    Reports `status`: reduced (nothing smaller is on offer), budget or interrupted (the best so far), flaky, or "does
    not show" with nothing written.
    """
    patience = _Patience(params["seconds"])
    began = time.monotonic()
    executor = ForkExecutor(lane, runner, bundle.limits, effort_for(params["oracles"], bundle.baseline))
    first = bundle.stored.case
    before = _measured(bundle, programs)

    def judge_by(executor: ForkExecutor, of: Bundle | None = None) -> FindingJudge:
        judged = of or bundle
        return FindingJudge(retrial_of(judged, executor, params["oracles"], programs), judged, programs)

    judge = judge_by(executor)
    # Another, so that what it remembers of the search does not come into what is written down.
    witness = ForkExecutor(lane, runner, bundle.limits, effort_for(params["oracles"], bundle.baseline))
    environment = {**bundle.environment, **params["environment"], "oracles": params["oracles"]}
    environment["baseline"] = bundle.baseline

    def tell(status: str, size: CaseSize | None, asked: int = 0, why: str = "") -> None:
        report(
            {
                "event": "reduced",
                "status": status,
                "why": why or _reported(judge.faults) or _late(patience),
                "before": before.numbers,
                "after": None if size is None else size.numbers,
                "tried": asked,
                "seconds": round(time.monotonic() - began, 2),
            }
        )

    programs.require_fit(executor, first)
    started = time.monotonic()
    same, times = judge.times_shown(first)
    cost = _CONFIRMING * (time.monotonic() - started)
    patience.keep(cost)
    if same < times:
        (seen,) = executor.run([first], count=False)
        why = "" if seen.results is None else seen.results.not_run
        tell("flaky" if same else "does not show", None, why=why)
        return

    def holding_less(bundle: Bundle) -> Bundle:
        """The bundle with less in its environment, where that will do."""
        found = search_held(bundle, executor, params["oracles"], programs)
        for _ in found.steps():
            if patience.ended():
                break
        return replace(bundle, environment=found.best)

    earlier = as_reduced(bundle)
    smaller = programs.size(earlier.stored.case) < before
    if smaller and judge_by(executor, earlier).finding(earlier.stored.case) is not None:
        bundle = earlier
    bundle = holding_less(bundle)
    alone = with_last_step_alone(bundle, executor, params["oracles"], programs)
    if alone is not bundle:
        bundle = holding_less(alone)
    judge, start = judge_by(executor), bundle.stored.case
    recorder = Recorder(bundle, judge_by(witness), environment, cost)

    accepted = [start]

    def note(case: Case) -> None:
        accepted.append(case)
        recorder.note(case)

    def searched(case: Case, judge: FindingJudge) -> Outcome[Case]:
        size = programs.rough_size if bundle.kind == "slow-code" else programs.size
        task = Task(tuple(programs.reducers.values()), size, lambda case: case.id, judge.keeps, judge.may_keep)
        return search(case, task, stop=patience.ended, taken=note)

    asked, limits = 0, hasty(bundle.limits, bundle.kind)
    if limits is not None:
        found = searched(start, judge_by(ForkExecutor(lane, runner, limits, executor.effort)))
        asked = found.asked
        start = last_that(judge.keeps, accepted)
        del accepted[accepted.index(start) + 1 :]
    outcome = searched(start, judge)
    asked += outcome.asked
    lesser = holding_less(replace(bundle, stored=replace(bundle.stored, case=outcome.value)))
    if lesser.environment != bundle.environment:
        bundle = lesser
        recorder = Recorder(bundle, judge_by(witness), environment, cost)
    # What takes all of its time may still end, and what depends on memory that nobody wrote may come out right.
    best = last_that(recorder.save, accepted)
    if not recorder.save(best):
        tell("flaky", None if recorder.saved is None else programs.size(recorder.saved), asked)
        return
    if has_culprit(bundle):
        bisect_by(witness, bundle, params["oracles"])
    status = "reduced" if outcome.finished else "interrupted" if patience.interrupted else "budget"
    tell(status, programs.size(best), asked)


def _late(patience: _Patience) -> str:
    if patience.interrupted or patience.over <= _SAID:
        return ""
    return f"{patience.over:.0f} s over its budget, to confirm and write the program"


def _reported(faults: list[str]) -> str:
    if not faults:
        return ""
    last = faults[-1].splitlines()[-1]
    return f"a fault of tzerlike itself in {len(faults)} smaller cases, please report it: {last}"


def _measured(bundle: Bundle, programs: Programs) -> CaseSize:
    try:
        return programs.size(bundle.stored.case)
    except Exception as error:
        raise UserError(f"{bundle.path / 'case.json'}: this TVM cannot read the program ({error})") from error
