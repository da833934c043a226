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

from tzerlike.core.errors import TzerlikeError
from tzerlike.processes import client, vitals
from tzerlike.processes.client import Client, StartCancelled
from tzerlike.processes.crew import Crew, Death

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("zygote", "worker", "runner", "child")


class Fixture:
    """A crew with two workers that count to `total`, on a zygote without TVM."""

    def __init__(self, directory: Path) -> None:
        self.root = directory
        self.told: list[str] = []
        self.clients: list[Client] = []
        self.total = 40
        self.habit = ""
        self.zygote = "is well"
        self.cancelled: Callable[[], bool] = lambda: False
        self.cores: tuple[int, ...] = ()
        self.python = directory / "python"
        self.python.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).parent / "fake_zygote.py"} "$@"\n')
        self.python.chmod(self.python.stat().st_mode | stat.S_IXUSR)
        self.crew = Crew(2, self.start, self.order, self.told.append, lambda slot, why: None)

    def start(self) -> Client:
        cache = self.root / self.zygote
        cache.mkdir(exist_ok=True)
        made = Client(
            slots=2,
            coverage="none",
            cache_dir=cache,
            environment={"PYTHONPATH": str(ROOT)},
            python=self.python,
            cancelled=self.cancelled,
            cores=self.cores,
        )
        self.clients.append(made)
        return made

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

    def everybody(self) -> dict[str, list[psutil.Process]]:
        """The processes that are there now, by kind."""
        zygote = psutil.Process(self.clients[-1]._process.pid)
        workers = [self.state(slot)["pid"] for slot in (0, 1)]
        forks = zygote.children()
        runners = [process for process in forks if process.pid not in workers]
        return {
            "zygote": [zygote],
            "worker": [process for process in forks if process.pid in workers],
            "runner": runners,
            "child": [child for runner in runners for child in runner.children()],
        }

    def hit(self, kind: str, number: signal.Signals) -> psutil.Process:
        """Send a signal to a process of that kind; children come and go."""
        while True:
            try:
                victim = self.everybody()[kind][0]
                victim.send_signal(number)
                return victim
            except (IndexError, psutil.NoSuchProcess):
                self.crew.turn(0.01)


@pytest.fixture
def crew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fixture]:
    monkeypatch.setattr(vitals, "STOPPED_SECONDS", 0.5)
    monkeypatch.setattr(client, "STOPPED_SECONDS", 0.5)
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


@pytest.mark.parametrize("died", ["", "worker", "runner"])
def test_what_works_for_a_slot_is_held_to_its_core_again_and_again(crew: Fixture, died: str) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    crew.cores = (allowed[-1], allowed[0])
    crew.total = 1_000_000
    crew.crew.begin()
    crew.until(lambda: all(crew.state(slot)["done"] for slot in (0, 1)))
    gone = crew.hit(died, signal.SIGKILL) if died else None

    def held() -> bool:
        try:
            everybody = crew.everybody()
            workers, runners = everybody["worker"], everybody["runner"]
            cores = [sorted(core for p in some for core in os.sched_getaffinity(p.pid)) for some in (workers, runners)]
        except (ProcessLookupError, psutil.NoSuchProcess):
            return False
        return gone not in (*workers, *runners) and cores == [sorted(crew.cores)] * 2

    crew.until(held)
    assert [os.sched_getaffinity(crew.state(slot)["pid"]) for slot in (0, 1)] == [{core} for core in crew.cores]
    assert len(os.sched_getaffinity(crew.everybody()["zygote"][0].pid)) == len(allowed)


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.long)])
def test_whoever_is_killed_or_stopped_the_work_gets_done(crew: Fixture, number: signal.Signals) -> None:
    crew.total = 10**6
    crew.crew.begin()
    everybody: set[psutil.Process] = set()
    for kind in KINDS:
        if (kind, number) == ("child", signal.SIGSTOP):
            continue  # caught by the limit on wall-clock time; see test_executor
        both = {slot: crew.state(slot)["done"] for slot in (0, 1)}
        crew.until(lambda both=both: all(crew.state(slot)["done"] > done + 2 for slot, done in both.items()))  # type: ignore[misc]
        everybody |= {process for some in crew.everybody().values() for process in some}
        victim = crew.hit(kind, number)
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
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        for process in [process for some in crew.everybody().values() for process in some]:
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
    monkeypatch.setattr(vitals, "SILENT_SECONDS", 1.0)
    monkeypatch.setattr(vitals, "GRACE", 0.5)
    crew.habit, crew.total = "hangs once", 8
    crew.crew.begin()
    crew.finish()
    assert [crew.state(slot)["done"] for slot in (0, 1)] == [8, 8]
    # On a starved machine a second of silence may befall the other one too.
    assert crew.crew.restarted["worker"] >= 1


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


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.long)])
def test_a_zygote_that_is_hit_while_it_starts_is_started_again(crew: Fixture, number: signal.Signals) -> None:
    hit: list[int] = []

    def strike() -> bool:
        if not hit:
            hit.extend(
                child.pid
                for child in psutil.Process().children()
                if "tzerlike.processes.zygote" in " ".join(cmdline(child))
            )
            for pid in hit:
                os.kill(pid, number)
        return False

    crew.cancelled, crew.total = strike, 3
    crew.crew.begin()
    crew.finish()
    assert (crew.crew.restarted["zygote"], crew.state(0)["done"], crew.state(1)["done"]) == (1, 3, 3)


def test_nobody_waits_for_a_zygote_that_is_not_wanted_any_more(crew: Fixture) -> None:
    crew.cancelled = lambda: True
    with pytest.raises(StartCancelled):
        crew.crew.begin()
