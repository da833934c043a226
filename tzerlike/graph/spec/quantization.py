"""Quantized numbers: a scale and a zero point, for the whole tensor or along an axis."""

from __future__ import annotations

from tzerlike.graph.meaning import quantization as numpy_of
from tzerlike.graph.spec.axes import Axis
from tzerlike.graph.spec.language import CLOSE, Specification, Values, dtypes, tensor
from tzerlike.graph.spec.shapes import Shapes
from tzerlike.graph.spec.terms import integers, shape, symbol

DTYPE, OUT_DTYPE, S = symbol("T"), symbol("O"), shape("S")
(axis,) = integers("axis")

ROWS = (
    Specification(
        name="quantize",
        inputs=(
            tensor("float32", S), tensor("float32", S[axis], values=Values(0.25, 2)),
            tensor("int8", S[axis], values=Values(-4, 4)),
        ),
        attributes={"axis": axis, "out_dtype": OUT_DTYPE},
        outputs=(tensor(OUT_DTYPE, S),),
        where={S: Shapes(1), axis: Axis(S.rank), OUT_DTYPE: dtypes("int8", "uint8")},
        meaning=numpy_of.quantize,
    ),
    Specification(
        name="dequantize",
        inputs=(
            tensor("int8", S, values=Values(-100, 100)), tensor("float32", S[axis], values=Values(0.25, 2)),
            tensor("int8", S[axis], values=Values(-4, 4)),
        ),
        attributes={"axis": axis, "out_dtype": "float32"},
        outputs=(tensor("float32", S),),
        where={S: Shapes(1), axis: Axis(S.rank)},
        meaning=numpy_of.dequantize,
        rounding=CLOSE,
    ),
    Specification(
        name="quantize:whole",
        inputs=(tensor("float32", S), tensor("float32", values=Values(0.25, 2)), tensor("int8", values=Values(-4, 4))),
        attributes={"out_dtype": OUT_DTYPE},
        outputs=(tensor(OUT_DTYPE, S),),
        where={S: Shapes(1), OUT_DTYPE: dtypes("int8", "uint8")},
        meaning=numpy_of.quantize,
    ),
    Specification(
        name="dequantize:whole",
        inputs=(
            tensor(DTYPE, S, values=Values(-100, 100)), tensor("float32", values=Values(0.25, 2)),
            tensor("int8", values=Values(-4, 4)),
        ),
        attributes={"out_dtype": "float32"},
        outputs=(tensor("float32", S),),
        where={DTYPE: dtypes("int8", "uint8", "int32"), S: Shapes(1)},
        meaning=numpy_of.dequantize,
        rounding=CLOSE,
    ),
)  # fmt: skip
