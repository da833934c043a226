"""Element by element."""

from __future__ import annotations

import numpy as np

from tzerlike.graph.exchange.onnx.words import ONNX_DTYPES, Form, plain
from tzerlike.graph.exchange.writing import OnnxCall, of_dtypes
from tzerlike.graph.values import numpy_dtype


def squared(call: OnnxCall) -> tuple[str, ...]:
    return (call.to.node("Mul", *call.names, *call.names),)


def to_the_second(call: OnnxCall) -> tuple[str, ...]:
    return (call.to.node("Pow", *call.names, call.to.constant(2, numpy_dtype(call.dtype))),)


def finite(call: OnnxCall) -> tuple[str, ...]:
    to = call.to
    return (to.node("Not", to.node("Or", to.node("IsInf", *call.names), to.node("IsNaN", *call.names))),)


def silu(call: OnnxCall) -> tuple[str, ...]:
    return (call.to.node("Mul", *call.names, call.to.node("Sigmoid", *call.names)),)


def multiply_add(call: OnnxCall) -> tuple[str, ...]:
    return (call.to.node("Add", call.to.node("Mul", *call.names[:2]), call.names[2]),)


def leaky_relu(call: OnnxCall, alpha: float) -> tuple[str, ...] | None:
    """Attributes are of single precision."""
    known = call.dtype != "float64" or float(np.float32(alpha)) == alpha
    return (call.to.node("LeakyRelu", *call.names, alpha=alpha),) if known else None


def softplus(call: OnnxCall, beta: float, threshold: float) -> tuple[str, ...] | None:
    """ONNX has no threshold: beyond that of the row, both are the same but in double precision."""
    same = beta == 1 and threshold > 10 and call.dtype != "float64"
    return (call.to.node("Softplus", *call.names),) if same else None


def clip(call: OnnxCall, min: float, max: float) -> tuple[str, ...]:
    kind = numpy_dtype(call.dtype)
    return (call.to.node("Clip", *call.names, call.to.constant(min, kind), call.to.constant(max, kind)),)


def cast_to(call: OnnxCall, dtype: str) -> tuple[str, ...]:
    return (call.to.node("Cast", *call.names, to=ONNX_DTYPES[dtype]),)


def shifted(direction: str) -> Form:
    return of_dtypes(plain("BitShift", 11, direction=direction), "uint8", "uint16", "uint32", "uint64")
