"""Pairs of an earlier corpus in the loop: they come first, as they are, and only what brings something stays."""

from __future__ import annotations

from dataclasses import replace

from tests.puzzles.test_fuzzer import DIED, OK_NEW, OK_OLD, REFUSED, Make, Scripted, make, seed
from tzerlike.campaign.loop import CORPUS_IMPORT, Fuzzer
from tzerlike.core.case import Case, PassSpec, Provenance
from tzerlike.core.observation import Observation, Stage
from tzerlike.core.stored import StoredCase

__all__ = ["make"]

A, B, C = (
    StoredCase(Case(seed().program, (PassSpec("a.B"), PassSpec(name))), Provenance(f"s{name}", "p", "m", 7, 900, 3))
    for name in ("a.C", "a.D", "a.E")
)


def test_they_come_first_and_those_that_bring_something_stay(make: Make) -> None:
    fuzzer = build(make, OK_NEW, OK_OLD, REFUSED, OK_NEW)
    how = [step.trial.how for _ in range(4) for step in fuzzer.step()]
    assert how == [CORPUS_IMPORT] * 3 + ["seed"]
    assert [entry.case for entry in fuzzer.corpus][:1] == [A.case]
    assert len(fuzzer.corpus) == 2


def test_they_belong_to_the_iteration_that_brought_them_in(make: Make) -> None:
    """A worker that resumes behind its corpus would otherwise skip the iterations that another campaign did."""
    fuzzer = build(make, OK_NEW, OK_NEW)
    fuzzer.step(), fuzzer.step()
    second = [entry.provenance for entry in fuzzer.corpus][1]
    assert second == replace(B.provenance, worker=0, iteration=1)


def test_they_keep_the_passes_that_bring_nothing_here(make: Make) -> None:
    fuzzer = build(make, replace(OK_NEW, pass_blocks=(0, 0)))
    fuzzer.step()
    assert [entry.case for entry in fuzzer.corpus] == [A.case]


def test_without_coverage_all_that_compile_stay(make: Make) -> None:
    fuzzer = build(make, OK_OLD, REFUSED, OK_OLD, guided=False)
    for _ in range(3):
        fuzzer.step()
    assert [entry.case for entry in fuzzer.corpus] == [A.case, C.case]


def test_one_that_dies_is_a_finding_but_not_where_it_is_loaded(make: Make) -> None:
    fuzzer = build(make, DIED, replace(DIED, stage=Stage.LOAD, pass_name=""))
    (first,), (second,) = fuzzer.step(), fuzzer.step()
    assert [finding.kind for finding in first.findings] == ["crash"]
    assert second.findings == ()
    assert len(fuzzer.corpus) == 0


def build(make: Make, *script: Observation, **options: object) -> Fuzzer:
    fuzzer = make(Scripted(*script), **options)
    fuzzer.carried = iter((A, B, C))
    return fuzzer
