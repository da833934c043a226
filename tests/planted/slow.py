"""Passes that make a program slow and leave alone what it computes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.planted.loops import changed_loop, extent_of
from tests.planted.rewrite import Pass, constant, last
from tzerlike.systems.tvm_api import tirx
from tzerlike.tir.node import Node, loop_with, seq
from tzerlike.tir.tree import Site, Tree


def not_vectorised(func: Any) -> Any:
    """Swaps the two innermost loops, so that neighbours in memory are no neighbours in time."""

    def change(loop: Node) -> Node | None:
        inner = loop.body
        if extent_of(inner) is None or type(inner.body) is tirx.For:
            return None
        return loop_with(inner, body=loop_with(loop, body=inner.body))

    return changed_loop(func, change)


def allocated_inside(func: Any) -> Any:
    """Has the last store take its value from memory that is allocated for it."""

    def change(tree: Tree, site: Site) -> Node | None:
        store = site.node
        if type(store) is not tirx.BufferStore:
            return None
        own = tirx.decl_buffer((4096,), "float32", "own")
        zero = [tirx.IntImm("int32", 0)]
        into = tirx.BufferStore(store.buffer, tirx.BufferLoad(own, zero), store.indices)
        return seq([tirx.AllocBuffer(own), tirx.BufferStore(own, store.value, zero), into])

    return last(func, change)


def partitioned_away(func: Any) -> Any:
    """Runs the last loop once for each of eight parts of it, and does in each round what is in its part."""

    def change(loop: Node) -> Node | None:
        n = extent_of(loop)
        if n is None:
            return None
        part = tirx.Var("part", loop.loop_var.ty)
        length = constant(loop.loop_var, -(-n // 8))
        mine = tirx.EQ(tirx.FloorDiv(loop.loop_var, length), part)
        guarded = loop_with(loop, body=tirx.IfThenElse(mine, loop.body, None))
        return tirx.For(part, constant(part, 0), constant(part, 8), 0, guarded)

    return changed_loop(func, change, last)


SLOW: Mapping[str, Pass] = {
    "not_vectorised": not_vectorised,
    "allocated_inside": allocated_inside,
    "partitioned_away": partitioned_away,
}
