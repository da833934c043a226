"""Wrong code behind a misused pass is found where nothing is misused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.unit.findings.test_tiers import NOBODY, Named
from tzerlike.core.case import Case, PassSpec
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import Difference, Ending, Ran, Results
from tzerlike.findings.rescue import without_misuse
from tzerlike.oracles.inconsistency import excused, judge_inconsistency

MISUSED, OTHER = PassSpec("s_tir.LowerAsyncDMA"), PassSpec("tirx.StorageRewrite")
WRONG = Ran(Ending.DIFFERS, difference=Difference(1, "B", "float32", (0,), "2.0", "0.0", "1.0", 1, 4, "value"))
RESULTS = Results("defined", baseline=Ran(Ending.AGREES), optimised=WRONG, guilty="StorageRewrite")
SEEN = Observation(Exit.OK, Stage.DONE, results=replace(RESULTS, misused=MISUSED.name))
BARE = json.dumps({"nodes": []})
CASE = Case(BARE, (MISUSED, OTHER))


def suspicion() -> Finding:
    found = excused(CASE, SEEN)
    assert found is not None
    assert judge_inconsistency(CASE, SEEN) is None
    return found


@pytest.mark.parametrize(
    ("shows", "found"),
    [
        ([("plain", ())], ("plain", ())),
        ([(BARE, (OTHER,))], (BARE, (OTHER,))),
        ([("plain", ()), (BARE, (OTHER,))], ("plain", ())),
        ([(BARE, (MISUSED,))], None),
    ],
    ids=["on a plain program", "without the pass", "on both", "on neither"],
)
def test_where_it_is_looked_for(
    shows: Sequence[tuple[str, tuple[PassSpec, ...]]], found: tuple[str, tuple[PassSpec, ...]] | None
) -> None:
    def judge(case: Case) -> list[Finding]:
        return [replace(suspicion(), case=case)] if (case.ir, case.passes) in shows else []

    best = without_misuse(suspicion(), NOBODY, Named("odd", "plain"), judge)
    assert (None if best is None else (best.case.ir, best.case.passes)) == found


def test_a_finding_of_another_kind_is_none() -> None:
    crash = replace(suspicion(), kind="crash")
    assert without_misuse(suspicion(), NOBODY, Named("plain"), lambda case: [crash]) is None


def test_nobody_is_excused_for_what_misuses_nothing() -> None:
    seen = Observation(Exit.OK, Stage.DONE, results=RESULTS)
    assert excused(Case(BARE, (OTHER,)), seen) is None
    assert judge_inconsistency(Case(BARE, (OTHER,)), seen) is not None
