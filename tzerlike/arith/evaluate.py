"""The value of an expression at one assignment, in Python integers: the judge of every claim.

An *original* expression is evaluated strictly: `Undefined` is raised where docs/tir-semantics.md says that
the program has no meaning, and the assignment does not count. Select, `&&` and `||` evaluate all of their
operands, as the generated code does. Beyond what is undefined in TIR, two things that are defined do not
count either, because the analyzer may assume that they do not happen: wrap-around of any width, unsigned
subtraction below zero included, and casts that change the value.

What an analysis *returns* is read with indulgence, since rewriting `x - 1 < y` to `x < y + 1` at the largest y is not
what anybody calls a bug: it is wrong only if it is wrong both with wrap-around at every node and in unbounded integers.
Of Select, `&&` and `||` only the operands that are needed matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from tzerlike.arith.model import Expr, bits, lanes, limits, scalar

ExprValue = int | tuple[int, ...]
"""A scalar's value, or one per lane; a bool is 0 or 1."""


class Undefined(Exception):
    """The expression has no value here; the message names the rule."""


class Mode(Enum):
    """How a value that its dtype cannot hold is taken: as undefined, by wrap-around, or as it is."""

    STRICT = "strict"
    WRAP = "wrap"
    UNBOUNDED = "unbounded"


def evaluate(node: Expr, assignment: Mapping[str, int], mode: Mode = Mode.STRICT) -> ExprValue:
    """Return the value of `node`; Undefined where it has none in that mode, KeyError for an unknown variable."""
    op = node.op
    if op == "Var":
        return assignment[str(node.value)]
    if op == "IntImm":
        return int(node.value or 0)
    if op == "if_then_else" or (op == "Select" and mode is not Mode.STRICT and lanes(node.args[0].dtype) == 1):
        return evaluate(node.args[1 if evaluate(node.args[0], assignment, mode) else 2], assignment, mode)
    if op in ("And", "Or") and mode is not Mode.STRICT and lanes(node.dtype) == 1:
        return _short_circuit(node, assignment, mode)
    values = [evaluate(arg, assignment, mode) for arg in node.args]
    count = lanes(node.dtype)
    if op == "Ramp":
        base, stride = values
        assert isinstance(base, int) and isinstance(stride, int)
        return tuple(
            _fit(base + _fit(lane * stride, node.dtype, mode), node.dtype, mode) if lane else base
            for lane in range(count)
        )
    if op == "Broadcast":
        (value,) = values
        assert isinstance(value, int)
        return (value,) * count
    if count == 1:
        return _lane(node, [value for value in values if isinstance(value, int)], mode)
    columns = [value if isinstance(value, tuple) else (value,) * count for value in values]
    return tuple(_lane(node, list(row), mode) for row in zip(*columns, strict=True))


def _short_circuit(node: Expr, assignment: Mapping[str, int], mode: Mode) -> int:
    """An operand that decides the result decides it, whatever the other does."""
    decisive = int(node.op == "Or")
    failure: Undefined | None = None
    for arg in node.args:
        try:
            if evaluate(arg, assignment, mode) == decisive:
                return decisive
        except Undefined as error:
            failure = error
    if failure is not None:
        raise failure
    return 1 - decisive


def _lane(node: Expr, values: list[int], mode: Mode) -> int:
    if node.op == "Cast":
        return _cast(values[0], node.dtype, mode)
    return _fit(_OPERATIONS[node.op](values, node.args[0].dtype), node.dtype, mode)


def _fit(value: int, dtype: str, mode: Mode) -> int:
    low, high = limits(dtype)
    if low <= value <= high or mode is Mode.UNBOUNDED:
        return value
    if mode is Mode.STRICT:
        raise Undefined(f"overflow of {dtype}")
    return wrapped(value, dtype)


def wrapped(value: int, dtype: str) -> int:
    """The value that two's complement arithmetic leaves in one lane of `dtype`."""
    value &= (1 << bits(dtype)) - 1
    return value - (1 << bits(dtype)) if value > limits(dtype)[1] else value


def _cast(value: int, dtype: str, mode: Mode) -> int:
    if scalar(dtype) == "bool":
        return int(value != 0)
    low, high = limits(dtype)
    if low <= value <= high:
        return value
    if mode is Mode.STRICT:
        raise Undefined(f"cast to {dtype} loses value")
    return wrapped(value, dtype)


def _truncdiv(values: list[int], dtype: str) -> int:
    a, b = values
    if b == 0:
        raise Undefined("division by zero")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _truncmod(values: list[int], dtype: str) -> int:
    return values[0] - _having_quotient(values, _truncdiv(values, dtype), dtype) * values[1]


def _floordiv(values: list[int], dtype: str) -> int:
    if values[1] == 0:
        raise Undefined("division by zero")
    return values[0] // values[1]


def _floormod(values: list[int], dtype: str) -> int:
    return values[0] - _having_quotient(values, _floordiv(values, dtype), dtype) * values[1]


def _having_quotient(values: list[int], quotient: int, dtype: str) -> int:
    """The remainder of the least integer by -1 is as undefined as the quotient."""
    if values == [limits(dtype)[0], -1] and values[0] < 0:
        raise Undefined(f"overflow of {dtype}")
    return quotient


def _amount(value: int, dtype: str) -> int:
    if not 0 <= value < bits(dtype):
        raise Undefined("shift amount out of range")
    return value


_OPERATIONS: Mapping[str, Callable[[list[int], str], int]] = {
    "Add": lambda v, _: v[0] + v[1],
    "Sub": lambda v, _: v[0] - v[1],
    "Mul": lambda v, _: v[0] * v[1],
    "Div": _truncdiv,
    "Mod": _truncmod,
    "FloorDiv": _floordiv,
    "FloorMod": _floormod,
    "Min": lambda v, _: min(v),
    "Max": lambda v, _: max(v),
    "LShift": lambda v, dtype: v[0] << _amount(v[1], dtype),
    "RShift": lambda v, dtype: v[0] >> _amount(v[1], dtype),
    "BitwiseAnd": lambda v, _: v[0] & v[1],
    "BitwiseOr": lambda v, _: v[0] | v[1],
    "BitwiseXor": lambda v, _: v[0] ^ v[1],
    "BitwiseNot": lambda v, dtype: ~v[0] if limits(dtype)[0] else limits(dtype)[1] - v[0],
    "EQ": lambda v, _: int(v[0] == v[1]),
    "NE": lambda v, _: int(v[0] != v[1]),
    "LT": lambda v, _: int(v[0] < v[1]),
    "LE": lambda v, _: int(v[0] <= v[1]),
    "GT": lambda v, _: int(v[0] > v[1]),
    "GE": lambda v, _: int(v[0] >= v[1]),
    "And": lambda v, _: v[0] & v[1],
    "Or": lambda v, _: v[0] | v[1],
    "Not": lambda v, _: 1 - v[0],
    "Select": lambda v, _: v[1] if v[0] else v[2],
    "likely": lambda v, _: v[0],
}
"""One lane: the operands' values and the first operand's dtype to the unbounded result."""
