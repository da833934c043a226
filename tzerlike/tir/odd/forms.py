"""Constructs that hardly anybody would write, by the structure of a program, and plainer replacements.

Where `tzerlike.tir.plain` goes by the words of a program, this goes by its form. A fuzzer makes such things by chance,
and who is shown a bug with one in it will ask whether it takes that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from tzerlike.core.dtypes import parse
from tzerlike.systems.tvm_api import array_items, params_of, s_tir, source_of, tirx, tvm, type_of
from tzerlike.tir.buffers import like
from tzerlike.tir.node import accessed_by, key, loop_with, uses
from tzerlike.tir.odd import expressions, statements
from tzerlike.tir.odd.index_form import strange_at, strange_extents
from tzerlike.tir.odd.other_ways import OTHER_WAYS
from tzerlike.tir.odd.program import ACCESSES, Program, declares, is_outside
from tzerlike.tir.odd.vocabulary import unusual
from tzerlike.tir.order import USUAL_ALIGNMENT
from tzerlike.tir.reducers.program import Make, buffers_of, number, with_values
from tzerlike.tir.reducers.statements import outside_of_blocks
from tzerlike.tir.scope import SERIAL, THREAD_BINDING
from tzerlike.tir.tree import Kind, Site, Tree

MOST_MENDS = 200

_EXTENT = 16
"""Of memory that is mended: more than most programs of ours use."""

_RULES = {**statements.RULES, **expressions.RULES}


@dataclass(frozen=True, slots=True)
class Oddity:
    """`ways` make functions without it, the most alike first; None where nothing plainer is known."""

    what: str
    ways: tuple[Make, ...]


def oddities(func: Any, *, threads: bool) -> Iterator[Oddity]:
    """What is odd about a function, outermost first; where nothing else is, what none of the seeds has.

    `threads` says whether its target has threads to bind loops to.
    """
    tree = Tree(func)
    strange = _strange(tree, threads=threads)
    first = next(strange, None)
    if first is None:
        yield from (Oddity(form, _more_usual(tree, site)) for site, form in unusual(tree))
    else:
        yield first
        yield from strange


def _strange(tree: Tree, *, threads: bool) -> Iterator[Oddity]:
    func = tree.func
    used = frozenset(key(var) for site in tree.sites for var in uses(site.node))
    loads = (key(source_of(site.node)) for site in tree.sites if type(site.node) is tvm.ir.TensorLoad)
    given = frozenset(map(key, params_of(func)))
    read = given.union(loads)
    written = frozenset(key(site.node.buffer) for site in tree.of_type(tirx.BufferStore))
    program = Program(tree, used, read, written, given, any(map(declares, tree.sites)), threads)
    for site in tree.sites:
        if _is_of_one_bit(site.dtype):
            yield Oddity("a number of one bit", (partial(_with_node, tree, site, partial(_as_truth, site.node)),))
        if site.kind is Kind.EXPR and (strange := strange_at(site)):
            yield Oddity(strange, (partial(_with_node, tree, site, partial(_part_or_number, tree, site)),))
        rule = _RULES.get(type(site.node))
        for what, plainer in () if rule is None else rule(program, site):
            other = OTHER_WAYS.get(what)
            ways = (partial(_with_node, tree, site, plainer),)
            yield Oddity(what, ways if other is None else (*ways, partial(other, tree, site)))
    if _shares_outside_of_blocks(tree):
        yield Oddity("memory of the root that is used outside of blocks", (partial(outside_of_blocks, tree),))
    views = _views_of_own_memory(tree)
    for buffer in buffers_of(tree):
        if 8 * int(type_of(buffer).data_alignment) < _bits(str(type_of(buffer).dtype.dtype)):
            aligned = {key(buffer): like(buffer, alignment=USUAL_ALIGNMENT)}
            yield Oddity("an alignment below that of an element", (partial(with_values, func, aligned),))
        if key(buffer) in views and any(type(stride) is tirx.IntImm for stride in array_items(type_of(buffer).strides)):
            loose = {key(buffer): like(buffer, strides=[])}
            yield Oddity("fixed strides of memory that TVM lays out", (partial(with_values, func, loose),))
        if strange_extents(buffer):
            sized = {key(buffer): like(buffer, shape=[_EXTENT] * len(array_items(type_of(buffer).shape)))}
            yield Oddity("a size that is no arithmetic on indices", (partial(with_values, func, sized),))


def mended(func: Any, way: int, *, threads: bool) -> Any | None:
    """Return a function like this one with nothing odd about its form; None where that cannot be had.

    It need not compute the same. `way` is 0 or 1, where there are two to mend something. Raises what TVM's constructors
    raise.
    """
    for _ in range(MOST_MENDS):
        odd = next(oddities(func, threads=threads), None)
        if odd is None:
            return func
        func = odd.ways[min(way, len(odd.ways) - 1)]() if odd.ways else None
        if func is None:
            break
    return None


def _shares_outside_of_blocks(tree: Tree) -> bool:
    """Whether statements in no block use memory that the root allocates: passes move that to where it is used, whatever
    one round of a loop leaves there for another."""
    root = tree.func.body
    own = frozenset(map(key, array_items(root.block.alloc_buffers))) if type(root) is s_tir.SBlockRealize else ()
    accesses = (site for site in tree.sites if type(site.node) in ACCESSES) if own else ()
    return any(key(accessed_by(site.node)) in own and is_outside(site) for site in accesses)


def _views_of_own_memory(tree: Tree) -> frozenset[int]:
    """Views, by key, of what is no parameter: passes make its memory smaller, and may lay it out otherwise."""
    views: dict[int, int] = {}
    for site in tree.of_type(s_tir.SBlock):
        for match in array_items(site.node.match_buffers):
            source = key(source_of(match.source))
            views[key(match.buffer)] = views.get(source, source)
    given = frozenset(map(key, params_of(tree.func)))
    return frozenset(view for view, memory in views.items() if memory not in given)


def _more_usual(tree: Tree, site: Site) -> tuple[Make, ...]:
    if site.kind is Kind.EXPR:
        return (partial(_with_node, tree, site, partial(_part_or_number, tree, site)),)
    if type(site.node) is tirx.For and int(site.node.kind) not in (SERIAL, THREAD_BINDING):
        return (partial(_with_node, tree, site, partial(loop_with, site.node, kind=SERIAL)),)
    return ()


def _with_node(tree: Tree, site: Site, make: Make) -> Any | None:
    node = make()
    return None if node is None else tree.replace(site, node)


def _part_or_number(tree: Tree, site: Site) -> Any | None:
    """The first part of an expression that is of its type; else a number, where it can be one."""
    parts = [below.node for below in tree.below(site) if below.parent is site and below.dtype == site.dtype]
    return parts[0] if parts else number(site.dtype, 1)


def _bits(text: str) -> int:
    """Of one number of a dtype; 0 for what is none."""
    dtype = parse(text)
    return 0 if dtype is None else dtype.bits


def _is_of_one_bit(text: str) -> bool:
    dtype = parse(text)
    return dtype is not None and dtype.base in ("int", "uint") and dtype.bits == 1


def _as_truth(node: Any) -> Any | None:
    return tirx.Cast("bool", node.value) if type(node) is tirx.Cast else None
