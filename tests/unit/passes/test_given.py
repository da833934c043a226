"""Preconditions by the programs that passes are really given."""

from __future__ import annotations

import pytest

from tzerlike.core.case import ContextConfig, parse_sequence
from tzerlike.passes.facts import facts_of
from tzerlike.passes.given import GivenPasses
from tzerlike.passes.pipeline import default_pipeline
from tzerlike.passes.preconditions import legal
from tzerlike.systems import tvm_api
from tzerlike.systems.compilation import Compilation

PROGRAM = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4, 4), "bfloat16"), B: T.Buffer((4,), "bfloat16")):
    for i, j in T.grid(4, 4):
        with T.sblock("sum"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = T.bfloat16(0)
            B[vi] = B[vi] + A[vi, vj]
"""


CUDA = '{"kind": "cuda", "arch": "sm_90"}'


def misused(passes: str, target: str = "llvm") -> tuple[str, bool]:
    """What was misused in the end, and whether the sequence looks legal from its start."""
    module = tvm_api.module_of(tvm_api.parse_script(PROGRAM))
    sequence = parse_sequence(passes) if passes else default_pipeline().passes
    given = GivenPasses(sequence)
    Compilation(target, ContextConfig(pipeline="none"), given.steps).lower(module)
    return given.misused, legal(sequence, facts_of(tvm_api.dump_ir(module))) is None


def test_the_default_pipeline_gives_each_pass_what_it_takes() -> None:
    assert misused("") == ("", True)


def test_what_looks_illegal_from_the_start_is_misused() -> None:
    assert misused("tirx.StmtSimplify; s_tir.HoistExpression") == ("s_tir.HoistExpression", False)


def test_what_a_pass_makes_counts_and_not_what_was_there_at_first() -> None:
    assert misused("s_tir.DefaultGPUSchedule; s_tir.InjectVirtualThread", CUDA) == ("s_tir.InjectVirtualThread", True)


@pytest.mark.parametrize(("extent", "wide"), [("4", False), ("T.int64(4)", True)])
def test_threads_are_remapped_where_they_are_counted_in_32_bits(extent: str, wide: bool) -> None:
    text = f"""
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4,), "float32")):
    for i in T.thread_binding({extent}, thread="threadIdx.x"):
        A[i] = T.float32(1)
"""
    facts = facts_of(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(text))))
    assert (legal(parse_sequence("tirx.RemapThreadAxis"), facts) is not None) is wide
