"""What only moves elements."""

from __future__ import annotations

from tzerlike.graph.exchange.onnx.words import Form
from tzerlike.graph.exchange.writing import AttributeOfNode, OnnxCall

_FAR = -(1 << 40)
"""An end of a slice that goes backwards to the first element."""


def _with_axes(call: OnnxCall, operator: str, axes: tuple[int, ...]) -> tuple[str, ...]:
    if call.to.opset >= 13:
        return (call.to.node(operator, *call.names, call.to.constant(axes)),)
    return (call.to.node(operator, *call.names, axes=list(axes)),)


def reshape(call: OnnxCall, shape: tuple[int, ...] = (-1,)) -> tuple[str, ...]:
    return (call.to.node("Reshape", *call.names, call.to.constant(shape)),)


def transpose(call: OnnxCall, axes: tuple[int, ...] | None) -> tuple[str, ...]:
    rank = len(call.shape)
    return (call.to.node("Transpose", *call.names, **({} if axes is None else {"perm": [a % rank for a in axes]})),)


def expand_dims(call: OnnxCall, axis: tuple[int, ...]) -> tuple[str, ...]:
    return _with_axes(call, "Unsqueeze", axis) if axis else (call.to.node("Identity", *call.names),)


def squeeze(call: OnnxCall, axis: tuple[int, ...] | None) -> tuple[str, ...]:
    if axis is None:
        return (call.to.node("Squeeze", *call.names),)
    return _with_axes(call, "Squeeze", axis) if axis else (call.to.node("Identity", *call.names),)


def expanded(call: OnnxCall, shape: tuple[int, ...]) -> tuple[str, ...]:
    return (call.to.node("Expand", *call.names, call.to.constant(shape)),)


def concat(call: OnnxCall, axis: int | None) -> tuple[str, ...]:
    return (call.to.node("Concat", *call.names, axis=axis or 0),)


def concat_of_sequence(call: OnnxCall, axis: int | None) -> tuple[str, ...]:
    sequence = call.to.node("SequenceConstruct", *call.names)
    return (call.to.node("ConcatFromSequence", sequence, axis=axis or 0),)


def stack(call: OnnxCall, axis: int) -> tuple[str, ...]:
    to = call.to
    parts = [
        to.node("Unsqueeze", one, to.constant([axis])) if to.opset >= 13 else to.node("Unsqueeze", one, axes=[axis])
        for one in call.names
    ]
    return (to.node("Concat", *parts, axis=axis),)


def stack_of_sequence(call: OnnxCall, axis: int) -> tuple[str, ...]:
    sequence = call.to.node("SequenceConstruct", *call.names)
    return (call.to.node("ConcatFromSequence", sequence, axis=axis, new_axis=1),)


def split(call: OnnxCall, indices_or_sections: int | tuple[int, ...], axis: int) -> tuple[str, ...]:
    to, sizes = call.to, [one.shape[axis] for one in call.outputs]
    if to.opset >= 13:
        return to.nodes_of("Split", len(sizes), *call.names, to.constant(sizes), axis=axis)
    return to.nodes_of("Split", len(sizes), *call.names, split=sizes, axis=axis)


def split_evenly(call: OnnxCall, indices_or_sections: int, axis: int) -> tuple[str, ...]:
    more: dict[str, AttributeOfNode] = {"num_outputs": indices_or_sections} if call.to.opset >= 18 else {}
    return call.to.nodes_of("Split", indices_or_sections, *call.names, axis=axis, **more)


def split_to_sequence(call: OnnxCall, indices_or_sections: int, axis: int) -> tuple[str, ...]:
    to, count = call.to, indices_or_sections
    sequence = to.node("SplitToSequence", *call.names, to.constant(call.shape[axis] // count), axis=axis)
    return tuple(to.node("SequenceAt", sequence, to.constant(index)) for index in range(count))


def tile(call: OnnxCall, repeats: tuple[int, ...]) -> tuple[str, ...]:
    return (call.to.node("Tile", *call.names, call.to.constant(repeats)),)


def flip(call: OnnxCall, axis: int) -> tuple[str, ...]:
    numbers = map(call.to.constant, ([-1], [_FAR], [axis], [-1]))
    return (call.to.node("Slice", *call.names, *numbers),)


def strided_slice(
    call: OnnxCall, axes: tuple[int, ...], begin: tuple[int, ...], end: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[str, ...]:
    return (call.to.node("Slice", *call.names, *map(call.to.constant, (begin, end, axes, strides))),)


def triangle(upper: int) -> Form:
    def form(call: OnnxCall, k: int) -> tuple[str, ...] | None:
        to = call.to
        return (to.node("Trilu", *call.names, to.constant(k), upper=upper),) if to.opset >= 14 else None

    return form
