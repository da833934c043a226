"""Cases that try what a case may not do: none gets through, each is one observation, and no oracle reports it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.puzzles.conftest import LIMITS, fake_run_case, served
from tzerlike.core.case import Case
from tzerlike.core.observation import Exit, Stage
from tzerlike.coverage import NoCoverage
from tzerlike.execution.executor import ForkExecutor
from tzerlike.oracles import ORACLES, judged, make_oracles
from tzerlike.processes.confine import WRITTEN, why_unconfined
from tzerlike.processes.lane import Lane

pytestmark = pytest.mark.skipif(why_unconfined() != "", reason="this machine cannot confine a process")


@pytest.mark.parametrize(
    ("behaviour", "call"),
    [
        ("fork", ": clone"),
        ("kill the runner", ": kill"),
        ("leave the group", ": setsid"),
        ("write a file", ": openat"),
        ("call a shell", ""),
    ],
)
def test_what_a_case_may_not_do_is_an_observation_and_no_finding(
    executor: ForkExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behaviour: str, call: str
) -> None:
    monkeypatch.chdir(tmp_path)
    case = Case(behaviour)
    (seen,) = executor.run([case])
    assert (seen.exit, seen.stage) == (Exit.CONFINED, Stage.PASSES)
    assert seen.message == f"it asked the kernel for what a case may not do{call}"
    assert judged(make_oracles(tuple(ORACLES)), case, seen) == []
    assert executor.run([Case("fine")])[0].exit is Exit.OK
    assert not list(tmp_path.iterdir())


def test_a_flood_of_output_stays_bounded_and_harms_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    lane = Lane.prepare(0, NoCoverage(), fake_run_case)
    with served(lane, LIMITS) as executor:
        assert executor.run([Case("flood")])[0].exit is Exit.OK
        assert os.fstat(lane.stderr).st_size == WRITTEN
        assert executor.run([Case("fine")])[0].exit is Exit.OK
        assert os.fstat(lane.stderr).st_size < 1000


def test_where_children_cannot_be_confined_they_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(Lane.prepare(0, NoCoverage(), fake_run_case, confined=False), LIMITS) as executor:
        assert executor.run([Case("call a shell")])[0].exit is Exit.OK
