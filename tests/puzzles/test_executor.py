"""Exactly one observation per case, whatever dies: each planted death declares what must be seen."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.puzzles.conftest import LIMITS, served
from tzerlike.core.case import Case
from tzerlike.core.effort import Check, Effort
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Stage
from tzerlike.coverage import NoCoverage
from tzerlike.execution.executor import ForkExecutor
from tzerlike.processes.channel import Channel
from tzerlike.processes.lane import Lane


def case(behaviour: str, seed: int = 0) -> Case:
    return Case(behaviour, input_seed=seed)


@pytest.mark.parametrize(
    ("behaviour", "exit_", "number"),
    [
        ("fine", Exit.OK, 0),
        ("refuse", Exit.REJECTED, 0),
        ("segfault", Exit.CRASH, signal.SIGSEGV),
        ("abort", Exit.CRASH, signal.SIGABRT),
        ("kill", Exit.UNKNOWN, signal.SIGKILL),
        ("exit", Exit.CRASH, 0),
        ("exit 3", Exit.CRASH, 0),
        ("spin", Exit.TIMEOUT, signal.SIGPROF),
        ("hog", Exit.OOM, 0),
        ("say bad_alloc", Exit.OOM, signal.SIGABRT),
    ],
)
def test_every_death_is_one_observation(executor: ForkExecutor, behaviour: str, exit_: Exit, number: int) -> None:
    (seen,) = executor.run([case(behaviour)])
    assert seen.exit is exit_
    # On a busy machine the limit on wall-clock time may come before the one on processor time.
    assert seen.signal == number or (behaviour == "spin" and seen.signal == signal.SIGKILL)
    if behaviour not in ("fine", "hog"):
        assert (seen.stage, seen.pass_name) == (Stage.PASSES, "fake.Pass")


def test_the_executor_lives_on_after_each_death(executor: ForkExecutor) -> None:
    order = ["segfault", "fine", "kill", "refuse", "hog", "fine", "abort", "fine"]
    exits = [executor.run([case(b)])[0].exit for b in order]
    assert exits == [
        Exit.CRASH, Exit.OK, Exit.UNKNOWN, Exit.REJECTED, Exit.OOM, Exit.OK, Exit.CRASH, Exit.OK,
    ]  # fmt: skip


def test_a_death_in_a_batch_is_attributed_and_the_rest_run(executor: ForkExecutor) -> None:
    order = ["fine", "refuse", "segfault", "fine", "kill", "abort", "fine", "hog", "fine"]
    seen = executor.run([case(b, i) for i, b in enumerate(order)])
    assert [o.exit.value for o in seen] == ["ok", "rejected", "crash", "ok", "unknown", "crash", "ok", "oom", "ok"]
    assert [o.signal for o in seen if o.exit is Exit.CRASH] == [signal.SIGSEGV, signal.SIGABRT]


def test_a_segfault_has_a_backtrace(executor: ForkExecutor) -> None:
    (seen,) = executor.run([case("segfault")])
    assert seen.backtrace
    assert all("0x7f" not in frame.function for frame in seen.backtrace)


def test_what_a_case_writes_to_stderr_is_its_own(executor: ForkExecutor) -> None:
    (first,) = executor.run([case("abort")])
    (second,) = executor.run([case("abort")])
    assert first.stderr.count("warning: something") == 1
    assert second.stderr == first.stderr


def test_what_it_was_warned_of_is_no_part_of_how_it_died(executor: ForkExecutor) -> None:
    (seen,) = executor.run([case("warn")])
    assert seen.message == "SIGABRT warning: something" and "Warning: no" in seen.stderr


def test_a_child_that_sleeps_is_ended_by_the_wall_clock(executor: ForkExecutor) -> None:
    began = time.monotonic()
    (seen,) = executor.run([case("sleep")], limits=Limits(0.05, LIMITS.memory))
    assert seen.exit is Exit.TIMEOUT
    assert time.monotonic() - began < 600


def test_a_fault_of_ours_is_the_end_of_its_case_alone(executor: ForkExecutor) -> None:
    order = ["fine", "fault of ours", "fine", "fault of ours", "segfault", "fine"]
    seen = executor.run([case(b, i) for i, b in enumerate(order)])
    assert [o.exit.value for o in seen] == ["ok", "fault", "ok", "fault", "crash", "ok"]
    (fault,) = seen[1].faults
    assert (fault.kind, fault.doing) == ("ZeroDivisionError", "passes")
    assert "1 // 0" in seen[1].message
    assert (seen[1].stage, seen[1].pass_name) == (Stage.PASSES, "fake.Pass")
    assert fault.signature == seen[3].faults[0].signature


RUNS = Effort(frozenset({Check.RESULTS}))


@pytest.mark.parametrize(
    ("behaviour", "exit_"),
    [
        ("run writes over the header", Exit.CRASH),
        ("run writes over its results", Exit.OK),
        ("reference writes over the records", Exit.CRASH),
        ("compiler writes over the records", Exit.FAULT),
    ],
)
def test_what_writes_over_the_channel_of_its_child_is_a_crash_of_the_program_if_one_ran(
    executor: ForkExecutor, behaviour: str, exit_: Exit
) -> None:
    (seen,) = executor.run([case(behaviour)], effort=RUNS)
    assert seen.exit is exit_
    assert seen.stage is Stage.RUN or exit_ is not Exit.CRASH
    assert executor.run([case("fine")])[0].exit is Exit.OK


@pytest.mark.parametrize(
    "record",
    [
        {"exit": "no such exit"},
        {"exit": "ok", "backtrace": [1]},
        {"exit": "ok", "pass_blocks": -1},
        {"exit": "ok", "results": {"verdict": 3}},
        {"exit": "ok", "message": None},
    ],
)
def test_a_record_that_is_none_is_no_observation(monkeypatch: pytest.MonkeyPatch, record: dict[str, Any]) -> None:
    def run_case(case: Case, channel: Channel, *rest: Any) -> dict[str, Any]:
        channel.enter_stage(Stage.RUN)
        return record

    with served(Lane.prepare(0, NoCoverage(), run_case), LIMITS) as fresh:
        (seen,) = fresh.run([case("fine")], effort=RUNS)
    assert (seen.exit, seen.stage) == (Exit.CRASH, Stage.RUN)


def test_no_child_outlives_its_case(executor: ForkExecutor) -> None:
    executor.run([case("fine")])
    executor.run([case("kill"), case("spin"), case("fine")])
    deadline = time.monotonic() + 60
    # A child that is done may still be ending; the spare one that waits for the next case stays.
    while len(_children_of_a_child()) > 1:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _children_of_a_child() -> list[str]:
    """The living processes whose parent's parent is this process: the runner's children."""
    pids = [pid for pid in os.listdir("/proc") if pid.isdigit()]
    ours = {pid for pid in pids if _parent(pid) == os.getpid()}
    return [pid for pid in pids if str(_parent(pid)) in ours]


def _parent(pid: str) -> int | None:
    """The parent of a process; None for one that is gone, or that has ended and waits to be reaped."""
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state == "Z" else int(parent)


def test_what_runs_out_of_time_shows_where_it_always_was(executor: ForkExecutor) -> None:
    executor.run([case("spin")], limits=Limits(0.1, LIMITS.memory))
    (seen,) = executor.run([case("spin")], limits=Limits(0.1, LIMITS.memory))
    assert seen.exit is Exit.TIMEOUT
    # Unless the limit on wall-clock time came first.
    assert seen.backtrace[:1] or seen.signal == signal.SIGKILL
    if seen.backtrace:
        assert "_PyEval_EvalFrameDefault" in str(seen.backtrace)
