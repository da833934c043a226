"""Memory that nobody wrote holds what a repro.py puts there: what depends on that is wrong in every run."""

from __future__ import annotations

from typing import Any

import numpy
import tvm
import tvm_ffi
from tvm import s_tir, tirx

from tzerlike.oracles.schedules.examiner import FILLED
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


def test_what_depends_on_memory_that_nobody_wrote_is_wrong_in_every_run() -> None:
    """rfactor loses the condition by which the partial sums of nothing are left out."""
    schedule = s_tir.Schedule(tvm_api.module_of(tvm_api.parse_script(SUM)), debug_mask=0)
    _, inner = schedule.split(schedule.get_loops(schedule.get_sblock("B"))[1], [None, 8])
    for _ in range(3):
        assert result(schedule.mod, 100) == result(schedule.mod, -100) == [6.0] * 3
    schedule.rfactor(inner, 0)
    for _ in range(3):
        assert result(schedule.mod, 100) == [206.0] * 3
        assert result(schedule.mod, -100) == [-194.0] * 3


UNWRITTEN = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((3, 6), "float32"), B: T.Buffer((3,), "float32")):
    M = T.sblock_alloc_buffer((3,), "uint8")
    for i in range(3):
        with T.sblock("B"):
            vi = T.axis.spatial(3, i)
            B[vi] = T.max(T.Cast("float32", M[vi]), A[vi, 0] * T.float32(2))
"""


def test_unsigned_memory_holds_large_numbers() -> None:
    module = tvm_api.module_of(tvm_api.parse_script(UNWRITTEN))
    assert [result(module, number) for number in (100, -100)] == [[100.0] * 3, [156.0] * 3]


def result(module: Any, number: int) -> list[float]:
    names: dict[str, Any] = {"tvm": tvm, "tvm_ffi": tvm_ffi, "s_tir": s_tir, "tirx": tirx}
    exec(FILLED, names)
    given, taken = numpy.ones((3, 6), numpy.float32), numpy.zeros(3, numpy.float32)
    compiled = tvm.compile(names["with_number"](module, number), tvm.target.Target("llvm"))
    compiled["main"](*map(tvm_ffi.from_dlpack, (given, taken)))
    return taken.tolist()
