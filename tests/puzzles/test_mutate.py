"""Mutations in children: what they reach of TVM counts if they give a program, whatever else happens to them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import pytest

from tests.e2e.conftest import CACHE
from tests.puzzles.conftest import BLOCKS, served
from tzerlike.core.case import Case
from tzerlike.core.limits import Limits
from tzerlike.core.mutation import ILL_FORMED, NOT_BUILT, Mutation
from tzerlike.core.observation import Exit
from tzerlike.coverage import Coverage, open_coverage
from tzerlike.execution.executor import ForkExecutor
from tzerlike.execution.stages import run_case
from tzerlike.mutators import MutationEnv, Mutator, attempt, make_mutators
from tzerlike.processes.lane import Lane
from tzerlike.systems import tvm_api


class Planted:
    """Schedules a loop, and then comes to an end of its own."""

    name = "planted"

    def __init__(self, end: str) -> None:
        self.end = end

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any:
        schedule = tvm_api.s_tir.Schedule(tvm_api.module_of(func))
        schedule.unroll(schedule.get_loops(schedule.get_sblock("b"))[0])
        if self.end == "it dies":
            os.kill(os.getpid(), signal.SIGABRT)
        if self.end == "is not built":
            schedule.get_sblock("no such block")
        if self.end == "is ill-formed":
            variable = tvm_api.tirx.Var("nobody_defines_this", "int32")
            return tvm_api.PrimFunc([], tvm_api.tirx.Evaluate(variable))
        return None


def planted(names: Sequence[str]) -> tuple[Mutator, ...]:
    """The mutators of the table, and those that come to an end that their name says."""
    return tuple(m for name in names for m in ((Planted(name),) if " " in name else make_mutators([name])))


@pytest.fixture(scope="module")
def coverage() -> Coverage:
    CACHE.mkdir(parents=True, exist_ok=True)
    return open_coverage("breakpoint", tvm_api.compiler_libraries(), 1, CACHE, tvm_api.SYSTEM.code.sources)


@pytest.fixture
def executor(coverage: Coverage, monkeypatch: pytest.MonkeyPatch) -> Iterator[ForkExecutor]:
    monkeypatch.setattr(attempt, "make_mutators", planted)
    coverage.reset()
    with served(Lane.prepare(0, coverage, run_case, attempt.JOBS), Limits(seconds=5.0)) as made:
        yield made


def text() -> str:
    return tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(BLOCKS)))


def mutation(name: str, iteration: int = 0) -> Mutation:
    return Mutation(1, 0, iteration, 0, name, "parent")


def first_that_applies(executor: ForkExecutor) -> Mutation:
    for iteration in range(50):
        tried = mutation("schedule-loops", iteration)
        if attempt.mutate_in_child(executor.explore, tried, text(), "llvm").attempt.text is not None:
            return tried
    raise AssertionError("no primitive applies to a plain loop")


def test_what_a_schedule_reaches_counts_once(executor: ForkExecutor, coverage: Coverage) -> None:
    applies = first_that_applies(executor)
    coverage.reset()
    mutant = attempt.mutate_in_child(executor.explore, applies, text(), "llvm")
    assert mutant.attempt.text not in (None, text())
    assert mutant.died_of == 0
    assert coverage.covered() == mutant.new_blocks > 1000
    again = attempt.mutate_in_child(executor.explore, applies, text(), "llvm")
    assert again.attempt == mutant.attempt
    assert again.new_blocks < mutant.new_blocks / 10


@pytest.mark.parametrize(
    ("end", "why", "died_of"),
    [
        ("does nothing", "", 0),
        ("is ill-formed", ILL_FORMED, 0),
        ("is not built", NOT_BUILT, 0),
        ("it dies", "", signal.SIGABRT),
    ],
)
def test_what_gives_no_program_counts_for_nothing(
    executor: ForkExecutor, coverage: Coverage, end: str, why: str, died_of: int
) -> None:
    mutant = attempt.mutate_in_child(executor.explore, mutation(end), text(), "llvm")
    assert (mutant.attempt.text, mutant.attempt.why, mutant.died_of) == (None, why, died_of)
    assert coverage.covered() == mutant.new_blocks == 0
    # All that it reached is armed again: a case finds as much as without it.
    (after,) = executor.run([Case(text())])
    coverage.reset()
    (fresh,) = executor.run([Case(text())])
    assert after.exit is fresh.exit is Exit.OK
    assert abs(after.new_blocks - fresh.new_blocks) < fresh.new_blocks / 100
