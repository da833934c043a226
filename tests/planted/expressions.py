"""Passes that compute the wrong value."""

from __future__ import annotations

from typing import Any

from tests.planted.rewrite import (
    as_constant,
    call_of,
    constant,
    everywhere,
    is_float,
    is_int,
    same_call,
)
from tzerlike.systems.tvm_api import array_items, structural_equal, tirx, tvm
from tzerlike.tir.node import Node, dtype_of
from tzerlike.tir.tree import Site


def is_condition(site: Site) -> bool:
    """Whether an expression decides something; loops that run until something holds are left alone."""
    return not any(type(above.node) is tirx.While and site.role == "condition" for above in site.ancestors())


def comparison_off_by_one(func: Any) -> Any:
    """Takes < for <= and <= for <."""
    swap = {tirx.LT: tirx.LE, tirx.LE: tirx.LT, tirx.GT: tirx.GE, tirx.GE: tirx.GT}
    return everywhere(func, lambda n: swap[type(n)](n.a, n.b) if type(n) in swap else None, is_condition)


def comparison_reversed(func: Any) -> Any:
    """Swaps the operands of < and keeps the operator."""
    kinds = (tirx.LT, tirx.LE, tirx.GT, tirx.GE)
    return everywhere(func, lambda n: type(n)(n.b, n.a) if type(n) in kinds else None, is_condition)


def equality_inverted(func: Any) -> Any:
    """Takes == for != and the reverse."""
    swap = {tirx.EQ: tirx.NE, tirx.NE: tirx.EQ}
    return everywhere(func, lambda n: swap[type(n)](n.a, n.b) if type(n) in swap else None, is_condition)


def and_as_or(func: Any) -> Any:
    """Takes && for || in what is computed as a value."""
    return everywhere(func, lambda n: tirx.Or(n.a, n.b) if type(n) is tirx.And else None, is_condition)


def or_as_and(func: Any) -> Any:
    """Takes || for &&."""
    return everywhere(func, lambda n: tirx.And(n.a, n.b) if type(n) is tirx.Or else None, is_condition)


def not_dropped(func: Any) -> Any:
    """Forgets a negation."""
    return everywhere(func, lambda n: n.a if type(n) is tirx.Not else None, is_condition)


def select_arms_swapped(func: Any) -> Any:
    """Swaps the arms of Select."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.Select:
            return None
        return tirx.Select(node.condition, node.false_value, node.true_value)

    return everywhere(func, change)


def if_then_else_inverted(func: Any) -> Any:
    """Takes the condition of if_then_else for its opposite where both arms are cheap to compute."""

    def change(node: Node) -> Node | None:
        if call_of(node) != "prim.if_then_else":
            return None
        condition, one, other = array_items(node.args)
        if any(type(arm) is tvm.ir.Call for arm in (one, other)):
            return None
        return tirx.if_then_else(tirx.Not(condition), one, other)

    return everywhere(func, change)


def minimum_as_maximum(func: Any) -> Any:
    """Takes min for max and the reverse."""
    swap = {tirx.Min: tirx.Max, tirx.Max: tirx.Min}
    return everywhere(func, lambda n: swap[type(n)](n.a, n.b) if type(n) in swap else None)


def sum_as_difference(func: Any) -> Any:
    """Takes + for - ."""
    return everywhere(func, lambda n: tirx.Sub(n.a, n.b) if type(n) is tirx.Add else None)


def difference_reversed(func: Any) -> Any:
    """Computes b - a for a - b."""
    return everywhere(func, lambda n: tirx.Sub(n.b, n.a) if type(n) is tirx.Sub else None)


def quotient_reversed(func: Any) -> Any:
    """Computes b / a for a / b."""
    return everywhere(func, lambda n: tirx.Div(n.b, n.a) if type(n) is tirx.Div and is_float(n) else None)


def factor_dropped(func: Any) -> Any:
    """Simplifies a * c to a for a constant c."""
    constants = (tirx.IntImm, tirx.FloatImm)
    return everywhere(func, lambda n: n.a if type(n) is tirx.Mul and type(n.b) in constants else None)


def product_as_sum(func: Any) -> Any:
    """Reduces a multiplication to an addition."""
    return everywhere(func, lambda n: tirx.Add(n.a, n.b) if type(n) is tirx.Mul else None)


def summand_dropped(func: Any) -> Any:
    """Simplifies a + c to a for a constant c."""
    constants = (tirx.IntImm, tirx.FloatImm)
    return everywhere(func, lambda n: n.a if type(n) is tirx.Add and type(n.b) in constants else None)


def factor_not_distributed(func: Any) -> Any:
    """Rewrites (a + b) * c as a + b * c."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.Mul or type(node.a) is not tirx.Add:
            return None
        return tirx.Add(node.a.a, tirx.Mul(node.a.b, node.b))

    return everywhere(func, change)


def difference_regrouped(func: Any) -> Any:
    """Rewrites (a - b) - c and (a + b) - c as if - bound to the right."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.Sub or type(node.a) not in (tirx.Sub, tirx.Add):
            return None
        return type(node.a)(node.a.a, tirx.Add(node.a.b, node.b))

    return everywhere(func, change)


def quotient_regrouped(func: Any) -> Any:
    """Rewrites a * b / c as a * (c / b)."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.Div or not is_float(node) or type(node.a) is not tirx.Mul:
            return None
        return tirx.Mul(node.a.a, tirx.Div(node.b, node.a.b))

    return everywhere(func, change)


def clamp_lost(func: Any) -> Any:
    """Proves max(a, c) to be a, and min(a, c) too."""
    constants = (tirx.IntImm, tirx.FloatImm)
    return everywhere(func, lambda n: n.a if type(n) in (tirx.Min, tirx.Max) and type(n.b) in constants else None)


def square_as_double(func: Any) -> Any:
    """Rewrites a * a as a + a."""
    return everywhere(
        func, lambda n: tirx.Add(n.a, n.b) if type(n) is tirx.Mul and structural_equal(n.a, n.b) else None
    )


def sign_lost(func: Any) -> Any:
    """Takes 0 - a and a * -1 for a."""

    def change(node: Node) -> Node | None:
        if type(node) is tirx.Sub and getattr(node.a, "value", None) == 0:
            return node.b
        if type(node) is tirx.Mul and getattr(node.b, "value", None) == -1:
            return node.a
        return None

    return everywhere(func, change)


def floordiv_rounds_up(func: Any) -> Any:
    """Takes floordiv for ceildiv in what is computed as a value."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.FloorDiv or not is_int(node):
            return None
        return tirx.FloorDiv(tirx.Add(node.a, tirx.Sub(node.b, constant(node.b, 1))), node.b)

    return everywhere(func, change)


def division_and_remainder_confused(func: Any) -> Any:
    """Takes floormod for floordiv in what is computed as a value."""
    swap = {tirx.FloorDiv: tirx.FloorMod, tirx.FloorMod: tirx.FloorDiv}
    return everywhere(func, lambda n: swap[type(n)](n.a, n.b) if type(n) in swap and is_int(n) else None)


def fma_with_wrong_sign(func: Any) -> Any:
    """Fuses a * b + c into a * b - c."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.Add or tirx.Mul not in (type(node.a), type(node.b)):
            return None
        return tirx.Sub(node.a, node.b)

    return everywhere(func, change)


def shift_in_the_wrong_direction(func: Any) -> Any:
    """Shifts right for left by amounts that fit both, and the reverse."""
    swap = {tirx.LShift: tirx.RShift, tirx.RShift: tirx.LShift}
    return everywhere(func, lambda n: swap[type(n)](n.a, n.b) if type(n) in swap else None)


def bitwise_confused(func: Any) -> Any:
    """Takes & for |, | for ^ and ^ for &."""
    swap = {tirx.BitwiseAnd: tirx.BitwiseOr, tirx.BitwiseOr: tirx.BitwiseXor, tirx.BitwiseXor: tirx.BitwiseAnd}
    return everywhere(func, lambda n: swap[type(n)](n.a, n.b) if type(n) in swap else None)


def signed_taken_as_unsigned(func: Any) -> Any:
    """Widens a narrow signed integer as if it were unsigned."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.Cast or dtype_of(node.value) not in ("int8", "int16", "int32"):
            return None
        unsigned = tirx.reinterpret(f"u{dtype_of(node.value)}", node.value)
        return tirx.Cast(dtype_of(node), unsigned)

    return everywhere(func, change)


def cast_through_int8(func: Any) -> Any:
    """Casts a float to another by way of int8."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.Cast or not is_float(node) or not is_float(node.value):
            return None
        lanes = dtype_of(node).partition("x")[2]
        return tirx.Cast(dtype_of(node), tirx.Cast("int32" + (f"x{lanes}" if lanes else ""), node.value))

    return everywhere(func, change)


def float_cast_rounds_away(func: Any) -> Any:
    """Casts a float to the integer that is next to the right one."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.Cast or not is_int(node) or not is_float(node.value):
            return None
        return tirx.Cast(dtype_of(node), tirx.Add(node.value, constant(node.value, 1)))

    return everywhere(func, change)


def integer_constant_truncated(func: Any) -> Any:
    """Keeps the low two bits of integer constants."""

    def change(node: Node) -> Node | None:
        value = as_constant(node)
        return constant(node, value & 3) if value is not None and value > 3 else None

    return everywhere(func, change)


def float_constant_truncated(func: Any) -> Any:
    """Stores constants without their fraction."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.FloatImm or not 0.001 < abs(node.value) < 1e6 or float(node.value).is_integer():
            return None
        return constant(node, float(int(node.value)))

    return everywhere(func, change)


def constant_off_by_one(func: Any) -> Any:
    """Folds integer constants to one more."""

    def change(node: Node) -> Node | None:
        value = as_constant(node)
        return constant(node, value + 1) if value is not None and 0 < value < 100 else None

    return everywhere(func, change)


def intrinsic_confused(func: Any) -> Any:
    """Lowers an intrinsic to a relative of it."""
    relatives = {
        "tirx.exp": "tirx.exp2",
        "tirx.exp2": "tirx.exp",
        "tirx.sin": "tirx.cos",
        "tirx.cos": "tirx.sin",
        "tirx.tanh": "tirx.sigmoid",
        "tirx.sigmoid": "tirx.tanh",
        "tirx.sqrt": "tirx.rsqrt",
        "tirx.rsqrt": "tirx.sqrt",
        "tirx.log": "prim.log2",
        "prim.log2": "tirx.log",
    }
    return everywhere(func, lambda n: same_call(n, relatives[call_of(n)]) if call_of(n) in relatives else None)


def rounding_confused(func: Any) -> Any:
    """Takes floor for ceil, trunc for floor and round for trunc."""
    relatives = {
        "tirx.floor": "prim.ceil",
        "prim.ceil": "tirx.trunc",
        "tirx.trunc": "tirx.floor",
        "tirx.round": "tirx.trunc",
        "tirx.nearbyint": "tirx.trunc",
    }
    return everywhere(func, lambda n: same_call(n, relatives[call_of(n)]) if call_of(n) in relatives else None)


def ramp_runs_backwards(func: Any) -> Any:
    """Reads the lanes of a vector load in the opposite order."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.Ramp or as_constant(node.lanes) is None:
            return None
        last = tirx.Add(node.base, tirx.Mul(node.stride, constant(node.stride, int(node.lanes.value) - 1)))
        return tirx.Ramp(last, tirx.Mul(node.stride, constant(node.stride, -1)), node.lanes)

    return everywhere(func, change, _in_load)


def ramp_stands_still(func: Any) -> Any:
    """Loads the first lane's element for every lane."""

    def change(node: Node) -> Node | None:
        return tirx.Broadcast(node.base, node.lanes) if type(node) is tirx.Ramp else None

    return everywhere(func, change, _in_load)


def _in_load(site: Site) -> bool:
    """Whether a site is an index of a load, and not of a store."""
    return any(type(above.node) is tvm.ir.TensorLoad for above in site.ancestors())
