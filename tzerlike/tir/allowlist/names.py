"""The tables: names of operators, functions, attributes and nodes that can only compute.

The first part of each is what the interpreter gives a meaning to (tests/e2e/test_allowlist.py holds it to that). The
rest was met in what TVM's pipelines make of such programs, and read in TVM's sources.
"""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NAMESPACES: Final = ("tirx", "prim")
"""Where operators of tensor programs are registered; in an older TVM all of them in the first."""

_FUNCTIONS: Final = _words(
    """
    acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh erf exp exp10 exp2 fabs floor hypot ldexp log log10
    log1p log2 nearbyint pow round rsqrt sigmoid sin sinh sqrt tan tanh trunc
    """
)
"""Functions of floats, as operators; most of them are in C's library too."""

SOURCE_CALLS: Final = _FUNCTIONS | _words(
    """
    assume break_loop buffer_data clz continue_loop end_profile_intrinsic fma get_active_lane_mask if_then_else
    ignore_loop_partition isnan isnullptr likely masked_load masked_store popcount prefetch reinterpret
    start_profile_intrinsic tvm_storage_sync tvm_thread_invariant vectorcombine vectorhigh vectorlow
    bitwise_and bitwise_not bitwise_or bitwise_xor fmod isfinite isinf large_uint_imm nextafter q_multiply_shift
    q_multiply_shift_per_axis ret shift_left shift_right undef vscale
    """
)
"""Operators of a program, without their namespace. Those of the last two lines have no meaning for the interpreter, or
stand for a node in an older TVM; they compute all the same."""

LOWERED_CALLS: Final = SOURCE_CALLS | _words(
    """
    TVMBackendAllocWorkspace TVMBackendFreeWorkspace address_of handle_add_byte_offset tvm_stack_alloca tvm_struct_get
    tvm_struct_set tvm_throw_last_error
    """
)
"""Operators of host code as it is generated: what reads arguments and hands them on, and temporary memory."""

DEVICE_CALLS: Final = LOWERED_CALLS | _words(
    """
    atomic_add dp4a mma_fill mma_store ptx_commit_group ptx_cp_async ptx_ldg32 ptx_ldmatrix ptx_mma ptx_wait_group
    tvm_access_ptr tvm_bmma_sync tvm_fill_fragment tvm_load_matrix_sync tvm_mma_sync tvm_store_matrix_sync
    tvm_thread_allreduce tvm_warp_activemask tvm_warp_shuffle tvm_warp_shuffle_down tvm_warp_shuffle_up
    cuda.__activemask cuda.__shfl_down_sync cuda.__shfl_sync cuda.__shfl_up_sync
    """
)
"""Operators of a kernel."""

LIBRARY_FUNCTIONS: Final = frozenset(
    f"{name}{suffix}" for name in (_FUNCTIONS | {"fmod", "nextafter"}) for suffix in ("", "f")
)
"""Functions of C's mathematical library; CUDA's has the same, and `CUDA_FUNCTIONS` besides."""

CUDA_FUNCTIONS: Final = frozenset(
    [
        *(f"__{name}f" for name in ("cos", "exp", "exp10", "log", "log2", "log10", "pow", "sin", "tan")),
        *(f"h{name}" for name in ("ceil", "cos", "exp", "exp10", "exp2", "floor", "log", "log10", "log2", "rint")),
        *(f"h{name}" for name in ("round", "rsqrt", "sin", "sqrt", "tan", "tanh", "trunc", "abs")),
        *("__popc", "__popcll", "__clz", "__clzll", "__ldg", "__habs", "abs", "max", "min"),
    ]
)

_LLVM: Final = _words(
    """
    abs bitreverse bswap canonicalize ceil copysign cos cosh ctlz ctpop cttz exp exp10 exp2 fabs floor fma fmuladd fshl
    fshr ldexp log log10 log2 maximum maxnum minimum minnum nearbyint pow powi prefetch rint round roundeven sadd.sat
    sin sinh smax smin sqrt ssub.sat tan tanh trunc uadd.sat umax umin usub.sat
    """
)

LLVM_INTRINSICS: Final = frozenset(f"llvm.{name}" for name in _LLVM)
"""Intrinsics that the language reference of LLVM has touch no memory; prefetch is a hint."""

ATTRIBUTES: Final = _words(
    """
    thread_extent virtual_thread
    pragma_auto_unroll_max_step pragma_unroll_explicit pragma_loop_partition_hint pragma_scope pragma_debug_skip_region
    tirx.compute_scope compute_scope storage_alignment buffer_dim_align pragma_unroll device_scope async_scope
    async_commit_queue_scope async_wait_queue_scope async_wait_inflight_count volatile_scope
    buffer_bound device_id device_type double_buffer_scope double_buffer_write fragment_layout fragment_shape
    pragma_parallel_barrier_when_finish pragma_parallel_launch_point pragma_parallel_stride_pattern
    pragma_tensor_core reduce_scope tirx.volatile warp_execution
    """
)
"""Keys of attribute statements: launches, and hints of how to compile."""

ANNOTATIONS: Final = ATTRIBUTES | _words(
    """
    auto_copy auto_scheduler_simplify_const_tensor_indices axis axis_separators buffer_allocated_addr
    buffer_data_alignment const_matrix disable_pragma disable_unroll dst_layout explicit_read_region
    explicit_write_region hand_threaded input_shape irregular_loop_mark layout_free_buffers
    layout_free_placeholders layout_transforms local_stage pragma_vectorize src_layout
    require_block_var_bound_predicate require_bound_predicate schedule_rule script_parsing_detect_access
    software_pipeline_async_stages software_pipeline_order software_pipeline_stage vector_bytes
    tirx.manifest_shared_memory_local_stage tirx.script_parsing_detect_access
    meta_schedule.auto_tensorize meta_schedule.auto_tensorize_init meta_schedule.cache_type
    meta_schedule.cooperative_fetch meta_schedule.inline_rule meta_schedule.layout_rewrite_preproc
    meta_schedule.parallel meta_schedule.random_compute_producer meta_schedule.tensor_core_enabled
    meta_schedule.thread_extent_high_inclusive meta_schedule.thread_extent_low_inclusive
    meta_schedule.tiling_structure meta_schedule.unroll_explicit meta_schedule.unroll_implicit meta_schedule.vectorize
    """
)
"""Keys of the annotations of loops, blocks and allocations: hints for passes, or what lowering makes attributes of."""

FUNCTION_ATTRIBUTES: Final = _words(
    """
    calling_conv global_symbol layout_free_buffers num_inputs op_pattern s_tir target target_host thread_extent
    tirx.disable_cse_tir tirx.is_entry_func tirx.is_global_func tirx.is_host_func tirx.is_scheduled
    tirx.kernel_launch_params tirx.noalias
    """
)
"""Attributes of functions. `thread_extent`: TileLang's fork notes a kernel's threads there, on the CPU none."""

SCOPES: Final = frozenset(("", "global", "local", "shared", "shared.dyn", "warp"))
"""Kinds of memory; of those of tensor cores, `SCOPE_PREFIXES` has the beginnings."""

SCOPE_PREFIXES: Final = ("wmma.", "m16n8k8.")

NODES: Final = _words(
    """
    None bool int float
    ffi.Array ffi.BigInt ffi.List ffi.Dict ffi.Map ffi.Shape ffi.SmallStr ffi.String DataType
    ir.Call ir.DictAttrs ir.FloatImm ir.FuncType ir.GlobalVar ir.IRModule ir.IntImm ir.Op ir.PointerType ir.PrimType
    ir.Range ir.SequentialSpan ir.Source ir.SourceMap ir.SourceName ir.Span ir.StringImm ir.StringType ir.TensorLoad
    ir.TensorRegion ir.TupleType ir.Type ir.Var
    prim.Add prim.And prim.BitwiseAnd prim.BitwiseNot prim.BitwiseOr prim.BitwiseXor prim.Broadcast prim.Cast prim.Div
    prim.EQ prim.FloorDiv prim.FloorMod prim.GE prim.GT prim.LE prim.LShift prim.LT prim.Let prim.Max prim.Min prim.Mod
    prim.Mul prim.NE prim.Not prim.Or prim.RShift prim.Ramp prim.Select prim.Shuffle prim.Sub
    relax.AnyType relax.FuncType relax.ShapeType relax.TensorType relax.expr.ShapeExpr
    relax.FuncStructInfo relax.ObjectStructInfo relax.PrimStructInfo relax.ShapeStructInfo relax.TensorStructInfo
    relax.TupleStructInfo relax.DynTensorType relax.ObjectType
    s_tir.MatchBufferRegion s_tir.SBlock s_tir.SBlockRealize
    te.CommReducer
    tirx.Add tirx.AllocBuffer tirx.And tirx.AssertStmt tirx.AttrStmt tirx.Axis tirx.Bind tirx.BitwiseNot tirx.Break
    tirx.Broadcast tirx.Buffer tirx.BufferLoad tirx.BufferRegion tirx.BufferRegionType tirx.BufferStore
    tirx.BufferType tirx.Call tirx.Cast tirx.CommReducer tirx.ComposeLayout tirx.Continue tirx.DeclBuffer tirx.Div
    tirx.EQ tirx.Evaluate tirx.FloorDiv tirx.FloorMod tirx.For tirx.GE tirx.GT tirx.IfThenElse tirx.IndexMap tirx.Iter
    tirx.IterVar tirx.LE tirx.LT tirx.Let tirx.MatchBufferRegion tirx.Max tirx.Min tirx.Mod tirx.Mul tirx.NE tirx.Not
    tirx.Or tirx.PrimFunc tirx.Ramp tirx.Return tirx.SBlock tirx.SBlockRealize tirx.Select tirx.SeqStmt tirx.Shuffle
    tirx.SizeVar tirx.StringImm tirx.Sub tirx.TileLayout tirx.Var tirx.While
    """
)
"""Types of the nodes in a saved program, those of older versions included. Not among them: functions and modules of the
runtime, functions found by their name, targets, constants as bytes, and what Python dispatches on."""

NATIVE_PRAGMA: Final = "pragma_import"
"""How the keys begin that bring code of another language: its text, or the path of its file."""
