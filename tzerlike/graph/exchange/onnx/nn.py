"""Layers, with the padding around them."""

from __future__ import annotations

from typing import Any

from tzerlike.graph.exchange.onnx.words import Form
from tzerlike.graph.exchange.writing import AttributeOfNode, OnnxCall
from tzerlike.graph.values import numpy_dtype


def convolution(
    call: OnnxCall,
    strides: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
    **_: object,
) -> tuple[str, ...]:
    return (_windowed(call, "Conv", strides, padding, dilation, group=groups),)


def transposed_convolution(
    call: OnnxCall,
    strides: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    output_padding: tuple[int, ...],
    groups: int,
    **_: object,
) -> tuple[str, ...]:
    more = list(output_padding)
    return (_windowed(call, "ConvTranspose", strides, padding, dilation, group=groups, output_padding=more),)


def _windowed(
    call: OnnxCall,
    operator: str,
    strides: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    **more: AttributeOfNode,
) -> str:
    return call.to.node(
        operator, *call.names, strides=list(strides), pads=list(padding), dilations=list(dilation), **more
    )


def max_pool(
    call: OnnxCall,
    pool_size: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...] = (1, 1),
    ceil_mode: bool = False,
    **_: object,
) -> tuple[str, ...]:
    more: dict[str, AttributeOfNode] = {"kernel_shape": list(pool_size), "ceil_mode": int(ceil_mode)}
    return (_windowed(call, "MaxPool", strides, padding, dilation, **more),)


def average_pool(
    call: OnnxCall, pool_size: tuple[int, ...], strides: tuple[int, ...], padding: tuple[int, ...],
    count_include_pad: bool, **_: object,
) -> tuple[str, ...]:  # fmt: skip
    more: dict[str, AttributeOfNode] = {"kernel_shape": list(pool_size), "count_include_pad": int(count_include_pad)}
    return (call.to.node("AveragePool", *call.names, strides=list(strides), pads=list(padding), **more),)


def channels_last(form: Form, *kernel: int) -> Form:
    """The same with channels behind the others: transposed before and after."""

    def moved(call: OnnxCall, **attributes: Any) -> tuple[str, ...] | None:
        to = call.to
        data = to.node("Transpose", call.names[0], perm=[0, 3, 1, 2])
        others = [to.node("Transpose", name, perm=list(kernel)) for name in call.names[1:]]
        given = {"groups": 1, "padding": (0, 0, 0, 0), "count_include_pad": False} | attributes
        found = form(OnnxCall((data, *others), call.kinds, call.outputs, to), **given)
        return None if found is None else (to.node("Transpose", found[0], perm=[0, 2, 3, 1]),)

    return moved


def global_average(call: OnnxCall, output_size: tuple[int, ...], layout: str) -> tuple[str, ...] | None:
    return (call.to.node("GlobalAveragePool", *call.names),) if set(output_size) == {1} else None


# Numbers in attributes are of single precision: no words in float64 for epsilon, nor for the constants of selu.


def layer_norm(call: OnnxCall, axes: tuple[int, ...], epsilon: float, **_: object) -> tuple[str, ...] | None:
    first = _last_axes(call, axes)
    if first is None or call.to.opset < 17 or call.dtype == "float64":
        return None
    return (call.to.node("LayerNormalization", *call.names, axis=first, epsilon=epsilon),)


def rms_norm(call: OnnxCall, axes: tuple[int, ...], epsilon: float) -> tuple[str, ...] | None:
    first = _last_axes(call, axes)
    if first is None or call.to.opset < 23 or call.dtype == "float64":
        return None
    return (call.to.node("RMSNormalization", *call.names, axis=first, epsilon=epsilon),)


def _last_axes(call: OnnxCall, axes: tuple[int, ...]) -> int | None:
    rank = len(call.shape)
    found = [axis % rank for axis in axes]
    return found[0] if found == list(range(rank - len(found), rank)) else None


def batch_norm(
    call: OnnxCall, axis: int, epsilon: float, center: bool, scale: bool, **_: object
) -> tuple[str, ...] | None:
    if axis % len(call.shape) != 1 or not center or not scale or call.dtype == "float64":
        return None
    found = call.to.node("BatchNormalization", *call.names, epsilon=epsilon)
    return (found, *(call.to.node("Identity", name) for name in call.names[3:]))


def group_norm(call: OnnxCall, num_groups: int, epsilon: float, **_: object) -> tuple[str, ...] | None:
    if call.to.opset < 21:
        return None
    return (call.to.node("GroupNormalization", *call.names, num_groups=num_groups, epsilon=epsilon),)


def instance_norm(call: OnnxCall, epsilon: float, **_: object) -> tuple[str, ...]:
    return (call.to.node("InstanceNormalization", *call.names, epsilon=epsilon),)


def prelu(call: OnnxCall, axis: int) -> tuple[str, ...]:
    behind = len(call.shape) - axis % len(call.shape) - 1
    slope = call.to.node("Reshape", call.names[1], call.to.constant([-1, *[1] * behind]))
    return (call.to.node("PRelu", call.names[0], slope),)


def pad(call: OnnxCall, pad_width: tuple[int, ...], pad_mode: str, pad_value: float = 0) -> tuple[str, ...] | None:
    mode = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}[pad_mode]
    if mode == "wrap" and call.to.opset < 19:
        return None
    widths = call.to.constant((*pad_width[::2], *pad_width[1::2]))
    value = [call.to.constant(pad_value, numpy_dtype(call.dtype))] if mode == "constant" else []
    return (call.to.node("Pad", *call.names, widths, *value, mode=mode),)


def pixel_shuffle(call: OnnxCall, upscale_factor: int) -> tuple[str, ...] | None:
    if len(call.shape) != 4:
        return None
    return (call.to.node("DepthToSpace", *call.names, blocksize=upscale_factor, mode="CRD"),)
