"""Products of matrices."""

from __future__ import annotations

from tzerlike.graph.exchange.writing import OnnxCall


def general_product(call: OnnxCall) -> tuple[str, ...] | None:
    return (call.to.node("Gemm", *call.names),) if all(len(kind.shape) == 2 for kind in call.kinds) else None


def transposed_product(call: OnnxCall) -> tuple[str, ...] | None:
    if any(len(kind.shape) != 2 for kind in call.kinds):
        return None
    return (call.to.node("Gemm", call.to.node("Transpose", call.names[0]), call.names[1], transA=1),)


def einsum(call: OnnxCall, subscripts: str) -> tuple[str, ...] | None:
    return (call.to.node("Einsum", *call.names, equation=subscripts),) if call.to.opset >= 12 else None
