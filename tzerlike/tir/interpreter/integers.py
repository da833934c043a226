"""Integer operations of TIR on Python integers: exact, or a BrokenRule.

Each factory takes the least and the greatest value of the dtype and returns a function of two operands.
An operation whose exact result does not fit is undefined in every width: LLVM code carries nsw and nuw for 32 bits
and more, and for narrower ones TVM's own analysis assumes it (docs/tir-semantics.md).
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from tzerlike.tir.interpreter.fault import BrokenRule

Binary = Callable[[int, int], int]


def _checked(exact: Binary, symbol: str = "") -> Callable[[int, int], Binary]:
    """The operation on a range; with a `symbol` the BrokenRule says what overflowed."""

    def factory(low: int, high: int) -> Binary:
        def apply(a: int, b: int) -> int:
            result = exact(a, b)
            if low <= result <= high:
                return result
            raise BrokenRule("integer-overflow", f"{a} {symbol} {b}" if symbol else "")

        return apply

    return factory


add = _checked(operator.add, "+")
subtract = _checked(operator.sub, "-")
multiply = _checked(operator.mul, "*")


def truncated_quotient(a: int, b: int) -> int:
    """The quotient rounded towards zero; BrokenRule when `b` is zero."""
    if b == 0:
        raise BrokenRule("division-by-zero")
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def floor_quotient(a: int, b: int) -> int:
    """The quotient rounded down; BrokenRule when `b` is zero."""
    if b == 0:
        raise BrokenRule("division-by-zero")
    return a // b


def _remainder(quotient: Binary) -> Callable[[int, int], Binary]:
    def factory(low: int, high: int) -> Binary:
        def apply(a: int, b: int) -> int:
            q = quotient(a, b)
            if not low <= q <= high:
                raise BrokenRule("integer-overflow", f"{a} divided by {b}")
            return a - q * b

        return apply

    return factory


divide = _checked(truncated_quotient)
floor_divide = _checked(floor_quotient)
modulo = _remainder(truncated_quotient)
floor_modulo = _remainder(floor_quotient)


def _shift(exact: Binary) -> Callable[[int, int], Binary]:
    def factory(low: int, high: int) -> Binary:
        width = (high - low).bit_length()

        def apply(a: int, b: int) -> int:
            if not 0 <= b < width:
                raise BrokenRule("shift-range", f"by {b}")
            result = exact(a, b)
            if low <= result <= high:
                return result
            raise BrokenRule("integer-overflow", f"{a} shifted by {b}")

        return apply

    return factory


shift_left = _shift(lambda a, b: a << b)
shift_right = _shift(lambda a, b: a >> b)


def fitting(low: int, high: int) -> Callable[[int], int]:
    """A cast between integers: LLVM truncates, but TVM's analysis takes the value to be kept."""

    def apply(value: int) -> int:
        value = int(value)
        if low <= value <= high:
            return value
        raise BrokenRule("cast-range", f"{value}")

    return apply


def complement(low: int, high: int) -> Callable[[int], int]:
    """Bitwise not: exact for signed dtypes, within the width for unsigned ones."""
    return (lambda a: ~a) if low < 0 else (lambda a: high - a)
