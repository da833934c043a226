"""What the harness offers in place of a program that nobody would write, in children with the real compiler."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.puzzles.conftest import served
from tzerlike.cli.roles import JOBS, run_case
from tzerlike.core.case import Case, ContextConfig, PassSpec
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.targets import kind_of_target
from tzerlike.coverage import NoCoverage
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.likeness import same_failure
from tzerlike.findings.tiers import tiered
from tzerlike.harnesses.tir.harness import HARNESS
from tzerlike.oracles import effort_for, judged, make_oracles
from tzerlike.processes.lane import Lane
from tzerlike.systems import tvm_api

ORACLES = ("crash", "internal-error")
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


UNROLLED = ContextConfig(options=(("tirx.UnrollLoop.auto_max_step", 64),))
SYMBOLIC = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    B = T.match_buffer(b, (n,), "int32")
    for i in T.thread_binding({extent}, thread="vthread.x"):
        with T.sblock("B"):
            v = T.axis.spatial(n, i)
            T.reads(A[v])
            T.writes(B[v])
            B[v] = A[v]
"""


def of_text(text: str) -> Case:
    return Case(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(text))), (PassSpec("tirx.UnrollLoop"),))


def case(statement: str = "B[i] = A[i]", loop: str = "for i in range(8):") -> Case:
    return of_text(PROGRAM.format(loop=loop, statement=statement.replace("\n", "\n        ")))


def cases_offered(executor: ForkExecutor, given: Case) -> list[Case]:
    seen = Observation(Exit.CRASH, Stage.PASSES, "SIGSEGV", "tirx.UnrollLoop", 11)
    cases = list(HARNESS.carried(executor, Finding("crash", ("passes",), given, seen)))
    assert all(not other.passes and other.config == ContextConfig() for other in cases)
    return cases


def script(case: Case) -> str:
    return tvm_api.script_of(tvm_api.load_ir(case.ir)).partition("def main")[2]


def offered(executor: ForkExecutor, given: Case) -> list[str]:
    return [script(other) for other in cases_offered(executor, given)]


def found_in(executor: ForkExecutor, given: Case) -> list[Finding]:
    (seen,) = executor.run([given], count=False, effort=effort_for(ORACLES))
    return judged(make_oracles(ORACLES), given, seen)


def carried(executor: ForkExecutor, given: Case) -> tuple[Finding, int]:
    """The first thing that is found of a case, with its tier, on the program that it is carried to."""
    return tiered(found_in(executor, given)[0], executor, HARNESS, lambda case: found_in(executor, case), same_failure)


def test_a_plain_program_is_offered_as_it_is(executor: ForkExecutor) -> None:
    plain = case()
    assert HARNESS.plain(executor, plain, printed=True)
    (text,) = offered(executor, plain)
    assert "B[i] = A[i]" in text


def test_a_program_that_passes_make_too_large_for_a_case_is_not_offered(executor: ForkExecutor) -> None:
    large = case("B[i % 8] = A[i % 8]", loop="for i in T.unroll(34000):")
    large = replace(large, passes=(*large.passes, PassSpec("tirx.RemoveNoOp")))
    seen = Observation(Exit.CRASH, Stage.PASSES, "SIGSEGV", "tirx.RemoveNoOp", 11)
    offers = list(HARNESS.carried(executor, Finding("crash", ("passes",), large, seen)))
    assert all(len(other.ir) < 1 << 20 for other in offers)


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
    (text,) = offered(executor, odd)
    assert left in text
    assert "software_pipeline" not in text and "k:" not in text


def test_a_program_that_is_read_as_another_one_is_tried_as_that(executor: ForkExecutor) -> None:
    """TVMScript shows memory of one element as a scalar, which is local."""
    odd = case("C = T.alloc_buffer((1,), 'int32')\nC[0] = A[i]\nB[i] = C[0]")
    assert not HARNESS.plain(executor, odd, printed=True)
    (text,) = offered(executor, odd)
    assert "C: T.int32 = A[i]" in text


def test_what_is_undefined_without_what_is_odd_is_not_offered(executor: ForkExecutor) -> None:
    assert offered(executor, case("B[i] = A[i // 2147483647 * 100]")) == []


def test_threads_are_for_a_device_too(executor: ForkExecutor) -> None:
    given = case(loop="for i in T.thread_binding(8, thread='threadIdx.x'):")
    serial, threads = cases_offered(executor, given)
    assert kind_of_target(serial.target) == "llvm" and "for i in range(8):" in script(serial)
    assert kind_of_target(threads.target) == "cuda" and "T.thread_binding(8" in script(threads)


def test_an_option_is_asked_for_as_a_schedule_does(executor: ForkExecutor) -> None:
    as_it_is, asking = offered(executor, replace(case(), config=UNROLLED))
    assert "pragma" not in as_it_is and 'annotations={"pragma_auto_unroll_max_step": 64}' in asking
    other = ContextConfig(options=(("tirx.UnrollLoop.auto_max_depth", 4), ("tirx.UnrollLoop.auto_max_step", 0)))
    assert len(offered(executor, replace(case(), config=other))) == 1, "no program can ask for these"


@pytest.mark.parametrize(
    ("odd", "ways"),
    [
        (case("B[i] = A[i] + T.Mul(64, 2)"), ("B[i] = A[i] + 128", "B[i] = A[i] + c")),
        (case("k = T.int32()\nB[i] = T.Let(A[i], where={k: i})"), ("B[i] = A[i]\n", "T.Let(k, where={k: A[i]})")),
    ],
)
def test_a_number_or_a_value_may_have_a_name(executor: ForkExecutor, odd: Case, ways: tuple[str, str]) -> None:
    first, second = offered(executor, odd)
    assert ways[0] in first + "\n" and ways[1] in second


def test_a_crash_is_carried_to_a_device(executor: ForkExecutor) -> None:
    """Virtual threads are odd on a CPU, and there is no number of them."""
    finding, tier = carried(executor, replace(of_text(SYMBOLIC.format(extent="n")), passes=()))
    assert tier == 1 and kind_of_target(finding.case.target) == "cuda"
    assert finding.parts[:3] == ("passes", "InjectVirtualThread", "SIGSEGV")


def test_an_error_is_carried_from_an_option_to_a_hint(executor: ForkExecutor) -> None:
    leaving = case("if A[i] < 0:\n    T.break_loop()\nB[i] = A[i]")
    finding, tier = carried(executor, replace(leaving, passes=(), config=UNROLLED))
    assert tier == 1 and finding.case.config == ContextConfig() and "break_loop" in finding.title


def test_what_takes_an_option_that_no_program_has_is_not_carried(executor: ForkExecutor) -> None:
    leaving = case("if A[i] < 0:\n    T.break_loop()\nB[i] = A[i]")
    extent = ContextConfig(options=(("tirx.UnrollLoop.auto_max_extent", 16),))
    finding, tier = carried(executor, replace(leaving, passes=(), config=extent))
    assert tier == 2 and finding.case.config == extent
