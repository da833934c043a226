"""Which programs of a campaign are printed and parsed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.mutation import Mutation
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.rng import rng_for
from tzerlike.oracles.examiner import Made, Records
from tzerlike.oracles.round_trip.examiner import clean, wants

MUTATION = Mutation(1, 0, 2, 0, "insertion", "p" * 64)


def wanted(size: int, inserted: bool, mutation: Mutation | None) -> float:
    """The share that is wanted of a thousand cases of a campaign."""
    made = (Made(Case("x" * size), inserted, None, mutation, partial(rng_for, n)) for n in range(1000))
    return sum(map(wants, made)) / 1000


def test_each_small_program_that_a_mutation_brought_in_is_looked_at() -> None:
    assert wanted(5_000, True, MUTATION) == 1


def test_of_others_that_are_small_or_enter_the_corpus_some_are() -> None:
    for size, inserted, mutation in ((50_000, True, MUTATION), (5_000, False, MUTATION), (5_000, True, None)):
        assert 0.08 < wanted(size, inserted, mutation) < 0.17


def test_a_large_program_that_brought_nothing_is_not() -> None:
    assert wanted(50_000, False, MUTATION) == 0


def test_many_are_looked_at_in_as_few_children_as_live() -> None:
    children: list[list[str]] = []

    def ask(item: Mapping[str, Any]) -> Records:
        """A child that comes through programs until one kills it."""
        children.append(item["programs"])
        come = item["programs"][: item["programs"].index("kills")] if "kills" in item["programs"] else item["programs"]
        records = [{"fault": ["a", "b", "c"] if program == "lost" else None} for program in come]
        return records, None if len(come) == len(item["programs"]) else Observation(Exit.CRASH, Stage.TEXT, "SIGSEGV")

    programs = ["survives", "lost", "kills", "survives", "lost"]
    assert clean(ask, [Case(program) for program in programs]) == [True, False, True, True, False]
    assert children == [programs, programs[3:]]
