"""Operators that make a tensor from attributes alone, or in the shape of another."""

from __future__ import annotations

from tzerlike.graph.meaning import creation as numpy_of
from tzerlike.graph.spec.domains import Between, OneOf
from tzerlike.graph.spec.language import ALL_DTYPES, CLOSE, NUMBER_DTYPES, Computation, Specification, dtypes, tensor
from tzerlike.graph.spec.shapes import Shapes
from tzerlike.graph.spec.terms import Term, integers, shape, symbol

DTYPE, S, FILL = symbol("T"), shape("S"), symbol("fill")
m, n, k, start, step = integers("m n k start step")


def of_shape(name: str, meaning: Computation, **attributes: Term) -> Specification:
    return Specification(
        name=name,
        attributes={"shape": S, **attributes, "dtype": DTYPE},
        outputs=(tensor(DTYPE, S),),
        where={S: Shapes(), DTYPE: dtypes(*ALL_DTYPES), **({FILL: OneOf(0, 1, 3)} if attributes else {})},
        meaning=meaning,
    )


def of_tensor(name: str, meaning: Computation, **attributes: Term) -> Specification:
    return Specification(
        name=name,
        inputs=(tensor(DTYPE, S),),
        attributes=attributes,
        outputs=(tensor(DTYPE, S),),
        where={DTYPE: dtypes(*ALL_DTYPES), **({FILL: OneOf(0, 1, 3)} if attributes else {})},
        meaning=meaning,
    )


ROWS = (
    of_shape("zeros", numpy_of.zeros),
    of_shape("ones", numpy_of.ones),
    of_shape("full", numpy_of.full, fill_value=FILL),
    of_tensor("zeros_like", numpy_of.zeros_like),
    of_tensor("ones_like", numpy_of.ones_like),
    of_tensor("full_like", numpy_of.full_like, fill_value=FILL),
    Specification(
        name="arange",
        attributes={"start": start, "end": k, "step": step, "dtype": DTYPE},
        outputs=(tensor(DTYPE, (k - start + step - 1) // step),),
        where={
            start: Between(-3, 3), k: Between(start + 1, start + 24), step: Between(1, 3),
            DTYPE: dtypes("int64", "int32", "float32"),
        },
        meaning=numpy_of.arange,
    ),
    Specification(
        name="eye",
        attributes={"n": n, "m": m, "k": k, "dtype": DTYPE},
        outputs=(tensor(DTYPE, n, m),),
        where={n: Between(1, 16), m: Between(1, 16), k: Between(-3, 3), DTYPE: dtypes(*NUMBER_DTYPES)},
        meaning=numpy_of.eye,
    ),
    Specification(
        name="eye_like",
        inputs=(tensor(DTYPE, n, m),),
        attributes={"k": k},
        outputs=(tensor(DTYPE, n, m),),
        where={DTYPE: dtypes(*NUMBER_DTYPES), k: Between(-3, 3)},
        meaning=numpy_of.eye_like,
    ),
    Specification(
        name="hamming_window",
        attributes={
            "window_size": n, "periodic": symbol("periodic"), "alpha": 0.54, "beta": 0.46, "dtype": "float32",
        },
        outputs=(tensor("float32", n),),
        where={n: Between(2, 32), symbol("periodic"): OneOf(False, True)},
        meaning=numpy_of.hamming_window,
        rounding=CLOSE,
    ),
)  # fmt: skip
