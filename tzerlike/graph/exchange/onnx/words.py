"""What the forms of calls in ONNX are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tzerlike.graph.exchange.writing import AttributeOfNode, OnnxCall

Form = Callable[..., tuple[str, ...] | None]
"""It is given the call to write and its attributes. It returns the names of the outputs; None where ONNX has no words
for this call, or not in this opset."""

ONNX_DTYPES: Mapping[str, int] = {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
    "float64": 11, "uint32": 12, "uint64": 13, "bfloat16": 16,
}  # fmt: skip


def plain(operator: str, since: int = 7, **fixed: AttributeOfNode) -> Form:
    """An operator that takes the same inputs, and whose attributes are always these."""

    def form(call: OnnxCall, **_: object) -> tuple[str, ...] | None:
        return (call.to.node(operator, *call.names, **fixed),) if call.to.opset >= since else None

    return form


def chain(*operators: str) -> Form:
    """One operator behind the other; the first takes the inputs."""

    def form(call: OnnxCall, **_: object) -> tuple[str, ...]:
        name = call.to.node(operators[0], *call.names)
        for operator in operators[1:]:
            name = call.to.node(operator, name)
        return (name,)

    return form
