"""What is made from attributes alone, or in the shape of another tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from tzerlike.graph.exchange.onnx.words import ONNX_DTYPES, Form
from tzerlike.graph.exchange.writing import OnnxCall
from tzerlike.graph.values import numpy_dtype


def filled(call: OnnxCall, fill_value: float, **attributes: Any) -> tuple[str, ...]:
    to, kind = call.to, call.outputs[0]
    shape = to.node("Shape", *call.names) if call.names else to.constant(kind.shape)
    return (to.node("ConstantOfShape", shape, value=np.asarray([fill_value], numpy_dtype(kind.dtype))),)


def always(fill_value: int) -> Form:
    return lambda call, **attributes: filled(call, fill_value)


def arange(call: OnnxCall, start: int, end: int, step: int, dtype: str) -> tuple[str, ...]:
    return (call.to.node("Range", *(call.to.constant(one, numpy_dtype(dtype)) for one in (start, end, step))),)


def eye(call: OnnxCall, k: int, **attributes: object) -> tuple[str, ...]:
    kind = call.outputs[0]
    like = call.names[0] if call.names else call.to.constant(np.zeros(kind.shape), "float32")
    return (call.to.node("EyeLike", like, k=k, dtype=ONNX_DTYPES[kind.dtype]),)
