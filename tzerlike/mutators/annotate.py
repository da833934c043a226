"""Annotations that passes act on: software pipelines, attributes of blocks and loops, attributes of functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from tzerlike.mutators.protocol import MutationEnv
from tzerlike.mutators.scope import SERIAL, constant_int
from tzerlike.mutators.tree import Site, Tree, loop_with
from tzerlike.tvm_api import array_items, s_tir, tirx, tvm

FUNCTION_ATTRIBUTES: tuple[tuple[str, Sequence[Any]], ...] = (
    ("tirx.noalias", (True, False)),
    ("tirx.is_entry_func", (True,)),
    ("tirx.is_scheduled", (True, 1)),
    ("tirx.is_host_func", (True,)),
    ("tirx.is_global_func", (True, False)),
    ("tirx.disable_cse_tir", (True,)),
    ("calling_conv", (0, 1, 2)),
    ("op_pattern", (0, 2, 4, 8)),
    ("num_inputs", (0, 1, 2)),
    ("target_host", ("llvm",)),
)
"""Attributes that lowering reads, with values."""

BLOCK_ANNOTATIONS: tuple[tuple[str, Sequence[Any]], ...] = (
    ("double_buffer_scope", (0,)),
    ("meta_schedule.unroll_explicit", (16, 64)),
    ("meta_schedule.vectorize", (8, 64)),
    ("meta_schedule.parallel", (4, 64)),
    ("meta_schedule.tiling_structure", ("SSRSRS",)),
    ("meta_schedule.cooperative_fetch", (1, 4)),
    ("tirx.manifest_shared_memory_local_stage", (1,)),
    ("warp_execution", (1,)),
    ("auto_copy", (1,)),
    ("local_stage", (1,)),
    ("vector_bytes", (8, 16)),
    ("require_block_var_bound_predicate", (0,)),
    ("layout_free_buffers", ([0], [0, 1])),
    ("buffer_dim_align", ([[0, 0, 8, 0]], [[0, 0, 32, 1]], [[0, 5, 4, 0]])),
    ("explicit_read_region", ([0],)),
)
"""Annotations of blocks that passes look for, with values."""


@dataclass(frozen=True, slots=True)
class BlockAnnotations:
    """Add, change or drop an annotation of a block, or widen the regions it declares to whole buffers."""

    name: str = "block-annotations"

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any | None:
        tree = Tree(func)
        blocks = tree.of_type(s_tir.SBlock)
        if not blocks:
            return None
        site = rng.choice(blocks[1:] or blocks)
        node = site.node
        annotations = annotations_of(node)
        reads, writes = node.reads, node.writes
        choice = rng.randrange(4)
        if choice == 0 and site.number > 1:
            reads, writes = _widened(reads, rng), _widened(writes, rng)
        elif choice == 1 and annotations:
            del annotations[rng.choice(sorted(annotations))]
        else:
            name, values = rng.choice(BLOCK_ANNOTATIONS)
            annotations[name] = rng.choice(values)
        made = s_tir.SBlock(
            node.iter_vars,
            reads,
            writes,
            node.name_hint,
            node.body,
            node.init,
            node.alloc_buffers,
            node.match_buffers,
            annotations,
        )
        return _with_block(tree, site, made)


@dataclass(frozen=True, slots=True)
class SoftwarePipeline:
    """Mark a serial loop over several statements as a software pipeline, sometimes an asynchronous one."""

    name: str = "software-pipeline"

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any | None:
        tree = Tree(func)
        loops = [(s, n) for s in tree.of_type(tirx.For) if int(s.node.kind) == SERIAL and (n := _stages(s.node)) > 0]
        if not loops:
            return None
        several = [(s, n) for s, n in loops if n > 1]
        site, count = rng.choice(several or loops)
        stages = sorted(rng.randrange(3) for _ in range(count))
        order = list(range(count))
        if rng.randrange(4) == 0:
            rng.shuffle(order)
            rng.shuffle(stages)
        annotations = annotations_of(site.node)
        annotations["software_pipeline_stage"] = stages
        annotations["software_pipeline_order"] = order
        if rng.randrange(3) == 0:
            annotations["software_pipeline_async_stages"] = [rng.choice(stages)]
        return tree.replace(site, loop_with(site.node, annotations=annotations))


@dataclass(frozen=True, slots=True)
class AsyncScope:
    """Put a statement under the attributes of asynchronous copies, double buffers and the like."""

    name: str = "async-scope"

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any | None:
        tree = Tree(func)
        sites = [s for s in tree.of_type(tirx.BufferStore, tirx.For, tirx.IfThenElse) if s.number > 0]
        if not sites:
            return None
        site = rng.choice(sites)
        zero = tirx.IntImm("int32", 0)
        number = tirx.IntImm("int32", rng.choice((0, 1, 2)))
        choice = rng.randrange(3)
        if choice == 0:
            made = tirx.AttrStmt(zero, "async_scope", tirx.IntImm("int32", 1), site.node)
        elif choice == 1:
            made = tirx.AttrStmt(zero, "async_commit_queue_scope", number, site.node)
        else:
            inner = tirx.AttrStmt(zero, "async_wait_inflight_count", number, site.node)
            made = tirx.AttrStmt(zero, "async_wait_queue_scope", zero, inner)
        return tree.replace(site, made)


@dataclass(frozen=True, slots=True)
class FunctionAttributes:
    """Set or drop an attribute of the function, or put the parameters in another order."""

    name: str = "function-attributes"

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any | None:
        if rng.randrange(5) == 0:
            params = array_items(func.params)
            if len(params) < 2:
                return None
            rng.shuffle(params)
            return tirx.PrimFunc(params, func.body, func.ret_type, func.attrs)
        name, values = rng.choice(FUNCTION_ATTRIBUTES)
        present = func.attrs is not None and func.attrs.get(name) is not None
        if present and rng.randrange(2):
            return func.without_attr(name)
        return func.with_attr(name, rng.choice(values))


def annotations_of(node: Any) -> dict[str, Any]:
    """The annotations of a loop or block by name."""
    return {str(name): value for name, value in node.annotations.items()}


def _stages(loop: Any) -> int:
    """How many statements a pipeline over `loop` would have; 0 where it cannot have one."""
    body = loop.body
    while type(body) is s_tir.SBlockRealize and not array_items(body.block.iter_vars):
        body = body.block.body
    if type(body) is tirx.SeqStmt:
        parts = array_items(body.seq)
        return 0 if any(type(p) in (tirx.AllocBuffer, tirx.DeclBuffer, tirx.Bind) for p in parts) else len(parts)
    return 1 if constant_int(loop.extent) else 0


def _widened(regions: Any, rng: Random) -> list[Any]:
    """The same buffers, some of them as a whole."""
    made = []
    for region in array_items(regions):
        if rng.randrange(2):
            ranges = [
                tvm.ir.Range.from_min_extent(tirx.IntImm(extent.ty.dtype, 0), extent)
                for extent in array_items(region.source.ty.shape)
            ]
            made.append(tirx.BufferRegion(region.source, ranges))
        else:
            made.append(region)
    return made


def _with_block(tree: Tree, site: Site, block: Any) -> Any:
    """The function with another SBlock, its signature left as it is."""

    def change(at: Site, node: Any) -> Any:
        return block if at is site else node

    return tree.rewrite(change)
