"""Fewer statements: leave some out, keep only the body of others, replace names by their values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial, reduce
from typing import Any

from tzerlike.core.shrink import spans
from tzerlike.systems.tvm_api import array_items, is_buffer, s_tir, tirx, type_of
from tzerlike.tir.node import is_nop, key, loop_with, seq, substitute
from tzerlike.tir.reducers.expressions import is_constant
from tzerlike.tir.reducers.program import Make, block_with, buffers_of, with_layout, with_values, without
from tzerlike.tir.scope import REDUCTION_AXIS, SERIAL, constant_int
from tzerlike.tir.tree import Site, Tree, left_early


def without_statements(tree: Tree) -> Iterator[Make]:
    """Leave out runs of statements and single ones, those that hold most first."""
    groups: list[list[Site]] = []
    for site in tree.statements():
        if type(site.node) is tirx.SeqStmt:
            children = [below for below in tree.below(site) if below.parent is site]
            groups += [children[start:stop] for start, stop in spans(len(children))]
        elif not is_nop(site.node) and (site.parent is None or type(site.parent.node) is not tirx.SeqStmt):
            groups.append([site])
    groups.sort(key=lambda group: -sum(site.size for site in group))
    for group in groups:
        yield partial(without, tree, group)


def bodies(tree: Tree) -> Iterator[Make]:
    """A body in place of the loop, branch, attribute or block around it, and a value in place of its store.

    Loop variables take their first value.
    """
    for site in tree.statements():
        for body in _parts(tree, site):
            yield partial(_with_node, tree, site, body)


def without_blocks(tree: Tree) -> Iterator[Make]:
    """The statements of all blocks in their place: of the root as well, outside of S-TIR, or of those in it."""
    sites = tree.of_type(s_tir.SBlockRealize)
    if sites:
        yield partial(outside_of_blocks, tree)
    if inner := [site for site in sites if site.parent is not None]:
        yield partial(_without_all_blocks, tree, inner)


def outside_of_blocks(tree: Tree) -> Any:
    """The function outside of S-TIR, with the statements of all blocks in their place; None where there are views."""
    func = _without_all_blocks(tree, tree.of_type(s_tir.SBlockRealize))
    return None if func is None else _without_dialect(Tree(func))


def _without_all_blocks(tree: Tree, sites: Sequence[Site]) -> Any:
    if any(array_items(site.node.block.match_buffers) for site in sites):
        return None
    numbers = frozenset(site.number for site in sites)
    return tree.rewrite(lambda site, node: _as_statements(node) if site.number in numbers else node)


def _as_statements(realize: Any) -> Any:
    """What a block does, with its initialisation where its reductions start, and under its predicate."""
    block = realize.block
    starts = [
        tirx.EQ(value, axis.dom.min)
        for axis, value in zip(array_items(block.iter_vars), array_items(realize.iter_values), strict=True)
        if int(axis.iter_type) == REDUCTION_AXIS and constant_int(axis.dom.extent) != 1
    ]
    init = block.init
    if init is not None and starts:
        init = tirx.IfThenElse(reduce(tirx.And, starts), init, None)
    made = _in_its_place(realize, init)
    return made if constant_int(realize.predicate) == 1 else tirx.IfThenElse(realize.predicate, made, None)


def without_rounds(tree: Tree) -> Iterator[Make]:
    """The bodies of all serial loops that go round once in their place, which seldom changes anything."""
    sites = [site for site in tree.of_type(tirx.For) if _goes_round_once(site.node) and not left_early(tree, site)]
    if sites:
        yield partial(_without_loops, tree, frozenset(site.number for site in sites))


def _goes_round_once(loop: Any) -> bool:
    return int(loop.kind) == SERIAL and constant_int(loop.extent) == 1 and not loop.annotations


def _without_loops(tree: Tree, numbers: frozenset[int]) -> Any:
    def change(site: Site, node: Any) -> Any:
        return substitute(node.body, {key(node.loop_var): node.min}) if site.number in numbers else node

    return tree.rewrite(change)


def _parts(tree: Tree, site: Site) -> Iterator[Make]:
    node = site.node
    kind = type(node)
    if kind is tirx.For and not left_early(tree, site):
        variables = [node.loop_var] if node.thread_binding is None else [node.loop_var, node.thread_binding.var]
        yield lambda: substitute(node.body, {key(var): node.min for var in variables})
    elif kind is tirx.IfThenElse:
        yield lambda: node.then_case
        if node.else_case is not None:
            yield lambda: node.else_case
    elif kind is tirx.While and not left_early(tree, site):
        yield lambda: node.body
    elif kind is tirx.AttrStmt:
        yield partial(_attributed, node)
    elif kind is s_tir.SBlockRealize:
        yield partial(_of_block, node)
    elif kind in (tirx.BufferStore, tirx.Bind) and not is_constant(node.value):
        yield lambda: tirx.Evaluate(node.value)


def _attributed(node: Any) -> Any:
    owner = node.node
    if not isinstance(owner, tirx.IterVar):
        return node.body
    return substitute(node.body, {key(owner.var): tirx.IntImm(type_of(owner.var).dtype, 0)})


def _of_block(realize: Any) -> Any:
    """What a block does, as statements: its allocations, its views, its initialisation, its body."""
    return None if array_items(realize.block.match_buffers) else _in_its_place(realize, realize.block.init)


def _in_its_place(realize: Any, init: Any) -> Any:
    block = realize.block
    values = {
        key(iter_var.var): value
        for iter_var, value in zip(array_items(block.iter_vars), array_items(realize.iter_values), strict=True)
    }
    parts = [tirx.AllocBuffer(buffer) for buffer in array_items(block.alloc_buffers)]
    parts += [part for part in (init, block.body) if part is not None]
    return substitute(seq(parts), values)


def without_names(tree: Tree) -> Iterator[Make]:
    """The value in place of a name that Bind or Let gives it."""
    for site in tree.sites:
        node = site.node
        if type(node) is tirx.Bind and not is_buffer(node.var):
            yield partial(_unbound, tree, site)
        elif type(node) is tirx.Let:
            yield partial(_without_let, tree, site)


def _unbound(tree: Tree, site: Site) -> Any:
    func = tree.replace(site, seq([]))
    return with_values(func, {key(site.node.var): site.node.value})


def _without_let(tree: Tree, site: Site) -> Any:
    return tree.replace(site, substitute(site.node.body, {key(site.node.var): site.node.value}))


def plainer(tree: Tree) -> Iterator[Make]:
    """Serial loops without steps, without annotations; blocks without annotations, initialisation or predicate."""
    yield partial(all_plain, tree)
    for site in tree.sites:
        node = site.node
        kind = type(node)
        if kind is tirx.For:
            if int(node.kind) != SERIAL:
                yield partial(_with_node, tree, site, partial(loop_with, node, kind=SERIAL, thread_binding=None))
            if node.step is not None:
                yield partial(_with_node, tree, site, partial(loop_with, node, step=None))
            for rest in _fewer(node.annotations):
                yield partial(_with_node, tree, site, partial(loop_with, node, annotations=rest))
        elif kind is s_tir.SBlock:
            if node.init is not None:
                yield partial(_with_node, tree, site, partial(block_with, node, init=None))
            for rest in _fewer(node.annotations):
                yield partial(_with_node, tree, site, partial(block_with, node, annotations=rest))
        elif kind is tirx.AllocBuffer and node.annotations:
            yield partial(tree.replace, site, tirx.AllocBuffer(node.buffer))


def _with_node(tree: Tree, site: Site, make: Make) -> Any:
    # Put among other statements, what is none kills TVM.
    node = make()
    return None if node is None else tree.replace(site, node)


def all_plain(tree: Tree) -> Any:
    """The function with serial loops alone, without annotations."""

    def change(site: Site, node: Any) -> Any:
        if type(node) is tirx.For:
            return loop_with(node, kind=SERIAL, thread_binding=None, annotations={}, step=None)
        if type(node) is s_tir.SBlock and node.annotations:
            return block_with(node, annotations={})
        return node

    return tree.rewrite(change)


def _fewer(annotations: Any) -> Iterator[dict[str, Any]]:
    """Maps without one of their keys, and without any."""
    items = dict(annotations or {})
    if len(items) > 1:
        yield {}
    for name in sorted(items, key=str):
        yield {other: value for other, value in items.items() if other != name}


def without_attributes(tree: Tree) -> Iterator[Make]:
    """The function without one of its attributes, but for its name."""
    for name in sorted(map(str, (tree.func.attrs or {}).keys())):
        if name == "s_tir":
            yield partial(_without_dialect, tree)
        if name != "global_symbol":
            yield partial(tree.func.without_attr, name)


def _without_dialect(tree: Tree) -> Any:
    """The function outside of S-TIR, where buffers have a layout unless they say that they have none."""
    laid_out = {key(buffer): with_layout(buffer) for buffer in buffers_of(tree)}
    return with_values(tree.func, laid_out).without_attr("s_tir")
