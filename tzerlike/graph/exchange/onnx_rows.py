"""Each operator in ONNX, from ONNX's definitions, in every form in which it can be expressed.

A form is given the call to write and its attributes. It returns the names of the outputs; None where ONNX has no words
for this call, or not in this opset.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tzerlike.graph.exchange.writing import AttributeOfNode, OnnxCall
from tzerlike.graph.values import numpy_dtype

Form = Callable[..., tuple[str, ...] | None]

_FAR = -(1 << 40)
"""An end of a slice that goes backwards to the first element."""

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


def of_dtypes(form: Form, *dtypes: str) -> Form:
    def only(call: OnnxCall, **attributes: object) -> tuple[str, ...] | None:
        return form(call, **attributes) if call.dtype in dtypes else None

    return only


def reduction(operator: str, inputs_since: int = 18) -> Form:
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


def _with_axes(call: OnnxCall, operator: str, axes: tuple[int, ...]) -> tuple[str, ...]:
    if call.to.opset >= 13:
        return (call.to.node(operator, *call.names, call.to.constant(axes)),)
    return (call.to.node(operator, *call.names, axes=list(axes)),)


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


def softmax(operator: str) -> Form:
    def form(call: OnnxCall, axis: int) -> tuple[str, ...] | None:
        """Before opset 13 everything behind the axis counts as one."""
        last = axis % len(call.shape) == len(call.shape) - 1
        return (call.to.node(operator, *call.names, axis=axis),) if last or call.to.opset >= 13 else None

    return form


def cumulated(call: OnnxCall, axis: int, exclusive: bool) -> tuple[str, ...]:
    return (call.to.node("CumSum", *call.names, call.to.constant(axis), exclusive=int(exclusive)),)


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


def general_product(call: OnnxCall) -> tuple[str, ...] | None:
    return (call.to.node("Gemm", *call.names),) if all(len(kind.shape) == 2 for kind in call.kinds) else None


def transposed_product(call: OnnxCall) -> tuple[str, ...] | None:
    if any(len(kind.shape) != 2 for kind in call.kinds):
        return None
    return (call.to.node("Gemm", call.to.node("Transpose", call.names[0]), call.names[1], transA=1),)


def einsum(call: OnnxCall, subscripts: str) -> tuple[str, ...] | None:
    return (call.to.node("Einsum", *call.names, equation=subscripts),) if call.to.opset >= 12 else None


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


def resize(
    call: OnnxCall, size: tuple[int, ...], method: str, coordinate_transformation_mode: str, **_: object
) -> tuple[str, ...]:
    to, nearest = call.to, method == "nearest_neighbor"
    more: dict[str, AttributeOfNode] = {"nearest_mode": "floor"} if nearest else {}
    more |= {
        "mode": "nearest" if nearest else "linear", "coordinate_transformation_mode": coordinate_transformation_mode
    }  # fmt: skip
    sizes = to.constant((*call.shape[:2], *size))
    # The region and the scales may be left out since opset 13, and are empty before.
    empty = "" if to.opset >= 13 else to.constant([], "float32")
    return (to.node("Resize", *call.names, empty, empty, sizes, **more),)


def grid_sample(call: OnnxCall, align_corners: bool, **_: object) -> tuple[str, ...] | None:
    to = call.to
    if to.opset < 16:
        return None
    grid = to.node("Transpose", call.names[1], perm=[0, 2, 3, 1])
    mode = "linear" if to.opset >= 20 else "bilinear"
    corners = int(align_corners)
    return (to.node("GridSample", call.names[0], grid, mode=mode, padding_mode="zeros", align_corners=corners),)


def affine_grid(call: OnnxCall, size: tuple[int, int], align_corners: bool) -> tuple[str, ...] | None:
    to = call.to
    if to.opset < 20:
        return None
    sizes = to.constant((call.shape[0], 1, *size))
    found = to.node("AffineGrid", *call.names, sizes, align_corners=int(align_corners))
    return (to.node("Transpose", found, perm=[0, 3, 1, 2]),)


def quantize(call: OnnxCall, out_dtype: str, axis: int | None = None) -> tuple[str, ...] | None:
    if out_dtype != "int8" or (axis is not None and call.to.opset < 13):
        return None
    return (call.to.node("QuantizeLinear", *call.names, **({} if axis is None else {"axis": axis})),)


def dequantize(call: OnnxCall, out_dtype: str, axis: int | None = None) -> tuple[str, ...] | None:
    if call.dtype != "int8" or (axis is not None and call.to.opset < 13):
        return None
    return (call.to.node("DequantizeLinear", *call.names, **({} if axis is None else {"axis": axis})),)


WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")

_SAME = {
    **{name: name.capitalize() for name in ("abs", "sign", "ceil", "floor", "round", "exp", "log", "sqrt", "sigmoid")},
    **{name: name.capitalize() for name in ("erf", "tanh", "sin", "cos", "tan", "sinh", "cosh", "asin", "acos")},
    **{name: name.capitalize() for name in ("atan", "asinh", "acosh", "atanh", "equal", "less", "greater", "where")},
    "negative": "Neg", "logical_not": "Not", "isinf": "IsInf", "isnan": "IsNaN", "nn.relu": "Relu",
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "power": "Pow", "logical_and": "And",
    "logical_or": "Or", "logical_xor": "Xor",
    **{f"matmul{form}": "MatMul" for form in ("", ":vectors", ":vector first", ":vector second")},
}  # fmt: skip

ONNX_FORMS: Mapping[str, tuple[Form, ...]] = {
    **{name: (plain(operator),) for name, operator in _SAME.items()},
    "less_equal": (plain("LessOrEqual", 12),), "greater_equal": (plain("GreaterOrEqual", 12),),
    "not_equal": (chain("Equal", "Not"),), "nn.selu": (of_dtypes(plain("Selu"), "float32", "float16"),),
    **{f"bitwise_{one}": (plain(f"Bitwise{one.capitalize()}", 18),) for one in ("and", "or", "xor", "not")},
    "add": (plain("Add"), of_dtypes(plain("Sum"), "float32", "float64", "float16")),
    "maximum": (plain("Max"),), "minimum": (plain("Min"),),
    "square": (squared, of_dtypes(to_the_second, "float32", "float64", "float16", "int32", "int64")),
    "rsqrt": (chain("Sqrt", "Reciprocal"),),
    "isfinite": (finite,), "nn.silu": (silu,), "ewise_fma": (multiply_add,),
    "nn.gelu": (plain("Gelu", 20),), "nn.gelu_tanh": (plain("Gelu", 20, approximate="tanh"),),
    "floor_mod": (of_dtypes(plain("Mod", 10), *WHOLE),), "mod": (plain("Mod", 10, fmod=1),),
    "floor_divide": (of_dtypes(chain("Div", "Floor"), "float32", "float64"),),
    "left_shift": (shifted("LEFT"),), "right_shift": (shifted("RIGHT"),),
    "nn.leakyrelu": (leaky_relu,), "nn.softplus": (softplus,), "clip": (clip,), "astype": (cast_to,),
    **{f"{name}{form}": (reduction(f"Reduce{name.capitalize()}", 13 if name == "sum" else 18),)
       for name in ("sum", "mean", "max", "min", "prod") for form in ("", ":all")},
    **{f"{name}{form}": (extreme(operator),)
       for name, operator in (("argmax", "ArgMax"), ("argmin", "ArgMin")) for form in ("", ":all")},
    "cumsum": (cumulated,), "nn.softmax": (softmax("Softmax"),), "nn.log_softmax": (softmax("LogSoftmax"),),
    "reshape": (reshape,), "reshape:inferred": (reshape,), "flatten": (reshape,),
    "permute_dims": (transpose,), "permute_dims:reverse": (transpose,), "expand_dims": (expand_dims,),
    "squeeze": (squeeze,), "squeeze:all": (squeeze,), "broadcast_to": (expanded,),
    "concat": (concat, concat_of_sequence), "concat:flat": (concat,), "stack": (stack, stack_of_sequence),
    "split": (split, split_evenly, split_to_sequence), "split:at": (split,), "tile": (tile,), "flip": (flip,),
    "strided_slice": (strided_slice,), "strided_slice:backwards": (strided_slice,),
    "tril": (triangle(0),), "triu": (triangle(1),),
    "take": (gather,), "take:flat": (gather,), "index_tensor": (gather,), "gather_elements": (gather_elements,),
    "gather_nd": (gather_nd,), "gather_nd:pairs": (gather_nd,), "scatter_elements": (scatter_elements,),
    "scatter_nd": (scatter_nd,), "one_hot": (one_hot,), "sort": (sort,), "argsort": (argsort,),
    "topk": (topk,), "topk:values": (topk,), "topk:indices": (topk,),
    "zeros": (always(0),), "ones": (always(1),), "zeros_like": (always(0),), "ones_like": (always(1),),
    "full": (filled,), "full_like": (filled,), "arange": (arange,), "eye": (eye,), "eye_like": (eye,),
    "matmul": (plain("MatMul"), general_product, transposed_product),
    "outer": (plain("Einsum", 12, equation="i,j->ij"),),
    **{f"einsum:{one}": (einsum,) for one in
       ("ij,jk->ik", "bij,bjk->bik", "i,j->ij", "ij->ji", "ij->j", "i,i->", "bij,bik->bjk")},
    **{f"nn.conv{rank}d": (convolution,) for rank in (1, 2, 3)},
    **{f"nn.conv{rank}d_transpose": (transposed_convolution,) for rank in (1, 2, 3)},
    **{f"nn.max_pool{rank}d": (max_pool,) for rank in (1, 2, 3)}, "nn.max_pool2d:ceil": (max_pool,),
    **{f"nn.avg_pool{rank}d": (average_pool,) for rank in (1, 2, 3)},
    **{f"nn.adaptive_avg_pool{rank}d": (global_average,) for rank in (1, 2, 3)},
    "nn.conv2d:NHWC": (channels_last(convolution, 3, 2, 0, 1),), "nn.max_pool2d:NHWC": (channels_last(max_pool),),
    "nn.avg_pool2d:NHWC": (channels_last(average_pool),), "nn.batch_flatten": (plain("Flatten", axis=1),),
    "nn.layer_norm": (layer_norm,), "nn.rms_norm": (rms_norm,), "nn.batch_norm": (batch_norm,),
    "nn.group_norm": (group_norm,), "nn.instance_norm": (instance_norm,), "nn.prelu": (prelu,),
    **{f"nn.pad{form}": (pad,) for form in ("", ":reflect", ":replicate", ":circular")},
    "nn.pixel_shuffle": (pixel_shuffle,),
    **{f"image.resize{rank}d{form}": (resize,) for rank in (2, 3) for form in ("", ":nearest")},
    "image.grid_sample": (grid_sample,), "image.affine_grid": (affine_grid,),
    "quantize": (quantize,), "quantize:whole": (quantize,), "dequantize": (dequantize,),
    "dequantize:whole": (dequantize,),
}  # fmt: skip
"""How to say a call of each row, by the row's name."""
