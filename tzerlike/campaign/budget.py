"""The budget of one worker: how long it has run, how much is left, and how it is asked to stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from tzerlike.processes.stop import on_stop

_LAST_PART = 0.15
"""The part of the time in which what was found is made ready to be read."""

_HELD = 5.0
"""Seconds for which work that is held goes on after the request to stop."""


def nearly_over(elapsed: float, seconds: float, quota: int | None) -> bool:
    """Whether little of the time is left; never of a quota, since its iterations are the same on any machine."""
    return quota is None and elapsed >= (1 - _LAST_PART) * seconds


class Interrupted(BaseException):
    """The worker was asked to stop, and waits for a child or needs another one.

    No Exception, so that nothing that contains faults holds it up.
    """


class Budget:
    """The clock, the quota and the stop signal of a worker.

    `seconds` are those of the campaign, of which `elapsed_before` went into earlier runs, and `quota` is how many
    iterations are this worker's, or None. `waiting` says whether the worker waits for a child.
    """

    def __init__(
        self, seconds: float, quota: int | None, elapsed_before: float, waiting: Callable[[], bool] = lambda: False
    ) -> None:
        self.quota = quota
        self._seconds = seconds
        self._elapsed_before = elapsed_before
        self._waiting = waiting
        self._started = time.monotonic()
        self._stopping = False
        self._asked = 0.0
        self._holds: Callable[[], bool] = lambda: False

    def elapsed(self) -> float:
        """Seconds that the campaign has run, in earlier runs too."""
        return self._elapsed_before + time.monotonic() - self._started

    def rest(self, seconds: float) -> None:
        """Wait for so many seconds, which do not count."""
        began = time.monotonic()
        time.sleep(seconds)
        self._started += time.monotonic() - began

    @property
    def over(self) -> bool:
        """Whether the time is up, or the worker was asked to stop."""
        return self._stopping or self.elapsed() >= self._seconds

    @property
    def nearly_over(self) -> bool:
        return nearly_over(self.elapsed(), self._seconds, self.quota)

    def done(self, iterations: int) -> bool:
        """Whether it is time to stop for a worker that has done so many iterations."""
        return self.over or (self.quota is not None and iterations >= self.quota)

    def left(self, iterations: int) -> int | None:
        """How many iterations are left of the quota to a worker that has done so many; None where there is none."""
        return None if self.quota is None else self.quota - iterations

    def stop_on_request(self) -> None:
        """From now on STOP ends the work; what waits for a child is given up, to be done after a resume."""
        on_stop(self._stop)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping, self._asked = True, time.monotonic()
        if self._waiting():
            self.give_way()

    def give_way(self) -> None:
        """Raise Interrupted where the worker was asked to stop, unless what it is at is held."""
        if self._stopping and not (self._holds() and time.monotonic() - self._asked < _HELD):
            raise Interrupted

    @contextmanager
    def held(self, holds: Callable[[], bool]) -> Iterator[None]:
        """Within, nothing is given up while `holds` says so: what children have reached is counted at once, and would
        be lost to whoever does the work again."""
        self._holds = holds
        try:
            yield
        finally:
            self._holds = lambda: False
