"""Passes that write one thing as another of the same meaning: laws of logic, and detours by branches and memory."""

from __future__ import annotations

from typing import Any

from tests.planted.loops import SERIAL, VECTORISED, changed_loop, extent_of
from tests.planted.rewrite import anywhere, as_constant, call_of, constant, everywhere, is_wide_int, last
from tzerlike.systems.tvm_api import op_call, tirx
from tzerlike.tir.node import Node, dtype_of, key, loop_with, seq, substitute
from tzerlike.tir.tree import Site, Tree

SCALARS = ("int8", "int32", "int64", "float32", "float64")


def equality_as_two(func: Any) -> Any:
    """Writes a == b as a <= b and b <= a on integers."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.EQ or not is_wide_int(node.a):
            return None
        return tirx.And(tirx.LE(node.a, node.b), tirx.LE(node.b, node.a))

    return everywhere(func, change, anywhere)


def comparison_by_a_sum(func: Any) -> Any:
    """Writes a < b as a + 1 <= b where b is a constant."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.LT or not is_wide_int(node.a) or as_constant(node.b) is None:
            return None
        return tirx.LE(node.a, tirx.Sub(node.b, constant(node.b, 1)))

    return everywhere(func, change, anywhere)


def conjunctions_commuted(func: Any) -> Any:
    """Swaps the operands of And and Or, both of which are evaluated."""

    def change(node: Node) -> Node | None:
        return type(node)(node.b, node.a) if type(node) in (tirx.And, tirx.Or) and dtype_of(node) == "bool" else None

    return everywhere(func, change, anywhere)


def de_morgan(func: Any) -> Any:
    """Writes a and b as not (not a or not b)."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.And or dtype_of(node) != "bool":
            return None
        return tirx.Not(tirx.Or(tirx.Not(node.a), tirx.Not(node.b)))

    return everywhere(func, change, anywhere)


def condition_negated_twice(func: Any) -> Any:
    """Negates the condition of an if twice."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.IfThenElse:
            return None
        return tirx.IfThenElse(tirx.Not(tirx.Not(node.condition)), node.then_case, node.else_case)

    return everywhere(func, change, anywhere)


def choice_made_lazy(func: Any) -> Any:
    """Evaluates only the arm of a Select that is taken."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.Select or dtype_of(node.condition) != "bool" or dtype_of(node) not in SCALARS:
            return None
        arms = [node.condition, node.true_value, node.false_value]
        return op_call("prim.if_then_else", arms, dtype_of(node))

    return everywhere(func, change)


def choice_as_branches(func: Any) -> Any:
    """Writes a store of one of two values as a branch with two stores."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.BufferStore:
            return None
        value = node.value
        if type(value) is tirx.Select:
            condition, arms = value.condition, (value.true_value, value.false_value)
        elif call_of(value) == "prim.if_then_else":
            condition, *arms = value.args
        else:
            return None
        if dtype_of(condition) != "bool":
            return None
        then, otherwise = (tirx.BufferStore(node.buffer, arm, node.indices) for arm in arms)
        return tirx.IfThenElse(condition, then, otherwise)

    return everywhere(func, change, anywhere)


def else_for_nothing(func: Any) -> Any:
    """Gives an if an else that does nothing."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.IfThenElse or node.else_case is not None:
            return None
        return tirx.IfThenElse(node.condition, node.then_case, tirx.Evaluate(tirx.IntImm("int32", 0)))

    return everywhere(func, change, anywhere)


def extremes_commuted(func: Any) -> Any:
    """Swaps the operands of Min and Max of integers."""

    def change(node: Node) -> Node | None:
        return type(node)(node.b, node.a) if type(node) in (tirx.Min, tirx.Max) and is_wide_int(node) else None

    return everywhere(func, change, anywhere)


def there_and_back(func: Any) -> Any:
    """Casts int32 values to int64 and back."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.Mul or dtype_of(node) != "int32":
            return None
        return tirx.Cast("int32", tirx.Cast("int64", node))

    return everywhere(func, change)


def double_as_shift(func: Any) -> Any:
    """Rewrites x * 2 as x << 1 on integers."""

    def change(node: Node) -> Node | None:
        if type(node) is tirx.Mul and is_wide_int(node) and as_constant(node.b) == 2:
            return tirx.LShift(node.a, constant(node.a, 1))
        return None

    return everywhere(func, change, anywhere)


def variable_bound(func: Any) -> Any:
    """Binds the variable of a serial loop to another one for its body."""

    def change(loop: Node) -> Node | None:
        if extent_of(loop) is None or int(loop.kind) != SERIAL:
            return None
        own = tirx.Var("own", loop.loop_var.ty)
        return loop_with(
            loop, body=seq([tirx.Bind(own, loop.loop_var), substitute(loop.body, {key(loop.loop_var): own})])
        )

    return changed_loop(func, change)


def loop_around(func: Any) -> Any:
    """Puts a serial loop into a loop of one iteration."""

    def change(loop: Node) -> Node | None:
        if extent_of(loop) is None or int(loop.kind) != SERIAL:
            return None
        once = tirx.Var("once", loop.loop_var.ty)
        return tirx.For(once, constant(once, 0), constant(once, 1), SERIAL, loop)

    return changed_loop(func, change)


def loop_tiled(func: Any) -> Any:
    """Splits a serial loop by two or three, whichever divides its extent."""

    def change(loop: Node) -> Node | None:
        n = extent_of(loop)
        factor = next((f for f in (2, 3) if n and n > f and n % f == 0), None)
        if factor is None or n is None or int(loop.kind) != SERIAL:
            return None
        outer, inner = tirx.Var("outer", loop.loop_var.ty), tirx.Var("inner", loop.loop_var.ty)
        flat = tirx.Add(tirx.Add(tirx.Mul(outer, constant(outer, factor)), inner), loop.min)
        body = substitute(loop.body, {key(loop.loop_var): flat})
        nested = tirx.For(inner, constant(inner, 0), constant(inner, factor), SERIAL, body)
        return tirx.For(outer, constant(outer, 0), constant(outer, n // factor), SERIAL, nested)

    return changed_loop(func, change, last)


def stored_through_memory(func: Any) -> Any:
    """Has the last store take its value by way of memory that is allocated for it."""

    def change(tree: Tree, site: Site) -> Node | None:
        store = site.node
        if type(store) is not tirx.BufferStore or dtype_of(store.value) not in SCALARS:
            return None
        # TVM 0.27 has an allocation in a vectorised loop once for all lanes.
        if any(type(above.node) is tirx.For and int(above.node.kind) == VECTORISED for above in site.ancestors()):
            return None
        own = tirx.decl_buffer((2,), dtype_of(store.value), "own")
        at = [tirx.IntImm("int32", 1)]
        into = tirx.BufferStore(store.buffer, tirx.BufferLoad(own, at), store.indices)
        return seq([tirx.AllocBuffer(own), tirx.BufferStore(own, store.value, at), into])

    return last(func, change)
