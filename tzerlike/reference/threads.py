"""Threads that wait for each other at barriers.

The threads of a thread-bound loop that has a barrier in it run as routines: one at a time, each up to the next barrier
or its end. When all of them have come to the barrier, a new phase begins. Accesses of different phases are ordered,
those of one phase are not: a phase is part of the identity of the loop's execution in the paths of
`tzerlike.reference.memory`.

A routine is an operating-system thread that runs only while it has the baton, since a closure cannot be left in its
middle.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from tzerlike.reference.fault import Fault
from tzerlike.reference.memory import Path
from tzerlike.reference.state import State

MOST_THREADS = 1024
_STACK = 512 << 10


class _Cancelled(BaseException):
    """Unwinds a routine that nobody waits for any more."""


class Routine:
    """One thread of a block; `pause` is called from inside, `resume` from its crew."""

    def __init__(self, action: Callable[[], object]) -> None:
        self._action = action
        self._thread = threading.Thread(target=self._main, daemon=True)
        self._turn = threading.Semaphore(0)
        self._back = threading.Semaphore(0)
        self._started = False
        self._cancelled = False
        self._error: BaseException | None = None
        self.done = False

    def _main(self) -> None:
        try:
            self._action()
        except _Cancelled:
            pass
        except BaseException as error:  # noqa: BLE001 - it goes on in the crew's own thread
            self._error = error
        self.done = True
        self._back.release()

    def resume(self) -> None:
        """Run until the next barrier or the end; raises what the routine raised."""
        if self._started:
            self._turn.release()
        else:
            self._started = True
            self._thread.start()
        self._back.acquire()
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def pause(self) -> None:
        """Give the baton back to the crew until the next phase."""
        self._back.release()
        self._turn.acquire()
        if self._cancelled:
            raise _Cancelled

    def cancel(self) -> None:
        if self._started and not self.done:
            self._cancelled = True
            self._turn.release()
            self._thread.join()


def run_crew(state: State, values: Sequence[int], work: Callable[[int], object]) -> None:
    """Run `work(value)` for each thread, in phases; Fault("divergent-barrier") when only some come to a barrier.

    A crew inside of a routine of another is part of one barrier with all the threads of the outer one.
    """
    if len(values) > MOST_THREADS:
        raise Fault("step-budget", f"{len(values)} threads")
    owner, path, frame = state.routine, state.path, state.frame
    state.executions += 1
    execution, phase = state.executions, 0
    previous = threading.stack_size(_STACK)
    routines = [Routine(lambda value=value: work(value)) for value in values]  # type: ignore[misc]
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
            if len(waiting) < len(routines):
                raise Fault("divergent-barrier", f"{len(waiting)} of {len(routines)} threads come to a barrier")
            phase += 1
            if isinstance(owner, Routine):
                owner.pause()
                path = state.path
    finally:
        for routine in routines:
            routine.cancel()
        threading.stack_size(previous)
        state.routine, state.path = owner, path


def barrier(state: State) -> None:
    """What a barrier does in the thread that comes to it."""
    if not isinstance(state.routine, Routine):
        raise Fault("unsupported", "a barrier outside of threads")
    state.routine.pause()
