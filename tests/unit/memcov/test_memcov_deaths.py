"""What memcov keeps of a child that dies."""

import ctypes
import itertools
import mmap
import os
import resource
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.memcov import address_of, fork, functions_of, objdump, traced
from tzerlike import coverage
from tzerlike.core.package import MEMCOV
from tzerlike.coverage import BreakpointCoverage, DeathRecord, Indices, describe, describe_death

SEGV_MAPERR = 1


pytestmark = pytest.mark.skipif(not MEMCOV.exists(), reason="libmemcov.so has not been built")


def dying(record: DeathRecord, cov: BreakpointCoverage, work: Callable[[], object]) -> tuple[int, coverage.SignalDeath]:
    """Let `work` die under coverage; return the signal of the wait status and the record."""

    def child() -> None:
        record.watch()
        work()

    status = traced(cov, child)
    assert os.WIFSIGNALED(status), status
    death = record.read()
    assert death is not None
    return os.WTERMSIG(status), death


def names(death: coverage.SignalDeath) -> list[str]:
    return [frame.name if frame else "?" for frame in describe_death(death)]


def test_segfault_keeps_its_log_and_names_the_function(
    lib: ctypes.CDLL, cov: BreakpointCoverage, record: DeathRecord, base: int, blocks: Indices
) -> None:
    number, death = dying(record, cov, lambda: lib.fixture_segfault(ctypes.c_void_p(0x40)))
    assert (number, death.signal, death.code, death.address) == (signal.SIGSEGV, signal.SIGSEGV, SEGV_MAPERR, 0x40)
    assert names(death)[0] == "fixture_segfault" and not death.at_end_of_stack
    frame = describe_death(death)[0]
    assert frame is not None
    assert (frame.library, frame.offset) == ("libfixture.so", address_of(lib.fixture_segfault) - base)
    assert death.depth is not None and death.depth >= len(death.frames) > 5
    assert functions_of(cov, base, blocks) == {"fixture_segfault"}
    assert cov.commit(0) > 0


def test_jump_to_nowhere_names_the_caller(
    lib: ctypes.CDLL, cov: BreakpointCoverage, record: DeathRecord, path: Path, base: int
) -> None:
    behind_calls = {b[0] for a, b in itertools.pairwise(objdump(path)) if a[1] == "call"}
    for target in (0, 0x1234):
        number, death = dying(record, cov, partial(lib.fixture_call, ctypes.c_void_p(target)))
        assert number == signal.SIGSEGV
        assert death.frames[0] == target
        assert names(death)[1] == "fixture_call"
        assert death.frames[1] - base in behind_calls
        assert death.depth is not None and death.depth > 5


def test_stack_overflow_is_recorded(lib: ctypes.CDLL, cov: BreakpointCoverage, record: DeathRecord) -> None:
    number, death = dying(record, cov, lambda: lib.fixture_overflow(1))
    assert number == death.signal == signal.SIGSEGV
    assert death.at_end_of_stack
    assert death.depth is not None and death.depth > 5000
    assert len(death.frames) == 64
    assert set(names(death)[2:]) == {"fixture_overflow"}


def test_very_deep_stack_has_no_depth(lib: ctypes.CDLL, cov: BreakpointCoverage, record: DeathRecord) -> None:
    def work() -> None:
        resource.setrlimit(resource.RLIMIT_STACK, (64 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))
        lib.fixture_overflow(1)

    number, death = dying(record, cov, work)
    assert number == signal.SIGSEGV
    assert death.depth is None and death.at_end_of_stack
    assert set(names(death)[2:]) == {"fixture_overflow"}


def test_coverage_does_not_make_the_stack_overflow_earlier(
    lib: ctypes.CDLL, cov: BreakpointCoverage, record: DeathRecord
) -> None:
    def survives(n: int, covered: bool) -> bool:
        def child() -> None:
            record.watch()
            if covered:
                cov.enter(0)
            lib.fixture_recurse(n)

        return fork(child) == 0

    low, high = 1000, 10_000_000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if survives(middle, False) else (low, middle)
    # The end of the recursion is a block of its own: it traps with hardly any stack left.
    assert survives(low - 8, True)
    assert cov.new(0) > 1


@pytest.mark.parametrize(
    ("function", "number"),
    [("fixture_abort", signal.SIGABRT), ("fixture_divide", signal.SIGFPE), ("fixture_illegal", signal.SIGILL)],
)
def test_other_deaths(
    lib: ctypes.CDLL, cov: BreakpointCoverage, record: DeathRecord, function: str, number: signal.Signals
) -> None:
    died_of, death = dying(record, cov, lambda: getattr(lib, function)(1, 0))
    assert died_of == death.signal == number
    assert function in names(death)[:6]


def test_death_in_a_thread_is_recorded(lib: ctypes.CDLL, cov: BreakpointCoverage, record: DeathRecord) -> None:
    def work() -> None:
        thread = threading.Thread(target=lib.fixture_segfault, args=(ctypes.c_void_p(0),))
        thread.start()
        thread.join()

    number, death = dying(record, cov, work)
    assert number == signal.SIGSEGV
    assert names(death)[0] == "fixture_segfault"


def test_a_broken_stack_still_gives_a_record(lib: ctypes.CDLL, cov: BreakpointCoverage, record: DeathRecord) -> None:
    # mov $16, %esp; ud2: neither code with unwind data nor a stack to read.
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(bytes.fromhex("bc100000000f0b"))
    entry = ctypes.addressof(ctypes.c_char.from_buffer(code))
    number, death = dying(record, cov, lambda: lib.fixture_call(ctypes.c_void_p(entry)))
    assert number == death.signal == signal.SIGILL
    assert (death.frames, death.stack, death.depth) == ((entry + 5,), 16, None)


def test_survivors_leave_no_record(lib: ctypes.CDLL, cov: BreakpointCoverage, record: DeathRecord) -> None:
    dying(record, cov, lib.fixture_abort)

    def work() -> None:
        record.watch()
        lib.fixture_classify(6)

    assert traced(cov, work) == 0
    assert record.read() is None
    dying(record, cov, lib.fixture_abort)
    record.clear()
    assert record.read() is None


def test_killed_child_keeps_its_log(lib: ctypes.CDLL, cov: BreakpointCoverage, base: int, blocks: Indices) -> None:
    pid = os.fork()
    if pid == 0:
        cov.enter(1)
        lib.fixture_spin(0)
        os._exit(0)
    seen = [-1]
    while cov.new(1) == 0 or cov.new(1) != seen[-1]:
        seen.append(cov.new(1))
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL
    assert {"fixture_spin", "fixture_classify"} <= functions_of(cov, base, blocks, 1)
    n = cov.new(1)
    assert cov.commit(1) == n == cov.covered()


def test_children_killed_at_any_moment_lose_nothing(lib: ctypes.CDLL, cov: BreakpointCoverage) -> None:
    def work() -> None:
        for i in range(3, 16):
            lib.fixture_switch(i)
            lib.fixture_catch(i)

    assert traced(cov, work) == 0
    expected = set(cov.new_indices(0).tolist())
    ready = mmap.mmap(-1, 1)
    for i in range(75):
        cov.reset()
        ready[0] = 0
        pid = os.fork()
        if pid == 0:
            cov.enter(0)
            ready[0] = 1
            work()
            os._exit(0)
        while not ready[0]:
            pass
        until = time.perf_counter() + i * 2e-6
        while time.perf_counter() < until:
            pass
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        cov.commit(0)
        traced(cov, work, 1)
        cov.commit(1)
        counted = np.unpackbits(np.frombuffer(cov.snapshot(), np.uint8), bitorder="little")
        assert set(np.flatnonzero(counted).tolist()) == expected


def test_describe(lib: ctypes.CDLL, base: int) -> None:
    start = address_of(lib.fixture_switch)
    assert describe(start) == describe(start + 5) == coverage.CodeFrame("fixture_switch", "libfixture.so", start - base)
    assert describe(0x10) is None
    # A function without a symbol of its own is not given that of its neighbour.
    unnamed = [f for f in map(describe, range(base + 0x1000, base + 0x3000, 16)) if f and not f.name]
    assert unnamed and all(f.library == "libfixture.so" for f in unnamed)
