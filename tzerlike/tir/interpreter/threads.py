"""Threads that wait for each other at barriers.

The threads of a thread-bound loop that has a barrier in it run as routines: one at a time, each up to the next barrier
or its end. When all of them have come to the barrier, a new phase begins. Accesses of different phases are ordered,
those of one phase are not: a phase is part of the identity of the loop's execution in the paths of
`tzerlike.tir.interpreter.memory`. A reduction over threads is a barrier where each gives something to the others.

A routine is a greenlet, since a closure cannot be left in its middle: a stack of its own, switched by hand, that costs
a few kilobytes. Threads of the operating system would each take an arena of the child's address space.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from greenlet import getcurrent, greenlet

from tzerlike.tir.interpreter.fault import BrokenRule
from tzerlike.tir.interpreter.memory import Path
from tzerlike.tir.interpreter.state import State

_T = TypeVar("_T")

MOST_THREADS = 1024
"""Threads of one block, those of nested loops multiplied: as many as CUDA has."""


class ThreadAxis(NamedTuple):
    """A thread axis: the slot of its variable, and how many threads there are."""

    slot: int
    extent: Callable[[], Any]


class Routine:
    """One of `threads` threads of a block; `pause` is called from inside, `resume` by the crew that made it."""

    def __init__(self, action: Callable[[], object], threads: int) -> None:
        self.threads = threads
        self.phases = 0
        """Barriers that it came to."""
        self.reduces = False
        """Whether the one where it waits is a reduction."""
        self._crew = getcurrent()
        self._greenlet = greenlet(action, parent=self._crew)

    @property
    def done(self) -> bool:
        return self._greenlet.dead

    def resume(self) -> None:
        """Run until the next barrier or the end; raises what the routine raised."""
        self._greenlet.switch()

    def pause(self) -> None:
        """Go back to the crew until the next phase."""
        self.phases += 1
        self._crew.switch()

    def cancel(self) -> None:
        """Unwind a routine that nobody waits for any more."""
        if self._greenlet:
            self._greenlet.throw()


def run_crew(state: State, values: Sequence[int], work: Callable[[int], object]) -> None:
    """Run `work(value)` for each thread, in phases; BrokenRule("divergent-barrier") when only some come to a barrier.

    A crew inside of a routine of another is part of one barrier with all the threads of the outer one.
    """
    owner, path, frame = state.routine, state.path, state.frame
    threads = len(values) * (owner.threads if isinstance(owner, Routine) else 1)
    if threads > MOST_THREADS:
        raise BrokenRule("step-budget", f"{threads} threads")
    state.executions += 1
    execution, phase = state.executions, 0
    routines = [Routine(partial(work, value), threads) for value in values]
    saved: list[list[object]] = [list(frame) for _ in routines]
    inner: list[Path] = [() for _ in routines]
    try:
        while True:
            for number, routine in enumerate(routines):
                base = (*path, ((execution, phase), values[number]))
                state.routine, state.path = routine, (*base, *inner[number])
                frame[:] = saved[number]
                routine.resume()
                saved[number], inner[number] = list(frame), state.path[len(base) :]
            waiting = [routine for routine in routines if not routine.done]
            state.routine, state.path = owner, path
            if not waiting:
                return
            reduces = any(routine.reduces for routine in waiting)
            if len(waiting) < len(routines) and reduces:
                # Within a warp some need not come.
                raise BrokenRule("unsupported", "a reduction that not all threads come to")
            if len(waiting) < len(routines):
                raise BrokenRule("divergent-barrier", f"{len(waiting)} of {len(routines)} threads come to a barrier")
            phase += 1
            if isinstance(owner, Routine):
                owner.reduces = reduces
                owner.pause()
                path = state.path
    finally:
        for routine in routines:
            routine.cancel()
        state.routine, state.path = owner, path


def barrier(state: State) -> None:
    """What a barrier does in the thread that comes to it."""
    _waits(state, reduces=False)


def given_by_all(state: State, group: tuple[object, ...], thread: tuple[int, ...], given: _T, count: int) -> list[_T]:
    """What the `count` threads of a group give, in their order; this one is `thread`, and gives `given`.

    BrokenRule where not all of them come.
    """
    phase = state.routine.phases if isinstance(state.routine, Routine) else 0
    all_given = state.given.setdefault((*group, phase), {})
    all_given[thread] = given
    _waits(state, reduces=True)
    if len(all_given) != count:
        raise BrokenRule("unsupported", "a reduction that not all threads come to")
    return [all_given[each] for each in sorted(all_given)]


def _waits(state: State, *, reduces: bool) -> None:
    if not isinstance(state.routine, Routine):
        raise BrokenRule("unsupported", "a barrier outside of threads")
    state.routine.reduces = reduces
    state.routine.pause()
