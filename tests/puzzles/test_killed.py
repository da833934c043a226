"""Children and runners that somebody else kills: their cases are judged all the same, or nobody is blamed."""

from __future__ import annotations

import errno
import mmap
import os
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator

import psutil
import pytest

from tests.puzzles import conftest
from tests.puzzles.conftest import LIMITS, fake_run_case, served
from tzerlike.core import forks
from tzerlike.core.case import Case
from tzerlike.core.errors import RunnerLost
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Stage
from tzerlike.coverage import NoCoverage
from tzerlike.execution import executor
from tzerlike.execution.executor import ForkExecutor
from tzerlike.oracles.crash import judge_crash
from tzerlike.processes.lane import Lane
from tzerlike.processes.line import ORDER, REPLY, Line

ORDERED = (1.0, 15.0, 1 << 30)


def spare_of(executor: ForkExecutor) -> psutil.Process:
    """The child that waits for the next case."""
    deadline = time.monotonic() + 60
    while True:
        (runner,) = [p for p in psutil.Process().children() if p.status() != psutil.STATUS_ZOMBIE]
        waiting = [p for p in runner.children() if p.status() == psutil.STATUS_SLEEPING]
        if len(waiting) == 1:
            return waiting[0]
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_spare_child_that_is_killed_is_not_missed(executor: ForkExecutor) -> None:
    for _ in range(3):
        assert executor.run([Case("fine")])[0].exit is Exit.OK
        spare_of(executor).kill()


def test_a_spare_child_that_is_stopped_is_not_blamed_on_the_case(executor: ForkExecutor) -> None:
    assert executor.run([Case("fine")])[0].exit is Exit.OK
    spare_of(executor).suspend()
    (seen,) = executor.run([Case("fine")], limits=Limits(0.05, LIMITS.memory))
    assert seen.exit is Exit.OK


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int, int], ForkExecutor]]:
    """An executor whose case "victim" is killed so many times, some by the kernel, which counts those."""
    left, by_kernel, counted = range(3)
    shared = mmap.mmap(-1, 3)

    def victim() -> None:
        if not shared[left]:
            return
        shared[left] -= 1
        if shared[by_kernel]:
            shared[by_kernel] -= 1
            shared[counted] += 1
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(executor, "oom_kills", lambda counters: shared[counted])
    monkeypatch.setitem(conftest.BEHAVIOUR, "victim", victim)
    with served(Lane.prepare(0, NoCoverage(), fake_run_case), LIMITS) as made:

        def of(times: int, kernels: int) -> ForkExecutor:
            shared[left], shared[by_kernel] = times, kernels
            return made

        yield of


@pytest.mark.parametrize(
    ("times", "by_kernel", "exit_"),
    [(0, 0, Exit.OK), (1, 0, Exit.OK), (1, 1, Exit.OK), (2, 0, Exit.UNKNOWN), (2, 1, Exit.UNKNOWN), (2, 2, Exit.OOM)],
)
def test_a_killed_case_is_judged_once_more(
    killed: Callable[[int, int], ForkExecutor], times: int, by_kernel: int, exit_: Exit
) -> None:
    case = Case("victim")
    (seen,) = killed(times, by_kernel).run([case])
    assert seen.exit is exit_
    finding = judge_crash(case, seen)
    assert (finding is not None and finding.kind) == (exit_ is Exit.OOM and "oom")
    if exit_ is not Exit.OK:
        assert (seen.stage, seen.signal) == (Stage.PASSES, signal.SIGKILL)


def test_a_batch_with_a_killed_case_has_one_observation_a_case(killed: Callable[[int, int], ForkExecutor]) -> None:
    behaviours = ["fine", "refuse", "victim", "segfault", "fine"]
    cases = [Case(behaviour, input_seed=index) for index, behaviour in enumerate(behaviours)]
    exits = [seen.exit.value for seen in killed(1, 0).run(cases)]
    assert exits == ["ok", "rejected", "ok", "crash", "ok"]
    # In the child of many it is killed twice, and then twice more in one of its own.
    exits = [seen.exit.value for seen in killed(4, 0).run(cases)]
    assert exits == ["ok", "rejected", "unknown", "crash", "ok"]


def test_a_runner_whose_forks_are_refused_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    real, refused = os.fork, [0]

    def fork() -> int:
        refused[0] += 1
        if refused[0] % 4:
            raise OSError((errno.EAGAIN, errno.ENOMEM)[refused[0] % 2], "not now")
        return real()

    lane = Lane.prepare(0, NoCoverage(), fake_run_case)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    runner = os.fork()
    if runner == 0:
        ours.close()
        forks.os.fork = fork  # type: ignore[attr-defined]
        conftest.serve_runner(lane, theirs)
    theirs.close()
    executor = ForkExecutor(lane, ours, LIMITS)
    assert [seen.exit for _ in range(5) for seen in executor.run([Case("fine")])] == [Exit.OK] * 5
    ours.close()
    os.waitpid(runner, 0)


def test_other_errors_of_a_fork_are_not_waited_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def fork() -> int:
        raise OSError(errno.EPERM, "never")

    monkeypatch.setattr(forks.os, "fork", fork)
    with pytest.raises(PermissionError):
        forks.fork()


def test_a_runner_lets_orders_to_another_one_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    lane = Lane.prepare(0, NoCoverage(), fake_run_case, jobs={"nothing": lambda item, channel, seconds: None})
    lane.channel.lay_request({"job": "nothing", "item": {}, "count": True})
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    runner = os.fork()
    if runner == 0:
        ours.close()
        conftest.serve_runner(lane, theirs, 2)
    theirs.close()
    assert REPLY.unpack(ours.recv(REPLY.size)) == (2, False, 0, False)
    # The order to the runner before this one would be late at once.
    ours.send(ORDER.pack(1, 1.0, 0.0, 1 << 30))
    ours.send(ORDER.pack(2, *ORDERED))
    assert REPLY.unpack(ours.recv(REPLY.size)) == (2, True, 0, False)
    ours.close()
    os.waitpid(runner, 0)


class Ends:
    """A line, and the other end of it in the hands of the test."""

    def __init__(self) -> None:
        ours, self.runner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.line = Line(ours)

    def say(self, number: int, done: bool = True) -> None:
        self.runner.send(REPLY.pack(number, done, 0, False))

    def orders(self) -> list[int]:
        self.runner.setblocking(False)
        numbers = []
        try:
            while True:
                numbers.append(struct.unpack_from("<I", self.runner.recv(ORDER.size))[0])
        except BlockingIOError:
            return numbers


def test_a_runner_that_takes_over_while_its_worker_waits_has_the_order_sent_again() -> None:
    ends = Ends()
    ends.runner.settimeout(60)
    pid = os.fork()
    if pid == 0:
        ends.runner.recv(ORDER.size)
        ends.say(1, done=False)
        ends.runner.recv(ORDER.size)
        ends.say(1)
        os._exit(0)
    assert ends.line.ask(*ORDERED) is None
    reply = ends.line.ask(*ORDERED)
    os.waitpid(pid, 0)
    assert reply is not None and reply.done


def test_an_order_names_the_runner_that_last_said_it_is_there() -> None:
    ends = Ends()
    ends.say(1, done=False)
    ends.say(2, done=False)
    pid = os.fork()
    if pid == 0:
        numbers = []
        while not numbers:
            numbers = ends.orders()
        ends.say(numbers[0])
        os._exit(0)
    reply = ends.line.ask(*ORDERED)
    os.waitpid(pid, 0)
    assert reply is not None and reply.done


def test_without_anybody_to_start_another_runner_it_is_lost() -> None:
    ends = Ends()
    ends.runner.close()
    with pytest.raises(RunnerLost):
        ends.line.ask(*ORDERED)
