"""Several workers of one campaign come upon the same bug of a fake compiler."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.puzzles.conftest import LIMITS, fake_run_case, served, worker_here
from tzerlike.campaign.confirming import ConfirmingWorker
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.shard import Shard
from tzerlike.campaign.shard_worker import Assignment
from tzerlike.core.case import Case, Provenance
from tzerlike.core.config import CampaignConfig
from tzerlike.core.observation import Observation
from tzerlike.core.storage import write_json
from tzerlike.core.stored import StoredCase
from tzerlike.coverage import NoCoverage
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.bundles.bundle import Texts
from tzerlike.findings.faults.bundle import Occasion
from tzerlike.findings.programs import Programs
from tzerlike.oracles.crash import judge_crash
from tzerlike.processes.lane import Lane


class NoTexts(Programs):
    """Programs of which nothing is written."""

    def size(self, case: Case) -> Any:
        raise NotImplementedError

    def texts(self, executor: ForkExecutor, *about: object) -> Texts:
        return Texts("", "")


class Worker(ConfirmingWorker):
    """A worker whose cases are counted."""

    def go_on(self) -> None: ...

    def repeat(self, occasion: Occasion) -> None: ...

    def meet(self, ir: str) -> tuple[str | None, int]:
        """Come upon a case; returns the signature that is known for it then, and how many cases that took."""
        case = Case(ir)
        (seen,) = self.executor.run([case], count=False)
        finding = judge_crash(case, seen)
        assert finding is not None
        asked, run = [], self.executor.run

        def noted(cases: list[Case], **options: Any) -> list[Observation]:
            asked.extend(cases)
            return run(cases, **options)

        self.executor.run = noted  # type: ignore[method-assign, assignment]
        signature = self.report(finding, StoredCase(case, Provenance("made")))
        self.executor.run = run  # type: ignore[method-assign]
        return signature, len(asked)


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[list[Worker]]:
    config = CampaignConfig(seed=1, jobs=2, iterations=1, oracles=("crash",))
    directory = CampaignDir(tmp_path / "c")
    directory.create(2)
    write_json(directory.environment, {"tvm": "0.27", "compiler_library": "0123456789abcdef"})

    def worker(number: int) -> Worker:
        lane = Lane.prepare(number, NoCoverage(), fake_run_case)
        executor = stack.enter_context(served(lane, LIMITS))
        assignment = Assignment(Shard(number, 2), config, directory)
        return Worker(assignment, executor, lane.channel, [judge_crash], NoTexts())

    with worker_here(), ExitStack() as stack:
        yield [worker(0), worker(1)]


def test_what_another_worker_has_bundled_is_not_confirmed_again(workers: list[Worker]) -> None:
    first, second = workers
    signature, cases = first.meet("segfault")
    assert signature is not None and cases > 1
    assert second.meet("segfault") == (signature, 0)
    assert second.meet("segfault") == (signature, 0)
    assert (first.state.duplicates, second.state.duplicates) == ({}, {"crash": 1})
    assert second.state.unconfirmed == {}
    assert second.state.seen_again == {signature: 2}, "compared with the bundle, as in the worker that wrote it"


def test_what_is_bundled_by_another_while_it_is_confirmed_is_a_duplicate(
    workers: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = workers
    tiered = second._tiered

    def late(*found: Any) -> Any:
        first.meet("abort")
        return tiered(*found)

    monkeypatch.setattr(second, "_tiered", late)
    signature, _ = second.meet("abort")
    assert signature is not None
    assert second.state.duplicates == {"crash": 1} and second.state.unconfirmed == {}
    assert len(list(second.directory.bundles())) == 1 and second.state.findings == {}
