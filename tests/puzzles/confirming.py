"""A worker of a campaign that only confirms and bundles, in the process of the tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.puzzles.conftest import served, worker_here
from tzerlike.campaign.confirming import ConfirmingWorker
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.shard import Shard
from tzerlike.campaign.shard_worker import Assignment
from tzerlike.core.case import Case
from tzerlike.core.config import CampaignConfig
from tzerlike.core.limits import Limits
from tzerlike.core.storage import write_json
from tzerlike.coverage import NoCoverage
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.bundles.bundle import Texts
from tzerlike.findings.faults.bundle import Occasion
from tzerlike.findings.programs import Programs
from tzerlike.oracles.protocol import Judge
from tzerlike.processes.job import RunCase
from tzerlike.processes.lane import Lane


class NoTexts(Programs):
    """Programs of which nothing is written, and no size is asked."""

    def size(self, case: Case) -> Any:
        raise NotImplementedError

    def texts(self, executor: ForkExecutor, *about: object) -> Texts:
        return Texts("", "")


class Confirming(ConfirmingWorker):
    """A worker without iterations."""

    def go_on(self) -> None: ...

    def repeat(self, occasion: Occasion) -> None: ...


@contextmanager
def confirming(
    root: Path, run_case: RunCase, limits: Limits, judges: Sequence[Judge], programs: Programs, jobs: int = 1
) -> Iterator[list[Confirming]]:
    """The workers of a campaign with a fake compiler."""
    config = CampaignConfig(seed=1, jobs=jobs, iterations=1, oracles=("crash",))
    directory = CampaignDir(root)
    directory.create(jobs)
    write_json(directory.environment, {"tvm": "0.27", "compiler_library": "0123456789abcdef"})

    def worker(number: int) -> Confirming:
        lane = Lane.prepare(number, NoCoverage(), run_case)
        executor = stack.enter_context(served(lane, limits))
        assignment = Assignment(Shard(number, jobs), config, directory)
        return Confirming(assignment, executor, lane.channel, list(judges), programs)

    with worker_here(), ExitStack() as stack:
        yield [worker(number) for number in range(jobs)]
