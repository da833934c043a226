"""A campaign keeps its budget, or says why not; reduction counts what its start took."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.bundles import add_bundle, crashed
from tzerlike.campaign.budget import Budget, Interrupted
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.supervisor import Supervisor, View, Wishes
from tzerlike.core.config import CampaignConfig
from tzerlike.core.finding import Signed
from tzerlike.findings.reduction.run import reduce_bundles
from tzerlike.processes.crew import Crew
from tzerlike.processes.stop import STOP


@dataclass
class Workers:
    """Workers that are at `word`, and end `seconds` from now whether they are asked to or not, or once they are."""

    word: str
    seconds: float
    failure: None = None
    began: float = field(default_factory=time.monotonic)
    stopped: float = 0.0

    @property
    def running(self) -> bool:
        return not self.stopped and time.monotonic() - self.began < self.seconds

    @property
    def doing(self) -> dict[int, str]:
        return {0: self.word}

    restarted: dict[str, int] = field(default_factory=dict)

    def turn(self, seconds: float) -> None:
        time.sleep(0.02)

    def stop(self) -> None:
        self.stopped = time.monotonic() - self.began


def supervised(root: Path, workers: Workers) -> list[str]:
    """What is said of a campaign that has 0.2 s left."""
    told: list[str] = []
    directory = CampaignDir(root)
    directory.create(1)
    config = CampaignConfig(seed=1, budget=1, jobs=1)
    supervisor = Supervisor(config, directory, root, {}, lambda view: None, told.append)
    supervisor._elapsed_before = 0.8
    supervisor._supervise(cast(Crew, workers))
    return told


def test_what_can_be_done_again_is_given_up_at_once(tmp_path: Path) -> None:
    workers = Workers("step", 60)
    assert supervised(tmp_path, workers) == []
    assert 0.2 < workers.stopped < 1.2


def test_a_finding_in_hand_is_waited_for_and_said(tmp_path: Path) -> None:
    workers = Workers("report", 1.5)
    told = supervised(tmp_path, workers)
    assert not workers.stopped
    (line,) = told
    assert re.fullmatch(r"the campaign ended \d+ s after its budget: a finding was being confirmed", line)


def test_the_start_of_a_reduction_is_in_its_budget(tmp_path: Path) -> None:
    parts = ("passes", "Pass", "SIGSEGV", "lib+0x1")
    paths = [
        add_bundle(tmp_path / name, Signed("crash", parts), crashed("tirx.Pass", "lib+0x1")) for name in ("a", "b")
    ]
    spawned: list[dict[str, Any]] = []

    def events(seconds: float) -> Iterator[dict[str, Any]]:
        yield {"event": "exited", "slot": 0, "signal": 0}

    @contextmanager
    def opened(slots: int, system: str) -> Iterator[Any]:
        time.sleep(0.3)
        yield SimpleNamespace(facts={}, events=events, spawn=lambda role, params, slot: spawned.append(params))

    reduce_bundles(paths, 1, 2.0, cast(Any, opened))
    first, second = (params["seconds"] for params in spawned)
    assert 0.5 < first <= 1.7
    assert second == pytest.approx(2.0)


def test_who_watches_can_end_and_pause_a_campaign(tmp_path: Path) -> None:
    directory = CampaignDir(tmp_path)
    directory.create(1)
    seen: list[tuple[str, bool]] = []
    wishes = Wishes(pause=True)

    def show(view: View) -> None:
        seen.append((view.status, directory.pause().exists()))
        if len(seen) == 30:
            wishes.end = True

    workers = Workers("step", 60)
    supervisor = Supervisor(
        CampaignConfig(seed=1, budget=1, jobs=1), directory, tmp_path, {}, show, lambda line: None, wishes=wishes
    )
    supervisor._elapsed_before = 0.8
    supervisor._supervise(cast(Crew, workers))
    assert ("paused", True) in seen, "workers rest"
    assert workers.stopped > 0.4, "and that does not count"
    assert not directory.pause().exists()


def test_what_is_held_is_given_up_late(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = Budget(100, None, 0)
    budget.give_way()
    budget._stop(STOP, None)
    with budget.held(lambda: True):
        budget.give_way()
        monkeypatch.setattr("tzerlike.campaign.budget._HELD", 0.0)
        with pytest.raises(Interrupted):
            budget.give_way()
    with pytest.raises(Interrupted):
        budget.give_way()


@pytest.mark.parametrize(("quota", "elapsed", "nearly"), [(None, 80, False), (None, 90, True), (10, 90, False)])
def test_a_budget_of_time_is_nearly_over_in_its_last_part(quota: int | None, elapsed: int, nearly: bool) -> None:
    assert Budget(100, quota, elapsed).nearly_over is nearly
