"""What a child leaves of its stacks while its time runs out, and what these have in common."""

from __future__ import annotations

import ctypes
import os
import signal

import pytest

from tests.memcov import fork
from tzerlike.core.package import MEMCOV
from tzerlike.coverage import STACKS, Stack, StackRecord, describe, in_common

pytestmark = pytest.mark.skipif(not MEMCOV.exists(), reason="libmemcov.so has not been built")


def spin() -> None:
    while True:
        pass


def test_a_child_leaves_stacks_until_the_last_one_kills_it() -> None:
    record = StackRecord()

    def child() -> None:
        record.watch(0.005)
        signal.setitimer(signal.ITIMER_PROF, 0.01)
        spin()

    status = fork(child)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF
    stacks = record.read()
    assert len(stacks) == STACKS
    assert all(stack.depth == len(stack.frames) > 5 for stack in stacks)
    names = [frame.name for frame in in_common(stacks) if frame is not None]
    assert "_PyEval_EvalFrameDefault" in names
    record.clear()
    assert record.read() == ()


def test_a_child_that_ends_in_time_leaves_what_it_has() -> None:
    record = StackRecord()

    def child() -> None:
        record.watch(3600)
        signal.setitimer(signal.ITIMER_PROF, 0.01)
        while not record.read():
            pass

    assert fork(child) == 0
    assert len(record.read()) == 1


def address(function: object) -> int:
    """Somewhere in a function of the C library's."""
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0) + 1  # type: ignore[arg-type]


def test_what_stacks_have_in_common_begins_at_the_outermost_frame() -> None:
    libc = ctypes.CDLL(None)
    outer, inner, other = address(libc.qsort), address(libc.getenv), address(libc.strtol)
    assert describe(outer) != describe(inner) != describe(other)
    short, long = Stack((outer,), 1), Stack((inner, outer), 2)
    assert in_common((long, long)) == (describe(inner), describe(outer - 1))
    assert in_common((short, long)) == (describe(outer),)
    assert in_common((long, Stack((other, outer), 2))) == (describe(outer - 1),)
    assert in_common((long, Stack((other,), 1))) == ()
    assert in_common((long, Stack((inner, outer), 0))) == (), "nobody knows how deep it is"
    assert in_common((long, Stack((inner,), 400))) == (), "their outer frames were not kept"
    assert in_common((long, Stack((), 0), long)) == in_common((long, long)), "most of them are known"
    assert in_common(()) == ()
