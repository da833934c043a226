"""What of TVM the generator makes without a row in its tables, and what it leaves out, with the reasons."""

from __future__ import annotations

from collections.abc import Mapping

from tzerlike.mutators.intrinsics import INTRINSICS

IMPLIED_NODES: Mapping[str, str] = {
    "ir.FloatImm": "a leaf",
    "ir.IntImm": "a leaf",
    "ir.StringImm": "a leaf of calls",
    "ir.Var": "a leaf",
    "s_tir.SBlock": "comes with its realize",
    "tirx.Continue": "comes with Break",
}
"""Node types that the generator makes without a row of their own."""

EXCLUDED_NODES: Mapping[str, str] = {
    "ir.BaseFunc": "abstract",
    "ir.Constant": "abstract",
    "ir.Expr": "abstract",
    "ir.GenericConst": "holds tensors; Relax only",
    "ir.GlobalVar": "a function's name; the module has one function",
    "ir.Op": "what is called, no value",
    "ir.OpaqueExpr": "abstract; removed before IR is finished",
    "ir.TensorRegion": "only in signatures of blocks and in tile primitives",
    "ir.Tuple": "Relax only",
    "ir.TupleGetItem": "Relax only",
    "relax.*": "graph level",
    "sym.*": "internal to the arithmetic analyzer",
    "te.Reduce": "only inside of a TE compute; a PrimFunc that holds one cannot be compiled",
    "te.Tensor": "TE only",
    "tirx.PrimFunc": "the root",
    "tirx.Return": "ends the function before the callers' return value is set; MakePackedAPI makes it",
    "tirx.ScopeIdDefStmt": "names of warps and lanes in tile programs, which need a cluster launch",
    "tirx.Stmt": "abstract",
    "tirx.TilePrimitiveCall": "needs tile layouts and an execution scope",
}
"""Node types that the generator leaves out, each with the reason."""


STRUCTURAL: Mapping[str, str] = {
    "prim.vscale": "expressions: the lanes of scalable vectors",
    "tirx.address_of": "expressions: a pointer to an element",
    "tirx.buffer_data": "expressions: a buffer's pointer",
    "tirx.tvm_access_ptr": "expressions: a pointer to a region of a buffer",
    "tirx.handle_add_byte_offset": "expressions: pointer arithmetic",
    "tirx.isnullptr": "expressions: a pointer compared with null",
    "tirx.type_annotation": "expressions: the first operand of tvm_access_ptr",
    "tirx.masked_load": "expressions: a predicated vector load",
    "tirx.masked_store": "statements: a predicated vector store",
    "tirx.assume": "statements: a fact for the simplifier",
    "tirx.prefetch": "statements: a hint on an address",
    "tirx.tvm_storage_sync": "statements: a barrier between threads",
    "tirx.break_loop": "statements: the call that Break is lowered to",
    "tirx.continue_loop": "statements: the call that Continue is lowered to",
    "tirx.thread_return": "statements: leave the GPU thread",
    "tirx.tvm_call_packed": "statements: a call of a registered function",
    "tirx.start_profile_intrinsic": "statements: opens a profiling interval",
    "tirx.end_profile_intrinsic": "statements: closes a profiling interval",
}
"""Intrinsics that the generator builds by code of its own, and where."""

_LOWERED = "made by lowering passes; its operands are addresses and records of the calling convention"
_VENDOR = "an instruction of one vendor's hardware; operands are fragments that nothing in TIR describes"

EXCLUDED_OPS: Mapping[str, str] = {
    "tirx.TVMBackendAllocWorkspace": _LOWERED,
    "tirx.TVMBackendAnyListMoveFromPackedReturn": _LOWERED,
    "tirx.TVMBackendAnyListSetPackedArg": _LOWERED,
    "tirx.TVMBackendFreeWorkspace": _LOWERED,
    "tirx.anylist_getitem": _LOWERED,
    "tirx.anylist_resetitem": _LOWERED,
    "tirx.anylist_setitem_call_cpacked": _LOWERED,
    "tirx.anylist_setitem_call_packed": _LOWERED,
    "tirx.atomic_add": "declared without a lowering for LLVM or CUDA",
    "tirx.buffer_offset": "made while match_buffer regions are lowered",
    "tirx.call_ffi_kernel": "launches a separately compiled kernel",
    "tirx.call_llvm_intrin": "an impure call by LLVM's number; the pure form is in the table",
    "tirx.call_spirv_pure_glsl450": "SPIR-V only",
    "tirx.ctpop": "registered without an effect kind; popcount is the usable form",
    "tirx.dma_copy": _VENDOR,
    "tirx.dp4a": "neither LLVM nor CUDA code generation knows it",
    "tirx.dma_end_group": _VENDOR,
    "tirx.dma_start_group": _VENDOR,
    "tirx.dma_wait": _VENDOR,
    "tirx.filter": "only inside of tile primitives",
    "tirx.isfinite": "registered without an effect kind; tirx.isfinite() expands to comparisons",
    "tirx.isinf": "registered without an effect kind; tirx.isinf() expands to comparisons",
    "tirx.lookup_param": "reads the parameter table of a module that has none here",
    "tirx.make_filled_simdgroup_matrix": _VENDOR,
    "tirx.nd_mem_alloc_with_scope": "Hexagon only",
    "tirx.print_buffer": "prints to the console",
    "tirx.ptr_byte_offset": "made by buffer views of tile programs",
    "tirx.selector": "only inside of tile primitives",
    "tirx.tensormap_encode_tiled": _VENDOR,
    "tirx.texture2d_load": "OpenCL textures only",
    "tirx.texture2d_store": "OpenCL textures only",
    "tirx.timer_end_cuda": _VENDOR,
    "tirx.timer_finalize_cuda": _VENDOR,
    "tirx.timer_init_cuda": _VENDOR,
    "tirx.timer_start_cuda": _VENDOR,
    "tirx.tvm_bmma_sync": _VENDOR,
    "tirx.tvm_call_cpacked": "a call by C symbol, which must exist at link time",
    "tirx.tvm_call_cpacked_lowered": _LOWERED,
    "tirx.tvm_call_packed_lowered": _LOWERED,
    "tirx.tvm_call_trace_packed": "tracing of the removed TE debugger",
    "tirx.tvm_call_trace_packed_lowered": _LOWERED,
    "tirx.tvm_context_id": _LOWERED,
    "tirx.tvm_fill_fragment": _VENDOR,
    "tirx.tvm_global_barrier_kinit": "a barrier over the whole grid; deadlocks where it does not fit",
    "tirx.tvm_kernel_replace_point": _LOWERED,
    "tirx.tvm_load_matrix_sync": _VENDOR,
    "tirx.tvm_mma_sync": _VENDOR,
    "tirx.tvm_stack_alloca": _LOWERED,
    "tirx.tvm_stack_make_array": _LOWERED,
    "tirx.tvm_stack_make_shape": _LOWERED,
    "tirx.tvm_static_handle": _LOWERED,
    "tirx.tvm_store_matrix_sync": _VENDOR,
    "tirx.tvm_struct_get": _LOWERED,
    "tirx.tvm_struct_set": _LOWERED,
    "tirx.tvm_thread_allreduce": "needs a reducer and threads in step; scheduling of reductions makes it",
    "tirx.tvm_throw_last_error": _LOWERED,
    "tirx.tvm_tuple": "only inside of attributes of lowered schedules",
    "tirx.tvm_warp_activemask": "made by lowering of thread reductions",
    "tirx.tvm_warp_shuffle": "made by lowering of thread reductions",
    "tirx.tvm_warp_shuffle_down": "made by lowering of thread reductions",
    "tirx.tvm_warp_shuffle_up": "made by lowering of thread reductions",
    "tirx.tvm_warp_shuffle_xor": "made by lowering of thread reductions",
    "tirx.undef": "stands for an undefined value inside of RemoveNoOp; the code generator refuses it",
    "te.tensor_load": "TE only; gone once a PrimFunc exists",
}
"""Single intrinsics that the generator leaves out, each with the reason."""

EXCLUDED_PREFIXES: Mapping[str, str] = {
    "relax.": "graph-level operators",
    "tirx.cooperative_tensor_": _VENDOR,
    "tirx.cuda.": _VENDOR,
    "tirx.metal.": _VENDOR,
    "tirx.mma_": _VENDOR,
    "tirx.nki.": _VENDOR,
    "tirx.nvshmem.": "communication between GPUs",
    "tirx.ptx.": _VENDOR,
    "tirx.ptx_legacy.": _VENDOR,
    "tirx.s_tir.": "made by passes that inject asynchronous copies",
    "tirx.simdgroup_": _VENDOR,
    "tirx.tile.": "operands of TilePrimitiveCall, which needs a tile layout and an execution scope",
    "tirx.webgpu.": _VENDOR,
}
"""Families of intrinsics that the generator leaves out, each with the reason."""


def covered(op: str) -> bool:
    """Whether the tables know `op`, in or out."""
    return (
        any(entry.op == op for entry in INTRINSICS)
        or op in STRUCTURAL
        or op in EXCLUDED_OPS
        or op.startswith(tuple(EXCLUDED_PREFIXES))
    )
