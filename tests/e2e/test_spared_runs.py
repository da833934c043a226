"""Most cases of a batch are not run: their lowered form is interpreted, and that misses no pass that is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.planted.find_seeds import apply
from tests.planted.table import MISCOMPILES
from tests.puzzles.conftest import served
from tzerlike.core.case import Case
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit
from tzerlike.core.results import Ending
from tzerlike.coverage import NoCoverage
from tzerlike.execution import rejection, stages
from tzerlike.execution.diagnosis import job
from tzerlike.execution.executor import ForkExecutor
from tzerlike.execution.stages import run_case
from tzerlike.oracles import effort_for
from tzerlike.processes.lane import Lane
from tzerlike.systems.tvm_api import dump_ir, entry_of, module_of, parse_script

PROGRAM = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        B[i] = A[i] + i - 3
"""

CASES = 24


@pytest.fixture
def executor() -> Iterator[ForkExecutor]:
    with served(Lane.prepare(0, NoCoverage(), run_case, {**job.JOBS, **rejection.JOBS}), Limits()) as made:
        yield made


def endings(executor: ForkExecutor) -> list[Ending]:
    """How the optimised build ended of many cases with the same program, in one batch."""
    ir = dump_ir(module_of(parse_script(PROGRAM)))
    cases = [Case(ir, input_seed=seed) for seed in range(CASES)]
    seen = executor.run(cases, effort=effort_for(["inconsistency"]))
    assert {one.exit for one in seen} == {Exit.OK}
    assert all(one.results is not None and one.results.defined and not one.faults for one in seen)
    return [one.results.optimised.ending for one in seen if one.results is not None]


def test_most_of_a_batch_is_not_run(executor: ForkExecutor) -> None:
    first, *others = endings(executor)
    assert first is Ending.AGREES
    assert set(others) == {Ending.AGREES, Ending.NOT_RUN}
    assert others.count(Ending.NOT_RUN) > CASES // 2


@pytest.mark.parametrize("name", ["sum-as-difference", "difference-reversed"])
def test_a_wrong_pass_shows_in_each(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def planted(module: Any) -> Any:
        return module_of(apply(MISCOMPILES[name], entry_of(module)))

    monkeypatch.setattr(stages, "steps_of", lambda passes: [("planted", planted)])
    with served(Lane.prepare(0, NoCoverage(), run_case, {**job.JOBS, **rejection.JOBS}), Limits()) as executor:
        assert set(endings(executor)) == {Ending.DIFFERS}
