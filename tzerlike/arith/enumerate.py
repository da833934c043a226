"""Expressions at all assignments of a problem at once, in NumPy: the filter before `evaluate`.

It computes what strict evaluation gives and where that is undefined. Each column carries bounds of its values in
Python integers, so that range checks cost nothing where nothing can be out of range. Values of uint64 from 2^63 on are
taken as undefined: they do not fit the arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tzerlike.arith.model import Expr, Problem, Variable, bits, lanes, limits, scalar

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_INT64 = limits("int64")


class Column(NamedTuple):
    """Values of shape (assignments) or (lanes, assignments), all within low and high, and where they are undefined.

    The last axis has length 1 where the value is the same everywhere.
    `bad` is None where all are defined; undefined values are some number within the bounds.
    """

    values: Ints
    low: int
    high: int
    bad: Mask | None


Operation = Callable[..., Column]
"""The first operand's dtype, where an operand is undefined, and the operands' columns, to the result."""


@cache
def _constant(value: int) -> Column:
    if value > _INT64[1]:
        return Column(np.zeros(1, np.int64), 0, 0, np.ones(1, np.bool_))
    return Column(np.array([value], np.int64), value, value, None)


@lru_cache(maxsize=32)
def _everywhere(size: int) -> Mask:
    mask = np.ones(size, np.bool_)
    mask.flags.writeable = False
    return mask


@lru_cache(maxsize=1024)
def _axis(values: tuple[int, ...], before: int, behind: int) -> Column:
    """A variable's column, where `before` assignments of the variables ahead of it each take in its values, which
    ascend, and each value `behind` assignments of those that follow."""
    spread = np.array(values, np.int64)
    if behind > 1:
        spread = spread.repeat(behind)
    if before > 1:
        spread = np.concatenate([spread] * before)
    return Column(spread, values[0], values[-1], None)


@dataclass(frozen=True, slots=True)
class AssignmentGrid:
    """All assignments of some variables. Each expression is evaluated once; what is constant has one column entry."""

    size: int
    columns: Mapping[str, Column]
    known: dict[Expr, Column] = field(default_factory=dict)

    @classmethod
    def of(cls, variables: tuple[Variable, ...]) -> AssignmentGrid:
        size = prod(len(variable.values) for variable in variables)
        columns: dict[str, Column] = {}
        before = 1
        for variable in variables:
            count = len(variable.values)
            columns[variable.name] = _axis(variable.values, before, size // (before * count))
            before *= count
        return cls(size, columns)

    def evaluate(self, node: Expr) -> Column:
        """Return the strict values of `node`; KeyError for an unknown variable."""
        if node.op == "Var":
            return self.columns[str(node.value)]
        if node.op == "IntImm":
            return _constant(int(node.value or 0))
        found = self.known.get(node)
        if found is None:
            found = self.known[node] = self._computed(node)
        return found

    def _computed(self, node: Expr) -> Column:
        op = node.op
        args = [self.evaluate(arg) for arg in node.args]
        if op == "if_then_else":
            return _if_then_else(*args)
        if op in ("Broadcast", "likely"):
            return args[0]
        if op == "Ramp":
            return _ramp(args[0], args[1], node.dtype)
        bad = None
        for arg in args:
            if arg.bad is not None:
                bad = arg.bad if bad is None else bad | arg.bad
        if op == "Cast":
            if node.dtype.startswith("bool"):
                return Column((args[0].values != 0).astype(np.int64), 0, 1, bad)
            return _fitted(args[0].values, args[0].low, args[0].high, node.dtype, bad)
        return _OPERATIONS[op](node.dtype if op not in _COMPARING else node.args[0].dtype, bad, *args)

    def held(self, problem: Problem) -> tuple[Mask, Mask]:
        """Where all constraints are true, and where one is undefined or, all being true, a root is."""
        held, offending = np.ones(self.size, np.bool_), np.zeros(self.size, np.bool_)
        for constraint in map(self.evaluate, problem.constraints):
            held &= constraint.values != 0
            if constraint.bad is not None:
                offending |= constraint.bad
        for root in map(self.evaluate, problem.roots):
            if root.bad is not None:
                offending |= root.bad & held
        return held, offending

    def total(self, problem: Problem) -> bool:
        """Whether the problem is defined wherever its constraints hold, and they hold somewhere."""
        held, offending = self.held(problem)
        return bool(np.count_nonzero(held)) and not np.count_nonzero(offending)

    def defined(self, problem: Problem) -> Mask:
        """Where all roots and constraints are defined and all constraints true."""
        defined = _everywhere(self.size)
        for constraint in map(self.evaluate, problem.constraints):
            defined = defined & (constraint.values != 0)
            if constraint.bad is not None:
                defined = defined & ~constraint.bad
        for root in map(self.evaluate, problem.roots):
            if root.bad is not None:
                defined = defined & ~root.bad
        return defined

    def assignment(self, index: int) -> dict[str, int]:
        return {name: int(column.values[index]) for name, column in self.columns.items()}


def _either(a: Mask | None, b: Mask | None) -> Mask | None:
    if a is None:
        return b
    return a if b is None else a | b


def flat(mask: Mask) -> Mask:
    """One flag per assignment: any lane."""
    return mask if mask.ndim == 1 else np.asarray(mask.any(axis=0))


@cache
def _range(dtype: str) -> tuple[int, int]:
    """The least and the greatest value of a lane that an array holds."""
    least, greatest = limits(dtype)
    return least, min(greatest, _INT64[1])


def _ends(values: Ints) -> tuple[int, int]:
    # In NumPy min and max take three times as long for arrays as short as these.
    return values.item(values.argmin()), values.item(values.argmax())


def _fitted(values: Ints, low: int, high: int, dtype: str, bad: Mask | None) -> Column:
    """Check against the range of `dtype` values that lie within low and high, both within int64."""
    least, greatest = _range(dtype)
    if least <= low and high <= greatest:
        return Column(values, low, high, bad)
    out = (values < least) | (values > greatest)
    if np.count_nonzero(out):
        values = np.where(out, min(max(0, least), greatest), values)
        bad = _either(bad, flat(out))
    return Column(values, *_ends(values), bad)


def _exact(
    operation: Callable[[Any, Any], Any], a: Column, b: Column, low: int, high: int, dtype: str, bad: Mask | None
) -> Column:
    """`operation` on values whose results lie within low and high; in Python integers where int64 may not hold them."""
    least, greatest = _range(dtype)
    if least <= low and high <= greatest:
        return Column(operation(a.values, b.values), low, high, bad)
    if _INT64[0] <= low and high <= _INT64[1]:
        return _fitted(operation(a.values, b.values), low, high, dtype, bad)
    values = operation(a.values.astype(object), b.values.astype(object))
    out = ((values < _INT64[0]) | (values > _INT64[1])).astype(np.bool_)
    if np.count_nonzero(out):
        bad = _either(bad, flat(out))
        values = np.where(out, 0, values)
    values = values.astype(np.int64)
    return _fitted(values, *_ends(values), dtype, bad)


def _add(dtype: str, bad: Mask | None, a: Column, b: Column) -> Column:
    return _exact(np.add, a, b, a.low + b.low, a.high + b.high, dtype, bad)


def _sub(dtype: str, bad: Mask | None, a: Column, b: Column) -> Column:
    return _exact(np.subtract, a, b, a.low - b.high, a.high - b.low, dtype, bad)


def _mul(dtype: str, bad: Mask | None, a: Column, b: Column) -> Column:
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return _exact(np.multiply, a, b, min(corners), max(corners), dtype, bad)


def _divisor(a: Column, b: Column, dtype: str, bad: Mask | None) -> tuple[Ints, Mask | None]:
    """The divisor with 1 for 0, and for -1 where the dividend is the least value; both are marked."""
    values = b.values
    if b.low <= 0 <= b.high:
        zero = values == 0
        if np.count_nonzero(zero):
            values = np.where(zero, 1, values)
            bad = _either(bad, flat(zero))
    least = limits(dtype)[0]
    if least < 0 and a.low == least and b.low <= -1 <= b.high:
        over = (a.values == least) & (values == -1)
        if np.count_nonzero(over):
            values = np.where(over, 1, values)
            bad = _either(bad, flat(np.atleast_1d(over)))
    return values, bad


def _floordiv(dtype: str, bad: Mask | None, a: Column, b: Column) -> Column:
    divisor, bad = _divisor(a, b, dtype, bad)
    values = a.values // divisor
    if b.low <= 0:
        return _bounded(values, bad)
    corners = [x // y for x in (a.low, a.high) for y in (b.low, b.high)]
    return Column(values, min(corners), max(corners), bad)


def _floormod(dtype: str, bad: Mask | None, a: Column, b: Column) -> Column:
    divisor, bad = _divisor(a, b, dtype, bad)
    values = a.values % divisor
    return _bounded(values, bad) if b.low <= 0 else Column(values, 0, b.high - 1, bad)


def _truncdiv(dtype: str, bad: Mask | None, a: Column, b: Column) -> Column:
    if a.low >= 0 and b.low > 0:
        return _floordiv(dtype, bad, a, b)
    divisor, bad = _divisor(a, b, dtype, bad)
    quotient = a.values // divisor
    return _bounded(quotient + ((quotient < 0) & (quotient * divisor != a.values)), bad)


def _truncmod(dtype: str, bad: Mask | None, a: Column, b: Column) -> Column:
    if a.low >= 0 and b.low > 0:
        return _floormod(dtype, bad, a, b)
    divisor, bad = _divisor(a, b, dtype, bad)
    return _bounded(np.fmod(a.values, divisor), bad)


def _bounded(values: Ints, bad: Mask | None) -> Column:
    return Column(values, *_ends(values), bad)


def _min(dtype: str, bad: Mask | None, a: Column, b: Column) -> Column:
    return Column(np.minimum(a.values, b.values), min(a.low, b.low), min(a.high, b.high), bad)


def _max(dtype: str, bad: Mask | None, a: Column, b: Column) -> Column:
    return Column(np.maximum(a.values, b.values), max(a.low, b.low), max(a.high, b.high), bad)


def _amount(b: Column, dtype: str, bad: Mask | None) -> tuple[Ints, Mask | None]:
    width = bits(dtype)
    if b.low >= 0 and b.high < width:
        return b.values, bad
    out = (b.values < 0) | (b.values >= width)
    return np.where(out, 0, b.values), _either(bad, flat(out))


def _left(dtype: str, bad: Mask | None, a: Column, b: Column) -> Column:
    amount, bad = _amount(b, dtype, bad)
    most = 1 << int(amount.max())
    low, high = min(a.low, a.low * most), max(a.high, a.high * most)
    return _exact(np.left_shift, a, b._replace(values=amount), low, high, dtype, bad)


def _right(dtype: str, bad: Mask | None, a: Column, b: Column) -> Column:
    amount, bad = _amount(b, dtype, bad)
    return Column(a.values >> amount, min(a.low, 0), max(a.high, 0), bad)


def _bitwise(operation: Callable[[Ints, Ints], Ints]) -> Operation:
    return lambda dtype, bad, a, b: _bounded(operation(a.values, b.values), bad)


def _truth(operation: Callable[[Ints, Ints], Ints | Mask]) -> Operation:
    return lambda dtype, bad, a, b: Column(operation(a.values, b.values).astype(np.int64, copy=False), 0, 1, bad)


def _bitnot(dtype: str, bad: Mask | None, a: Column) -> Column:
    least, greatest = limits(dtype)
    if least:
        return Column(~a.values, ~a.high, ~a.low, bad)
    if greatest > _INT64[1]:
        # The complement of what fits here never fits.
        return Column(np.zeros_like(a.values), 0, 0, np.ones(a.values.shape[-1], np.bool_))
    return Column(greatest - a.values, greatest - a.high, greatest - a.low, bad)


def _select(dtype: str, bad: Mask | None, condition: Column, a: Column, b: Column) -> Column:
    values = np.where(condition.values != 0, a.values, b.values)
    return Column(values, min(a.low, b.low), max(a.high, b.high), bad)


def _if_then_else(condition: Column, a: Column, b: Column) -> Column:
    taken = condition.values != 0
    bad = condition.bad
    if a.bad is not None:
        bad = _either(bad, a.bad & taken)
    if b.bad is not None:
        bad = _either(bad, b.bad & ~taken)
    return Column(np.where(taken, a.values, b.values), min(a.low, b.low), max(a.high, b.high), bad)


def _ramp(base: Column, stride: Column, dtype: str) -> Column:
    count = lanes(dtype)
    index = np.arange(count, dtype=np.int64)[:, None]
    steps = Column(np.broadcast_to(index, (count, base.values.shape[-1])), 0, count - 1, None)
    offset = _mul(scalar(dtype), stride.bad, steps, stride)
    return _add(scalar(dtype), _either(base.bad, offset.bad), base, offset)


_COMPARING = frozenset(("EQ", "NE", "LT", "LE", "GT", "GE"))

_OPERATIONS: Mapping[str, Operation] = {
    "Add": _add,
    "Sub": _sub,
    "Mul": _mul,
    "Div": _truncdiv,
    "Mod": _truncmod,
    "FloorDiv": _floordiv,
    "FloorMod": _floormod,
    "Min": _min,
    "Max": _max,
    "LShift": _left,
    "RShift": _right,
    "BitwiseAnd": _bitwise(np.bitwise_and),
    "BitwiseOr": _bitwise(np.bitwise_or),
    "BitwiseXor": _bitwise(np.bitwise_xor),
    "BitwiseNot": _bitnot,
    "EQ": _truth(np.equal),
    "NE": _truth(np.not_equal),
    "LT": _truth(np.less),
    "LE": _truth(np.less_equal),
    "GT": _truth(np.greater),
    "GE": _truth(np.greater_equal),
    "And": _truth(np.bitwise_and),
    "Or": _truth(np.bitwise_or),
    "Not": lambda dtype, bad, a: Column(1 - a.values, 0, 1, bad),
    "Select": _select,
}
