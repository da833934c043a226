"""The tables of arguments and PassContext options: TVM determines which exist, these tables which values to try.

Argument names are those of the Python constructors in `tvm/tirx/transform/transform.py` and
`tvm/s_tir/transform/transform.py`; passes that only the FFI registry knows get the names of the C++ parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tzerlike.core.case import Scalar
from tzerlike.passes.dlight import DLIGHT, RULE_LISTS

_Domain = tuple[Scalar, ...]

_LLVM: Final = '{"kind": "llvm"}'
LLVM_O0: Final = '{"kind": "llvm", "opt-level": 0}'

THREAD_AXES: Final = ("threadIdx.x", "threadIdx.y", "threadIdx.z", "blockIdx.x", "blockIdx.y", "blockIdx.z")

ARGUMENTS: Final[Mapping[str, Mapping[str, _Domain]]] = {
    "s_tir.CompactBufferAllocation": {"is_strict": (True, False)},
    "s_tir.HoistIfThenElse": {"variant": (None, "basic")},
    "s_tir.InjectPTXLDG32": {"enable_inject_ptx_intrin": (True, False)},
    "s_tir.RemoveWeightLayoutRewriteBlock": {"skip_tensor_rewrite": (False, True)},
    "s_tir.ThreadSync": {"storage_scope": ("shared", "shared.dyn", "warp", "global", "local")},
    "s_tir.VerifyGPUCode": {
        "max_local_memory_per_block": (16384, 1 << 30),
        "max_shared_memory_per_block": (49152, 1 << 30),
        "max_threads_per_block": (1024, 1 << 20),
        "max_vthread": (8, 1 << 20),
        "max_vector_bytes": (16, 1024),
        "max_kernels": (1, 64),
    },
    "s_tir.VerifyVTCMLimit": {"default_target": (None, _LLVM)},
    DLIGHT: {"rules": RULE_LISTS},
    "tirx.BindTarget": {"target": (_LLVM, LLVM_O0)},
    "tirx.FP8ComputeLegalize": {"promote_dtype": ("float32", "float16")},
    "tirx.NarrowDataType": {"target_bits": (32, 64, 16)},
    "tirx.RemapThreadAxis": {
        "blockIdx.x": ("blockIdx.x", "blockIdx.y", "blockIdx.z"),
        "threadIdx.x": ("threadIdx.x", "threadIdx.y", "threadIdx.z"),
    },
    "tirx.VectorizeLoop": {"enable_vectorize": (True, False)},
}
"""Pass -> argument -> values worth trying; the first is the one TVM's pipelines use."""

MAP_ARGUMENT: Final = ("s_tir.VerifyGPUCode", "tirx.RemapThreadAxis")
"""Passes whose single FFI argument is a map: its keys are their argument names here."""

TARGET_ARGUMENTS: Final = ("target", "default_target")
"""Arguments whose text is a target, as a case has one."""

EXCLUDED: Final[Mapping[str, str]] = {
    "s_tir.HoistIfThenElseBasic": 's_tir.HoistIfThenElse{variant="basic"} constructs it',
    "tirx.CreatePrimFuncPass": "wraps a Python callable",
    "tirx.Filter": "takes a Python callable",
}
"""Registered constructors that are no passes of their own, with the reason."""

OPTIONS: Final[Mapping[str, _Domain]] = {
    "s_tir.HoistExpression.hoisted_conditionals": (0, 1, 2, 4, 8, 7, 15),
    "s_tir.HoistExpression.hoisted_let_bindings": (0, 1, 2, 4, 7),
    "s_tir.HoistIfThenElse.support_block_scope_hoisting": (True, False),
    "s_tir.InjectDoubleBuffer.split_loop": (1, 2, 3, 4),
    "s_tir.instr_siblings": (True, False),
    "s_tir.lwp_disable_func_prof": (True,),
    "s_tir.lwp_max_depth": (0, 1, 3),
    "s_tir.lwp_min_height": (1, 2),
    "s_tir.LoopPartition.no_unroll_loop_with_extent_one": (True, False),
    "s_tir.LoopPartition.partition_const_loop": (True, False),
    "s_tir.LoopPartition.unroll_loop_with_partition_hint_no_interval": (True, False),
    "tirx.RemoveNoOp.ignore_profiler_call": (True, False),
    "tirx.StmtSimplify.apply_constraints_to_boolean_branches": (True, False),
    "tirx.StmtSimplify.convert_boolean_to_and_of_ors": (True, False),
    "tirx.StmtSimplify.transitively_prove_inequalities": (True, False),
    "tirx.UnrollLoop.auto_max_depth": (1, 2, 8),
    "tirx.UnrollLoop.auto_max_extent": (0, 1, 2),
    "tirx.UnrollLoop.auto_max_step": (0, 1, 4, 16, 64),
    "tirx.UnrollLoop.explicit_unroll": (True, False),
    "tirx.UnrollLoop.unroll_local_access": (True, False),
    "tirx.debug_keep_trivial_loop": (True,),
    "tirx.disable_assert": (True, False),
    "tirx.disable_cse_tir": (True,),
    "tirx.disable_storage_rewrite": (True,),
    "tirx.disable_vectorize": (True,),
    "tirx.enable_buffer_level_predication": (True, False),
    "tirx.enable_debug": (True,),
    "tirx.enable_fast_math": (True,),
    "tirx.instrument_bound_checkers": (True,),
    "tirx.instrument_lwp": (True,),
    "tirx.merge_static_smem": (True, False),
    "tirx.noalias": (True, False),
    "tirx.s_tir.ldg32": (True,),
    "tirx.use_async_copy": (True,),
}
"""PassContext options and values worth trying. `a.B.c` sets field `c` of the option `a.B`, which is an object.

`auto_max_extent` unrolls every nest of loops that are no longer, whatever its size: more than 2 makes half a minute's
work for LLVM of a small convolution.

Left out: options of Relax and meta-schedule; `tirx.add_lower_pass`, which takes callables;
`tirx.RemoveNoOp.max_simplification_steps`, a debugging limit that fails when it is reached; and
`testing.immutable_module`, under which no build ends, since tirx.AnnotateEntryFunc changes its input.
"""

OPTIONS_READ: Final[Mapping[str, tuple[str, ...]]] = {
    "s_tir.HoistExpression": ("s_tir.HoistExpression",),
    "s_tir.HoistIfThenElse": ("s_tir.HoistIfThenElse",),
    "s_tir.InjectDoubleBuffer": ("s_tir.InjectDoubleBuffer",),
    "s_tir.InstrumentProfileIntrinsics": (
        "s_tir.instr_siblings",
        "s_tir.lwp_disable_func_prof",
        "s_tir.lwp_max_depth",
        "s_tir.lwp_min_height",
        "s_tir.reset_start_id",
    ),
    "s_tir.LoopPartition": ("s_tir.LoopPartition",),
    "s_tir.MergeSharedMemoryAllocations": ("tirx.merge_static_smem",),
    "s_tir.StmtSimplify": ("tirx.StmtSimplify",),
    "tirx.RemoveNoOp": ("tirx.RemoveNoOp",),
    "tirx.StmtSimplify": ("tirx.StmtSimplify",),
    "tirx.StorageRewrite": ("tirx.merge_static_smem",),
    "tirx.UnrollLoop": ("tirx.UnrollLoop",),
    "tirx.VectorizeLoop": ("tirx.enable_buffer_level_predication",),
}
"""Pass -> the PassContext options that its own code reads (`GetConfig` in `src/tirx` and `src/s_tir`).

The pipelines themselves read `tirx.disable_*`, `tirx.use_async_copy`, `tirx.instrument_*` and `tirx.s_tir.ldg32` to
choose their passes, and code generation reads `tirx.disable_assert`.
"""

OPTIMISATIONS: Final = (
    "s_tir.CompactBufferAllocation",
    "s_tir.HoistIfThenElse",
    "s_tir.LoopPartition",
    "s_tir.RenormalizeSplitPattern",
    "s_tir.RewriteUnsafeSelect",
    "s_tir.StmtSimplify",
    "tirx.CommonSubexprElim",
    "tirx.NarrowDataType",
    "tirx.RemoveNoOp",
    "tirx.StmtSimplify",
    "tirx.StorageRewrite",
    "tirx.UnrollLoop",
    "tirx.VerifyMemory",
)
"""Passes of the default pipelines that a build can do without: what `disabled_pass` draws from."""
