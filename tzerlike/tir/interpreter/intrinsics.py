"""The results of TIR's intrinsics, and the accuracy required of a correct build.

`FLOAT` has the functions of one or two floats, `INTEGER` those on integers; the others, which take conditions, vectors
or pointers, are built by `tzerlike.tir.interpreter.expressions`. The accuracies are the largest errors measured on
TVM's code (docs/tir-semantics.md, "Accuracy of the intrinsics") with a margin of two or more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tzerlike.tir.interpreter.fault import BrokenRule
from tzerlike.tir.interpreter.floats import rounding
from tzerlike.tir.interpreter.formats import Float, FloatFormat

FloatFunction = Callable[..., Float]
FloatFactory = Callable[[FloatFormat], FloatFunction]


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The error that a build's implementation may have beyond a rounding: `ulps` of the result's dtype, and
    `absolute`, in ulps of 1, where the relative error is not bounded (an expansion that cancels)."""

    ulps: float = 1.0
    absolute: float = 0.0


def _sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x > -700 else 0.0


def _finite(compute: Callable[[float], float], x: float) -> float:
    try:
        return compute(x)
    except (ValueError, OverflowError, ZeroDivisionError):
        raise BrokenRule("exceptional-value", f"at {x:g}") from None


def _monotone(compute: Callable[[float], float], x: float, value: float, bound: float) -> float:
    """How far the function of a rising or falling function can be from `value` within `bound` of `x`."""
    return max(abs(_finite(compute, x - bound) - value), abs(_finite(compute, x + bound) - value))


def _smooth(limit: float) -> Callable[[Callable[[float], float], float, float, float], float]:
    """The same for a function whose derivative never exceeds `limit`."""
    return lambda compute, x, value, bound: limit * bound


def _tangent(compute: Callable[[float], float], x: float, value: float, bound: float) -> float:
    room = abs(math.cos(x)) - bound
    if room <= 0:
        raise BrokenRule("exceptional-value", "near a pole")
    return bound / (room * room)


def _unary(
    compute: Callable[[float], float],
    spread: Callable[[Callable[[float], float], float, float, float], float] = _monotone,
    accuracy: Accuracy = Accuracy(),
) -> FloatFactory:
    def factory(form: FloatFormat) -> FloatFunction:
        finish = rounding(form)
        relative = 2 * form.unit * accuracy.ulps
        absolute = 2 * form.unit * accuracy.absolute

        def apply(x: Float) -> Float:
            value = _finite(compute, x[0])
            bound = spread(compute, x[0], value, x[1]) if x[1] else 0.0
            return finish(value, bound + relative * (abs(value) + bound) + absolute)

        return apply

    return factory


def _whole(compute: Callable[[float], float]) -> FloatFactory:
    """A function to whole numbers: exact, or it depends on the error."""

    def factory(form: FloatFormat) -> FloatFunction:
        def apply(x: Float) -> Float:
            value = float(_finite(compute, x[0]))
            if x[1] and not (compute(x[0] - x[1]) == value == compute(x[0] + x[1])):
                raise BrokenRule("float-rounding", f"{x[0]:g} +- {x[1]:g}")
            return value, 0.0

        return apply

    return factory


def _of_a_number(x: float) -> float:
    """A value, unless it is infinite."""
    if math.isinf(x):
        raise BrokenRule("exceptional-value", f"at {x:g}")
    return x


def _absolute(form: FloatFormat) -> FloatFunction:
    return lambda x: (abs(_of_a_number(x[0])), x[1])


def _square_root(form: FloatFormat) -> FloatFunction:
    inexact = _unary(math.sqrt, _monotone, Accuracy(0.5))(form)

    def apply(x: Float) -> Float:
        if x[1] == 0.0 and x[0] >= 0.0:
            root = math.sqrt(x[0])
            if root.is_integer() and root * root == x[0] and form.represents(root):
                return root, 0.0
        return inexact(x)

    return apply


def _logistic(form: FloatFormat) -> FloatFunction:
    """TVM lowers sigmoid(x) to 1 / (1 + exp(-x)): where the exponential overflows the format, that is zero."""
    inexact = _unary(_sigmoid, _smooth(0.25), Accuracy(32.0))(form)

    def apply(x: Float) -> Float:
        value, bound = inexact(x)
        return value, bound + 1.0 / form.largest

    return apply


def _power_of_ten(form: FloatFormat) -> FloatFunction:
    """TVM lowers exp10(x) to exp2(x * 3.32192809488): the error of that constant and of the product grows with x."""
    finish = rounding(form)
    slope = math.log(10.0)

    def apply(x: Float) -> Float:
        value = _finite(lambda power: math.pow(10.0, power), x[0])
        spread = _monotone(lambda power: math.pow(10.0, power), x[0], value, x[1]) if x[1] else 0.0
        relative = slope * (abs(x[0]) + x[1]) * (4 * form.unit + 1e-11) + 4 * form.unit
        return finish(value, spread + relative * (value + spread))

    return apply


def _power(form: FloatFormat) -> FloatFunction:
    finish = rounding(form)

    def apply(x: Float, y: Float) -> Float:
        a, d = x
        b, f = y
        whole = f == 0.0 and b.is_integer()
        if a - d <= 0.0 and not (whole and (b > 0 or abs(a) > d)):
            raise BrokenRule("exceptional-value", f"pow({a:g}, {b:g})")
        try:
            value = math.pow(a, b)
            corners = [math.pow(p, q) for p in (a - d, a + d) for q in (b - f, b + f)] if d or f else []
        except (ValueError, OverflowError, ZeroDivisionError):
            raise BrokenRule("exceptional-value", f"pow({a:g}, {b:g})") from None
        bound = max((abs(corner - value) for corner in corners), default=0.0)
        if d and abs(a) <= d:
            bound = max(bound, abs(value))
        return finish(value, bound + 4 * form.unit * (abs(value) + bound))

    return apply


def _angle(form: FloatFormat) -> FloatFunction:
    finish = rounding(form)

    def apply(y: Float, x: Float) -> Float:
        (b, f), (a, d) = y, x
        if abs(b) <= f and a <= d:
            raise BrokenRule("float-branch", "atan2 next to its cut")
        radius = math.hypot(max(0.0, abs(a) - d), max(0.0, abs(b) - f))
        if radius <= 0.0:
            raise BrokenRule("float-branch", "atan2 next to the origin")
        value = math.atan2(b, a)
        return finish(value, (d + f) / radius + 4 * form.unit * abs(value))

    return apply


def _hypotenuse(form: FloatFormat) -> FloatFunction:
    finish = rounding(form)

    def apply(x: Float, y: Float) -> Float:
        value = math.hypot(x[0], y[0])
        return finish(value, x[1] + y[1] + 4 * form.unit * value)

    return apply


def _copy_sign(form: FloatFormat) -> FloatFunction:
    def apply(x: Float, y: Float) -> Float:
        if abs(y[0]) <= y[1]:
            raise BrokenRule("float-branch", "the sign of zero")
        return math.copysign(_of_a_number(x[0]), y[0]), x[1]

    return apply


def _scale(form: FloatFormat) -> Callable[[Float, int], Float]:
    finish = rounding(form)

    def apply(x: Float, power: int) -> Float:
        try:
            value, bound = math.ldexp(x[0], power), math.ldexp(x[1], power)
        except OverflowError:
            raise BrokenRule("exceptional-value", "ldexp") from None
        return (value, 0.0) if bound == 0.0 and form.represents(value) else finish(value, bound)

    return apply


FLOAT: Mapping[str, FloatFactory] = {
    "tirx.exp": _unary(math.exp, accuracy=Accuracy(2.0)),
    "tirx.exp2": _unary(math.exp2, accuracy=Accuracy(2.0)),
    "tirx.exp10": _power_of_ten,
    "tirx.log": _unary(math.log, accuracy=Accuracy(2.0)),
    "prim.log2": _unary(math.log2, accuracy=Accuracy(2.0)),
    "tirx.log10": _unary(math.log10, accuracy=Accuracy(4.0)),
    "tirx.log1p": _unary(math.log1p, accuracy=Accuracy(2.0, 1.0)),
    "tirx.sqrt": _square_root,
    "tirx.rsqrt": _unary(lambda x: 1.0 / math.sqrt(x), accuracy=Accuracy(2.0)),
    "tirx.sin": _unary(math.sin, _smooth(1.0), Accuracy(2.0, 1.0)),
    "tirx.cos": _unary(math.cos, _smooth(1.0), Accuracy(2.0, 1.0)),
    "tirx.tan": _unary(math.tan, _tangent, Accuracy(4.0)),
    "tirx.tanh": _unary(math.tanh, _smooth(1.0), Accuracy(32.0, 1.0)),
    "tirx.sigmoid": _logistic,
    "tirx.sinh": _unary(math.sinh, accuracy=Accuracy(4.0, 4.0)),
    "tirx.cosh": _unary(math.cosh, lambda c, x, v, b: _finite(math.sinh, abs(x) + b) * b, Accuracy(4.0)),
    "tirx.atan": _unary(math.atan, _smooth(1.0), Accuracy(4.0, 1.0)),
    "tirx.asinh": _unary(math.asinh, _smooth(1.0), Accuracy(8.0, 4.0)),
    "tirx.acosh": _unary(math.acosh, accuracy=Accuracy(8.0, 4.0)),
    "tirx.atanh": _unary(math.atanh, accuracy=Accuracy(32.0, 1.0)),
    "tirx.asin": _unary(math.asin, accuracy=Accuracy(4.0, 1.0)),
    "tirx.acos": _unary(math.acos, accuracy=Accuracy(4.0, 1.0)),
    "tirx.erf": _unary(math.erf, _smooth(1.1284), Accuracy(8.0, 4.0)),
    "tirx.floor": _whole(math.floor),
    "prim.ceil": _whole(math.ceil),
    "tirx.trunc": _whole(math.trunc),
    # To the nearest whole number, ties to even: TVM's folding and LLVM's code both do.
    "tirx.round": _whole(round),
    "tirx.nearbyint": _whole(round),
    "tirx.fabs": _absolute,
    "tirx.pow": _power,
    "tirx.atan2": _angle,
    "tirx.hypot": _hypotenuse,
    "tirx.copysign": _copy_sign,
    "tirx.ldexp": _scale,
}
"""The functions of floats, by the name of their operator, for a format."""


def _saturating(low: int, high: int) -> Callable[[int, int], int]:
    return lambda a, b: min(max(a + b, low), high)


def _population(low: int, high: int) -> Callable[[int], int]:
    return lambda a: (a & (high - low)).bit_count()


def _leading_zeros(low: int, high: int) -> Callable[[int], int]:
    width = (high - low).bit_length()

    def apply(a: int) -> int:
        if a == 0:
            raise BrokenRule("intrinsic-domain", "clz(0)")
        return width - (a & (high - low)).bit_length()

    return apply


def _trailing_zeros(low: int, high: int) -> Callable[[int], int]:
    width = (high - low).bit_length()
    return lambda a: (a & -a).bit_length() - 1 if a else width


def _trailing_zeros_of_others(low: int, high: int) -> Callable[[int], int]:
    def apply(a: int) -> int:
        if not a:
            raise BrokenRule("intrinsic-domain", "cttz of 0, which is said not to occur")
        return (a & -a).bit_length() - 1

    return apply


def _magnitude(low: int, high: int) -> Callable[[int], int]:
    def apply(a: int) -> int:
        if a == low:
            raise BrokenRule("integer-overflow", "abs of the least value")
        return abs(a)

    return apply


INTEGER: Mapping[str, Callable[[int, int], Callable[..., int]]] = {
    "tirx.popcount": _population,
    "llvm.ctpop": _population,
    "prim.clz": _leading_zeros,
    "llvm.cttz": _trailing_zeros,
    "llvm.abs": _magnitude,
    "llvm.smax": lambda low, high: max,
    "llvm.umin": lambda low, high: min,
    "llvm.sadd.sat": _saturating,
    "llvm.uadd.sat": _saturating,
}
"""The functions of integers, by the name of their operator or of LLVM's intrinsic, for a range."""

POISONED: Mapping[str, Callable[[int, int], Callable[..., int]]] = {"llvm.cttz": _trailing_zeros_of_others}
"""Those that are told that they do not get what they have no answer to."""
