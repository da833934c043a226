"""The default pipeline as data against TVM's own."""

from __future__ import annotations

from typing import Any

import pytest

from tzerlike.core.case import ContextConfig, parse_sequence, print_sequence
from tzerlike.passes.catalog import instantiate
from tzerlike.passes.pipeline import default_pipeline
from tzerlike.processes.forked import in_child
from tzerlike.systems.tvm_api import parse_script, structural_equal, tirx, tvm
from tzerlike.systems.tvm_build import bind_target, build, target_of
from tzerlike.systems.tvm_passes import pass_context

SCRIPT = """
@I.ir_module(s_tir=True)
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
        C = T.sblock_alloc_buffer((8, 16), "float32")
        for i, j in T.grid(8, 16):
            with T.sblock("c"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + T.float32(1)
        for i in T.parallel(8):
            for j in T.vectorized(16):
                with T.sblock("b"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = C[vi, vj] * A[vi, vj]
"""

CONFIGS = [
    ContextConfig(),
    ContextConfig(0, (("tirx.disable_assert", True),)),
    ContextConfig(3, (("tirx.disable_cse_tir", True), ("tirx.disable_vectorize", True))),
    ContextConfig(3, (("tirx.disable_storage_rewrite", True), ("tirx.use_async_copy", True))),
    ContextConfig(3, (("tirx.instrument_bound_checkers", True), ("tirx.UnrollLoop.auto_max_step", 16))),
]


def lower(module: Any, config: ContextConfig) -> Any:
    for spec in default_pipeline("llvm", config).passes:
        module = instantiate(spec)(module)
    return module


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_the_recorded_passes_do_what_the_pipeline_does(config: ContextConfig) -> None:
    target = target_of("llvm")
    with target, pass_context(config):
        module = bind_target(parse_script(SCRIPT), target)
        pipeline, _, _ = tirx.get_default_tir_pipeline(target)
        assert structural_equal(lower(module, config), pipeline(module), map_free_vars=True)


def test_options_take_the_branches_of_the_pipeline() -> None:
    names = {config: [p.name for p in default_pipeline("llvm", config).passes] for config in CONFIGS}
    assert "tirx.CommonSubexprElim" in names[CONFIGS[0]]
    assert "tirx.CommonSubexprElim" not in names[CONFIGS[2]]
    assert "VectorizeLoop{enable_vectorize=false}" in print_sequence(default_pipeline("llvm", CONFIGS[2]).passes)
    assert "tirx.StorageRewrite" not in names[CONFIGS[3]] and "s_tir.LowerAsyncDMA" in names[CONFIGS[3]]
    assert "s_tir.InstrumentBoundCheckers" in names[CONFIGS[4]]


def test_a_pipeline_is_a_sequence_like_any_other() -> None:
    pipeline = default_pipeline()
    assert parse_sequence(print_sequence(pipeline.passes)) == pipeline.passes
    assert [p.name for p in pipeline.host] == ["tirx.LowerTVMBuiltin", "tirx.LowerIntrin"]
    assert [p.name for p in pipeline.device] == ["tirx.LowerWarpMemory", "tirx.StmtSimplify", "tirx.LowerIntrin"]


def test_what_the_passes_lowered_is_compiled_without_the_default_pipeline() -> None:
    import numpy as np

    target = target_of("llvm")
    config = ContextConfig(pipeline="none")
    with target, pass_context(config):
        module = bind_target(parse_script(SCRIPT), target)
        function = build(lower(module, config), target, config.pipeline).executable["main"]
        with pytest.raises((tvm.error.InternalError, TypeError, RuntimeError)):
            build(module, target, config.pipeline)

    def run() -> str:
        a = np.arange(128, dtype="float32").reshape(8, 16)
        given, result = tvm.runtime.tensor(a), tvm.runtime.tensor(np.zeros_like(a))
        function(given, result)
        return str((result.numpy() == (a + 1) * a).all())

    # Threads of a parallel loop in this process would hang those that later tests fork from it.
    assert in_child(run) == ("True", 0)
