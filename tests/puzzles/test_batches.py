"""Many cases are screened in one child: what comes of each is what comes of it in a child of its own."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.puzzles.conftest import LIMITS, served
from tests.puzzles.test_faults import Blocks, NoDeath
from tzerlike.core.case import Case, PassSpec
from tzerlike.core.effort import Check, Effort
from tzerlike.core.observation import Exit, Stage
from tzerlike.core.results import Ending, Ran, Results
from tzerlike.execution.executor import ForkExecutor
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import RunContext
from tzerlike.processes.lane import Lane


def _unless(spared: bool, ended: Results) -> Results:
    return ended if spared else replace(ended, baseline=Ran(Ending.AGREES))


class Compiler:
    """What it does to a case depends on those before it in the child; it counts all that it is given."""

    def __init__(self, coverage: Blocks) -> None:
        self.coverage = coverage
        self.runs = mmap.mmap(-1, 1)
        self.stale = False
        self.spared = mmap.mmap(-1, 64)
        """Of each program's runs, by its seed, how many were spared their baseline build."""
        self.judged = mmap.mmap(-1, 64)
        """The same of those that were to be judged, not just compiled."""

    def __call__(self, case: Case, channel: Channel, around: RunContext, effort: Effort, known: bool) -> dict[str, Any]:
        self.runs[0] += 1
        self.spared[case.input_seed] += around.spares_baseline
        self.judged[case.input_seed] += bool(effort.checks)
        channel.enter_stage(Stage.PASSES)
        what, _, block = case.ir.partition(" ")
        if self.stale and what == "sensitive":
            os.abort()
        if self.stale and what == "misled":
            self.coverage.reach(5)
        self.stale = self.stale or what == "taints"
        if block and not (what == "needs" and len(case.passes) == 1):
            self.coverage.reach(int(block))
        channel.enter_stage(Stage.DONE)
        if what == "refused":
            return {"exit": "rejected", "message": "ValueError: no", "backtrace": []}
        if what == "brittle" and not effort.checks:
            os.abort()
        if what in ("right", "brittle") and effort.checks:
            return {"exit": "ok", "results": Results("defined").to_json()}
        if what == "wrong":
            ended = Results("defined", optimised=Ran(Ending.DIFFERS))
            return {"exit": "ok", "results": _unless(around.spares_baseline, ended).to_json()}
        if what == "offends":
            return {"exit": "ok", "offences": [{"check": "types", "pass_name": "a.B", "rule": "width", "where": "x"}]}
        return {"exit": "ok"}


@pytest.fixture
def batch() -> Iterator[tuple[ForkExecutor, Compiler]]:
    channel = Channel()
    coverage = Blocks(channel)
    compiler, stderr = Compiler(coverage), os.memfd_create("stderr")
    lane = Lane(0, channel, stderr, NoDeath(), coverage, compiler, {}, lambda: None)  # type: ignore[arg-type]
    with served(lane, LIMITS) as executor:
        yield executor, compiler


def run(batch: tuple[ForkExecutor, Compiler], *programs: str) -> list[tuple[Exit, int]]:
    seen = batch[0].run([Case(program, input_seed=place) for place, program in enumerate(programs)])
    return [(one.exit, one.new_blocks) for one in seen]


def test_what_brings_nothing_runs_once(batch: tuple[ForkExecutor, Compiler]) -> None:
    assert run(batch, "plain", "refused", "taints", "plain") == [
        (Exit.OK, 0), (Exit.REJECTED, 0), (Exit.OK, 0), (Exit.OK, 0),
    ]  # fmt: skip
    assert batch[1].runs[0] == 4


def test_the_first_of_a_child_runs_once_whatever_it_brings(batch: tuple[ForkExecutor, Compiler]) -> None:
    assert run(batch, "plain 3", "plain") == [(Exit.OK, 3), (Exit.OK, 0)]
    assert (batch[1].runs[0], batch[1].coverage.covered()) == (2, 3)


def test_what_is_new_is_what_is_new_in_a_child_of_its_own(batch: tuple[ForkExecutor, Compiler]) -> None:
    assert run(batch, "taints", "plain 2", "misled", "plain 4") == [
        (Exit.OK, 0),
        (Exit.OK, 2),
        (Exit.OK, 0),
        (Exit.OK, 4),
    ]
    assert batch[1].coverage.covered() == 6
    assert batch[1].runs[0] == 4 + 3


def test_a_death_that_the_cases_before_it_brought_about_is_none(batch: tuple[ForkExecutor, Compiler]) -> None:
    assert run(batch, "taints", "sensitive", "plain 2", "plain") == [
        (Exit.OK, 0), (Exit.OK, 0), (Exit.OK, 2), (Exit.OK, 0),
    ]  # fmt: skip
    # What comes after the death is the first of another child.
    assert batch[1].runs[0] == 4 + 1


def test_what_is_clean_is_told_in_one_child_as_long_as_it_lives(batch: tuple[ForkExecutor, Compiler]) -> None:
    executor, compiler = batch
    programs = ("plain 3", "offends", "refused", "taints", "sensitive", "plain")
    cases = [Case(program, input_seed=place) for place, program in enumerate(programs)]
    assert executor.clean(cases) == [True, False, True, True, False]
    assert (compiler.runs[0], compiler.coverage.covered(), executor.children) == (5, 0, len(cases))


def test_most_baseline_builds_are_spared(batch: tuple[ForkExecutor, Compiler]) -> None:
    run(batch, *["plain"] * 32)
    assert 16 <= sum(batch[1].spared[:32]) < 32
    executor, compiler = batch
    executor.run([Case("plain", input_seed=place) for place in range(32, 64)], count=False)
    assert not any(compiler.spared[32:64])


@pytest.mark.parametrize(("program", "judged", "runs"), [("right 3", 1, 2), ("brittle 3", 2, 3)])
def test_what_brings_blocks_and_is_right_is_compiled_again_and_keeps_its_results(
    batch: tuple[ForkExecutor, Compiler], program: str, judged: int, runs: int
) -> None:
    executor, compiler = batch
    cases = [Case("plain"), Case(program, input_seed=1)]
    (_, seen) = executor.run(cases, effort=Effort(frozenset({Check.RESULTS})))
    assert (seen.exit, seen.new_blocks, seen.results) == (Exit.OK, 3, Results("defined"))
    assert (compiler.judged[1], compiler.runs[0]) == (judged, 1 + runs)


@pytest.mark.parametrize(("program", "left"), [("plain 3", 1), ("needs 3", 2)])
def test_it_is_compiled_again_with_the_passes_that_brought_something_where_that_will_do(
    batch: tuple[ForkExecutor, Compiler], program: str, left: int
) -> None:
    executor, compiler = batch
    executor.shortened = lambda case, seen: replace(case, passes=case.passes[:1])
    case = Case(program, (PassSpec("a.A"), PassSpec("a.B")), input_seed=1)
    (_, seen) = executor.run([Case("plain"), case])
    assert (seen.exit, seen.new_blocks, seen.shortened) == (Exit.OK, 3, case.passes[:left])
    assert compiler.runs[0] == 1 + 1 + left
    assert compiler.coverage.covered() == 3


def test_both_builds_are_made_of_what_is_wrong(batch: tuple[ForkExecutor, Compiler]) -> None:
    seen = batch[0].run([Case("wrong", input_seed=place) for place in range(32)])
    assert any(batch[1].spared[:32])
    assert {one.results.baseline.ending for one in seen if one.results is not None} == {Ending.AGREES}


def test_an_offence_runs_again_until_nothing_is_to_be_made_of_it(batch: tuple[ForkExecutor, Compiler]) -> None:
    executor, compiler = batch
    run(batch, "plain", "offends", "plain")
    assert compiler.runs[0] == 3 + 1
    executor.settled = lambda case, seen: case.ir == "offends" and seen.offences[0].rule == "width"
    (_, screened, _) = executor.run([Case("plain"), Case("offends"), Case("plain", input_seed=2)])
    assert compiler.runs[0] == 4 + 3
    assert len(screened.offences) == 1
    assert run(batch, "plain", "offends", "plain 2")[2] == (Exit.OK, 2)
