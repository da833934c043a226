"""What a smaller case has to keep besides its finding: its tier, and nothing odd that was not there before."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.unit.findings.test_tiers import CASE, FOUND, NOBODY, Named
from tzerlike.core.archive import no_arrays
from tzerlike.core.case import Case, ContextConfig, Provenance
from tzerlike.core.finding import FIRST_TIER, SECOND_TIER, Finding
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.stored import StoredCase
from tzerlike.execution.compare.evidence import Evidence
from tzerlike.findings.bundles.bundle import Bundle, Confirmation, read_bundle
from tzerlike.findings.bundles.compilation import bundle_plainly
from tzerlike.findings.reduction.judge import FindingJudge
from tzerlike.findings.reduction.record import Recorder
from tzerlike.findings.retrial import Retrial
from tzerlike.findings.tiers import tier_of_case
from tzerlike.oracles.examiner import Look
from tzerlike.tir.odd.program import REPEATS

LIMITS = Limits(1.0, 1 << 30)


class Odd(Named):
    """Programs that are odd in what their names say."""

    def odd(self, case: Case) -> frozenset[str]:
        return frozenset(case.ir.split()[1:])


def bundle(tmp_path: Path, ir: str, tier: int) -> Bundle:
    finding = replace(FOUND, case=replace(CASE, ir=ir, passes=()))
    kept = StoredCase(finding.case, Provenance("s"))
    path = bundle_plainly(
        tmp_path, finding, kept, LIMITS, Confirmation(1, 1, tier), Evidence(no_arrays()), {"tvm": "1"}
    )
    assert path is not None
    return read_bundle(path)


def retrial(programs: Named, written: int = FIRST_TIER) -> Retrial:
    """Every case shows the finding; what is written says that it is of the tier `written`."""

    def write(directory: Path, finding: Finding, stored: StoredCase, environment: Any) -> Path | None:
        tried = Confirmation(1, 1, written)
        kept = replace(stored, case=finding.case)
        return bundle_plainly(directory, finding, kept, LIMITS, tried, Evidence(no_arrays()), environment)

    def look(case: Case, layout: int = 0, inputs: str = "") -> Look:
        return Look((replace(FOUND, case=case),))

    return Retrial(look, write, tier=lambda finding: tier_of_case(finding, NOBODY, programs))


def judge(found: Bundle, programs: Named, written: int = FIRST_TIER) -> FindingJudge:
    return FindingJudge(retrial(programs, written), found, programs)


@pytest.mark.parametrize(("smaller", "kept"), [("small", True), ("small constant", True), ("small unused", False)])
def test_a_smaller_program_is_no_odder(tmp_path: Path, smaller: str, kept: bool) -> None:
    found = bundle(tmp_path, "large constant extreme", SECOND_TIER)
    assert judge(found, Odd()).keeps(Case(smaller)) is kept


class Repeating(Named):
    """Small programs repeat themselves."""

    def odd(self, case: Case) -> frozenset[str]:
        return frozenset([REPEATS] if case.ir == "small" else [])


@pytest.mark.parametrize(("kind", "kept"), [("crash", False), ("oom", True)])
def test_loops_that_only_repeat_themselves_may_take_all_memory(tmp_path: Path, kind: str, kept: bool) -> None:
    found = replace(bundle(tmp_path, "large", SECOND_TIER), kind=kind)
    assert judge(found, Repeating()).keeps(Case("small")) is kept


@pytest.mark.parametrize(("tier", "kept"), [(FIRST_TIER, False), (SECOND_TIER, True), (0, True)])
def test_what_is_of_the_first_tier_stays_there(tmp_path: Path, tier: int, kept: bool) -> None:
    asked = judge(bundle(tmp_path, "large", tier), Named("large", "small"))
    assert asked.keeps(Case("small"))
    assert asked.keeps(Case("strange")) is kept
    assert asked.keeps(replace(CASE, ir="small")) is kept, "with passes of its own"
    assert asked.keeps(Case("small", config=ContextConfig(opt_level=0))) is kept


def test_what_is_no_longer_of_the_first_tier_gets_smaller_all_the_same(tmp_path: Path) -> None:
    """The bundle was written when less was odd."""
    found = bundle(tmp_path, "large", FIRST_TIER)
    asked = judge(found, Named("other"), SECOND_TIER)
    assert asked.keeps(Case("small"))
    assert Recorder(found, asked, found.environment).save(Case("small"))


def test_what_only_the_baseline_shows_is_met_by_nobody() -> None:
    plain = Observation(Exit.CRASH, Stage.BUILD_BASELINE, "SIGSEGV", signal=11)
    assert tier_of_case(replace(FOUND, case=Case("plain"), observation=plain), NOBODY, Named("plain")) == SECOND_TIER


@pytest.mark.parametrize(("tier", "saved"), [(FIRST_TIER, False), (SECOND_TIER, True)])
def test_no_report_of_the_first_tier_shows_a_program_of_the_second(tmp_path: Path, tier: int, saved: bool) -> None:
    found = bundle(tmp_path, "large", tier)
    recorder = Recorder(found, judge(found, Named("large"), SECOND_TIER), found.environment)
    assert recorder.save(Case("small")) is saved
    assert (found.path / "reduced").exists() is saved


@pytest.mark.parametrize(("cost", "saved"), [(0.0, True), (60.0, False)])
def test_what_takes_long_to_save_is_not_saved_at_once(
    tmp_path: Path, cost: float, saved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A save may take a tenth of the time: one of a minute waits for ten minutes."""
    found = bundle(tmp_path, "large", SECOND_TIER)
    began = time.monotonic()
    recorder = Recorder(found, judge(found, Named("large")), found.environment, cost)
    monkeypatch.setattr(time, "monotonic", lambda: began + 300)
    recorder.note(Case("small"))
    assert (recorder.saved is not None) is saved
    monkeypatch.setattr(time, "monotonic", lambda: began + 700)
    recorder.note(Case("small"))
    assert recorder.saved is not None
