"""Processes that are killed, stopped, refused or stuck: the work gets done all the same, and nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tzerlike.crew import Crew, Death
from tzerlike.errors import TzerlikeError
from tzerlike.family import Family, StartCancelled
from tzerlike.vitals import Watchdog

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("zygote", "worker", "runner", "child")


class Fixture:
    """A crew with two workers that count to `total`, on a zygote without TVM."""

    def __init__(self, directory: Path) -> None:
        self.root = directory
        self.told: list[str] = []
        self.families: list[Family] = []
        self.total = 40
        self.habit = ""
        self.zygote = ""
        self.cancelled: Callable[[], bool] = lambda: False
        self.python = directory / "python"
        self.python.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).parent / "fake_zygote.py"} "$@"\n')
        self.python.chmod(self.python.stat().st_mode | stat.S_IXUSR)
        self.crew = Crew(2, self.start, self.order, self.told.append, lambda slot, why: None)

    def start(self) -> Family:
        family = Family(
            slots=2,
            coverage="none",
            cache_dir=Path(self.zygote),
            environment={"PYTHONPATH": str(ROOT)},
            python=self.python,
            cancelled=self.cancelled,
        )
        self.families.append(family)
        return family

    def order(self, slot: int, death: Death | None) -> tuple[str, dict[str, Any]]:
        again = None if death is None else [death.iteration, death.times]
        return "count", {"root": str(self.root), "total": self.total, "habit": self.habit, "death": again}

    def state(self, slot: int) -> dict[str, Any]:
        path = self.root / f"{slot}.json"
        return json.loads(path.read_text()) if path.exists() else {"done": 0, "pid": 0}

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 120
        while not condition():
            assert time.monotonic() < deadline, self.told
            self.crew.turn(0.05)

    def finish(self) -> None:
        self.until(lambda: not self.crew.running)
        self.crew.close()

    def one_of(self, kind: str) -> psutil.Process:
        """A process of that kind that is there now."""
        zygote = psutil.Process(self.families[-1]._process.pid)
        if kind == "zygote":
            return zygote
        workers = [self.state(slot)["pid"] for slot in (0, 1)]
        forks = zygote.children()
        if kind == "worker":
            return next(process for process in forks if process.pid in workers)
        runners = [process for process in forks if process.pid not in workers]
        return runners[0] if kind == "runner" else next(child for runner in runners for child in runner.children())


@pytest.fixture
def crew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fixture]:
    monkeypatch.setattr(Watchdog, "STOPPED_SECONDS", 0.5)
    made = Fixture(tmp_path)
    yield made
    made.crew.close()
    deadline = time.monotonic() + 30
    while left := [p for p in psutil.process_iter() if str(tmp_path) in " ".join(cmdline(p))]:
        assert time.monotonic() < deadline, left


def cmdline(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline() if process.status() != psutil.STATUS_ZOMBIE else []
    except psutil.Error:
        return []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_whoever_is_killed_or_stopped_the_work_gets_done(crew: Fixture, number: signal.Signals) -> None:
    crew.total = 10**6
    crew.crew.begin()
    everybody: set[psutil.Process] = set()
    for kind in KINDS:
        if (kind, number) == ("child", signal.SIGSTOP):
            continue  # caught by the limit on wall-clock time; see test_executor
        both = {slot: crew.state(slot)["done"] for slot in (0, 1)}
        crew.until(lambda both=both: all(crew.state(slot)["done"] > done + 2 for slot, done in both.items()))  # type: ignore[misc]
        victim = crew.one_of(kind)
        zygote = crew.one_of("zygote")
        everybody |= {zygote, *zygote.children(recursive=True)}
        victim.send_signal(number)
        if kind != "child":
            crew.until(lambda kind=kind: crew.crew.restarted[kind] == 1)  # type: ignore[misc]
            assert not alive(victim)
    at_last = {slot: crew.state(slot)["done"] for slot in (0, 1)}
    crew.until(lambda: all(crew.state(slot)["done"] > done + 2 for slot, done in at_last.items()))
    assert crew.crew.restarted == {"zygote": 1, "worker": 1, "runner": 1}
    assert crew.crew.failure is None
    crew.crew.stop()
    crew.finish()
    assert not [process for process in everybody if alive(process)]


def alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_signals_to_everybody_end_nobody(crew: Fixture) -> None:
    crew.crew.begin()
    crew.until(lambda: crew.state(0)["done"] > 0 and crew.state(1)["done"] > 0)
    zygote = crew.one_of("zygote")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        for process in [zygote, *zygote.children(recursive=True)]:
            try:
                process.send_signal(number)
            except psutil.NoSuchProcess:
                continue
    crew.finish()
    assert [crew.state(slot)["done"] for slot in (0, 1)] == [crew.total, crew.total]
    assert crew.told == []


def test_a_refused_fork_is_tried_again(crew: Fixture) -> None:
    crew.zygote, crew.total = "refuses 3", 5
    crew.crew.begin()
    crew.finish()
    assert [crew.state(slot)["done"] for slot in (0, 1)] == [5, 5]
    assert crew.told == []


def test_a_worker_that_hangs_is_replaced(crew: Fixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Watchdog, "SILENT_SECONDS", 1.0)
    monkeypatch.setattr(Watchdog, "GRACE", 0.5)
    crew.habit, crew.total = "hangs once", 8
    crew.crew.begin()
    crew.finish()
    assert [crew.state(slot)["done"] for slot in (0, 1)] == [8, 8]
    assert crew.crew.restarted["worker"] == 1


def test_a_worker_that_fails_each_time_is_given_up(crew: Fixture) -> None:
    crew.habit = "raises"
    crew.crew.begin()
    crew.finish()
    assert sum("is given up (ValueError: as it was told)" in line for line in crew.told) == 2
    assert isinstance(crew.crew.failure, TzerlikeError)


def test_the_next_worker_learns_of_the_death_before_it(crew: Fixture) -> None:
    crew.crew.begin()
    crew.until(lambda: crew.state(0)["done"] > 2)
    at = crew.state(0)
    os.kill(at["pid"], signal.SIGKILL)
    crew.finish()
    iteration, times = crew.state(0)["culprit"]
    assert (iteration >= at["done"] - 1, times) == (True, 1)


def test_a_zygote_that_cannot_start_ends_it(crew: Fixture) -> None:
    crew.zygote = "dies at once"
    with pytest.raises(TzerlikeError, match="ended by SIGKILL"):
        crew.crew.begin()
    assert len(crew.told) == 4


def test_nobody_waits_for_a_zygote_that_is_not_wanted_any_more(crew: Fixture) -> None:
    crew.cancelled = lambda: True
    with pytest.raises(StartCancelled):
        crew.crew.begin()
