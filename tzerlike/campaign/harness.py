"""A harness as worker processes know it: the object that `HarnessRow.harness` names."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Protocol, cast

from tzerlike.campaign.shard_worker import Assignment, ShardWorker
from tzerlike.core.harness import HarnessRow
from tzerlike.processes.job import Job, RunCase
from tzerlike.processes.lane import Lane


class Harness(Protocol):
    """What a harness does where its compiler is; `CaseHarness` (tzerlike.campaign.cases) is one for Cases.

    `jobs` are what children can do for it, by name.
    """

    @property
    def jobs(self) -> Mapping[str, Job]: ...

    @property
    def run_case(self) -> RunCase: ...

    def prepare(self, params: Mapping[str, Any]) -> tuple[int, list[str]]:
        """Check what takes the compiler to check, and make the seeds once for all workers.

        Returns how many there are, and what was wrong with those left out. UserError where no campaign is possible.
        `params` has the mutators, oracles, seeds and target of a configuration, and the cache_dir.
        """

    def worker(self, assignment: Assignment, lane: Lane, runner: socket.socket, cache: Path | None) -> ShardWorker:
        """Make the worker of a shard; without a `cache` it gets no seeds, for it only repeats something."""

    def judge_again(self, bundle: Path, times: int, lane: Lane, runner: socket.socket) -> Iterator[dict[str, Any]]:
        """Judge the case of a bundle `times` times, each in a fresh child; yields answers (tzerlike.findings.answer).

        UserError where the bundle does not read, or this compiler cannot take its case.
        """


@cache
def loaded(row: HarnessRow) -> Harness:
    """Import the harness of a row."""
    return cast("Harness", row.load("harness"))
