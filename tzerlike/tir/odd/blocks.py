"""Odd forms of blocks: their axes, their regions, and what binds them to loops."""

from __future__ import annotations

from functools import partial
from typing import Any

from tzerlike.systems.tvm_api import array_items, s_tir, source_of, tirx, tvm, type_of
from tzerlike.tir.node import fits, key, substitute, variables_in
from tzerlike.tir.odd.expressions import is_fixed
from tzerlike.tir.odd.program import NEVER, Odds, Program, hints_in, within
from tzerlike.tir.odd.unreachable import never_holds
from tzerlike.tir.reducers.program import block_with, with_domains
from tzerlike.tir.scope import SPATIAL_AXIS, constant_int
from tzerlike.tir.tree import Kind, Site, Tree, may_divide_by_zero

_ALIGNMENT = "buffer_dim_align"
"""An annotation that says nothing of memory that nobody reads."""


def realize(program: Program, site: Site) -> Odds:
    """The odd forms of a block and of how it is bound to its loops."""
    node, block = site.node, site.node.block
    values, axes = array_items(node.iter_values), array_items(block.iter_vars)
    always = partial(s_tir.SBlockRealize, values, _truth(node.predicate), block)
    if not (type(node.predicate) is tirx.IntImm and int(node.predicate.value)):
        if site.parent is None:
            yield "a root block under a condition", always
        elif is_fixed(node.predicate):
            yield "a constant condition", always
        elif never_holds(node.predicate, site):
            yield NEVER, always
    for place, (axis, value) in enumerate(zip(axes, values, strict=True)):
        # Of as many rounds as a parameter says the first alone is sure to be one.
        rounds = axis.dom.extent if type(axis.dom.extent) is tirx.IntImm else tirx.IntImm("int32", 1)
        if not within(value, axis.dom.min, rounds):
            others = [*values[:place], axis.dom.min, *values[place + 1 :]]
            yield "a block outside of its domain", partial(s_tir.SBlockRealize, others, node.predicate, block)
        if is_fixed(value) and (room := _room(block, axis)) is not None:
            yield "a fixed axis that goes beyond a buffer", partial(with_domains, node, {place: room})
    for place in _unwritten_axes(program.tree, site):
        yield "a spatial axis that no write depends on", partial(_without_axis, node, place)
    if program.threads and block.init is not None and not _sums_up(program.tree, site):
        yield (
            "a reduction over threads that sums nothing up",
            lambda: s_tir.SBlockRealize(values, node.predicate, block_with(block, init=None)),
        )
    if counted := _counted_outside(site):
        yield "a block that uses the variable of a loop around it", partial(_with_axes, node, counted)
    rest = hints_in(block.annotations)
    unread = all(key(source_of(region)) not in program.read for region in array_items(block.writes))
    if _ALIGNMENT in rest and unread:
        del rest[_ALIGNMENT]
    if len(rest) < len(block.annotations):
        yield "an annotation", lambda: s_tir.SBlockRealize(values, node.predicate, block_with(block, annotations=rest))
    own = {key(buffer) for buffer in array_items(block.alloc_buffers)}
    if own and any(key(source_of(region)) in own for region in (*array_items(block.reads), *array_items(block.writes))):
        yield "a region of a block's own memory", lambda: s_tir.SBlockRealize(values, node.predicate, block_with(block))
    if any(map(_is_beyond, (*array_items(block.reads), *array_items(block.writes)))):
        yield "a region beyond its buffer", lambda: s_tir.SBlockRealize(values, node.predicate, block_with(block))
    elif may_divide_by_zero(block):
        yield "a region that may divide by zero", lambda: s_tir.SBlockRealize(values, node.predicate, block_with(block))


def _sums_up(tree: Tree, site: Site) -> bool:
    """Whether a block with an initialisation does something to what it writes. Of others TVM says "No matched reducer
    for the identity and the combiner of the reduction block. So rfactor and cross-thread reduction cannot be applied."
    """
    written = {key(below.node.buffer) for below in tree.below(site) if type(below.node) is tirx.BufferStore}
    loads = (below for below in tree.below(site) if type(below.node) is tvm.ir.TensorLoad)
    return any(
        key(source_of(load.node)) in written and load.parent is not None and load.parent.kind is Kind.EXPR
        for load in loads
    )


def _unwritten_axes(tree: Tree, site: Site) -> list[int]:
    """The places of spatial axes whose rounds all write the same, though such an axis says that they may go in any
    order."""
    block = site.node.block
    written = [
        part
        for region in array_items(block.writes)
        for item in array_items(region.region)
        for part in (item.min, item.extent)
    ]
    stores = [below.node for below in tree.below(site) if type(below.node) is tirx.BufferStore]
    inner = (below.node for below in tree.below(site)[1:] if type(below.node) is s_tir.SBlockRealize)
    written += [index for store in stores for index in array_items(store.indices)]
    written += [value for realize in inner for value in array_items(realize.iter_values)]
    used = {key(var) for expr in written for var in variables_in(expr)}
    return [
        place
        for place, axis in enumerate(array_items(block.iter_vars))
        if stores
        and int(axis.iter_type) == SPATIAL_AXIS
        and key(axis.var) not in used
        and constant_int(axis.dom.extent) != 1
    ]


def _without_axis(realize: Any, place: int) -> Any:
    """A block with the first value of an axis in its place."""
    block, values = realize.block, array_items(realize.iter_values)
    axes = array_items(block.iter_vars)
    fewer = block_with(block, iter_vars=[*axes[:place], *axes[place + 1 :]])
    fixed = substitute(fewer, {key(axes[place].var): axes[place].dom.min})
    return s_tir.SBlockRealize([*values[:place], *values[place + 1 :]], realize.predicate, fixed)


def _counted_outside(site: Site) -> list[Any]:
    """The loops around a block whose variables are used in it: its axes are there to stand for them."""
    used = set(map(key, variables_in(site.node.block)))
    loops = (above.node for above in site.ancestors() if type(above.node) is tirx.For)
    return [loop for loop in loops if key(loop.loop_var) in used]


def _with_axes(realize: Any, loops: list[Any]) -> Any:
    """A block with an axis for each of these loops."""
    axes = [
        tirx.IterVar(
            tvm.ir.Range.from_min_extent(loop.min, loop.extent),
            tirx.Var(f"v{loop.loop_var.name}", type_of(loop.loop_var).dtype),
            SPATIAL_AXIS,
        )
        for loop in loops
    ]
    block = realize.block
    more = block_with(block, iter_vars=[*array_items(block.iter_vars), *axes])
    bound = substitute(more, {key(loop.loop_var): axis.var for loop, axis in zip(loops, axes, strict=True)})
    values = [*array_items(realize.iter_values), *(loop.loop_var for loop in loops)]
    return s_tir.SBlockRealize(values, realize.predicate, bound)


def _room(block: Any, axis: Any) -> int | None:
    """The extent of the shortest dimension that an axis from 0 on is the index of, where the axis is longer."""
    length = constant_int(axis.dom.extent)
    if length is None or constant_int(axis.dom.min) != 0:
        return None
    sizes = [
        constant_int(size)
        for region in (*array_items(block.reads), *array_items(block.writes))
        for item, size in zip(array_items(region.region), array_items(type_of(source_of(region)).shape), strict=False)
        if key(item.min) == key(axis.var)
    ]
    room = min((size for size in sizes if size is not None), default=length)
    return room if room < length else None


def _is_beyond(region: Any) -> bool:
    """Whether numbers say that a region is not all in its buffer, or it has another number of dimensions."""
    if not fits(region):
        return True
    for extent, size in zip(array_items(region.region), array_items(type_of(source_of(region)).shape), strict=True):
        numbers = (extent.min, extent.extent, size)
        if all(type(each) is tirx.IntImm for each in numbers):
            low, many, room = (int(each.value) for each in numbers)
            if low < 0 or low + many > room:
                return True
    return False


def _truth(predicate: Any) -> Any:
    return tirx.IntImm(type_of(predicate).dtype, 1)
