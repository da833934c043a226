"""Shared memory and barriers: a defined kernel stays defined and means the same, or None."""

from __future__ import annotations

from random import Random

import pytest

from tzerlike.execution.compare.inputs import inputs_for
from tzerlike.mutators import MutationEnv, make_mutators
from tzerlike.systems import tvm_api
from tzerlike.tir.interpreter import Verdict, prepare

KERNEL = """
@T.prim_func
def main(A: T.Buffer((48,), "float32"), B: T.Buffer((48,), "float32")):
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for ty in T.thread_binding(3, thread="threadIdx.y"):
            for tx in T.thread_binding(8, thread="threadIdx.x"):
                for k in range(2):
                    B[bx * 24 + ty * 8 + tx] = A[bx * 24 + ty * 8 + tx] * T.float32(2) + T.Cast("float32", k)
"""

CONDITIONAL = """
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for ty in T.thread_binding(2, thread="threadIdx.y"):
        if A[ty] > T.float32(0):
            for tx in T.thread_binding(8, thread="threadIdx.x"):
                B[ty * 8 + tx] = A[ty * 8 + tx]
"""

SERIAL = """
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        B[i] = A[i]
"""

(MUTATOR,) = make_mutators(["shared-memory"])


def test_children_of_a_defined_kernel_are_defined() -> None:
    parent = tvm_api.parse_script(KERNEL)
    inputs = next(iter(inputs_for(parent, 3)))
    assert prepare(parent).run(inputs.arguments, 100_000).verdict is Verdict.DEFINED
    texts = set()
    for seed in range(40):
        child = MUTATOR(parent, Random(seed), MutationEnv(target="cuda"))
        assert child is not None
        assert tvm_api.well_formed(tvm_api.module_of(child))
        judgement = prepare(child).run(inputs.arguments, 100_000)
        assert judgement.verdict is Verdict.DEFINED, (seed, judgement.rule, judgement.where)
        texts.add(tvm_api.script_of(child))
    assert any("shared.dyn" in text for text in texts)
    assert any("% 24" in text for text in texts)


@pytest.mark.parametrize("text", [CONDITIONAL, SERIAL])
def test_no_barrier_where_not_all_threads_come_by(text: str) -> None:
    parent = tvm_api.parse_script(text)
    assert all(MUTATOR(parent, Random(seed), MutationEnv(target="cuda")) is None for seed in range(20))
