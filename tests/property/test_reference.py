"""The interpreter has an answer to every program, however odd its calls: mutation makes such."""

from __future__ import annotations

from itertools import product

import numpy
import pytest

from tests.left_out import STRUCTURAL
from tzerlike.mutators.intrinsics import INTRINSICS
from tzerlike.systems.tvm_api import entry_of, module_of, parse_script, tirx, tvm
from tzerlike.tir.interpreter import Verdict, interpret

OPERANDS = {
    "none": [],
    "an integer": [tirx.IntImm("int32", 3)],
    "a cast": [tirx.Cast("int32", tirx.IntImm("int64", 3))],
    "a string": [tvm.ir.StringImm("shared")],
    "a float": [tirx.FloatImm("float32", 0.5)],
    "two halves": [tirx.FloatImm("float16", 0.5), tirx.FloatImm("float16", 0.25)],
    "mixed": [tirx.FloatImm("float32", 0.5), tirx.IntImm("int32", 3)],
    "three": [tirx.IntImm("bool", 1), tirx.IntImm("int32", 3), tirx.IntImm("int32", 4)],
    "a vector": [tirx.Broadcast(tirx.FloatImm("float32", 0.5), 4)],
}
RESULTS = ("int32", "float32", "bool", "float32x4")
NAMES = sorted({entry.op for entry in INTRINSICS} | set(STRUCTURAL))


@pytest.mark.parametrize("name", NAMES)
def test_a_call_with_any_operands_is_judged(name: str) -> None:
    answers = set()
    for operands, result in product(OPERANDS.values(), RESULTS):
        try:
            call = tvm.ir.Call(name, operands, ret_ty=result)
        except (TypeError, ValueError, tvm.error.InternalError):
            continue
        func = tirx.PrimFunc([], tirx.Evaluate(call))
        answers.add(interpret(func, [], max_steps=1000).verdict)
    assert answers <= set(Verdict)
    assert answers


def test_memory_as_large_as_a_lane_is_not_modelled() -> None:
    """VectorizeLoop leaves such: an extent that differs from lane to lane becomes a vector."""
    program = parse_script("""
@T.prim_func
def main(A: T.Buffer((4,), "int32")):
    for j in T.vectorized(4):
        b = T.alloc_buffer((j + 1,), "int32")
        b[j] = j
        A[j] = b[j]
""")
    lowered = entry_of(tirx.transform.VectorizeLoop(True)(tirx.transform.FlattenBuffer()(module_of(program))))
    judgement = interpret(lowered, [numpy.zeros(4, numpy.int64)], max_steps=1000)
    assert (judgement.verdict, judgement.rule) == (Verdict.UNKNOWN, "unsupported")
