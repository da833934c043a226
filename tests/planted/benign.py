"""Passes that change what a program looks like, and not what it means."""

from __future__ import annotations

from typing import Any

from tests.planted.loops import SERIAL, UNROLLED, changed_loop, copies, extent_of, split
from tests.planted.rewrite import (
    anywhere,
    as_constant,
    call_of,
    constant,
    everywhere,
    first,
    is_wide_int,
    last,
    loads_of,
)
from tests.planted.statements import reads_itself
from tzerlike.systems.tvm_api import array_items, function_with, s_tir, structural_walk, tirx, tvm
from tzerlike.tir.node import Node, dtype_of, is_jump, key, loop_with, seq, substitute
from tzerlike.tir.tree import Site, Tree, renamed

OUTLINED = ("int8", "int32", "int64", "uint8", "float16", "float32", "float64")
"""What may be bound to a variable; TVM 0.27 fails to legalise a bound bfloat16 or float8."""


def sums_commuted(func: Any) -> Any:
    """Swaps the operands of sums of integers."""
    return everywhere(func, lambda n: tirx.Add(n.b, n.a) if type(n) is tirx.Add and is_wide_int(n) else None, anywhere)


def products_commuted(func: Any) -> Any:
    """Swaps the operands of products, floats included."""
    return everywhere(func, lambda n: tirx.Mul(n.b, n.a) if type(n) is tirx.Mul else None)


def double_as_sum(func: Any) -> Any:
    """Rewrites x * 2 as x + x on integers."""

    def change(node: Node) -> Node | None:
        if type(node) is tirx.Mul and is_wide_int(node) and as_constant(node.b) == 2:
            return tirx.Add(node.a, node.a)
        return None

    return everywhere(func, change, anywhere)


def negated_twice(func: Any) -> Any:
    """Rewrites a difference a - b of integers as 0 - (b - a)."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.Sub or not is_wide_int(node):
            return None
        return tirx.Sub(constant(node, 0), tirx.Sub(node.b, node.a))

    return everywhere(func, change, anywhere)


def zero_added(func: Any) -> Any:
    """Adds zero to integer loads."""
    return everywhere(func, lambda n: tirx.Add(n, constant(n, 0)) if type(n) is tirx.Mul and is_wide_int(n) else None)


def multiplied_by_one(func: Any) -> Any:
    """Multiplies integer sums by one."""
    return everywhere(func, lambda n: tirx.Mul(n, constant(n, 1)) if type(n) is tirx.Add and is_wide_int(n) else None)


def comparisons_mirrored(func: Any) -> Any:
    """Writes a < b as b > a."""
    mirror = {tirx.LT: tirx.GT, tirx.GT: tirx.LT, tirx.LE: tirx.GE, tirx.GE: tirx.LE}
    return everywhere(func, lambda n: mirror[type(n)](n.b, n.a) if type(n) in mirror else None, anywhere)


def comparisons_negated(func: Any) -> Any:
    """Writes a < b as not (b <= a)."""
    opposite = {tirx.LT: tirx.LE, tirx.LE: tirx.LT}
    return everywhere(func, lambda n: tirx.Not(opposite[type(n)](n.b, n.a)) if type(n) in opposite else None, anywhere)


def minimum_as_select(func: Any) -> Any:
    """Writes min and max as Select."""

    def change(node: Node) -> Node | None:
        if type(node) is tirx.Min:
            return tirx.Select(tirx.LT(node.a, node.b), node.a, node.b)
        if type(node) is tirx.Max:
            return tirx.Select(tirx.GT(node.a, node.b), node.a, node.b)
        return None

    return everywhere(func, change)


def select_inverted(func: Any) -> Any:
    """Negates the condition of Select and swaps its arms."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.Select:
            return None
        return tirx.Select(tirx.Not(node.condition), node.false_value, node.true_value)

    return everywhere(func, change, anywhere)


def division_as_shift(func: Any) -> Any:
    """Divides integers by a power of two with a shift."""

    def change(node: Node) -> Node | None:
        divisor = as_constant(node.b) if type(node) is tirx.FloorDiv and is_wide_int(node) else None
        if divisor is None or divisor < 1 or divisor & (divisor - 1):
            return None
        return tirx.RShift(node.a, constant(node.a, divisor.bit_length() - 1))

    return everywhere(func, change, anywhere)


def modulo_as_mask(func: Any) -> Any:
    """Takes integers modulo a power of two with a mask."""

    def change(node: Node) -> Node | None:
        divisor = as_constant(node.b) if type(node) is tirx.FloorMod and is_wide_int(node) else None
        if divisor is None or divisor < 1 or divisor & (divisor - 1):
            return None
        return tirx.BitwiseAnd(node.a, constant(node.a, divisor - 1))

    return everywhere(func, change, anywhere)


def computed_wider(func: Any) -> Any:
    """Adds int32 in int64."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.Add or dtype_of(node) != "int32":
            return None
        return tirx.Cast("int32", tirx.Add(tirx.Cast("int64", node.a), tirx.Cast("int64", node.b)))

    return everywhere(func, change)


def value_outlined(func: Any) -> Any:
    """Binds the value of the last store to a variable first."""

    def change(tree: Tree, site: Site) -> Node | None:
        store = site.node
        if type(store) is not tirx.BufferStore or dtype_of(store.value) not in OUTLINED:
            return None
        if any(type(above.node) is tirx.For and int(above.node.kind) == 2 for above in site.ancestors()):
            return None
        value = tirx.Var("outlined", store.value.ty)
        return seq([tirx.Bind(value, store.value), tirx.BufferStore(store.buffer, value, store.indices)])

    return last(func, change)


def value_in_let(func: Any) -> Any:
    """Computes the values of stores in the body of a Let."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.BufferStore or not is_wide_int(node.value):
            return None
        value = tirx.Var("named", node.value.ty)
        return tirx.BufferStore(node.buffer, tirx.Let(value, node.value, value), node.indices)

    return everywhere(func, change, anywhere)


def stored_twice(func: Any) -> Any:
    """Repeats the last store that does not read its own buffer."""

    def change(tree: Tree, site: Site) -> Node | None:
        store = site.node
        if type(store) is not tirx.BufferStore or reads_itself(store) or _reads(store, store.buffer):
            return None
        return seq([store, store])

    return last(func, change)


def _reads(store: Node, buffer: Node) -> bool:
    loads = [*loads_of(store.value), *(load for index in array_items(store.indices) for load in loads_of(index))]
    return any(key(load.source) == key(buffer) for load in loads)


def guarded_for_nothing(func: Any) -> Any:
    """Puts the body of a loop under a condition that always holds."""

    def change(loop: Node) -> Node | None:
        if extent_of(loop) is None or int(loop.kind) != SERIAL:
            return None
        condition = tirx.GE(loop.loop_var, loop.min)
        return loop_with(loop, body=tirx.IfThenElse(condition, loop.body, None))

    return changed_loop(func, change)


def branches_turned(func: Any) -> Any:
    """Negates the condition of an if with an else and swaps its branches."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.IfThenElse or node.else_case is None:
            return None
        return tirx.IfThenElse(tirx.Not(node.condition), node.else_case, node.then_case)

    return everywhere(func, change, anywhere)


def variables_renamed(func: Any) -> Any:
    """Gives all variables other names."""
    return function_with(func, renamed(func.body, lambda name: f"{name}_other"))


def loop_split(func: Any) -> Any:
    """Splits a loop by three, with a guard for the tail."""

    def change(loop: Node) -> Node | None:
        n = extent_of(loop)
        if n is None or n < 3 or int(loop.kind) != SERIAL or _jumps(loop.body):
            return None
        return split(loop, 3, n)

    return changed_loop(func, change)


def _jumps(body: Node) -> bool:
    found: list[Node] = []
    structural_walk(body, (((tirx.Stmt, tvm.ir.Call), lambda node: found.append(node) if is_jump(node) else None),))
    return bool(found)


def loops_fused(func: Any) -> Any:
    """Fuses two nested loops."""

    def change(loop: Node) -> Node | None:
        inner = loop.body
        n, m = extent_of(loop), extent_of(inner)
        if n is None or m is None or loop.extent.ty != inner.extent.ty or n * m == 0 or _jumps(loop.body):
            return None
        if int(loop.kind) != SERIAL or int(inner.kind) != SERIAL:
            return None
        fused = tirx.Var("fused", inner.loop_var.ty)
        at = {
            key(loop.loop_var): tirx.Add(tirx.FloorDiv(fused, constant(fused, m)), loop.min),
            key(inner.loop_var): tirx.Add(tirx.FloorMod(fused, constant(fused, m)), inner.min),
        }
        return tirx.For(fused, constant(fused, 0), constant(fused, n * m), SERIAL, substitute(inner.body, at))

    return changed_loop(func, change)


def loop_unrolled(func: Any) -> Any:
    """Unrolls a small innermost loop."""

    def visit(tree: Tree, site: Site) -> Node | None:
        n = extent_of(site.node)
        if n is None or not 1 <= n <= 8 or _jumps(site.node.body) or int(site.node.kind) not in (SERIAL, UNROLLED):
            return None
        if any(type(inner.node) is tirx.For for inner in tree.below(site)[1:]):
            return None
        return copies(site.node, list(range(n)))

    return first(func, visit)


def loop_peeled(func: Any) -> Any:
    """Runs the first iteration of a loop before the loop."""

    def change(loop: Node) -> Node | None:
        n = extent_of(loop)
        if n is None or n < 2 or int(loop.kind) != SERIAL or _jumps(loop.body):
            return None
        head = renamed(loop.body, lambda name: f"{name}_first", {key(loop.loop_var): loop.min})
        rest = loop_with(loop, min=tirx.Add(loop.min, constant(loop.min, 1)), extent=constant(loop.extent, n - 1))
        return seq([head, rest])

    return changed_loop(func, change)


def loop_shifted(func: Any) -> Any:
    """Runs a loop over other numbers and subtracts the difference."""

    def change(loop: Node) -> Node | None:
        if extent_of(loop) is None or int(loop.kind) != SERIAL:
            return None
        back = tirx.Sub(loop.loop_var, constant(loop.loop_var, 5))
        start = tirx.Add(loop.min, constant(loop.min, 5))
        return loop_with(loop, min=start, body=substitute(loop.body, {key(loop.loop_var): back}))

    return changed_loop(func, change)


def loop_marked_unrolled(func: Any) -> Any:
    """Marks the innermost serial loops as to be unrolled."""

    def visit(tree: Tree, site: Site) -> Node | None:
        n = extent_of(site.node)
        if n is None or n > 16 or int(site.node.kind) != SERIAL or _jumps(site.node.body):
            return None
        if any(type(inner.node) is tirx.For for inner in tree.below(site)[1:]):
            return None
        return loop_with(site.node, kind=UNROLLED)

    return first(func, visit)


def vectorised_made_serial(func: Any) -> Any:
    """Runs a parallel or vectorised loop in order."""

    def change(loop: Node) -> Node | None:
        return loop_with(loop, kind=SERIAL) if int(loop.kind) in (1, 2) else None

    return changed_loop(func, change)


def init_as_a_branch(func: Any) -> Any:
    """Writes the init of a block as a branch on its axes of reduction."""

    def change(node: Node) -> Node | None:
        if type(node) is not s_tir.SBlock or node.init is None:
            return None
        condition: Node = tirx.IntImm("bool", 1)
        for axis in array_items(node.iter_vars):
            if int(axis.iter_type) == 2:
                condition = tirx.And(condition, tirx.EQ(axis.var, axis.dom.min))
        body = seq([tirx.IfThenElse(condition, node.init, None), node.body])
        return s_tir.SBlock(
            node.iter_vars,
            node.reads,
            node.writes,
            node.name_hint,
            body,
            None,
            node.alloc_buffers,
            node.match_buffers,
            node.annotations,
        )

    return everywhere(func, change, anywhere)


def conditions_likely(func: Any) -> Any:
    """Marks the conditions of ifs as likely."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.IfThenElse or call_of(node.condition) == "prim.likely":
            return None
        return tirx.IfThenElse(tirx.likely(node.condition), node.then_case, node.else_case)

    return everywhere(func, change, anywhere)
