"""Annotations that passes act on: software pipelines, attributes of blocks and loops, attributes of functions."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from tzerlike.mutators.protocol import MutationEnv
from tzerlike.mutators.schedule import cached_and_moved, scheduled
from tzerlike.systems.tvm_api import array_items, function_with, params_of, s_tir, source_of, tirx
from tzerlike.tir.node import DEFINING, loop_with
from tzerlike.tir.scope import SERIAL
from tzerlike.tir.tree import Site, Tree, left_early, whole_of

FUNCTION_ANNOTATIONS: tuple[tuple[str, Sequence[Any]], ...] = (
    ("tirx.noalias", (True, False)),
    ("tirx.is_entry_func", (True,)),
    ("tirx.is_scheduled", (True, 1)),
    ("tirx.is_global_func", (True, False)),
    ("tirx.disable_cse_tir", (True,)),
    ("calling_conv", (0,)),
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


def block_annotations(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Add, change or drop an annotation of a block, or widen the regions it declares to whole buffers."""
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
    return tree.replace(site, made)


def software_pipeline(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Mark a loop over several statements as a software pipeline, sometimes an asynchronous one.

    Where no loop has several, a read of a block is cached next to its use first, as GPU kernels have it.
    """
    tree = Tree(func)
    loops = pipelines(tree)
    if not loops:
        cached = scheduled(tree, rng, env, (cached_and_moved,), 1)
        if cached is None:
            return None
        tree = Tree(cached)
        loops = pipelines(tree)
    if not loops:
        return None
    site, count = rng.choice(loops)
    stages = sorted(rng.randrange(3) for _ in range(count))
    if stages[0] == stages[-1]:
        # One stage is no pipeline, and the pass leaves such a loop alone.
        stages[-1] += 1
    order = list(range(count))
    if rng.randrange(4) == 0:
        rng.shuffle(order)
        rng.shuffle(stages)
    annotations = annotations_of(site.node)
    annotations["software_pipeline_stage"] = stages
    annotations["software_pipeline_order"] = order
    if env.target != "llvm" and rng.randrange(3) == 0:
        annotations["software_pipeline_async_stages"] = [rng.choice(stages)]
    return tree.replace(site, loop_with(site.node, annotations=annotations))


def async_scope(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Put a statement under the attributes of asynchronous copies, double buffers and the like."""
    tree = Tree(func)
    sites = [s for s in tree.of_type(tirx.BufferStore, tirx.For, tirx.IfThenElse) if s.number > 0]
    if not sites:
        return None
    site = rng.choice(sites)
    zero = tirx.IntImm("int32", 0)
    number = tirx.IntImm("int32", rng.choice((0, 1, 2)))
    choice = rng.randrange(3)
    if choice == 0:
        made = tirx.AttrStmt(0, "async_scope", tirx.IntImm("int32", 1), site.node)
    elif choice == 1:
        made = tirx.AttrStmt(0, "async_commit_queue_scope", number, site.node)
    else:
        inner = tirx.AttrStmt(0, "async_wait_inflight_count", number, site.node)
        made = tirx.AttrStmt(0, "async_wait_queue_scope", zero, inner)
    return tree.replace(site, made)


def function_attributes(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Set or drop an attribute of the function, or put the parameters in another order."""
    if rng.randrange(5) == 0:
        params = params_of(func)
        if len(params) < 2:
            return None
        rng.shuffle(params)
        return function_with(func, func.body, params=params)
    name, values = rng.choice(FUNCTION_ANNOTATIONS)
    present = func.attrs is not None and func.attrs.get(name) is not None
    if present and rng.randrange(2):
        return func.without_attr(name)
    return func.with_attr(name, rng.choice(values))


def annotations_of(node: Any) -> dict[str, Any]:
    """The annotations of a loop or block by name."""
    return {str(name): value for name, value in node.annotations.items()}


def pipelines(tree: Tree) -> list[tuple[Site, int]]:
    """The serial loops that may become software pipelines, each with its number of statements (two or more)."""
    found = []
    for site in tree.of_type(tirx.For):
        count = _stages(site.node) if int(site.node.kind) == SERIAL else 0
        if count > 1 and not left_early(tree, site):
            found.append((site, count))
    return found


def _stages(loop: Any) -> int:
    """How many statements a pipeline over `loop` would have; 0 where it cannot have one."""
    body = loop.body
    while type(body) is s_tir.SBlockRealize and not array_items(body.block.iter_vars):
        body = body.block.body
    if type(body) is not tirx.SeqStmt:
        return 0
    parts = array_items(body.seq)
    return 0 if any(type(p) in DEFINING for p in parts) else len(parts)


def _widened(regions: Any, rng: Random) -> list[Any]:
    """The same buffers, some of them as a whole."""
    return [whole_of(source_of(region)) if rng.randrange(2) else region for region in array_items(regions)]
