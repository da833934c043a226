"""Faults of our own in an arithmetic campaign: each costs its iteration, and a look at what was suspicious."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.puzzles.conftest import served, worker_here
from tzerlike.arith import batch
from tzerlike.arith import worker as of_worker
from tzerlike.arith.model import Problem
from tzerlike.arith.worker import ArithWorker
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.shard import Shard
from tzerlike.campaign.shard_worker import Assignment
from tzerlike.core.config import CampaignConfig
from tzerlike.core.limits import Limits
from tzerlike.core.storage import write_json
from tzerlike.core.untrusted import read_json
from tzerlike.coverage import NoCoverage
from tzerlike.findings.faults import limit
from tzerlike.findings.faults.bundle import kept_faults, read_fault
from tzerlike.processes.lane import Lane

Fault = Callable[[], object]
ITERATIONS = 200


def loop() -> None:
    while True:
        pass


PLANTED: dict[int, Fault] = {
    7: lambda: 1 // 0,
    60: lambda: 1 // 0,
    61: loop,
    130: lambda: os.kill(os.getpid(), signal.SIGTERM),
    199: lambda: [][0],
}


def campaign(root: Path, monkeypatch: pytest.MonkeyPatch, planted: dict[int, Fault], **of_worker_too: Any) -> Path:
    """Run an arithmetic campaign whose children, at the iterations `planted`, fail as these say."""
    directory = CampaignDir(root)
    directory.create(1)
    write_json(directory.environment, {"tvm": "0.27", "compiler_library": "0123456789abcdef"})
    config = CampaignConfig(seed=3, jobs=1, iterations=ITERATIONS, harness="arith", coverage="none")

    def problem_of(seed: int, worker: int, iteration: int) -> Problem:
        planted.get(iteration, lambda: None)()
        return made(seed, worker, iteration)

    made = batch.problem_of
    lane = Lane.prepare(0, NoCoverage(), jobs=batch.JOBS)
    with monkeypatch.context() as patched:
        patched.setattr(batch, "problem_of", problem_of)
        patched.setattr(limit, "LIMIT", 0.2)
        for name, value in of_worker_too.items():
            patched.setattr(of_worker, name, value)
        with worker_here(), served(lane, Limits(1.0)) as executor:
            ArithWorker(Assignment(Shard(0, 1), config, directory), executor, lane.channel).run()
    return root


def test_each_costs_one_iteration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = campaign(tmp_path / "c", monkeypatch, PLANTED)
    state = read_json(root / "workers/0/state.json")
    assert state["iterations"] == ITERATIONS
    assert sum(state["exits"].values()) == ITERATIONS
    assert state["exits"]["ok"] == ITERATIONS - len(PLANTED)
    faults = [read_fault(path) for path in kept_faults(root / "faults")]
    assert {fault.file.kind: state["faults"][fault.signature] for fault in faults} == {
        "ZeroDivisionError": 2, "IndexError": 1, "DiedOutsideOfChecks": 2,
    }  # fmt: skip
    assert {fault.occasion.iteration for fault in faults if fault.file.kind != "DiedOutsideOfChecks"} == {7, 199}


@pytest.mark.parametrize("fault", [lambda *_: 1 // 0, lambda *_: loop()])
def test_a_look_at_a_suspicion_that_fails_ends_that_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    failing = type("Failing", (of_worker.SuspicionQueue,), {"due": fault})
    root = campaign(tmp_path / "c", monkeypatch, {}, SuspicionQueue=failing)
    state = read_json(root / "workers/0/state.json")
    assert state["iterations"] == ITERATIONS
    assert sum(state["faults"].values()) == sum(state["hints"].values()) > 0
