"""Quantized numbers."""

from __future__ import annotations

from tzerlike.graph.exchange.writing import OnnxCall


def quantize(call: OnnxCall, out_dtype: str, axis: int | None = None) -> tuple[str, ...] | None:
    if out_dtype != "int8" or (axis is not None and call.to.opset < 13):
        return None
    return (call.to.node("QuantizeLinear", *call.names, **({} if axis is None else {"axis": axis})),)


def dequantize(call: OnnxCall, out_dtype: str, axis: int | None = None) -> tuple[str, ...] | None:
    if call.dtype != "int8" or (axis is not None and call.to.opset < 13):
        return None
    return (call.to.node("DequantizeLinear", *call.names, **({} if axis is None else {"axis": axis})),)
