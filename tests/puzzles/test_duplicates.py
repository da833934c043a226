"""Several workers of one campaign come upon the same bug of a fake compiler."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.puzzles.confirming import Confirming, NoTexts, confirming
from tests.puzzles.conftest import LIMITS, fake_run_case
from tzerlike.campaign.state import Kept
from tzerlike.core.case import Case, PassSpec, Provenance
from tzerlike.core.observation import Observation
from tzerlike.core.stored import StoredCase
from tzerlike.findings.faults.bundle import Occasion
from tzerlike.oracles.crash import judge_crash


def meet(worker: Confirming, ir: str) -> tuple[str | None, int]:
    """Come upon a case; returns the signature that is known for it then, and how many cases that took."""
    case = Case(ir)
    (seen,) = worker.executor.run([case], count=False)
    finding = judge_crash(case, seen)
    assert finding is not None
    asked, run = [], worker.executor.run

    def noted(cases: list[Case], **options: Any) -> list[Observation]:
        asked.extend(cases)
        return run(cases, **options)

    worker.executor.run = noted  # type: ignore[method-assign, assignment]
    signature = worker.report(finding, StoredCase(case, Provenance("made")))
    worker.executor.run = run  # type: ignore[method-assign]
    return signature, len(asked)


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[list[Confirming]]:
    with confirming(tmp_path / "c", fake_run_case, LIMITS, [judge_crash], NoTexts(), jobs=2) as made:
        yield made


def test_what_another_worker_has_bundled_is_not_confirmed_again(workers: list[Confirming]) -> None:
    first, second = workers
    signature, cases = meet(first, "segfault")
    assert signature is not None and cases > 1
    assert meet(second, "segfault") == (signature, 0)
    assert meet(second, "segfault") == (signature, 0)
    assert (first.state.duplicates, second.state.duplicates) == ({}, {"crash": 1})
    assert second.state.unconfirmed == {}
    assert second.state.seen_again == {signature: 2}, "compared with the bundle, as in the worker that wrote it"


def test_what_is_bundled_by_another_while_it_is_confirmed_is_a_duplicate(
    workers: list[Confirming], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = workers
    tiered = second._tiered

    def late(*found: Any) -> Any:
        meet(first, "abort")
        return tiered(*found)

    monkeypatch.setattr(second, "_tiered", late)
    signature, _ = meet(second, "abort")
    assert signature is not None
    assert second.state.duplicates == {"crash": 1} and second.state.unconfirmed == {}
    assert len(list(second.directory.bundles())) == 1 and second.state.findings == {}


def test_what_another_worker_is_confirming_is_left_to_it(workers: list[Confirming]) -> None:
    first, second = workers
    stored = StoredCase(Case("segfault"), Provenance("made"))
    (finding,) = second._judge(stored.case)
    with first.claims.held(finding.signature):
        assert second.confirm([finding], stored, Occasion(0)) == [finding.signature]
        second.judge_again(Kept.of(stored))
    assert not list(second.directory.bundles()) and second.state.duplicates == {"crash": 2}
    second.judge_again(Kept.of(stored))
    assert len(list(second.directory.bundles())) == 1


def test_what_has_a_bundle_is_settled_and_what_takes_many_passes_after_some_looks(workers: list[Confirming]) -> None:
    first, second = workers
    case = Case("segfault")
    (seen,) = first.executor.run([case], count=False)
    assert not first.executor.settled(case, seen)
    signature, _ = meet(first, "segfault")
    assert first.executor.settled(case, seen)
    assert not second.executor.settled(case, seen)
    second.long_orders[str(signature)] = 4
    assert not second.executor.settled(case, seen)
    assert second.executor.settled(replace(case, passes=(PassSpec("a.B"),)), seen)
