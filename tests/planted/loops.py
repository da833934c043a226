"""Passes that run loops over the wrong iterations, or in the wrong order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.planted.rewrite import as_constant, constant, first, last, loads_of, mentions, stores_of
from tzerlike.systems.tvm_api import array_items, structural_equal, tirx
from tzerlike.tir.node import Node, key, loop_with, seq, substitute
from tzerlike.tir.tree import Site, Tree, renamed

SERIAL, PARALLEL, VECTORISED, UNROLLED = 0, 1, 2, 3


def extent_of(loop: Node) -> int | None:
    """The number of iterations of a plain loop with a constant extent, or None."""
    if type(loop) is not tirx.For or loop.step is not None or loop.thread_binding is not None:
        return None
    return as_constant(loop.extent)


def changed_loop(func: Any, change: Callable[[Node], Node | None], take: Any = first) -> Any:
    """`func` with `change` made to the first loop that it applies to."""

    def visit(tree: Tree, site: Site) -> Node | None:
        return change(site.node) if type(site.node) is tirx.For else None

    return take(func, visit)


def last_iteration_lost(func: Any) -> Any:
    """Runs the outermost loop once too few."""

    def change(loop: Node) -> Node | None:
        n = extent_of(loop)
        return loop_with(loop, extent=constant(loop.extent, n - 1)) if n is not None and n > 1 else None

    return changed_loop(func, change)


def inner_iteration_lost(func: Any) -> Any:
    """Runs the last loop of the function once too few."""

    def change(loop: Node) -> Node | None:
        n = extent_of(loop)
        return loop_with(loop, extent=constant(loop.extent, n - 1)) if n is not None and n > 1 else None

    return changed_loop(func, change, last)


def first_iteration_lost(func: Any) -> Any:
    """Starts a loop at its second iteration."""

    def change(loop: Node) -> Node | None:
        n = extent_of(loop)
        if n is None or n < 2:
            return None
        start = tirx.Add(loop.min, constant(loop.min, 1))
        return loop_with(loop, min=start, extent=constant(loop.extent, n - 1))

    return changed_loop(func, change)


def minimum_forgotten(func: Any) -> Any:
    """Takes the start of a loop for zero in its body, though the loop does not start there."""

    def change(loop: Node) -> Node | None:
        start = as_constant(loop.min)
        if start is None or start <= 0 or extent_of(loop) is None:
            return None
        return loop_with(loop, min=constant(loop.min, 0))

    return changed_loop(func, change)


def tail_dropped(func: Any) -> Any:
    """Splits a loop by four and forgets what is left over."""

    def change(loop: Node) -> Node | None:
        n = extent_of(loop)
        if n is None or n % 4 == 0 or n < 4:
            return None
        return loop_with(loop, extent=constant(loop.extent, n - n % 4))

    return changed_loop(func, change)


def vector_tail_dropped(func: Any) -> Any:
    """Gives a vectorised loop one lane too few."""

    def change(loop: Node) -> Node | None:
        n = extent_of(loop)
        if n is None or n < 2 or int(loop.kind) != VECTORISED:
            return None
        return loop_with(loop, extent=constant(loop.extent, n - 1))

    return changed_loop(func, change)


def copies(loop: Node, values: list[int]) -> Node:
    """The body of `loop` for each of the values of its variable in turn, each with variables of its own."""
    made = []
    for number, value in enumerate(values):
        at = {key(loop.loop_var): tirx.Add(loop.min, constant(loop.min, value))}
        made.append(renamed(loop.body, lambda name, number=number: f"{name}_{number}", at))
    return seq(made)


def _innermost(tree: Tree, site: Site) -> bool:
    return not any(type(inner.node) is tirx.For for inner in tree.below(site)[1:])


def unrolled_once_too_few(func: Any) -> Any:
    """Unrolls a small loop and forgets its last iteration."""

    def visit(tree: Tree, site: Site) -> Node | None:
        n = extent_of(site.node)
        if n is None or not 2 <= n <= 8 or not _innermost(tree, site):
            return None
        return copies(site.node, list(range(n - 1)))

    return first(func, visit)


def unrolled_with_one_twice(func: Any) -> Any:
    """Unrolls a small loop with its first iteration in place of the second."""

    def visit(tree: Tree, site: Site) -> Node | None:
        n = extent_of(site.node)
        if n is None or not 2 <= n <= 8 or not _innermost(tree, site):
            return None
        return copies(site.node, [0, 0, *range(2, n)])

    return first(func, visit)


def run_twice(func: Any) -> Any:
    """Runs a loop that accumulates twice."""

    def visit(tree: Tree, site: Site) -> Node | None:
        loop = site.node
        if extent_of(loop) is None or not _innermost(tree, site):
            return None
        written = {key(store.buffer) for store in stores_of(loop)}
        if not any(key(load.source) in written for load in loads_of(loop)):
            return None
        return seq([loop, renamed(loop, lambda name: f"{name}_again")])

    return last(func, visit)


def _reversed(loop: Node) -> Node:
    """The loop with its iterations in the opposite order."""
    back = tirx.Sub(tirx.Add(loop.min, tirx.Sub(loop.extent, constant(loop.extent, 1))), loop.loop_var)
    turned = tirx.Add(back, loop.min)
    return loop_with(loop, body=substitute(loop.body, {key(loop.loop_var): turned}))


def carried(loop: Node) -> bool:
    """Whether an iteration seems to read at another place what another one writes."""
    return any(
        key(load.source) == key(store.buffer)
        and not structural_equal(load.indices, store.indices)
        and (mentions(load, loop.loop_var) or mentions(store, loop.loop_var))
        for store in stores_of(loop.body)
        for load in loads_of(loop.body)
    )


def dependent_loop_reversed(func: Any) -> Any:
    """Runs a loop backwards whose iterations depend on each other, as a wrong parallel loop might."""

    def change(loop: Node) -> Node | None:
        return _reversed(loop) if extent_of(loop) is not None and carried(loop) else None

    return changed_loop(func, change, last)


def extents_confused(func: Any) -> Any:
    """Gives two nested loops the smaller of their extents."""

    def change(loop: Node) -> Node | None:
        inner = loop.body
        n, m = extent_of(loop), extent_of(inner)
        if n is None or m is None or n == m:
            return None
        least = constant(loop.extent, min(n, m))
        return loop_with(loop, extent=least, body=loop_with(inner, extent=constant(inner.extent, min(n, m))))

    return changed_loop(func, change)


def fused_with_a_wrong_modulus(func: Any) -> Any:
    """Fuses two loops and takes the inner index modulo one less than its extent."""

    def change(loop: Node) -> Node | None:
        inner = loop.body
        n, m = extent_of(loop), extent_of(inner)
        if n is None or m is None or m < 2 or loop.extent.ty != inner.extent.ty:
            return None
        fused = tirx.Var("fused", inner.loop_var.ty)
        at = {
            key(loop.loop_var): tirx.Add(tirx.FloorDiv(fused, constant(fused, m)), loop.min),
            key(inner.loop_var): tirx.Add(tirx.FloorMod(fused, constant(fused, m - 1)), inner.min),
        }
        body = substitute(inner.body, at)
        return tirx.For(fused, constant(fused, 0), constant(fused, n * m), SERIAL, body)

    return changed_loop(func, change)


def guard_of_split_off_by_one(func: Any) -> Any:
    """Splits a loop by three and guards the tail with one iteration too few."""

    def change(loop: Node) -> Node | None:
        n = extent_of(loop)
        if n is None or n < 3 or int(loop.kind) != SERIAL:
            return None
        return split(loop, 3, n - 1)

    return changed_loop(func, change)


def split(loop: Node, factor: int, limit: int) -> Node:
    """`loop` as two, the inner of `factor` iterations, of which those below `limit` run."""
    n = extent_of(loop)
    assert n is not None
    outer, inner = tirx.Var("outer", loop.loop_var.ty), tirx.Var("inner", loop.loop_var.ty)
    flat = tirx.Add(tirx.Mul(outer, constant(outer, factor)), inner)
    body = substitute(loop.body, {key(loop.loop_var): tirx.Add(flat, loop.min)})
    guarded = tirx.IfThenElse(tirx.LT(flat, constant(flat, limit)), body, None)
    nested = tirx.For(inner, constant(inner, 0), constant(inner, factor), SERIAL, guarded)
    return tirx.For(outer, constant(outer, 0), constant(outer, -(-n // factor)), SERIAL, nested)


def first_statement_for_all(func: Any) -> Any:
    """Fissions a loop over two statements and runs the second only in the last iteration."""

    def change(loop: Node) -> Node | None:
        n = extent_of(loop)
        if n is None or n < 2 or type(loop.body) is not tirx.SeqStmt:
            return None
        *parts, final = array_items(loop.body.seq)
        at_end = tirx.EQ(loop.loop_var, tirx.Add(loop.min, constant(loop.min, n - 1)))
        return loop_with(loop, body=seq([*parts, tirx.IfThenElse(at_end, final, None)]))

    return changed_loop(func, change)
