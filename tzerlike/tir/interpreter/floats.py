"""Floating-point operations with running error bounds.

A value is carried in float64 without rounding to its dtype, together with a bound on how far a correct build may
be from it: each operation may be rounded to the dtype or, fused or computed wider, not at all (the LLVM back end
contracts a*b+c, and float16 and bfloat16 are computed in float32). As long as a result is exact, whichever way it is
computed, its bound is zero; programs on small whole numbers therefore have exact expectations.

Source of the method: running error analysis (Wilkinson; Higham, Accuracy and Stability of Numerical Algorithms, 3.3).
"""

from __future__ import annotations

from collections.abc import Callable

from tzerlike.tir.interpreter.fault import BrokenRule
from tzerlike.tir.interpreter.formats import Float, FloatFormat

Binary = Callable[[Float, Float], Float]
Comparison = Callable[[Float, Float], bool]

_SLACK = 1.0 + 2.0**-40
"""Covers the rounding of the bounds themselves."""


def rounding(form: FloatFormat) -> Callable[[float, float], Float]:
    """Return the function (value, bound so far) -> the value after an inexact operation of the format.

    BrokenRule where the value is not finite, or could be beyond the format's range.
    """
    unit, tiny, largest = form.unit, form.tiny, form.largest

    def finish(value: float, bound: float) -> Float:
        bound = (bound + unit * (abs(value) + bound) + tiny) * _SLACK
        if abs(value) + bound <= largest:
            return value, bound
        raise BrokenRule("exceptional-value", f"{value:g} +- {bound:g}")

    return finish


def converted_float(value: float, bound: float, form: FloatFormat) -> Float:
    """A value of any format, converted to `form`."""
    if value - value != 0.0:
        if value == value and bound == 0.0:
            return value, 0.0
        raise BrokenRule("exceptional-value", f"{value}")
    if bound == 0.0 and form.represents(value):
        return value, 0.0
    return rounding(form)(value, bound)


def _add(form: FloatFormat, sign: float) -> Binary:
    finish = rounding(form)
    represents = form.represents

    def apply(x: Float, y: Float) -> Float:
        a, d = x
        b = y[0] * sign
        f = y[1]
        result = a + b
        if d == 0.0 and f == 0.0 and result - a == b and result - b == a and represents(result):
            return result, 0.0
        return finish(result, d + f)

    return apply


def add(form: FloatFormat) -> Binary:
    return _add(form, 1.0)


def subtract(form: FloatFormat) -> Binary:
    return _add(form, -1.0)


def multiply(form: FloatFormat) -> Binary:
    finish = rounding(form)
    represents = form.represents
    narrow = form.precision <= 26

    def apply(x: Float, y: Float) -> Float:
        a, d = x
        b, f = y
        result = a * b
        if d == 0.0 and f == 0.0:
            # The product of two numbers of at most 26 bits has no more than 53.
            whole = narrow or (a.is_integer() and b.is_integer() and abs(result) <= 2.0**53)
            if whole and represents(result):
                return result, 0.0
            return finish(result, 0.0)
        return finish(result, abs(a) * f + abs(b) * d + d * f)

    return apply


def divide(form: FloatFormat) -> Binary:
    finish = rounding(form)
    represents = form.represents
    narrow = form.precision <= 26

    def apply(x: Float, y: Float) -> Float:
        a, d = x
        b, f = y
        least = abs(b) - f
        if least <= 0.0:
            raise BrokenRule("exceptional-value", "division by zero")
        result = a / b
        if d == 0.0 and f == 0.0:
            if (narrow or (result.is_integer() and abs(a) <= 2.0**53)) and represents(result) and result * b == a:
                return result, 0.0
            # One more rounding: a quotient may be a product with the reciprocal.
            return finish(result, form.unit * abs(result))
        bound = (abs(result) * f + d) / least
        return finish(result, bound + form.unit * (abs(result) + bound))

    return apply


def _separated(decide: Callable[[float, float], bool]) -> Comparison:
    def apply(x: Float, y: Float) -> bool:
        a, d = x
        b, f = y
        margin = d + f
        if margin == 0.0 or abs(a - b) > margin:
            return decide(a, b)
        raise BrokenRule("float-branch", f"{a:g} compared with {b:g} +- {margin:g}")

    return apply


less = _separated(lambda a, b: a < b)
less_equal = _separated(lambda a, b: a <= b)
greater = _separated(lambda a, b: a > b)
greater_equal = _separated(lambda a, b: a >= b)
equal = _separated(lambda a, b: a == b)
not_equal = _separated(lambda a, b: a != b)


def minimum(x: Float, y: Float) -> Float:
    a, d = x
    b, f = y
    if abs(a - b) > d + f:
        return x if a < b else y
    return min(a, b), max(d, f)


def maximum(x: Float, y: Float) -> Float:
    a, d = x
    b, f = y
    if abs(a - b) > d + f:
        return x if a > b else y
    return max(a, b), max(d, f)
