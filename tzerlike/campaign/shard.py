"""One worker's share of a campaign: how long it has run, how much is left, and how it is asked to stop."""

from __future__ import annotations

import time
from types import FrameType

from tzerlike.core.config import CampaignConfig
from tzerlike.execution.executor import ForkExecutor
from tzerlike.processes.stop import on_stop


class Interrupted(BaseException):
    """The worker was asked to stop while it waited for a child.

    No Exception, so that nothing that contains faults holds it up.
    """


class Shard:
    """The clock, the quota and the stop signal of worker `number`; `elapsed_before` are seconds of earlier runs."""

    def __init__(self, number: int, config: CampaignConfig, executor: ForkExecutor, elapsed_before: float) -> None:
        self._config = config
        self._executor = executor
        self._elapsed_before = elapsed_before
        self._started = time.monotonic()
        self._stopping = False
        total = config.iterations
        self.quota = None if total is None else total // config.jobs + (number < total % config.jobs)
        """How many of the campaign's iterations are this worker's; None when they are not limited."""

    def elapsed(self) -> float:
        return self._elapsed_before + time.monotonic() - self._started

    @property
    def over(self) -> bool:
        """Whether the time is up, or the worker was asked to stop."""
        return self._stopping or self.elapsed() >= self._config.budget

    def done(self, iterations: int) -> bool:
        """Whether it is time to stop for a worker that has done so many iterations."""
        return self.over or (self.quota is not None and iterations >= self.quota)

    def stop_on_request(self) -> None:
        """From now on STOP ends the work; what waits for a child is given up, to be done after a resume."""
        on_stop(self._stop)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True
        if self._executor.waiting:
            raise Interrupted
