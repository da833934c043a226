"""Operators that work element by element: one input, or several that NumPy broadcasts."""

from __future__ import annotations

import numpy as np

from tzerlike.graph.meaning import deviation
from tzerlike.graph.meaning import elementwise as numpy_of
from tzerlike.graph.spec.domains import Exactly, OneOf
from tzerlike.graph.spec.language import (
    ALL_DTYPES,
    CLOSE,
    EXACT,
    FLOAT_DTYPES,
    NUMBER_DTYPES,
    SIGNED_DTYPES,
    USUAL,
    WHOLE_DTYPES,
    Computation,
    Rounding,
    Specification,
    Values,
    dtypes,
    tensor,
)
from tzerlike.graph.spec.shapes import BroadcastWith
from tzerlike.graph.spec.terms import OUT, made, shape, symbol

DTYPE, S, R = symbol("T"), shape("S"), shape("R")
BROADCAST = made("broadcast_shape", S, R)

POSITIVE = Values(0.1, 4)
UNIT = Values(-0.9, 0.9)
SMALL = Values(-1, 1)
DIVISOR = Values(1, 4, must=WHOLE_DTYPES)
SHIFT = Values(0, 6, must=WHOLE_DTYPES)
QUOTIENT = Rounding(deviation=deviation.float_quotient)
REMAINDER = Rounding(ulps=4, absolute=True, deviation=deviation.float_remainder)
SINGLE = ("float32", "float64", "float16")
"""Dtypes of functions that a library of mathematics computes."""


def unary(
    name: str,
    meaning: Computation,
    kinds: tuple[str, ...] = FLOAT_DTYPES,
    values: Values = USUAL,
    gives: str = "",
    rounding: Rounding = EXACT,
) -> Specification:
    return Specification(
        name=name,
        inputs=(tensor(DTYPE, S, values=values),),
        outputs=(tensor(gives or DTYPE, S),),
        where={DTYPE: dtypes(*kinds)},
        meaning=meaning,
        rounding=rounding,
    )


def binary(
    name: str,
    meaning: Computation,
    kinds: tuple[str, ...] = NUMBER_DTYPES,
    first: Values = USUAL,
    second: Values = USUAL,
    gives: str = "",
    rounding: Rounding = EXACT,
) -> Specification:
    return Specification(
        name=name,
        inputs=(tensor(DTYPE, S, values=first), tensor(DTYPE, R, values=second)),
        outputs=(tensor(gives or DTYPE, BROADCAST),),
        where={DTYPE: dtypes(*kinds), R: BroadcastWith(S)},
        backward={S: Exactly(OUT), R: BroadcastWith(OUT, into=True)},
        meaning=meaning,
        rounding=rounding,
    )


WHERE_SHAPE = shape("Q")

ROWS = (
    unary("abs", np.abs, NUMBER_DTYPES),
    unary("negative", np.negative, (*FLOAT_DTYPES, *SIGNED_DTYPES)),
    unary("sign", np.sign, (*FLOAT_DTYPES, *SIGNED_DTYPES)),
    unary("square", np.square, NUMBER_DTYPES, rounding=CLOSE),
    unary("ceil", np.ceil),
    unary("floor", np.floor),
    unary("round", np.rint),
    unary("trunc", np.trunc),
    unary("exp", np.exp, values=SMALL, rounding=CLOSE),
    unary("log", np.log, values=POSITIVE, rounding=CLOSE),
    unary("sqrt", np.sqrt, values=POSITIVE, rounding=CLOSE),
    unary("rsqrt", numpy_of.rsqrt, values=POSITIVE, rounding=CLOSE),
    unary("sigmoid", numpy_of.sigmoid, rounding=CLOSE),
    unary("erf", numpy_of.erf, rounding=CLOSE),
    unary("tanh", np.tanh, rounding=CLOSE),
    unary("sin", np.sin, rounding=CLOSE),
    unary("cos", np.cos, rounding=CLOSE),
    unary("tan", np.tan, SINGLE, SMALL, rounding=CLOSE),
    unary("sinh", np.sinh, SINGLE, SMALL, rounding=CLOSE),
    unary("cosh", np.cosh, SINGLE, SMALL, rounding=CLOSE),
    unary("asin", np.arcsin, SINGLE, UNIT, rounding=CLOSE),
    unary("acos", np.arccos, SINGLE, UNIT, rounding=CLOSE),
    unary("atan", np.arctan, SINGLE, rounding=CLOSE),
    unary("asinh", np.arcsinh, SINGLE, rounding=CLOSE),
    unary("acosh", np.arccosh, SINGLE, Values(1.1, 4), rounding=CLOSE),
    unary("atanh", np.arctanh, SINGLE, UNIT, rounding=CLOSE),
    unary("isfinite", np.isfinite, gives="bool"),
    unary("isinf", np.isinf, gives="bool"),
    unary("isnan", np.isnan, gives="bool"),
    unary("logical_not", np.logical_not, ("bool",)),
    unary("bitwise_not", np.bitwise_not, WHOLE_DTYPES),
    unary("nn.relu", numpy_of.relu, (*FLOAT_DTYPES, *SIGNED_DTYPES)),
    unary("nn.gelu", numpy_of.gelu, rounding=CLOSE),
    unary("nn.gelu_tanh", numpy_of.gelu_tanh, rounding=CLOSE),
    unary("nn.selu", numpy_of.selu, rounding=CLOSE),
    unary("nn.silu", numpy_of.silu, rounding=CLOSE),
    binary("add", np.add, rounding=CLOSE),
    binary("subtract", np.subtract, rounding=CLOSE),
    binary("multiply", np.multiply, rounding=CLOSE),
    binary("divide", np.divide, FLOAT_DTYPES, second=POSITIVE, rounding=CLOSE),
    binary("floor_divide", np.floor_divide, (*SINGLE, *WHOLE_DTYPES), second=DIVISOR, rounding=QUOTIENT),
    binary("floor_mod", np.mod, (*SINGLE, *WHOLE_DTYPES), second=DIVISOR, rounding=REMAINDER),
    binary("mod", np.fmod, (*SINGLE, *WHOLE_DTYPES), second=DIVISOR, rounding=CLOSE),
    binary("power", np.power, SINGLE, POSITIVE, Values(-2, 2), rounding=CLOSE),
    binary("atan2", np.arctan2, SINGLE, second=POSITIVE, rounding=CLOSE),
    binary("log_add_exp", np.logaddexp, SINGLE, rounding=CLOSE),
    binary("maximum", np.maximum),
    binary("minimum", np.minimum),
    binary("equal", np.equal, ALL_DTYPES, gives="bool"),
    binary("not_equal", np.not_equal, ALL_DTYPES, gives="bool"),
    binary("less", np.less, gives="bool"),
    binary("less_equal", np.less_equal, gives="bool"),
    binary("greater", np.greater, gives="bool"),
    binary("greater_equal", np.greater_equal, gives="bool"),
    binary("logical_and", np.logical_and, ("bool",)),
    binary("logical_or", np.logical_or, ("bool",)),
    binary("logical_xor", np.logical_xor, ("bool",)),
    binary("bitwise_and", np.bitwise_and, WHOLE_DTYPES),
    binary("bitwise_or", np.bitwise_or, WHOLE_DTYPES),
    binary("bitwise_xor", np.bitwise_xor, WHOLE_DTYPES),
    binary("left_shift", np.left_shift, WHOLE_DTYPES, second=SHIFT),
    binary("right_shift", np.right_shift, WHOLE_DTYPES, second=SHIFT),
    Specification(
        name="where",
        inputs=(tensor("bool", S), tensor(DTYPE, R), tensor(DTYPE, WHERE_SHAPE)),
        outputs=(tensor(DTYPE, made("broadcast_shape", S, R, WHERE_SHAPE)),),
        where={DTYPE: dtypes(*ALL_DTYPES), R: BroadcastWith(S), WHERE_SHAPE: BroadcastWith(BROADCAST)},
        backward={
            S: Exactly(OUT), R: BroadcastWith(OUT, into=True), WHERE_SHAPE: BroadcastWith(OUT, into=True),
        },
        meaning=np.where,
    ),
    Specification(
        name="ewise_fma",
        inputs=(tensor(DTYPE, S), tensor(DTYPE, S), tensor(DTYPE, S)),
        outputs=(tensor(DTYPE, S),),
        where={DTYPE: dtypes(*FLOAT_DTYPES)},
        meaning=numpy_of.multiply_add,
        rounding=Rounding(ulps=2, terms=2),
    ),
    Specification(
        name="nn.leakyrelu",
        inputs=(tensor(DTYPE, S),),
        attributes={"alpha": symbol("alpha")},
        outputs=(tensor(DTYPE, S),),
        where={DTYPE: dtypes(*FLOAT_DTYPES), symbol("alpha"): OneOf(0.01, 0.2, 1.0, 0.0)},
        meaning=numpy_of.leaky_relu,
        rounding=CLOSE,
    ),
    Specification(
        name="nn.softplus",
        inputs=(tensor(DTYPE, S),),
        attributes={"beta": symbol("beta"), "threshold": symbol("threshold")},
        outputs=(tensor(DTYPE, S),),
        where={DTYPE: dtypes(*SINGLE), symbol("beta"): OneOf(1.0, 0.5, 2.0), symbol("threshold"): OneOf(20.0, 1.0)},
        meaning=numpy_of.softplus,
        rounding=CLOSE,
    ),
    Specification(
        name="clip",
        inputs=(tensor(DTYPE, S),),
        attributes={"min": symbol("low"), "max": symbol("high")},
        outputs=(tensor(DTYPE, S),),
        where={
            DTYPE: dtypes(*FLOAT_DTYPES, *SIGNED_DTYPES), symbol("low"): OneOf(-2, 0, 1),
            symbol("high"): OneOf(1, 3, 100),
        },
        meaning=numpy_of.clip,
    ),
    Specification(
        name="astype",
        inputs=(tensor(DTYPE, S),),
        attributes={"dtype": symbol("D")},
        outputs=(tensor(symbol("D"), S),),
        where={DTYPE: dtypes(*ALL_DTYPES), symbol("D"): dtypes(*ALL_DTYPES)},
        meaning=numpy_of.as_type,
    ),
)  # fmt: skip
