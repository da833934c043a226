"""Between the harness's expressions and TVM's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from tzerlike.arith.model import (
    ARITHMETIC_OPS,
    ARITY,
    BITWISE_OPS,
    COMPARISONS,
    Expr,
    Variable,
    lanes,
    limits,
    vector_dtype,
    walk,
)
from tzerlike.core.errors import TzerlikeError
from tzerlike.systems import tvm_api

_BINARY = frozenset((*ARITHMETIC_OPS, *BITWISE_OPS, *COMPARISONS, "And", "Or"))
_OPERANDS = {
    "BitwiseNot": ("a",),
    "Not": ("a",),
    "Select": ("condition", "true_value", "false_value"),
    "Cast": ("value",),
    "Ramp": ("base", "stride"),
    "Broadcast": ("value",),
}
"""The attributes of the other nodes that are operands."""

_CALLS = {
    "if_then_else": "if_then_else",
    "likely": "likely",
    "bitwise_and": "BitwiseAnd",
    "bitwise_or": "BitwiseOr",
    "bitwise_xor": "BitwiseXor",
    "bitwise_not": "BitwiseNot",
    "shift_left": "LShift",
    "shift_right": "RShift",
}
"""Operators of calls, without their namespace; older releases have no nodes for those on bits."""


class Unreadable(Exception):
    """TVM returned an expression with something in it that the harness has no meaning for; the message names it."""


class Unmakeable(Exception):
    """This TVM does not make an expression, which the message names."""


_BAD_SHIFT = "Shift amount must be"
"""Older releases make no shift by a constant that is negative or as wide as the operand."""

_TOO_LARGE = "Literal value "
"""They fold a shift of two constants, and make none whose outcome does not fit its dtype."""


@cache
def _constructor(op: str) -> Any:
    return tvm_api.expression_constructor(op)


@cache
def _constant(value: int, dtype: str) -> Any:
    return tvm_api.tirx.IntImm(dtype, value)


@cache
def variable_named(name: str, dtype: str) -> Any:
    """Return TVM's variable of that name and dtype, the same one each time."""
    return tvm_api.tirx.Var(name, dtype)


def to_tvm(node: Expr) -> Any:
    """Return the expression as TVM's, node for node.

    Unmakeable where this TVM has no such expressions, TzerlikeError where it refuses another one: they are well-typed.
    """
    try:
        return _made(node)
    except tvm_api.CONSTRUCTION_ERRORS as error:
        said = str(error)
        if _BAD_SHIFT in said or (_TOO_LARGE in said and any(part.op == "LShift" for part in walk(node))):
            raise Unmakeable(f"a shift in {node.op}") from error
        raise TzerlikeError(f"TVM does not make {node} ({node.dtype}): {said}") from error


def _made(node: Expr) -> Any:
    op = node.op
    if op == "IntImm":
        return _constant(node.value, node.dtype)
    if op == "Var":
        return variable_named(node.value, node.dtype)
    if len(node.args) == 2 and op != "Ramp":
        return _constructor(op)(_made(node.args[0]), _made(node.args[1]), None)
    args = [_made(arg) for arg in node.args]
    if op in ("Ramp", "Broadcast"):
        return _constructor(op)(*args, _constant(lanes(node.dtype), "int32"), None)
    if op == "Cast":
        return _constructor(op)(node.dtype, args[0], None)
    if op in ("if_then_else", "likely"):
        return getattr(tvm_api.tirx, op)(*args)
    return _constructor(op)(*args, None)


def range_of(variable: Variable) -> Any:
    """Return the Range from the variable's first value to its last."""
    return _range(variable.values[0], variable.values[-1], variable.dtype)


@cache
def _range(low: int, high: int, dtype: str) -> Any:
    assert high - low < limits(dtype)[1]
    return tvm_api.tvm.ir.Range.from_min_extent(_constant(low, dtype), _constant(high - low + 1, dtype))


def from_tvm(expr: Any, variables: Mapping[str, str]) -> Expr:
    """Return TVM's expression as an Expr; Unreadable for what has none.

    `variables` has the dtypes of the variables that may occur. The dtypes of all else follow from the leaves.
    """
    name = type(expr).__name__
    if name == "Var":
        var = str(expr.name)
        if var not in variables:
            raise Unreadable(var)
        return Expr("Var", variables[var], (), var)
    if name == "IntImm":
        return Expr("IntImm", str(tvm_api.type_of(expr).dtype), (), int(expr.value))
    if name in _BINARY:
        a, b = _operands(expr, variables)
        if a.dtype != b.dtype:
            raise Unreadable(f"{name} of {a.dtype} and {b.dtype}")
        dtype = vector_dtype("bool", lanes(a.dtype)) if name in COMPARISONS else a.dtype
        return Expr(name, dtype, (a, b))
    if name in _OPERANDS:
        args = tuple(from_tvm(getattr(expr, operand), variables) for operand in _OPERANDS[name])
        if name in ("Ramp", "Broadcast"):
            return Expr(name, vector_dtype(args[0].dtype, int(expr.lanes)), args)
        dtype = str(tvm_api.type_of(expr).dtype) if name == "Cast" else args[1 if name == "Select" else 0].dtype
        return Expr(name, dtype, args)
    if name != "Call":
        raise Unreadable(name)
    called = tvm_api.operator_name(expr)
    op = _CALLS.get(called.rpartition(".")[2], "")
    if not op or len(expr.args) != ARITY[op]:
        raise Unreadable(f"{name} {called}".strip())
    args = tuple(from_tvm(arg, variables) for arg in expr.args)
    return Expr(op, args[-1].dtype, args)


def _operands(expr: Any, variables: Mapping[str, str]) -> tuple[Expr, Expr]:
    """The operands of a binary node. TVM sees to it that both have one dtype: a constant's is costly to ask for."""
    left, right = expr.a, expr.b
    if type(right).__name__ == "IntImm":
        a = from_tvm(left, variables)
        return a, Expr("IntImm", a.dtype, (), int(right.value))
    b = from_tvm(right, variables)
    if type(left).__name__ == "IntImm":
        return Expr("IntImm", b.dtype, (), int(left.value)), b
    return from_tvm(left, variables), b
