"""The life of a worker, for every harness."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tzerlike.campaign.budget import Budget, Interrupted
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.events import EventLog
from tzerlike.campaign.shard import Shard
from tzerlike.campaign.state import WorkerState, read_state, write_state
from tzerlike.core.config import CampaignConfig
from tzerlike.core.storage import Room
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.bundles.bundle import read_record
from tzerlike.findings.faults.book import FaultBook, lost_worker
from tzerlike.findings.faults.bundle import Occasion
from tzerlike.findings.faults.limit import limited
from tzerlike.findings.known import known_filter

_SAVE_EVERY = 2.0
"""Seconds between two saves of a worker's state: a kill loses no more than that of the statistics."""

_SAVES_A_SECOND = 8
"""States that are saved in a second, of all workers of a machine: its supervisor reads each, in some 10 ms."""


_REST = 0.2
"""Seconds between two looks at whether the work is still paused."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a worker is started for: a shard of the campaign in `directory`, after `elapsed` seconds of it.

    `culprit` is what the worker before this one was ended over, if it was. `on_pause` is called with why the work
    pauses, and with "" when it goes on.
    """

    shard: Shard
    config: CampaignConfig
    directory: CampaignDir
    elapsed: float = 0.0
    culprit: Mapping[str, Any] | None = None
    on_pause: Callable[[str], None] = lambda why: None


class Beats(Protocol):
    """Takes signs of life; `tzerlike.processes.channel.Channel` is one."""

    def beat(self, iteration: int, doing: str) -> None: ...


class ShardWorker(ABC):
    """Runs one shard until the budget, the iterations or a signal end it, and saves what it has as it goes."""

    def __init__(self, assignment: Assignment, executor: ForkExecutor, notes: Beats, **facts: object) -> None:
        """`facts` go into the bundles of this worker, with those of the campaign's environment."""
        self.shard, self.config, self.directory = assignment.shard, assignment.config, assignment.directory
        self.number = self.shard.index
        self.executor = executor
        self.notes = notes
        self.culprit = assignment.culprit
        quota = self.shard.quota(self.config.iterations)
        self.budget = Budget(self.config.budget, quota, assignment.elapsed, lambda: executor.waiting)
        executor.before_child = self.budget.give_way
        self.room = Room(self._waits, assignment.on_pause)
        path = self.directory.worker_state(self.number)
        self.resumes = path.exists()
        fresh = WorkerState(worker=self.number, iterations=0, elapsed=0.0)
        self.state = read_state(path) if self.resumes else fresh
        self.environment: dict[str, Any] = {**self.directory.read_environment(), **facts}
        self.faults = FaultBook(
            self.directory.faults,
            self.number,
            self.config,
            self.environment,
            self.room,
            self.state.faults,
            self.state.recent_faults,
        )
        self.known = known_filter(self.config.known, self.environment["tvm"], self.state.known)
        self.signatures: set[str] = set()
        self.events = EventLog(self.directory.worker(self.number))
        self.saved = 0.0
        self.save_every = max(_SAVE_EVERY, self.shard.jobs / _SAVES_A_SECOND)

    @abstractmethod
    def go_on(self) -> None:
        """Do the next iterations, whatever fails in them."""

    @abstractmethod
    def repeat(self, occasion: Occasion) -> None:
        """Do again what a fault occurred on; whether it does is in the book of faults."""

    def restore(self) -> None:
        """Take up where an earlier run of this shard stopped, as far as that is more than the state."""
        self.signatures = self.directory.bundled()

    def run(self) -> None:
        """Work until it is time to stop; everything is saved on the way out, whatever the reason."""
        self.budget.stop_on_request()
        self.restore()
        if self.culprit is not None:
            self.state.iterations = max(self.state.iterations, int(self.culprit["iteration"]) + 1)
            self.take_over(self.culprit)
        # The first save shows the supervisor that the worker is up.
        self.save()
        try:
            self.work()
        except Interrupted:
            pass
        finally:
            self.save()

    def work(self) -> None:
        while not self.budget.done(self.state.iterations):
            if self.directory.pause(self.shard.node).exists():
                self.notes.beat(self.state.iterations, "pause")
                self.budget.rest(_REST)
                continue
            with limited():
                self.go_on()
            if time.monotonic() - self.saved > self.save_every:
                self.save()

    def contain(self, step: Callable[[], object], doing: str, iterations: int = 1) -> None:
        """Take a step that leads on whatever fails in it: over so many `iterations` where it counted none itself."""
        first = self.state.iterations
        self.faults.keep(step, doing, Occasion(first))
        if self.state.iterations == first:
            self.state.iterations = first + iterations

    def take_over(self, culprit: Mapping[str, Any]) -> None:
        """Note what the worker before this one was ended over, as `tzerlike.findings.faults.culprit` takes it."""
        self.faults.note(*lost_worker(culprit))

    def save(self) -> None:
        """Write the shard's state whole, and flush its events; waits while the disk is full."""
        self.room.keep(self._save)
        self.saved = time.monotonic()

    def _save(self) -> None:
        self.events.flush()
        self.faults.forget(self.state.iterations)
        self.state.elapsed, self.state.time = self.budget.elapsed(), time.time()
        write_state(self.directory.worker_state(self.number), self.state)

    def _waits(self) -> bool:
        """Give a sign of life while the disk is full; returns whether it is time to stop."""
        self.notes.beat(self.state.iterations, "wait for room on the disk")
        return self.budget.over

    @property
    def _found_now(self) -> dict[str, Any]:
        """What the bundle of a finding says of the campaign that it is from, and when it occurred there."""
        return {**self.environment, "found_after_s": round(self.budget.elapsed(), 3)}

    def _count_bundle(self, kind: str, path: Path | None) -> None:
        """Count a bundle; None is one that was not written."""
        if path is not None:
            self.state.findings[kind] += 1
            self.state.tiers[str(read_record(path).tier)] += 1
            self.state.last_finding = path.name
