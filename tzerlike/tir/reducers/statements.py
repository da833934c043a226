"""Fewer statements: leave some out, keep only the body of others, replace names by their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce
from itertools import combinations
from typing import Any

from tzerlike.core.shrink import spans
from tzerlike.systems.tvm_api import array_items, is_buffer, s_tir, structural_equal, tirx, type_of
from tzerlike.tir.node import is_nop, key, loop_with, seq, substitute, variables_in
from tzerlike.tir.order import extents_below
from tzerlike.tir.reducers.expressions import is_constant
from tzerlike.tir.reducers.program import Make, block_with, buffers_of, with_domain, with_layout, with_values, without
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


def smaller_blocks(tree: Tree) -> Iterator[Make]:
    """Blocks with fewer variables, each replaced by what it is bound to, by the start of its domain or by another one;
    data-parallel variables; shorter domains."""
    for site in tree.of_type(s_tir.SBlockRealize):
        iter_vars = array_items(site.node.block.iter_vars)
        if len(iter_vars) > 1:
            yield partial(_without_iter_vars, tree, site, range(len(iter_vars)), bound=True)
        for kept, gone in combinations(range(len(iter_vars)), 2):
            if _alike(iter_vars[kept], iter_vars[gone]):
                yield partial(_as_one_axis, tree, site, kept, gone)
        for place in range(len(iter_vars)):
            yield partial(_without_iter_vars, tree, site, (place,), bound=False)
            yield partial(_without_iter_vars, tree, site, (place,), bound=True)
            for shorter in extents_below(iter_vars[place].dom.extent):
                yield partial(_shortened, tree, site, place, shorter)


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
            return loop_with(node, extent=tirx.IntImm(type_of(node.loop_var).dtype, 1))
        return _realized(node, (place,), bound=False) if at is site else node

    return tree.rewrite(change)


def _without_axis(tree: Tree, site: Site, loop: Site, place: int, rounds: int) -> Any:
    var = loop.node.loop_var

    def change(at: Site, node: Any) -> Any:
        if at is loop:
            return loop_with(node, extent=tirx.IntImm(type_of(var).dtype, rounds))
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
    return tree.replace(site, with_domain(site.node, place, extent))
