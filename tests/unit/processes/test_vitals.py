"""What the watchdog ends, by a clock of its own, and how often something is started again."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import replace

from tzerlike.processes.restarts import Restarts
from tzerlike.processes.vitals import SILENT_SECONDS, SlotProcess, Vital, Watchdog, state_of

WELL = Vital(0, "S", "S", 0.2, 7, "step", 0)
STOPPED_WORKER = replace(WELL, worker="T")
STOPPED_RUNNER = replace(WELL, runner="T")
SILENT = replace(WELL, silent=SILENT_SECONDS + 1)


def killed(*moments: tuple[float, Vital]) -> list[tuple[float, SlotProcess]]:
    """When which process of the slot is ended, if so is looked at."""
    dog = Watchdog()
    return [(now, role) for now, vital in moments for _, role in dog.to_kill(now, [vital])]


def each_second(vital: Vital, seconds: int, start: float = 100.0) -> list[tuple[float, Vital]]:
    return [(start + second, vital) for second in range(seconds)]


def test_who_is_well_lives() -> None:
    assert killed(*each_second(WELL, 1000)) == []


def test_who_stays_stopped_is_ended() -> None:
    assert killed(*each_second(STOPPED_WORKER, 7)) == [(105.0, SlotProcess.WORKER)]
    assert killed(*each_second(STOPPED_RUNNER, 7)) == [(105.0, SlotProcess.RUNNER)]


def test_who_is_stopped_now_and_then_lives() -> None:
    assert killed(*[(100.0 + n, STOPPED_WORKER if n % 3 else WELL) for n in range(100)]) == []


def test_a_silent_worker_loses_its_runner_first_and_then_its_life() -> None:
    assert killed(*each_second(SILENT, 22)) == [(110.0, SlotProcess.RUNNER), (120.0, SlotProcess.WORKER)]


def test_a_worker_that_speaks_again_without_its_runner_lives() -> None:
    moments = [*each_second(SILENT, 12), *each_second(WELL, 60, 112.0)]
    assert killed(*moments) == [(110.0, SlotProcess.RUNNER)]
    assert killed(*moments, *each_second(SILENT, 12, 172.0)) == [
        (110.0, SlotProcess.RUNNER),
        (182.0, SlotProcess.RUNNER),
    ]


def test_after_a_pause_of_everything_nobody_is_ended_at_once() -> None:
    """Ctrl-Z stops the one who looks as well."""
    assert killed(*each_second(STOPPED_WORKER, 4), (3600.0, SILENT), (3601.0, SILENT), (3602.0, WELL)) == []


def test_a_slot_says_nothing_of_another() -> None:
    dog = Watchdog()
    for second in range(7):
        vitals = [STOPPED_WORKER, replace(WELL, slot=1)]
        assert dog.to_kill(second, vitals) == ([(0, SlotProcess.WORKER)] if second == 5 else [])


def test_the_state_of_a_process_is_what_it_is() -> None:
    process = subprocess.Popen(["sleep", "1000"])
    os.kill(process.pid, signal.SIGSTOP)
    deadline = time.monotonic() + 60
    while state_of(process.pid) != "T":
        assert time.monotonic() < deadline
    process.kill()
    process.wait()
    assert state_of(process.pid) == ""


def test_restarts_are_limited_by_the_minute_and_not_in_all() -> None:
    restarts = Restarts(limit=3, window=60.0)
    begun = []
    for second in range(600):
        if restarts.allowed(second):
            restarts.note(second)
            begun.append(second)
    assert begun[:7] == [0, 1, 2, 60, 61, 62, 120]
    assert len(begun) == 30
