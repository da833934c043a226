"""A finding is of the first tier where a plain program shows the same in the default pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pytest

from tzerlike.core.case import Case, PassSpec
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import BASELINE, Difference, Ending, Ran, Results
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.programs import Programs
from tzerlike.findings.tiers import tier_of_look, tiered
from tzerlike.oracles.metamorphic import PADDING

CASE = Case("found", (PassSpec("tirx.UnrollLoop"),))
CRASH = Observation(Exit.CRASH, Stage.PASSES, "SIGSEGV", "tirx.UnrollLoop", 11)
FOUND = Finding("crash", ("passes", "UnrollLoop", "SIGSEGV"), CASE, CRASH)
NOBODY = cast("ForkExecutor", None)


class Named(Programs):
    """Programs that are plain where their names are among those given, in that order."""

    def __init__(self, *names: str) -> None:
        self.names = names

    # A tier asks neither for sizes nor for texts, which every harness has to have.
    def size(self, case: Case) -> Any:
        raise NotImplementedError

    def texts(self, *what: object) -> Any:
        raise NotImplementedError

    def plain(self, executor: ForkExecutor, case: Case, *, printed: bool) -> bool:
        return case.ir in self.names or (not printed and case.ir == "unprintable")

    def carried(self, executor: ForkExecutor, finding: Finding) -> Iterator[Case]:
        return (replace(CASE, ir=name, passes=()) for name in self.names)


def shown_by(**findings: Finding) -> Any:
    asked: list[str] = []

    def judge(case: Case) -> list[Finding]:
        asked.append(case.ir)
        found = findings.get(case.ir)
        return [] if found is None else [replace(found, case=case)]

    judge.asked = asked  # type: ignore[attr-defined]
    return judge


def test_the_first_plain_program_that_shows_the_same_takes_its_place() -> None:
    judge = shown_by(second=FOUND, third=FOUND)
    found, tier = tiered(FOUND, NOBODY, Named("first", "second", "third"), judge)
    assert (found.case.ir, found.case.passes, found.signature, tier) == ("second", (), FOUND.signature, 1)
    assert judge.asked == ["first", "second"]


def test_what_no_plain_program_shows_stays_as_it_was_found() -> None:
    other = replace(FOUND, parts=("passes", "Simplify", "SIGSEGV"))
    assert tiered(FOUND, NOBODY, Named("first"), shown_by(first=other)) == (FOUND, 2), "another bug is another finding"
    assert tiered(FOUND, NOBODY, Named(), shown_by()) == (FOUND, 2)


def test_what_the_default_pipeline_shows_on_a_program_that_is_not_plain_needs_no_passes() -> None:
    found, tier = tiered(FOUND, NOBODY, Named("first"), shown_by(found=FOUND))
    assert (found.case, tier) == (replace(CASE, passes=()), 2)


def test_what_is_alike_takes_its_place_where_that_is_asked_for() -> None:
    other = replace(FOUND, parts=("passes", "UnrollLoop", "SIGSEGV", "from elsewhere"))
    judge = shown_by(first=other)
    found, tier = tiered(FOUND, NOBODY, Named("first"), judge, lambda one, two: one.parts == two.parts[:3])
    assert (found.signature, tier) == (other.signature, 1)


@pytest.mark.parametrize(("blamed", "tier"), [("optimised", 1), ("both", 1), (BASELINE, 2)])
def test_a_wrong_baseline_build_is_met_by_nobody(blamed: str, tier: int) -> None:
    wrong = Ran(Ending.DIFFERS, difference=Difference(1, "B", "float32", (0,), "2.0", "0.0", "1.0", 1, 4, "value"))
    right = Ran(Ending.AGREES)
    results = Results(
        "defined",
        baseline=right if blamed == "optimised" else wrong,
        optimised=right if blamed == BASELINE else wrong,
    )
    assert results.blame == blamed
    found = Finding("wrong-code", (blamed, "float"), CASE, Observation(Exit.OK, Stage.DONE, results=results))
    assert tiered(found, NOBODY, Named("plain"), shown_by(plain=found))[1] == tier


def test_an_error_of_the_baseline_build_is_not_either() -> None:
    seen = Observation(Exit.CRASH, Stage.BUILD_BASELINE, "SIGSEGV", signal=11)
    found = Finding("crash", ("build_reference", "SIGSEGV"), CASE, seen)
    assert tiered(found, NOBODY, Named("plain"), shown_by(plain=found)) == (found, 2)


def test_what_a_probe_finds_goes_by_its_program() -> None:
    printed = Finding("ice-on-valid", ("roundtrip",), Case("unprintable"), Observation(Exit.OK, Stage.TEXT))
    assert tier_of_look(printed, NOBODY, Named()) == 1, "that it does not read back is the finding"
    scheduled = replace(printed, observation=Observation(Exit.OK, Stage.MUTATE))
    assert tier_of_look(scheduled, NOBODY, Named()) == 2
    assert tier_of_look(replace(scheduled, case=Case("plain")), NOBODY, Named("plain")) == 1


def test_padding_that_nobody_computes_is_argued_about() -> None:
    seen = Observation(Exit.OK, Stage.MUTATE, f"{PADDING}: B[vi] = C[vi]", "CacheWrite")
    found = Finding("wrong-code", ("schedule", "CacheWrite", PADDING), Case("plain"), seen)
    assert tier_of_look(found, NOBODY, Named("plain")) == 2


@pytest.mark.parametrize(("error", "tier"), [("ValueError", 2), ("InternalError", 1), ("KeyError", 1)])
def test_whether_a_value_error_is_a_refusal_is_argued_about(error: str, tier: int) -> None:
    said = f"{error}: Check failed: (var.has_value()) is false: no pattern"
    seen = Observation(Exit.REJECTED, Stage.MUTATE, said, "Schedule.compute_at")
    found = Finding("ice-on-valid", ("schedule", "Schedule.compute_at"), Case("plain"), seen)
    assert tier_of_look(found, NOBODY, Named("plain")) == tier
