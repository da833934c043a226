"""What the harness offers in place of a program that nobody would write, in children with the real compiler."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.puzzles.conftest import served
from tzerlike.cli.roles import JOBS, run_case
from tzerlike.core.case import Case, PassSpec
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.coverage import NoCoverage
from tzerlike.execution.executor import ForkExecutor
from tzerlike.harnesses.tir.harness import HARNESS
from tzerlike.processes.lane import Lane
from tzerlike.systems import tvm_api

PROGRAM = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    {loop}
        {statement}
"""


@pytest.fixture(scope="module")
def executor() -> Iterator[ForkExecutor]:
    lane = Lane.prepare(0, NoCoverage(), run_case, JOBS, confined=False)
    with served(lane, Limits()) as running:
        yield running


def case(statement: str = "B[i] = A[i]", loop: str = "for i in range(8):") -> Case:
    text = PROGRAM.format(loop=loop, statement=statement.replace("\n", "\n        "))
    return Case(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(text))), (PassSpec("tirx.UnrollLoop"),))


def offered(executor: ForkExecutor, given: Case) -> list[str]:
    seen = Observation(Exit.CRASH, Stage.PASSES, "SIGSEGV", "tirx.UnrollLoop", 11)
    cases = list(HARNESS.carried(executor, Finding("crash", ("passes",), given, seen)))
    assert all(not other.passes for other in cases)
    return [tvm_api.script_of(tvm_api.load_ir(other.ir)).partition("def main")[2] for other in cases]


def test_a_plain_program_is_offered_as_it_is(executor: ForkExecutor) -> None:
    plain = case()
    assert HARNESS.plain(executor, plain, printed=True)
    (script,) = offered(executor, plain)
    assert "B[i] = A[i]" in script


@pytest.mark.parametrize(
    ("odd", "left"),
    [
        (case("B[i] = A[i // 8388608]"), "B[i] = A[i // 2]"),
        (case("k: T.let[T.int32] = i + 1\nB[i] = A[i]"), "B[i] = A[i]"),
        (case(loop="for i in T.serial(8, annotations={'software_pipeline_stage': [0]}):"), "for i in range(8):"),
    ],
)
def test_what_is_odd_is_mended(executor: ForkExecutor, odd: Case, left: str) -> None:
    assert not HARNESS.plain(executor, odd, printed=True)
    (script,) = offered(executor, odd)
    assert left in script
    assert "software_pipeline" not in script and "k:" not in script


def test_a_program_that_is_read_as_another_one_is_tried_as_that(executor: ForkExecutor) -> None:
    """TVMScript shows memory of one element as a scalar, which is local."""
    odd = case("C = T.alloc_buffer((1,), 'int32')\nC[0] = A[i]\nB[i] = C[0]")
    assert not HARNESS.plain(executor, odd, printed=True)
    (script,) = offered(executor, odd)
    assert "C: T.int32 = A[i]" in script


def test_what_is_undefined_without_what_is_odd_is_not_offered(executor: ForkExecutor) -> None:
    assert offered(executor, case("B[i] = A[i] // (i // 2147483647 + 1 - 1)")) == []
