"""A worker whose findings are carried to another program: what is bundled then, and under which signature."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.puzzles.confirming import Confirming, NoTexts, confirming
from tzerlike.campaign.state import WorkerState, read_state
from tzerlike.core.case import Case, PassSpec, Provenance
from tzerlike.core.effort import Effort
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.stored import StoredCase
from tzerlike.execution.executor import ForkExecutor
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import RunContext

DEATH = ("passes", "Unroll", "SIGSEGV", "tvm::Unroll")


def compiled(case: Case, channel: Channel, around: RunContext, effort: Effort, known: bool) -> dict[str, Any]:
    channel.enter_stage(Stage.DONE)
    return {"exit": "ok"}


class Scripted:
    """An oracle that finds a crash in each program, from a caller named after it; "once" crashes the first time alone,
    "elsewhere" in another function. Counts what it was asked."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def __call__(self, case: Case, seen: Observation) -> Finding | None:
        self.asked[case.ir] += 1
        if case.ir == "once" and self.asked["once"] > 1:
            return None
        function = "tvm::Other" if case.ir == "elsewhere" else DEATH[3]
        return Finding("crash", (*DEATH[:3], function, f"tvm::From{case.ir}"), case, seen)


class Carrying(NoTexts):
    def __init__(self, to: str) -> None:
        self.to = to

    def carried(self, executor: ForkExecutor, finding: Finding) -> Iterator[Case]:
        yield Case(self.to)


@pytest.fixture
def worker(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Confirming]:
    carrying = Carrying(request.param)
    with confirming(tmp_path / "c", compiled, Limits(5.0, 1 << 30), [Scripted()], carrying) as made:
        yield made[0]


def report(worker: Confirming, program: str) -> str | None:
    case = Case(program, (PassSpec("tirx.UnrollLoop"),))
    (found,) = worker._judge(case)
    return worker.report(found, StoredCase(case, Provenance("made")))


def bundles(worker: Confirming) -> list[tuple[str, int]]:
    """The program and the tier of each bundle."""
    read = [
        [json.loads((path / name).read_text()) for name in ("case.json", "observation.json")]
        for path in worker.directory.bundles()
    ]
    return sorted((case["case"]["ir"], seen["tier"]) for case, seen in read)


class Deadly(NoTexts):
    """Programs whose only reducer has `watch` called where it might take a worker with it."""

    def __init__(self, watch: Callable[[], None]) -> None:
        self.reducers = {"deadly": self._reduced}
        self._watch = watch

    def _reduced(self, case: Case) -> Iterator[Callable[[], Case | None]]:
        self._watch()
        return iter(())

    def size(self, case: Case) -> Any:
        return 0


def test_a_case_over_which_a_worker_ends_while_it_looks_for_a_smaller_one_is_set_aside(tmp_path: Path) -> None:
    left: list[WorkerState] = []
    deadly = Deadly(lambda: left.append(read_state(worker.directory.worker_state(0))))
    with confirming(tmp_path / "c", compiled, Limits(5.0, 1 << 30), [], deadly) as (worker,):
        case = Case("odd")
        refused = Observation(Exit.REJECTED, Stage.PASSES, "InternalError: no", "tirx.UnrollLoop")
        worker.define(case, refused, StoredCase(case, Provenance("made")))
        assert worker.state.in_hand is None and not worker.directory.aside.exists()
        (worker.state,) = left
        worker.restore()
        assert worker.state.in_hand is not None
        worker.judge_again(worker.state.in_hand)
        assert [path.stem for path in worker.directory.aside.iterdir()] == [case.id]


@pytest.mark.parametrize("worker", ["plain"], indirect=True)
def test_the_same_failure_on_a_plain_program_is_what_is_bundled(worker: Confirming) -> None:
    signature = report(worker, "odd")
    assert bundles(worker) == [("plain", 1)]
    assert [path.name.endswith(f"-{signature}") for path in worker.directory.bundles()] == [True]


@pytest.mark.parametrize("worker", ["plain"], indirect=True)
def test_it_is_carried_and_bundled_once(worker: Confirming) -> None:
    first = report(worker, "odd")
    oracle = worker.oracles[0]
    assert isinstance(oracle, Scripted)
    before = oracle.asked["plain"]
    report(worker, "odd")
    assert oracle.asked["plain"] == before, "who has been carried is known"
    assert report(worker, "odder") == first
    assert bundles(worker) == [("plain", 1)]


@pytest.mark.parametrize("worker", ["once", "elsewhere"], indirect=True)
def test_what_is_not_shown_again_there_stays_as_it_was_found(worker: Confirming) -> None:
    assert report(worker, "odd") is not None
    assert bundles(worker) == [("odd", 2)]
