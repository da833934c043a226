"""What looks up, places or sorts elements."""

from __future__ import annotations

from tzerlike.graph.exchange.onnx.words import ONNX_DTYPES
from tzerlike.graph.exchange.writing import AttributeOfNode, OnnxCall


def gather(call: OnnxCall, axis: int | None = 0, mode: str = "fast") -> tuple[str, ...]:
    return (call.to.node("Gather", *call.names, axis=axis or 0),)


def gather_elements(call: OnnxCall, axis: int) -> tuple[str, ...]:
    return (call.to.node("GatherElements", *call.names, axis=axis),)


def gather_nd(call: OnnxCall, batch_dims: int) -> tuple[str, ...] | None:
    if call.to.opset < 12:
        return None if batch_dims else (call.to.node("GatherND", *call.names),)
    return (call.to.node("GatherND", *call.names, batch_dims=batch_dims),)


def _merging(call: OnnxCall, operator: str, reduction: str, **more: AttributeOfNode) -> tuple[str, ...] | None:
    if reduction == "update":
        return (call.to.node(operator, *call.names, **more),)
    since = 18 if reduction in ("min", "max") else 16
    return (call.to.node(operator, *call.names, reduction=reduction, **more),) if call.to.opset >= since else None


def scatter_elements(call: OnnxCall, axis: int, reduction: str) -> tuple[str, ...] | None:
    return _merging(call, "ScatterElements", reduction, axis=axis)


def scatter_nd(call: OnnxCall, reduction: str) -> tuple[str, ...] | None:
    return _merging(call, "ScatterND", reduction)


def one_hot(call: OnnxCall, on_value: float, off_value: float, depth: int, axis: int) -> tuple[str, ...] | None:
    to = call.to
    if not call.shape:
        return None
    values = to.constant([off_value, on_value], "float64")
    return (to.node("OneHot", *call.names, to.constant(depth), values, axis=axis),)


def _top(call: OnnxCall, k: int, axis: int, largest: bool) -> tuple[str, ...]:
    count = call.to.constant([k])
    return call.to.nodes_of("TopK", 2, *call.names, count, axis=axis, largest=int(largest), sorted=1)


def sort(call: OnnxCall, axis: int, descending: bool) -> tuple[str, ...]:
    return (_top(call, call.shape[axis], axis, descending)[0],)


def argsort(call: OnnxCall, axis: int, descending: bool, dtype: str) -> tuple[str, ...]:
    found = _top(call, call.shape[axis], axis, descending)[1]
    return (found if dtype == "int64" else call.to.node("Cast", found, to=ONNX_DTYPES[dtype]),)


def topk(call: OnnxCall, k: int, axis: int, ret_type: str, largest: bool, dtype: str) -> tuple[str, ...]:
    values, places = _top(call, k, axis, largest)
    places = places if dtype == "int64" else call.to.node("Cast", places, to=ONNX_DTYPES[dtype])
    return {"both": (values, places), "values": (values,), "indices": (places,)}[ret_type]
