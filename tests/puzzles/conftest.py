"""Fake compilers: `run_case` is replaced, before the runner is forked, by one that behaves as the case's IR says."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tzerlike.core.case import Case
from tzerlike.core.effort import Effort
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Stage
from tzerlike.core.results import Results
from tzerlike.coverage import NoCoverage
from tzerlike.execution.executor import ForkExecutor
from tzerlike.harnesses.tir.harness import HARNESS
from tzerlike.oracles import effort_for, examiner
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import RunContext
from tzerlike.processes.lane import Lane
from tzerlike.processes.runner import serve_runner
from tzerlike.processes.stop import STOP

LIMITS = Limits(seconds=1.0, memory=256 << 20)


def _recurse(depth: int) -> int:
    return depth and _recurse(depth - 1) + _recurse(depth - 1)


def _hog() -> None:
    kept = []
    while True:
        kept.append(bytearray(16 << 20))


def _spin() -> None:
    while True:
        pass


def _flood() -> None:
    for _ in range(200):
        with contextlib.suppress(OSError):
            os.write(1, b"x" * (1 << 20))


BEHAVIOUR: dict[str, Callable[[], Any]] = {
    "fine": lambda: None,
    "segfault": lambda: ctypes.string_at(0),
    "abort": os.abort,
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "exit": lambda: os._exit(0),
    "exit 3": lambda: os._exit(3),
    "spin": _spin,
    "hog": _hog,
    "sleep": lambda: time.sleep(3600),
    "fault of ours": lambda: 1 // 0,
    "call a shell": lambda: os.system("true"),
    "fork": os.fork,
    "kill the runner": lambda: os.kill(os.getppid(), signal.SIGKILL),
    "leave the group": os.setsid,
    "write a file": lambda: Path("written").write_text("x"),
    "flood": _flood,
    "warn": lambda: (os.write(2, b"[23:51:10] a.cc:1183: Warning: no\n"), os.abort()),
    "say bad_alloc": lambda: (os.write(2, b"terminate called: std::bad_alloc\n"), os.abort()),
}


WILD: dict[str, tuple[Stage, int, int]] = {
    "run writes over the header": (Stage.RUN, 0, 384),
    "run writes over its results": (Stage.RUN, 640, 3456),
    "reference writes over the records": (Stage.RUN_BASELINE, (16 << 20) + 4096, 4096),
    "compiler writes over the records": (Stage.PASSES, (16 << 20) + 4096, 4096),
}
"""The stage in which something writes into the channel where it should not: from where on, and how much."""


def wild_store(channel: Channel, stage: Stage, start: int, size: int) -> dict[str, Any]:
    channel.enter_stage(stage)
    channel.note_results(Results("defined"))
    if stage is not Stage.PASSES:
        channel.enter_stage(Stage.COMPARE)
    if start:
        channel.add_result({"exit": "ok"})
    channel.memory[start : start + size] = b"\xd5" * size
    os._exit(0)


def fake_run_case(case: Case, channel: Channel, around: RunContext, effort: Effort, known: bool) -> dict[str, Any]:
    channel.enter_stage(Stage.PASSES)
    channel.note_pass("fake.Pass")
    if case.ir == "refuse":
        return {"exit": "rejected", "message": "ValueError: no", "backtrace": ["tvm::f"]}
    os.write(2, b"warning: something\n")
    if case.ir in WILD:
        return wild_store(channel, *WILD[case.ir])
    BEHAVIOUR[case.ir]()
    channel.enter_stage(Stage.DONE)
    return {"exit": "ok"}


BLOCKS = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.sblock("b"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + T.float32(1)
"""
"""A program to schedule."""


@contextlib.contextmanager
def served(lane: Lane, limits: Limits) -> Iterator[ForkExecutor]:
    """An executor on `lane` with a runner of its own, forked from here as everything stands now."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    runner = os.fork()
    if runner == 0:
        ours.close()
        serve_runner(lane, theirs)
    theirs.close()
    yield ForkExecutor(lane, ours, limits)
    ours.close()
    os.waitpid(runner, 0)


@contextlib.contextmanager
def worker_here() -> Iterator[None]:
    """For a worker that runs in the process of the tests: what it does on a request to stop ends with it."""
    before = signal.getsignal(STOP)
    try:
        yield
    finally:
        signal.signal(STOP, before)


@pytest.fixture
def executor() -> Iterator[ForkExecutor]:
    with served(Lane.prepare(0, NoCoverage(), fake_run_case), LIMITS) as made:
        yield made


@pytest.fixture(scope="module")
def real() -> Iterator[ForkExecutor]:
    """An executor of real cases, judged by the oracles that look at compilations."""
    lane = Lane.prepare(0, NoCoverage(), HARNESS.run_case, {**examiner.JOBS, **HARNESS.jobs})
    with served(lane, Limits(seconds=10.0)) as made:
        made.effort = effort_for(("crash", "inconsistency", "internal-error"))
        yield made
