"""One bundle reduced: what the role `reduce` does, in a worker process."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from types import FrameType
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.errors import UserError
from tzerlike.core.shrink import Outcome, Task, search
from tzerlike.execution.executor import ForkExecutor
from tzerlike.execution.fitness import require_fit
from tzerlike.findings.bundles.bundle import Bundle, read_bundle
from tzerlike.findings.reduction import REDUCED
from tzerlike.findings.reduction.judge import Judge
from tzerlike.findings.reduction.place import recovered
from tzerlike.findings.reduction.record import Recorder
from tzerlike.findings.retrial import retrial_of
from tzerlike.oracles import effort_for
from tzerlike.processes.lane import Lane, Report
from tzerlike.processes.stop import on_stop
from tzerlike.tir.order import Size, size_of
from tzerlike.tir.reducers.catalogue import REDUCERS

_HASTE = 0.2
"""Part of its time limit that a hang gets in the first search."""


class _Patience:
    """Says when the search is to end: once its time is up, or once the worker is asked to stop."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self.interrupted = False
        on_stop(self._interrupt)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self.interrupted = True

    def ended(self) -> bool:
        return self.interrupted or time.monotonic() >= self._end


def reduce_bundle(lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]) -> None:
    """Reduce the bundle at `path` for at most `seconds`, and report what came of it.

    Reports `status`: reduced (nothing smaller is on offer), budget or interrupted (the best so far), flaky, or "does
    not show" with nothing written.
    """
    patience = _Patience(params["seconds"])
    began = time.monotonic()
    bundle = read_bundle(Path(params["path"]))
    executor = ForkExecutor(lane, runner, bundle.limits, effort_for(params["oracles"]))
    first = bundle.stored.case
    before = _measured(bundle)
    judge = Judge(retrial_of(bundle, executor, params["oracles"]), bundle.signature, first)
    # Another, so that what it remembers of the search does not come into what is written down.
    witness = ForkExecutor(lane, runner, bundle.limits, effort_for(params["oracles"]))
    environment = {**bundle.environment, **params["environment"], "oracles": params["oracles"]}
    last_retrial = retrial_of(bundle, witness, params["oracles"])
    recorder = Recorder(bundle, Judge(last_retrial, bundle.signature, first), last_retrial, environment)

    def tell(status: str, size: Size | None, asked: int = 0, why: str = "") -> None:
        report(
            {
                "event": "reduced",
                "status": status,
                "why": why or _reported(judge.faults),
                "before": _numbers(before),
                "after": None if size is None else _numbers(size),
                "tried": asked,
                "seconds": round(time.monotonic() - began, 2),
            }
        )

    require_fit(executor.call, first)
    earlier = _earlier(bundle)
    same, times = judge.times_shown(first)
    if same < times:
        (seen,) = executor.run([first], count=False)
        why = "" if seen.results is None else seen.results.not_run
        tell("flaky" if same else "does not show", None, why=why)
        return
    start = first
    if earlier is not None and size_of(earlier) < before and judge.keeps(earlier):
        start = recorder.saved = earlier

    def searched(case: Case, judge: Judge) -> Outcome[Case]:
        task = Task(tuple(REDUCERS.values()), size_of, lambda case: case.id, judge.keeps)
        return search(case, task, stop=patience.ended, taken=recorder.note)

    asked = 0
    if bundle.kind == "hang":
        # Every hang takes all of its time: look for what still hangs after a part of it, and see whether it goes on.
        hasty = ForkExecutor(lane, runner, bundle.limits.relaxed(_HASTE), executor.effort)
        found = searched(start, Judge(retrial_of(bundle, hasty, params["oracles"]), bundle.signature, first))
        asked = found.asked
        if found.value != start and judge.keeps(found.value):
            start = found.value
    outcome = searched(start, judge)
    asked += outcome.asked
    if not recorder.save(outcome.value):
        tell("flaky", None if recorder.saved is None else size_of(recorder.saved), asked)
        return
    status = "reduced" if outcome.finished else "interrupted" if patience.interrupted else "budget"
    tell(status, size_of(outcome.value), asked)


def _reported(faults: list[str]) -> str:
    if not faults:
        return ""
    last = faults[-1].splitlines()[-1]
    return f"a fault of tzerlike itself in {len(faults)} smaller cases, please report it: {last}"


def _measured(bundle: Bundle) -> Size:
    try:
        return size_of(bundle.stored.case)
    except Exception as error:
        raise UserError(f"{bundle.path / 'case.json'}: this TVM cannot read the program ({error})") from error


def _earlier(bundle: Bundle) -> Case | None:
    """What an earlier run left, if it is about the same finding."""
    path = recovered(bundle.path / REDUCED)
    if path is None:
        return None
    try:
        earlier = read_bundle(path)
    except UserError:
        return None
    return earlier.stored.case if earlier.signature == bundle.signature else None


def _numbers(size: Size) -> dict[str, int]:
    return {name: getattr(size, name) for name in ("statements", "passes", "options", "nodes")}
