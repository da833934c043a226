"""Resources that the zygote prepares for one worker before it forks."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tzerlike.coverage import Coverage, DeathRecord, StackRecord
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import Job, RunCase, no_cases

Report = Callable[[dict[str, Any]], None]
"""What a worker reports by, to the process that asked for its role."""


@dataclass(frozen=True, slots=True)
class Lane:
    """Shared memory, a stderr file, a log slot, and what the children can do."""

    slot: int
    channel: Channel
    stderr: int
    death: DeathRecord
    coverage: Coverage
    run_case: RunCase
    jobs: Mapping[str, Job]
    prelude: Callable[[], None]
    confined: bool = True
    stacks: StackRecord = field(default_factory=StackRecord)

    @classmethod
    def prepare(
        cls,
        slot: int,
        coverage: Coverage,
        run_case: RunCase = no_cases,
        jobs: Mapping[str, Job] = MappingProxyType({}),
        prelude: Callable[[], None] = lambda: None,
        confined: bool = True,
    ) -> Lane:
        """`prelude` is what each child does while it waits for its case; it is nobody's coverage.

        `confined` says whether children give up what a case has no need of (tzerlike.processes.confine).
        """
        stderr = os.memfd_create(f"stderr-{slot}")
        return cls(slot, Channel(), stderr, DeathRecord(), coverage, run_case, jobs, prelude, confined)
