"""What a test of an undefined schedule looks for in the loops of a program."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from tvm import s_tir

from tzerlike.oracles.schedules.stray import stray_source
from tzerlike.systems import tvm_api

SUM = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((3, 6), "float32"), B: T.Buffer((3,), "float32")):
    for i, k in T.grid(3, 6):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
"""


def test_rfactor_loses_the_condition_by_which_the_partial_sums_of_nothing_are_left_out() -> None:
    schedule = schedule_of(SUM)
    _, inner = schedule.split(schedule.get_loops(schedule.get_sblock("B"))[1], [None, 8])
    assert stray(schedule.mod) == ""
    schedule.rfactor(inner, 0)
    assert stray(schedule.mod) == "B.rf is read at [6, 0], which nothing has written"


GUARDED = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    for i, j in T.grid(2, 4):
        with T.sblock("B"):
            vi = T.axis.spatial(6, {bound})
            T.where(i * 4 + j < {guard})
            B[vi] = T.if_then_else({tested}, A[vi - 1], T.float32(0)) + T.exp(T.Select(vi < 1, A[vi], A[vi - 1]))
"""


@pytest.mark.parametrize(
    ("bound", "guard", "tested", "said"),
    [
        ("i * 4 + j", "6", "1 <= vi", ""),
        ("i * 4 + j", "7", "1 <= vi", "axis vi of block B is 6"),
        ("i * 4 + j", "6", "0 <= vi", "A of shape [6] at [-1]"),
        ("i * 4 + j + 1", "6", "0 < vi", "axis vi of block B is 6"),
    ],
)
def test_what_conditions_keep_in_bounds(bound: str, guard: str, tested: str, said: str) -> None:
    assert stray(schedule_of(GUARDED.format(bound=bound, guard=guard, tested=tested)).mod) == said


GATHERED = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((6,), "float32"), P: T.Buffer((6,), "int32"), B: T.Buffer((6,), "float32")):
    Q = T.sblock_alloc_buffer((6,), "int32")
    for i in range(6):
        with T.sblock("Q"):
            vi = T.axis.spatial(6, i)
            Q[{to}] = P[vi]
    for i in range(6):
        with T.sblock("B"):
            vi = T.axis.spatial(6, i)
            B[vi] = A[Q[vi]]
"""


@pytest.mark.parametrize(
    ("to", "said"),
    [
        ("vi", ""),
        ("P[vi]", ""),
        ("vi // 2", "Q is read at [3], which nothing has written"),
    ],
)
def test_where_data_say_no_index_is_checked(to: str, said: str) -> None:
    assert stray(schedule_of(GATHERED.format(to=to)).mod) == said


@pytest.mark.parametrize(
    ("tested", "said"),
    [("A[vi] < T.float32(3)", ""), ("A[vi + 1] < T.float32(3)", "A of shape [6] at [6]")],
)
def test_where_data_choose_the_choice_alone_is_looked_at(tested: str, said: str) -> None:
    assert stray(schedule_of(GUARDED.format(bound="i * 4 + j", guard="6", tested=tested)).mod) == said


NESTED = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i in range(4):
        with T.sblock("outer"):
            vi = T.axis.spatial(4, i)
            T.reads(A[{read}])
            T.writes(B[{written}])
            C = T.sblock_alloc_buffer((4,), "float32")
            for j in range(4):
                with T.sblock("inner"):
                    vj = T.axis.spatial(4, j)
                    T.reads(A[vi, vj])
                    T.writes(C[vj])
                    C[vj] = A[vi, vj]
            for j in range(4):
                with T.sblock("last"):
                    vj = T.axis.spatial(4, j)
                    T.reads(C[vj])
                    T.writes(B[vi, vj])
                    B[vi, vj] = C[vj]
"""


@pytest.mark.parametrize(
    ("read", "written", "said"),
    [
        ("vi, 0:4", "vi, 0:4", ""),
        ("0:vi + 1, 0:4", "vi, 0:4", ""),
        ("vi, 0:3", "vi, 0:4", "block outer does not declare A at [0, 3]"),
        ("vi, 0:4", "0, 0:4", "block outer does not declare B at [1, 0]"),
    ],
)
def test_blocks_declare_what_they_access(read: str, written: str, said: str) -> None:
    module = schedule_of(NESTED.format(read=read, written=written)).mod
    assert stray(module) == ""
    assert stray(module, declared=True) == said


def test_a_reduction_reads_what_it_writes_without_saying_so() -> None:
    assert stray(schedule_of(SUM).mod, declared=True) == ""


def schedule_of(script: str) -> Any:
    return s_tir.Schedule(tvm_api.module_of(tvm_api.parse_script(script)), debug_mask=0)


def stray(module: Any, declared: bool = False) -> str:
    names: dict[str, Any] = {"tvm": tvm}
    exec(stray_source(declared), names)
    return str(names["stray"](module))
