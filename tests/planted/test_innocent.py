"""Programs of the kinds that were once reported falsely give no finding, whatever oracle looks at builds and texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tvm import s_tir

from tests.planted.innocent import CUDA, INNOCENT, Innocent
from tests.planted.invalid import ILL_TYPED, with_statement
from tests.puzzles.conftest import served
from tzerlike.core.case import Case, ContextConfig, parse_sequence
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation
from tzerlike.coverage import NoCoverage
from tzerlike.harnesses.tir.harness import HARNESS
from tzerlike.oracles import ORACLES, effort_for, judged, make_oracles, round_trip
from tzerlike.oracles.examiner import JOBS, ask_for
from tzerlike.oracles.round_trip.examiner import look_again
from tzerlike.processes.lane import Lane
from tzerlike.systems import tvm_api
from tzerlike.tir.roundtrip import round_trip as round_trip_of
from tzerlike.tir.typecheck import is_well_typed

PLAIN = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((8,), "int32")):
    for i in {loop}:
        A[i] = 1
"""
Judged = Callable[[Case], tuple[Observation, list[Finding]]]


@pytest.fixture(scope="module")
def look() -> Iterator[Judged]:
    """Looks at cases with all oracles; what TVM does to any program is left out."""
    with served(Lane.prepare(0, NoCoverage(), HARNESS.run_case, {**HARNESS.jobs, **JOBS}), Limits()) as executor:
        executor.effort = effort_for(list(ORACLES))
        judges = make_oracles(list(ORACLES))
        always: set[str] = set()

        def judge(case: Case) -> tuple[Observation, list[Finding]]:
            (seen,) = executor.run([case], count=False)
            assert not seen.faults
            text = look_again(ask_for(round_trip.PROBE, executor.call), case, {})
            found = [*judged(judges, case, seen.sound()), *text.findings]
            return seen, [one for one in found if one.signature not in always]

        for loop, target in (("range(8)", "llvm"), ('T.thread_binding(8, thread="threadIdx.x")', CUDA)):
            _, found = judge(case_of(Innocent(PLAIN.format(loop=loop), target=target)))
            always |= {one.signature for one in found}
            assert {one.kind for one in found} <= {"invalid-ir"}
        yield judge


def case_of(row: Innocent) -> Case:
    module = tvm_api.module_of(tvm_api.parse_script(row.text))
    config = ContextConfig(options=tuple(row.options))
    return Case(tvm_api.dump_ir(module), parse_sequence(row.passes), config, row.target)


def why(seen: Observation) -> str:
    """In a word, why there is nothing to find."""
    if seen.exit is Exit.REJECTED and seen.rejection is not None:
        return seen.rejection.label
    if seen.results is None:
        return seen.exit.value
    return seen.results.rule or seen.results.optimised.ending.value


@pytest.mark.parametrize("name", INNOCENT)
def test_an_innocent_program_gives_no_finding(look: Judged, name: str) -> None:
    seen, found = look(case_of(INNOCENT[name]))
    assert [one.title for one in found] == []
    assert why(seen) == INNOCENT[name].why


@pytest.mark.parametrize("name", list(ILL_TYPED)[::5])
def test_nor_does_one_that_is_ill_typed(look: Judged, name: str) -> None:
    plain = tvm_api.entry_of(tvm_api.module_of(tvm_api.parse_script(PLAIN.format(loop="range(8)"))))
    bad = with_statement(plain, ILL_TYPED[name][1]())
    assert not is_well_typed(bad)
    assert look(Case(tvm_api.dump_ir(tvm_api.module_of(bad))))[1] == []


VIEWED = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8,), "int32")):
    B = T.sblock_alloc_buffer((8,), "int32")
    for i in range(8):
        with T.sblock("fill"):
            v = T.axis.spatial(8, i)
            B[v] = v
    view = T.decl_buffer((8,), "int32", data=B.data)
    for i in range(8):
        with T.sblock("copy"):
            v = T.axis.spatial(8, i)
            A[v] = B[v]
"""


def test_nor_is_it_the_texts_fault_that_a_schedule_moved_memory_from_under_a_view(look: Judged) -> None:
    schedule = s_tir.Schedule(tvm_api.module_of(tvm_api.parse_script(VIEWED)))
    schedule.set_scope(schedule.get_sblock("fill"), 0, "local")
    assert round_trip_of(schedule.mod) is not None, "the text has the view in the scope of its memory"
    assert look(Case(tvm_api.dump_ir(schedule.mod)))[1] == []


BEYOND = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((8,), "int32")):
    n = T.alloc_buffer((1,), "int32", scope="local")
    n[0] = 7
    A[n[0]] = n[1]
"""


def test_nor_is_it_the_texts_fault_what_a_program_reads_beyond_its_memory(look: Judged) -> None:
    module = tvm_api.module_of(tvm_api.parse_script(BEYOND))
    assert round_trip_of(module) is not None, "the text has a variable in the place of such a buffer"
    assert look(Case(tvm_api.dump_ir(module)))[1] == []


def test_there_are_enough() -> None:
    assert len(INNOCENT) >= 60
    assert len({name.partition(":")[0] for name in INNOCENT}) >= 11
