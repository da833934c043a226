"""Fewer and shorter axes of blocks, alone or with what belongs to them: rounds of loops, dimensions of buffers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import combinations
from typing import Any

from tzerlike.systems.tvm_api import (
    array_items,
    is_variable,
    s_tir,
    source_of,
    structural_equal,
    tirx,
    tvm,
    type_of,
)
from tzerlike.tir.node import accessed_by, key, loop_with, substitute, variables_in
from tzerlike.tir.order import extents_below
from tzerlike.tir.reducers.buffers import with_dimensions
from tzerlike.tir.reducers.program import Make, block_with, buffers_of, with_domains
from tzerlike.tir.scope import REDUCTION_AXIS, constant_int
from tzerlike.tir.tree import Site, Tree

Dimension = tuple[int, int]
"""A buffer by its key, and a place in its shape."""


def smaller_blocks(tree: Tree) -> Iterator[Make]:
    """Blocks with fewer variables, each replaced by what it is bound to, by the start of its domain or by another one;
    blocks that no longer reduce; shorter domains."""
    for site in tree.of_type(s_tir.SBlockRealize):
        iter_vars = array_items(site.node.block.iter_vars)
        if len(iter_vars) > 1:
            yield partial(_without_iter_vars, tree, site, range(len(iter_vars)), bound=True)
        if site.node.block.init is not None:
            yield partial(_without_reductions, tree, site, of_old=False)
            yield partial(_without_reductions, tree, site, of_old=True)
        for kept, gone in combinations(range(len(iter_vars)), 2):
            if _alike(iter_vars[kept], iter_vars[gone]):
                yield partial(_as_one_axis, tree, site, kept, gone)
        for place in range(len(iter_vars)):
            yield partial(_without_iter_vars, tree, site, (place,), bound=False)
            yield partial(_without_iter_vars, tree, site, (place,), bound=True)
            for shorter in extents_below(iter_vars[place].dom.extent):
                yield partial(_shortened, tree, site, place, shorter)


def _without_reductions(tree: Tree, site: Site, *, of_old: bool) -> Any:
    """The function with the start of each reduction of a block in the place of that, and no initialisation; what the
    block stores is made `of_old` elements as before, or not."""

    def change(at: Site, node: Any) -> Any:
        if not of_old and type(node) is tirx.BufferStore and site in at.ancestors():
            return tirx.BufferStore(node.buffer, _combined(node), array_items(node.indices))
        if at is not site:
            return node
        axes = array_items(node.block.iter_vars)
        places = tuple(p for p, axis in enumerate(axes) if int(axis.iter_type) == REDUCTION_AXIS)
        fewer = _realized(node, places, bound=False)
        plain = block_with(fewer.block, init=None)
        return s_tir.SBlockRealize(array_items(fewer.iter_values), fewer.predicate, plain)

    return tree.rewrite(change)


def _combined(store: Any) -> Any:
    """What a store combines with an element of its buffer; the value where it does not."""
    for old, other in (("a", "b"), ("b", "a")):
        load = getattr(store.value, old, None)
        if type(load) is tvm.ir.TensorLoad and key(source_of(load)) == key(store.buffer):
            return getattr(store.value, other)
    return store.value


def _alike(one: Any, other: Any) -> bool:
    """Whether two variables of a block run through the same numbers in the same manner."""
    same = structural_equal(one.dom, other.dom) and str(type_of(one.var)) == str(type_of(other.var))
    return same and int(one.iter_type) == int(other.iter_type)


def _as_one_axis(tree: Tree, site: Site, kept: int, gone: int) -> Any:
    """The function with one variable of a block in the place of another."""
    axes = array_items(site.node.block.iter_vars)
    return tree.replace(site, _with_values(site.node, {gone: axes[kept].var}))


def axes_with_rounds(tree: Tree) -> Iterator[Make]:
    """A variable of a block and its part of the rounds of the loop that it is bound to go together, or all rounds of
    the loops that it alone is bound to."""
    for site in tree.of_type(s_tir.SBlockRealize):
        bindings = [{key(var) for var in variables_in(value)} for value in array_items(site.node.iter_values)]
        extents = [constant_int(iter_var.dom.extent) for iter_var in array_items(site.node.block.iter_vars)]
        loops = [above for above in site.ancestors() if type(above.node) is tirx.For]
        decisive = {key(var) for var in variables_in(site.node.predicate)}
        for place, used in enumerate(bindings):
            others = decisive.union(*bindings[:place], *bindings[place + 1 :])
            own = [loop for loop in loops if key(loop.node.loop_var) in used - others]
            if len(own) > 1:
                yield partial(_without_rounds_of, tree, site, own, place)
        for loop in loops:
            places = [place for place, used in enumerate(bindings) if key(loop.node.loop_var) in used]
            rounds = constant_int(loop.node.extent) or 0
            for place in places:
                extent = extents[place] or 1
                if extent > 1 and rounds % extent == 0:
                    yield partial(_without_axis, tree, site, loop, place, rounds // extent)


def _without_rounds_of(tree: Tree, site: Site, loops: Sequence[Site], place: int) -> Any:
    def change(at: Site, node: Any) -> Any:
        if at in loops:
            return _with_rounds(node, 1)
        return _realized(node, (place,), bound=False) if at is site else node

    return tree.rewrite(change)


def _without_axis(tree: Tree, site: Site, loop: Site, place: int, rounds: int) -> Any:
    var = loop.node.loop_var

    def change(at: Site, node: Any) -> Any:
        if at is loop:
            return _with_rounds(node, rounds)
        if at is not site:
            return node
        fewer = _realized(node, (place,), bound=False)
        domains = [constant_int(iter_var.dom.extent) for iter_var in array_items(fewer.block.iter_vars)]
        values = [
            var if domain == rounds and key(var) in map(key, variables_in(value)) else value
            for domain, value in zip(domains, array_items(fewer.iter_values), strict=True)
        ]
        return s_tir.SBlockRealize(values, fewer.predicate, fewer.block)

    return tree.rewrite(change)


def dimensions_with_axes(tree: Tree) -> Iterator[Make]:
    """All dimensions that an axis of a block is an index of go with that axis, and with those that are no other's."""
    for axes, gone in _along_each_other(tree):
        yield partial(_without, tree, axes, gone)


def axes_of_one_round(tree: Tree) -> Iterator[Make]:
    """All axes that run along the same dimensions have one round, and so have the loops that they are bound to."""
    for axes, _ in _along_each_other(tree):
        yield partial(_of_one_round, tree, axes)


def _along_each_other(tree: Tree) -> Iterator[tuple[Set[int], Set[Dimension]]]:
    """For each axis the dimensions that it is an index of, with the axes that are an index of no other."""
    along = _dimensions_along_axes(tree)
    offered = set()
    for axis in _axes(tree):
        if (dimensions := frozenset(along[axis])) and dimensions not in offered:
            offered.add(dimensions)
            yield {other for other, its in along.items() if its <= dimensions}, dimensions


def _axes(tree: Tree) -> list[int]:
    """The variables of blocks, by key."""
    blocks = tree.of_type(s_tir.SBlockRealize)
    return [key(axis.var) for site in blocks for axis in array_items(site.node.block.iter_vars)]


def _dimensions_along_axes(tree: Tree) -> Mapping[int, set[Dimension]]:
    """The dimensions that each axis is an index of."""
    axes, along = set(_axes(tree)), defaultdict[int, set[Dimension]](set)
    for site in tree.of_type(tvm.ir.TensorLoad, tirx.BufferStore):
        for place, index in enumerate(array_items(site.node.indices)):
            if is_variable(index) and key(index) in axes:
                along[key(index)].add((key(accessed_by(site.node)), place))
    return along


def _without(tree: Tree, axes: Set[int], gone: Set[Dimension]) -> Any:
    def change(site: Site, node: Any) -> Any:
        return _realized(node, _places(node, axes), bound=False) if type(node) is s_tir.SBlockRealize else node

    func = tree.rewrite(change)
    for buffer in buffers_of(tree):
        places = range(len(array_items(type_of(buffer).shape)))
        kept = [place for place in places if (key(buffer), place) not in gone]
        if 0 < len(kept) < len(places):
            func = with_dimensions(func, buffer, kept)
    return func


def _of_one_round(tree: Tree, axes: Set[int]) -> Any:
    bound = {
        key(var)
        for site in tree.of_type(s_tir.SBlockRealize)
        for place in _places(site.node, axes)
        for var in variables_in(array_items(site.node.iter_values)[place])
    }

    def change(site: Site, node: Any) -> Any:
        if type(node) is tirx.For and key(node.loop_var) in bound:
            return _with_rounds(node, 1)
        if type(node) is s_tir.SBlockRealize:
            places = _places(node, axes)
            return with_domains(node, dict.fromkeys(places, 1)) if places else node
        return node

    return tree.rewrite(change)


def _places(realize: Any, axes: Set[int]) -> tuple[int, ...]:
    """Where a block has which of the variables `axes`, given by key."""
    return tuple(p for p, axis in enumerate(array_items(realize.block.iter_vars)) if key(axis.var) in axes)


def _with_rounds(loop: Any, rounds: int) -> Any:
    return loop_with(loop, extent=tirx.IntImm(type_of(loop.loop_var).dtype, rounds))


def _without_iter_vars(tree: Tree, site: Site, places: range | tuple[int, ...], *, bound: bool) -> Any:
    return tree.replace(site, _realized(site.node, places, bound=bound))


def _realized(realize: Any, places: range | tuple[int, ...], *, bound: bool) -> Any:
    """A block without some of its variables, each replaced by what it is bound to or by the start of its domain."""
    iter_vars, bindings = array_items(realize.block.iter_vars), array_items(realize.iter_values)
    return _with_values(realize, {p: bindings[p] if bound else iter_vars[p].dom.min for p in places})


def _with_values(realize: Any, chosen: Mapping[int, Any]) -> Any:
    """A block with an expression in place of some of its variables, by their places."""
    block = realize.block
    iter_vars, bindings = array_items(block.iter_vars), array_items(realize.iter_values)
    values = {key(iter_vars[p].var): value for p, value in chosen.items()}
    kept = [p for p in range(len(iter_vars)) if p not in chosen]
    # Before the values come in, which cannot stand where a variable is defined.
    fewer = block_with(block, refresh=False, iter_vars=[iter_vars[p] for p in kept])
    used = values.keys() & set(map(key, variables_in(fewer)))
    smaller = block_with(substitute(fewer, values)) if used else fewer
    return s_tir.SBlockRealize([bindings[p] for p in kept], realize.predicate, smaller)


def _shortened(tree: Tree, site: Site, place: int, extent: int) -> Any:
    return tree.replace(site, with_domains(site.node, {place: extent}))
