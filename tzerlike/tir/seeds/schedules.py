"""Scheduled versions of TOPI operators: the loops of a tuned TVM program.

Each schedule is a short list of `s_tir.Schedule` primitives on the blocks of an operator; the default GPU rules
of dlight give the functions with thread bindings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tzerlike.systems.tvm_api import entry_of, module_of, part, s_tir, tirx
from tzerlike.tir.seeds.generate import Recipe
from tzerlike.tir.seeds.kernels import dlight_scheduled
from tzerlike.tir.seeds.operators import Operator, op, prim_func_of

Apply = Callable[[Any], None]
"""Schedules the function in an `s_tir.Schedule`."""


def recipes() -> Iterator[Recipe]:
    """Yield the recipe of every scheduled operator, for llvm and for cuda."""
    for operator, schedules in _scheduled(part("topi")):
        for schedule in schedules:
            name = f"relax.schedule_{schedule.__name__.lstrip('_')}.{operator.name.removeprefix('topi.')}"
            yield Recipe(name, partial(_apply, operator, schedule))
    for operator in _for_gpu(part("topi")):
        yield Recipe(f"relax.dlight_gpu.{operator.name.removeprefix('topi.')}", partial(_dlight, operator), "cuda")


def _apply(operator: Operator, schedule: Apply) -> dict[str, Any]:
    state = s_tir.Schedule(module_of(prim_func_of(operator)))
    schedule(state)
    return {"": entry_of(state.mod)}


def _dlight(operator: Operator) -> dict[str, Any]:
    return {"": dlight_scheduled(operator, '{"kind": "cuda", "arch": "sm_80"}')}


def _blocks(state: Any) -> list[Any]:
    """Return the leaf blocks of `main` in program order."""
    return [block for block in state.get_child_blocks(state.get_sblock("root", func_name="main"))]


def _loops(state: Any, block: Any) -> tuple[list[Any], list[Any]]:
    """Return the loops over `block` that are spatial and those that are reductions."""
    kinds = [str(var.iter_type) for var in state.get(block).iter_vars]
    loops = state.get_loops(block)
    spatial = [loop for loop, kind in zip(loops, kinds, strict=True) if kind == _SPATIAL]
    return spatial, [loop for loop, kind in zip(loops, kinds, strict=True) if kind != _SPATIAL]


_SPATIAL = str(int(tirx.IterVar.DataPar))


def tiled(state: Any) -> None:
    """Split the two innermost spatial loops by sizes that leave tails, and reorder."""
    spatial, reduction = _loops(state, _blocks(state)[-1])
    outer, inner = state.split(spatial[-2], [None, 3])
    left, right = state.split(spatial[-1], [None, 4])
    state.reorder(outer, left, inner, right, *reduction)


def vectorised(state: Any) -> None:
    """Fuse all spatial loops, split by four and vectorise the inner loop."""
    spatial, reduction = _loops(state, _blocks(state)[-1])
    outer, inner = state.split(state.fuse(*spatial), [None, 4])
    if reduction:
        state.reorder(outer, *reduction, inner)
    state.vectorize(inner)


def parallel(state: Any) -> None:
    """Fuse the spatial loops of the last block and run them in parallel."""
    state.parallel(state.fuse(*_loops(state, _blocks(state)[-1])[0]))


def unrolled(state: Any) -> None:
    """Unroll the innermost loop of each block, and ask for more by a pragma."""
    for block in _blocks(state):
        loops = state.get_loops(block)
        state.unroll(loops[-1])
        state.annotate(loops[0], "pragma_auto_unroll_max_step", 16)
        state.annotate(loops[0], "pragma_unroll_explicit", True)


def decomposed(state: Any) -> None:
    """Take the initialisation of the reduction out of its loops."""
    for block in _blocks(state):
        reduction = _loops(state, block)[1]
        if reduction:
            state.decompose_reduction(block, reduction[0])


def factored(state: Any) -> None:
    """Split the reduction and make partial results along its outer part."""
    for block in _blocks(state):
        reduction = _loops(state, block)[1]
        if reduction:
            outer, _ = state.split(reduction[-1], [2, None])
            state.rfactor(outer, 0)
            return


def cached(state: Any) -> None:
    """Copy the first input to local memory and write the result through a local buffer, one row at a time."""
    block = _blocks(state)[-1]
    copy = state.cache_read(block, 0, "local")
    result = state.cache_write(block, 0, "local")
    row = _loops(state, block)[0][0]
    state.compute_at(copy, row)
    state.reverse_compute_at(result, row)


def inlined(state: Any) -> None:
    """Inline every block that can be."""
    *producers, _ = _blocks(state)
    for block in producers:
        if not _loops(state, block)[1]:
            state.compute_inline(block)


def computed_at(state: Any) -> None:
    """Move each producer under the outermost loop of its consumer."""
    *producers, last = _blocks(state)
    for block in reversed(producers):
        state.compute_at(block, state.get_loops(last)[0])


def blockized(state: Any) -> None:
    """Make the inner loops one block of their own."""
    spatial, _ = _loops(state, _blocks(state)[-1])
    state.blockize(spatial[-1])


def relaid(state: Any) -> None:
    """Store the result of the first block in another layout."""
    block = _blocks(state)[0]
    state.transform_layout(
        block,
        ("write", 0),
        lambda *indices: [*indices[:-1], indices[-1] // 2, indices[-1] % 2],
        pad_value=None,
        assume_injective_transform=True,
    )


def partitioned(state: Any) -> None:
    """Partition the innermost spatial loop in two unequal parts."""
    spatial, _ = _loops(state, _blocks(state)[-1])
    state.loop_partition(spatial[-1], [1, None])


def buffered(state: Any) -> None:
    """Stage the first input through shared memory with padding and double buffering."""
    block = _blocks(state)[-1]
    copy = state.cache_read(block, 0, "shared")
    state.compute_at(copy, _loops(state, block)[0][0])
    state.storage_align(copy, 0, -2, 8, 1)
    state.annotate(copy, "double_buffer_scope", 0)


def pipelined(state: Any) -> None:
    """Copy the first input under the outer loop and overlap the copy with the computation."""
    block = _blocks(state)[-1]
    copy = state.cache_read(block, 0, "global")
    row = _loops(state, block)[0][0]
    state.compute_at(copy, row)
    state.annotate(row, "software_pipeline_stage", [0, 1])
    state.annotate(row, "software_pipeline_order", [0, 1])


def _scheduled(topi: Any) -> tuple[tuple[Operator, tuple[Apply, ...]], ...]:
    """Return operators with the schedules that apply to them."""
    nn = topi.nn
    maps = (tiled, vectorised, parallel, unrolled, cached, blockized, relaid, partitioned, buffered, pipelined)
    reductions = (tiled, vectorised, decomposed, factored, unrolled, parallel)
    return (
        (op("add", topi.add, "f32:5,7", "f32:7"), maps),
        (op("multiply", topi.multiply, "i64:4,6", "i64:4,1"), (vectorised, cached, partitioned, pipelined)),
        (op("cast", lambda x: topi.cast(x, "float16"), "f32:6,8"), (vectorised, tiled, parallel)),
        (op("transpose", lambda x: topi.transpose(x, (1, 0)), "f32:6,8"), (tiled, vectorised, cached, buffered)),
        (
            op("chain", lambda a, b: nn.relu(topi.add(topi.exp(a), b)), "f32:4,6", "f32:6"),
            (inlined, computed_at, parallel),
        ),
        (op("pad", lambda x: nn.pad(x, (1, 1), (1, 1)), "f32:4,6"), (tiled, vectorised, partitioned, unrolled)),
        (
            op("strided_slice", lambda x: topi.strided_slice(x, [0, 1], [6, 8], [2, 3]), "i32:6,8"),
            (vectorised, parallel),
        ),
        (op("matmul", topi.matmul, "f32:6,8", "f32:8,4"), (*reductions, cached, buffered, blockized, pipelined)),
        (op("matmul", topi.matmul, "i32:4,6", "i32:6,4"), reductions),
        (op("dense", lambda x, w: nn.dense(x, w, out_dtype="int32"), "i8:4,8", "i8:4,8"), reductions),
        (
            op("batch_matmul", lambda x, y: nn.batch_matmul(x, y), "f32:2,3,4", "f32:2,4,4"),
            (tiled, decomposed, factored),
        ),
        (op("sum", lambda x: topi.sum(x, axis=1), "f32:6,8"), (decomposed, factored, unrolled, parallel, vectorised)),
        (op("max", lambda x: topi.max(x, axis=0), "f16:8,6"), (decomposed, factored, vectorised)),
        (op("sum_all", lambda x: topi.sum(x), "i64:4,8"), (decomposed, factored, unrolled)),
        (op("argmax", lambda x: topi.argmax(x, axis=1), "f32:4,8"), (decomposed, factored, parallel)),
        (op("softmax", lambda x: nn.softmax(x), "f32:3,6"), (computed_at, unrolled, inlined, decomposed)),
        (
            op("conv2d", lambda x, w: nn.conv2d_nchw(x, w, 1, 1, 1), "f32:1,2,4,4", "f32:2,2,3,3"),
            (inlined, tiled, vectorised, decomposed, computed_at, unrolled),
        ),
        (
            op("conv1d", lambda x, w: nn.conv1d_ncw(x, w, 2, 1), "f32:1,2,8", "f32:4,2,3"),
            (inlined, vectorised, factored),
        ),
        (
            op("depthwise", lambda x, w: nn.depthwise_conv2d_nchw(x, w, 1, 1, 1), "f32:1,3,4,4", "f32:3,1,3,3"),
            (inlined, tiled, decomposed),
        ),
        (
            op("max_pool", lambda x: nn.pool2d(x, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max"), "f32:1,2,6,6"),
            (tiled, decomposed, vectorised, unrolled),
        ),
        (
            op("dense_relu", lambda x, w: nn.relu(nn.dense(x, w)), "f32:4,6", "f32:5,6"),
            (computed_at, parallel, decomposed),
        ),
    )


def _for_gpu(topi: Any) -> tuple[Operator, ...]:
    """Return operators for the default GPU schedule."""
    nn = topi.nn
    return (
        op("exp", topi.exp, "f32:5,7"),
        op("exp", topi.exp, "f16:64"),
        op("add", topi.add, "f32:33,5", "f32:5"),
        op("add", topi.add, "i32:130", "i32:1"),
        op("where", topi.where, "b:3,4", "f32:3,4", "f32:3,4"),
        op("cast", lambda x: topi.cast(x, "float16"), "f32:40,8"),
        op("transpose", lambda x: topi.transpose(x, (1, 0)), "f32:18,34"),
        op("reshape", lambda x: topi.reshape(x, (4, 15)), "f32:6,10"),
        op("concat", lambda a, b: topi.concatenate((a, b), 1), "f32:4,3", "f32:4,5"),
        op("take", lambda x, i: topi.take(x, i, axis=0, mode="clip"), "f32:6,4", "i32:3"),
        op("pad", lambda x: nn.pad(x, (1, 1), (1, 1)), "f32:4,6"),
        op("sum", lambda x: topi.sum(x, axis=1), "f32:8,40"),
        op("sum_all", lambda x: topi.sum(x), "f32:8,8"),
        op("max", lambda x: topi.max(x, axis=0), "f32:20,6"),
        op("softmax", lambda x: nn.softmax(x), "f32:4,33"),
        op("layer_norm", lambda x, g, b: nn.layer_norm(x, g, b, [1]), "f32:3,40", "f32:40", "f32:40"),
        op("rms_norm", lambda x, w: nn.rms_norm(x, w, [1]), "f16:3,64", "f16:64"),
        op("matmul", topi.matmul, "f32:16,16", "f32:16,16"),
        op("matmul", topi.matmul, "f16:32,16", "f16:16,32"),
        op("matmul_symbolic", topi.matmul, "f32:n,16", "f32:16,16"),
        op("gemv", topi.matmul, "f32:1,32", "f32:32,16"),
        op("dense", lambda x, w: nn.dense(x, w, out_dtype="int32"), "i8:4,8", "i8:4,8"),
        op("batch_matmul", lambda x, y: nn.batch_matmul(x, y), "f32:2,4,8", "f32:2,4,8"),
        op("conv2d", lambda x, w: nn.conv2d_nchw(x, w, 1, 1, 1), "f32:1,2,4,4", "f32:2,2,3,3"),
        op("depthwise", lambda x, w: nn.depthwise_conv2d_nchw(x, w, 1, 1, 1), "f32:1,3,4,4", "f32:3,1,3,3"),
        op("max_pool", lambda x: nn.pool2d(x, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max"), "f32:1,2,6,6"),
        op("cumsum_like", lambda x: topi.sum(topi.multiply(x, x), axis=1), "f64:4,16"),
        op("symbolic_add", topi.add, "f32:n,m", "f32:m"),
        op("argmax", lambda x: topi.argmax(x, axis=1), "f32:4,16"),
        op(
            "one_hot",
            lambda i: topi.one_hot(i, tirx.const(1, "float32"), tirx.const(0, "float32"), 4, 1, "float32"),
            "i32:5",
        ),
    )
