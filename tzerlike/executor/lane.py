"""What the zygote prepares for one worker before it forks."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tzerlike.child.job import Job
from tzerlike.child.tray import Tray
from tzerlike.coverage import Coverage, DeathRecord


@dataclass(frozen=True, slots=True)
class Lane:
    """Shared memory, a stderr file, a log slot."""

    slot: int
    tray: Tray
    stderr: int
    death: DeathRecord
    coverage: Coverage
    prelude: Callable[[], None]
    jobs: Mapping[str, Job]
    confined: bool

    @classmethod
    def prepare(
        cls,
        slot: int,
        coverage: Coverage,
        prelude: Callable[[], None] = lambda: None,
        jobs: Mapping[str, Job] = MappingProxyType({}),
        confined: bool = True,
    ) -> Lane:
        """`prelude` is what each child does while it waits for its case; it is nobody's coverage.

        `confined` says whether children give up what a case has no need of (tzerlike.child.confine).
        """
        return cls(slot, Tray(), os.memfd_create(f"stderr-{slot}"), DeathRecord(), coverage, prelude, jobs, confined)
