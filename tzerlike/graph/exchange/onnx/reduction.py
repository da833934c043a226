"""Reductions, and what else works along axes."""

from __future__ import annotations

from tzerlike.graph.exchange.onnx.words import Form
from tzerlike.graph.exchange.writing import OnnxCall


def reduced(operator: str, inputs_since: int = 18) -> Form:
    """Axes are an input since an opset, and an attribute before."""

    def form(call: OnnxCall, axis: tuple[int, ...] | None, keepdims: bool) -> tuple[str, ...]:
        to, keep = call.to, int(keepdims)
        if axis is None:
            return (to.node(operator, *call.names, keepdims=keep),)
        if not axis:
            return (to.node("Identity", *call.names),)
        if to.opset >= inputs_since:
            return (to.node(operator, *call.names, to.constant(axis), keepdims=keep),)
        return (to.node(operator, *call.names, axes=list(axis), keepdims=keep),)

    return form


def extreme(operator: str) -> Form:
    def form(call: OnnxCall, axis: int | None, keepdims: bool) -> tuple[str, ...]:
        to = call.to
        if axis is not None:
            return (to.node(operator, *call.names, axis=axis, keepdims=int(keepdims)),)
        flat = to.node("Reshape", *call.names, to.constant([-1]))
        found = to.node(operator, flat, axis=0, keepdims=1)
        return (to.node("Reshape", found, to.constant(call.outputs[0].shape)),)

    return form


def softmax(operator: str) -> Form:
    def form(call: OnnxCall, axis: int) -> tuple[str, ...] | None:
        """Before opset 13 everything behind the axis counts as one."""
        last = axis % len(call.shape) == len(call.shape) - 1
        return (call.to.node(operator, *call.names, axis=axis),) if last or call.to.opset >= 13 else None

    return form


def cumulated(call: OnnxCall, axis: int, exclusive: bool) -> tuple[str, ...]:
    return (call.to.node("CumSum", *call.names, call.to.constant(axis), exclusive=int(exclusive)),)
