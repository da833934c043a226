"""The memory of blocks, where each iteration of the loops over their spatial axes has its own.

What one iteration leaves to a later one is the matter of opaque axes: s_tir.PlanAndUpdateBufferAllocationLocation moves
memory into every loop that all of its uses are in, unless such an axis goes over the loop (TVM's pull request 12757).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tzerlike.systems.tvm_api import array_items, function_with, s_tir, source_of, structural_map, tirx
from tzerlike.tir.node import accessed_by, key, loop_with, variables_in
from tzerlike.tir.reducers.program import block_with
from tzerlike.tir.scope import SPATIAL_AXIS
from tzerlike.tir.tree import Site, Tree, accessed_buffers, whole_of


def with_own_memory(func: Any) -> Any | None:
    """Return a function whose memory is allocated within the loops that only spatial axes of blocks go over; None where
    there is no such memory."""
    tree = Tree(func)
    homes: dict[int, list[Any]] = {}
    for block in tree.of_type(s_tir.SBlock):
        for buffer in array_items(block.node.alloc_buffers):
            loop = _innermost_loop(tree, block, buffer)
            if loop is not None:
                homes.setdefault(key(loop.node.loop_var), []).append(buffer)
    return function_with(func, _moved(func.body, homes)) if homes else None


def _moved(body: Any, homes: Mapping[int, list[Any]]) -> Any:
    """The body with the buffers of some loops, by their variables, allocated in these alone."""
    moved = {key(buffer) for buffers in homes.values() for buffer in buffers}

    def loop(node: Any, *_: object) -> Any:
        own = homes.get(key(node.loop_var))
        if own is None:
            return node
        inner = s_tir.SBlock([], [], [], "own", node.body, alloc_buffers=own)
        used = [whole_of(buffer) for buffer in accessed_buffers(inner)[0]]
        inner = block_with(inner, refresh=False, reads=used, writes=used)
        return loop_with(node, body=s_tir.SBlockRealize([], True, inner))

    def block(node: Any, *_: object) -> Any:
        kept = [buffer for buffer in array_items(node.alloc_buffers) if key(buffer) not in moved]
        return block_with(node, refresh=False, alloc_buffers=kept) if len(kept) < len(node.alloc_buffers) else node

    return structural_map(body, (tirx.For, loop), (s_tir.SBlock, block))


def _innermost_loop(tree: Tree, home: Site, buffer: Any) -> Site | None:
    """The innermost of the loops around all accesses to a buffer of the block at `home` that only spatial axes, and
    some, go over, as they do over those around it."""
    accesses = [site for site in tree.sites if home.contains(site) and _is_of(site, buffer)]
    blocks = [site.node for site in tree.of_type(s_tir.SBlock)]
    viewed = [source_of(match.source) for block in blocks for match in array_items(block.match_buffers)]
    if not accesses or any(key(one) == key(buffer) for one in viewed):
        return None
    kinds = _kinds_of_axes(accesses)
    found = None
    for loop in reversed([above for above in accesses[0].ancestors() if type(above.node) is tirx.For]):
        if not home.contains(loop):
            continue
        if not all(map(loop.contains, accesses)) or kinds.get(key(loop.node.loop_var)) != {SPATIAL_AXIS}:
            break
        found = loop
    return found


def _is_of(site: Site, buffer: Any) -> bool:
    used = accessed_by(site.node)
    return used is not None and key(used) == key(buffer)


def _kinds_of_axes(accesses: list[Site]) -> dict[int, set[int]]:
    """By variables, the kinds of the axes of the blocks around some accesses that are bound to these."""
    kinds: dict[int, set[int]] = {}
    for access in accesses:
        for above in access.ancestors():
            if type(above.node) is s_tir.SBlockRealize:
                axes = array_items(above.node.block.iter_vars)
                for axis, value in zip(axes, array_items(above.node.iter_values), strict=True):
                    for var in variables_in(value):
                        kinds.setdefault(key(var), set()).add(int(axis.iter_type))
    return kinds
