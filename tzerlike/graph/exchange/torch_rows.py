"""Each operator in PyTorch, from PyTorch's definitions, in every form in which it can be expressed.

A form is given the call to write and its attributes. It returns the source of an expression: the output, or a sequence
of them where there are several; None where PyTorch has no words for this call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from tzerlike.graph.exchange.writing import WrittenCall

Form = Callable[..., str | None]

TORCH_DTYPES = ("float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "bool")
"""Those that nearly all operators have, and that arrays of NumPy have too."""

TORCH_FLOATS = ("float32", "float64", "float16")

_F = "torch.nn.functional."


def torch_dtype(name: str) -> str:
    return f"torch.{name}"


def plain(function: str, *more: object) -> Form:
    """A function of the inputs, and of what is always the same."""

    def form(call: WrittenCall, **_: object) -> str:
        return _call(function, *call.names, *more)

    return form


def method(name: str) -> Form:
    return lambda call, **_: f"{call.names[0]}.{name}()"


def between(operator: str) -> Form:
    return lambda call, **_: f"{call.names[0]} {operator} {call.names[1]}"


def text(template: str) -> Form:
    """An expression with inputs by number, such as "{0} * {1}"."""
    return lambda call, **_: template.format(*call.names)


def of_dtypes(form: Form, *dtypes: str) -> Form:
    return lambda call, **attributes: form(call, **attributes) if call.dtype in dtypes else None


def of_floats(form: Form) -> Form:
    return of_dtypes(form, *TORCH_FLOATS)


def _call(function: str, *arguments: object, **named: object) -> str:
    given = [*map(_source, arguments), *(f"{name}={_source(value)}" for name, value in named.items())]
    return f"{function}({', '.join(given)})"


def _source(value: object) -> str:
    """Source of an argument; a string is that already."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return value if isinstance(value, str) else repr(value)


def _of_sequence(call: WrittenCall, source: str) -> str:
    """The outputs of what gives a sequence, of one output too."""
    return source if len(call.outputs) > 1 else f"{source}[0]"


# Element by element.


def leaky_relu(call: WrittenCall, alpha: float) -> str:
    return _call(f"{_F}leaky_relu", *call.names, alpha)


def softplus(call: WrittenCall, beta: float, threshold: float) -> str:
    return _call(f"{_F}softplus", *call.names, beta, threshold)


def clamped(call: WrittenCall, min: float, max: float) -> str:
    return _call("torch.clamp", *call.names, min, max)


def clamped_twice(call: WrittenCall, min: float, max: float) -> str:
    return _call("torch.clamp_max", _call("torch.clamp_min", *call.names, min), max)


def hardtanh(call: WrittenCall, min: float, max: float) -> str | None:
    return _call(f"{_F}hardtanh", *call.names, min, max) if min < max else None


def cast_to(call: WrittenCall, dtype: str) -> str:
    return f"{call.names[0]}.to({torch_dtype(dtype)})"


# Reductions. Sums and products of whole numbers are int64, if nothing else is said.


def _in_dtype(call: WrittenCall) -> dict[str, object]:
    return {} if call.dtype in (*TORCH_FLOATS, "int64") else {"dtype": torch_dtype(call.dtype)}


def _over(call: WrittenCall, axis: tuple[int, ...] | None, keepdims: bool) -> dict[str, object] | None:
    """The arguments of a reduction; no axes are all of them there."""
    if axis is None and not keepdims:
        return {}
    axes = tuple(range(len(call.shape))) if axis is None else axis
    return {"dim": axes, "keepdim": keepdims} if axes else None


def summed(call: WrittenCall, axis: tuple[int, ...] | None, keepdims: bool) -> str | None:
    over = _over(call, axis, keepdims)
    return None if over is None else _call("torch.sum", *call.names, **over, **_in_dtype(call))


def reduced(function: str, **more: object) -> Form:
    def form(call: WrittenCall, axis: tuple[int, ...] | None, keepdims: bool) -> str | None:
        over = _over(call, axis, keepdims)
        return None if over is None else _call(function, *call.names, **over, **more)

    return form


def sample_std(call: WrittenCall, axis: tuple[int, ...] | None, keepdims: bool) -> str | None:
    """By default the sum is divided by one less than the number of elements."""
    over = _over(call, axis, keepdims)
    count = math.prod(call.shape if axis is None else [call.shape[one] for one in axis])
    if over is None or count < 2:
        return None
    return f"{_call('torch.std', *call.names, **over)} * {math.sqrt((count - 1) / count)!r}"


def along(function: str, part: str = "", all_of: str = "") -> Form:
    """A reduction along one axis; `all_of` is one over all of them."""

    def form(call: WrittenCall, axis: tuple[int, ...] | None, keepdims: bool) -> str | None:
        if axis is None:
            return _call(all_of, *call.names) if all_of and not keepdims else None
        return _call(function, *call.names, axis[0], keepdims) + part if len(axis) == 1 else None

    return form


def product(call: WrittenCall, axis: tuple[int, ...] | None, keepdims: bool) -> str | None:
    """TVM's importer knows no other than that of all elements."""
    return None if axis is not None or keepdims else _call("torch.prod", *call.names, **_in_dtype(call))


def extreme(function: str) -> Form:
    return lambda call, axis, keepdims: _call(function, *call.names, dim=axis, keepdim=keepdims)


def median(call: WrittenCall, axis: int | None, keepdims: bool) -> str:
    return _call("torch.median", *call.names, *(() if axis is None else (axis, keepdims)))


def scanned(function: str) -> Form:
    def form(call: WrittenCall, axis: int, exclusive: bool) -> str | None:
        return None if exclusive else _call(function, *call.names, axis, **_in_dtype(call))

    return form


def along_axis(function: str) -> Form:
    return lambda call, axis: _call(function, *call.names, axis)


# What only moves elements.


def reshaped(name: str) -> Form:
    return lambda call, shape=(-1,): _call(f"{call.names[0]}.{name}", tuple(shape))


def permuted(call: WrittenCall, axes: tuple[int, ...] | None) -> str:
    return _call(f"{call.names[0]}.permute", tuple(range(len(call.shape)))[::-1] if axes is None else tuple(axes))


def swapped(call: WrittenCall, axes: tuple[int, ...] | None) -> str | None:
    """Two axes that change places."""
    rank = len(call.shape)
    order = range(rank)[::-1] if axes is None else [axis % rank for axis in axes]
    moved = [place for place, axis in enumerate(order) if place != axis]
    return _call("torch.transpose", *call.names, *moved) if len(moved) == 2 else None


def unsqueezed(call: WrittenCall, axis: tuple[int, ...]) -> str | None:
    found, rank = call.names[0], len(call.output.shape)
    for one in sorted(place % rank for place in axis):
        found = f"{found}.unsqueeze({one})"
    return found if axis else None


def squeezed(call: WrittenCall, axis: tuple[int, ...] | None) -> str:
    return _call("torch.squeeze", *call.names, *(() if axis is None else (tuple(axis),)))


def squeezed_once(call: WrittenCall, axis: tuple[int, ...]) -> str | None:
    return _call("torch.squeeze", *call.names, axis[0]) if len(axis) == 1 else None


def expanded(call: WrittenCall, shape: tuple[int, ...]) -> str:
    return _call(f"{call.names[0]}.expand", tuple(shape))


def broadcasted(call: WrittenCall, shape: tuple[int, ...]) -> str:
    return _call("torch.broadcast_to", *call.names, tuple(shape))


def summed_to(call: WrittenCall, **_: object) -> str:
    return _call(f"{call.names[0]}.sum_to_size", tuple(call.output.shape))


def concatenated(function: str) -> Form:
    return lambda call, axis: _call(function, f"[{', '.join(call.names)}]", dim=axis or 0)


def split(call: WrittenCall, indices_or_sections: int | tuple[int, ...], axis: int) -> str:
    sizes = [one.shape[axis] for one in call.outputs]
    how = sizes[0] if isinstance(indices_or_sections, int) else sizes
    return _of_sequence(call, _call("torch.split", *call.names, how, dim=axis))


def split_at(call: WrittenCall, indices_or_sections: int | tuple[int, ...], axis: int) -> str:
    return _of_sequence(call, _call("torch.tensor_split", *call.names, indices_or_sections, dim=axis))


def chunked(call: WrittenCall, indices_or_sections: int, axis: int) -> str:
    return _of_sequence(call, _call("torch.chunk", *call.names, indices_or_sections, dim=axis))


def repeated_whole(call: WrittenCall, repeats: tuple[int, ...]) -> str:
    return _call("torch.tile", *call.names, tuple(repeats))


def repeated_by_method(call: WrittenCall, repeats: tuple[int, ...]) -> str:
    return _call(f"{call.names[0]}.repeat", *repeats)


def repeated(call: WrittenCall, repeats: int, axis: int | None) -> str:
    return _call("torch.repeat_interleave", *call.names, repeats, **({} if axis is None else {"dim": axis}))


def flipped(call: WrittenCall, axis: int) -> str:
    return _call("torch.flip", *call.names, (axis,))


def _at(call: WrittenCall, name: str, axis: int, index: str) -> str:
    return f"{name}[{':, ' * (axis % len(call.shape))}{index}]"


def sliced(
    call: WrittenCall, axes: tuple[int, ...], begin: tuple[int, ...], end: tuple[int, ...], strides: tuple[int, ...]
) -> str:
    return _at(call, call.names[0], axes[0], f"{begin[0]}:{end[0]}:{strides[0]}")


def sliced_backwards(
    call: WrittenCall, axes: tuple[int, ...], begin: tuple[int, ...], end: tuple[int, ...], strides: tuple[int, ...]
) -> str:
    flip = _call("torch.flip", *call.names, (axes[0],))
    return _at(call, flip, axes[0], f"{call.shape[axes[0]] - 1 - begin[0]}::{-strides[0]}")


def triangle(function: str) -> Form:
    return lambda call, k: _call(function, *call.names, k)


# What looks up, places or sorts elements.


def indexed(call: WrittenCall, axis: int | None = 0, mode: str = "fast") -> str | None:
    """A tensor of rank 0 is a number there, which a model cannot know."""
    return _at(call, call.names[0], axis or 0, call.names[1]) if call.kinds[1].shape else None


def selected(call: WrittenCall, axis: int | None = 0, mode: str = "fast") -> str:
    data, index = call.names
    if len(call.kinds[1].shape) == 1:
        return _call("torch.index_select", data, axis or 0, index)
    found = _call("torch.index_select", data, axis or 0, f"{index}.reshape(-1)")
    return f"{found}.reshape({tuple(call.output.shape)!r})"


def taken_flat(call: WrittenCall, **_: object) -> str | None:
    return _call("torch.take", *call.names) if call.kinds[1].dtype == "int64" else None


def embedded(call: WrittenCall, axis: int | None = 0, mode: str = "fast") -> str | None:
    fits = len(call.shape) == 2 and axis in (0, -2) and call.dtype in TORCH_FLOATS
    return _call(f"{_F}embedding", call.names[1], call.names[0]) if fits else None


def indexed_by_pairs(call: WrittenCall) -> str | None:
    data, *indices = call.names
    return f"{data}[{', '.join(indices)}]" if all(one.shape for one in call.kinds[1:]) else None


def gathered(call: WrittenCall, axis: int) -> str:
    return _call("torch.gather", call.names[0], axis, call.names[1])


def gathered_nd(call: WrittenCall, batch_dims: int) -> str:
    data, places = call.names
    return f"{data}[{', '.join(f'{places}[..., {n}]' for n in range(call.kinds[1].shape[-1]))}]"


def scattered(call: WrittenCall, axis: int, reduction: str) -> str | None:
    """TVM's importer knows no scatter_reduce."""
    data, places, updates = call.names
    return _call("torch.scatter", data, axis, places, updates) if reduction == "update" else None


def put(call: WrittenCall, accumulate: bool) -> str:
    data, rows, columns, values = call.names
    return _call("torch.index_put", data, f"({rows}, {columns})", values, accumulate)


def put_nd(call: WrittenCall, reduction: str) -> str | None:
    data, places, updates = call.names
    if reduction not in ("update", "add"):
        return None
    return _call("torch.index_put", data, f"({places}[:, 0],)", updates, reduction == "add")


def one_hot(call: WrittenCall, on_value: float, off_value: float, depth: int, axis: int) -> str | None:
    if call.dtype != "int64" or (on_value, off_value) != (1, 0):
        return None
    found, rank = _call(f"{_F}one_hot", *call.names, depth), len(call.output.shape)
    moved = found if axis % rank == rank - 1 else f"{found}.movedim(-1, {axis})"
    return f"{moved}.to(torch.float64)"


def slice_scattered(call: WrittenCall, start: int, end: int, step: int, axis: int) -> str:
    return _call("torch.slice_scatter", *call.names, axis, start, end, step)


def ordered(call: WrittenCall, axis: int, descending: bool) -> str:
    return _call("torch.sort", *call.names, dim=axis, descending=descending) + "[0]"


def order(call: WrittenCall, axis: int, descending: bool, dtype: str) -> str:
    found = _call("torch.argsort", *call.names, dim=axis, descending=descending)
    return found if dtype == "int64" else f"{found}.to({torch_dtype(dtype)})"


def topk(call: WrittenCall, k: int, axis: int, ret_type: str, largest: bool, dtype: str) -> str | None:
    found = _call("torch.topk", *call.names, k, dim=axis, largest=largest)
    return found + {"both": "", "values": "[0]", "indices": "[1]"}[ret_type] if dtype == "int64" else None


def bucketized(call: WrittenCall, out_int32: bool, right: bool) -> str:
    return _call("torch.bucketize", *call.names, out_int32=out_int32, right=right)


def grid_of(call: WrittenCall, indexing: str) -> str:
    return _of_sequence(call, _call("torch.meshgrid", *call.names, indexing='"ij"'))


# What is made from attributes alone.


def _kind(call: WrittenCall) -> dict[str, object]:
    return {"dtype": torch_dtype(call.output.dtype)}


def filled(function: str) -> Form:
    def form(call: WrittenCall, fill_value: float | None = None, **_: object) -> str:
        more = () if fill_value is None else (_number(call.output.dtype, fill_value),)
        return _call(function, tuple(call.output.shape), *more, **_kind(call))

    return form


def filled_like(function: str) -> Form:
    def form(call: WrittenCall, fill_value: float | None = None, **_: object) -> str:
        return _call(function, *call.names, *(() if fill_value is None else (_number(call.dtype, fill_value),)))

    return form


def _number(dtype: str, value: float) -> object:
    return bool(value) if dtype == "bool" else value


def ranged(call: WrittenCall, start: int, end: int, step: int, dtype: str) -> str:
    return _call("torch.arange", start, end, step, **_kind(call))


def eye(call: WrittenCall, k: int, **_: object) -> str | None:
    return _call("torch.eye", *call.output.shape, **_kind(call)) if k == 0 else None


def hamming(call: WrittenCall, window_size: int, periodic: bool, alpha: float, beta: float, dtype: str) -> str:
    return _call("torch.hamming_window", window_size, periodic, alpha, beta, **_kind(call))


# Products.


def of_ranks(form: Form, *ranks: int) -> Form:
    def only(call: WrittenCall, **attributes: object) -> str | None:
        return form(call, **attributes) if tuple(len(one.shape) for one in call.kinds) == ranks else None

    return only


def stacked_product(call: WrittenCall) -> str | None:
    ranks, stacks = [len(one.shape) for one in call.kinds], {one.shape[:1] for one in call.kinds}
    return _call("torch.bmm", *call.names) if ranks == [3, 3] and len(stacks) == 1 else None


def linear(call: WrittenCall) -> str | None:
    fits = len(call.kinds[1].shape) == 2
    return _call(f"{_F}linear", call.names[0], f"{call.names[1]}.t()") if fits else None


def einsum(call: WrittenCall, subscripts: str) -> str | None:
    """A sum of whole numbers is int64."""
    if subscripts == "ij->j" and call.dtype not in (*TORCH_FLOATS, "int64"):
        return None
    return _call("torch.einsum", f'"{subscripts}"', *call.names)


# Layers.


def _even(padding: Sequence[int]) -> tuple[int, ...] | None:
    """The padding before all axes, where that behind them is the same."""
    half = len(padding) // 2
    return tuple(padding[:half]) if tuple(padding[:half]) == tuple(padding[half:]) else None


def convolution(
    call: WrittenCall,
    strides: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int = 1,
    **_: object,
) -> str | None:
    even = _even(padding)
    if even is None:
        return None
    function = f"{_F}conv{len(strides)}d"
    return _call(function, *call.names, None, tuple(strides), even, tuple(dilation), groups)


def padded_convolution(
    call: WrittenCall,
    strides: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int = 1,
    **_: object,
) -> str:
    data = _call(f"{_F}pad", call.names[0], _backwards(_pairs(padding)))
    function = f"{_F}conv{len(strides)}d"
    return _call(function, data, call.names[1], stride=tuple(strides), dilation=tuple(dilation), groups=groups)


def _pairs(padding: Sequence[int]) -> list[tuple[int, int]]:
    half = len(padding) // 2
    return list(zip(padding[:half], padding[half:], strict=True))


def _backwards(pairs: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """The widths of some axes as `pad` takes them: the last axis first."""
    return tuple(width for pair in reversed(pairs) for width in pair)


def transposed_convolution(
    call: WrittenCall,
    strides: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    output_padding: tuple[int, ...],
    groups: int,
    **_: object,
) -> str | None:
    even = _even(padding)
    if even is None:
        return None
    function = f"{_F}conv_transpose{len(strides)}d"
    more = tuple(strides), even, tuple(output_padding), groups, tuple(dilation)
    return _call(function, *call.names, None, *more)


def max_pool(
    call: WrittenCall,
    pool_size: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[int, ...] = (),
    dilation: tuple[int, ...] = (),
    ceil_mode: bool = False,
    **_: object,
) -> str | None:
    rank = len(pool_size)
    even = _even(padding or (0,) * (2 * rank))
    if even is None:
        return None
    more = tuple(strides), even, tuple(dilation or (1,) * rank), ceil_mode
    return _call(f"{_F}max_pool{rank}d", *call.names, tuple(pool_size), *more)


def average_pool(
    call: WrittenCall, pool_size: tuple[int, ...], strides: tuple[int, ...], padding: tuple[int, ...] = (),
    count_include_pad: bool = False, **_: object,
) -> str | None:  # fmt: skip
    rank = len(pool_size)
    even = _even(padding or (0,) * (2 * rank))
    if even is None:
        return None
    more = tuple(strides), even, False, count_include_pad
    return _call(f"{_F}avg_pool{rank}d", *call.names, tuple(pool_size), *more)


def adaptive_average(call: WrittenCall, output_size: tuple[int, ...], layout: str) -> str:
    return _call(f"{_F}adaptive_avg_pool{len(output_size)}d", *call.names, tuple(output_size))


def channels_last(form: Form, *kernel: int) -> Form:
    """The same with channels behind the others: permuted before and after."""

    def moved(call: WrittenCall, **attributes: object) -> str | None:
        data = f"{call.names[0]}.permute(0, 3, 1, 2)"
        others = tuple(f"{name}.permute{kernel!r}" for name in call.names[1:])
        found = form(WrittenCall((data, *others), call.kinds, call.outputs), **attributes)
        return None if found is None else f"{found}.permute(0, 2, 3, 1)"

    return moved


def _last_axes(call: WrittenCall, axes: tuple[int, ...]) -> tuple[int, ...] | None:
    """The extents of some axes, if they are the last ones in their order."""
    rank = len(call.shape)
    found = [axis % rank for axis in axes]
    return tuple(call.shape[found[0] :]) if found and found == list(range(rank - len(found), rank)) else None


def normalised(function: str) -> Form:
    def form(call: WrittenCall, axes: tuple[int, ...], epsilon: float, **_: object) -> str | None:
        last = _last_axes(call, axes)
        return None if last is None else _call(function, call.names[0], last, *call.names[1:], epsilon)

    return form


def batch_norm(
    call: WrittenCall, axis: int, epsilon: float, center: bool, scale: bool, momentum: float, **_: object
) -> str | None:
    data, gamma, beta, mean, variance = call.names
    if len(call.shape) < 2 or axis % len(call.shape) != 1:
        return None
    given = (data, mean, variance, gamma if scale else None, beta if center else None, False, momentum, epsilon)
    return f"{_call(f'{_F}batch_norm', *given)}, {mean}, {variance}"


def group_norm(call: WrittenCall, num_groups: int, epsilon: float, **_: object) -> str:
    return _call(f"{_F}group_norm", call.names[0], num_groups, *call.names[1:], epsilon)


def instance_norm(call: WrittenCall, epsilon: float, **_: object) -> str:
    data, gamma, beta = call.names
    return _call(f"{_F}instance_norm", data, weight=gamma, bias=beta, eps=epsilon)


def prelu(call: WrittenCall, axis: int) -> str | None:
    fits = len(call.shape) > 1 and axis % len(call.shape) == 1
    return _call(f"{_F}prelu", *call.names) if fits else None


def pad(call: WrittenCall, pad_width: tuple[int, ...], pad_mode: str, pad_value: float = 0) -> str | None:
    """Only numbers are put before and behind any axis; elements only around the last ones, of one or two more."""
    pairs = list(zip(pad_width[::2], pad_width[1::2], strict=True))
    if pad_mode == "constant":
        return _call(f"{_F}pad", *call.names, _backwards(pairs), value=_whole(call.dtype, pad_value))
    kept = next((place for place, pair in enumerate(pairs) if any(pair)), len(pairs))
    if kept not in (1, 2) or not 1 <= len(pairs) - kept <= 3 or call.dtype not in TORCH_FLOATS:
        return None
    return _call(f"{_F}pad", *call.names, _backwards(pairs[kept:]), mode=f'"{pad_mode}"')


def _whole(dtype: str, value: float) -> float:
    return value if dtype in TORCH_FLOATS else int(value)


def pixel_shuffle(call: WrittenCall, upscale_factor: int) -> str:
    return _call(f"{_F}pixel_shuffle", *call.names, upscale_factor)


def resize(
    call: WrittenCall, size: tuple[int, ...], method: str, coordinate_transformation_mode: str, **_: object
) -> str | None:
    if method == "nearest_neighbor":
        return _call(f"{_F}interpolate", *call.names, tuple(size), mode='"nearest"')
    if coordinate_transformation_mode == "asymmetric":
        return None
    mode, corners = '"bilinear"' if len(size) == 2 else '"trilinear"', coordinate_transformation_mode == "align_corners"
    return _call(f"{_F}interpolate", *call.names, tuple(size), mode=mode, align_corners=corners)


def grid_sample(call: WrittenCall, align_corners: bool, **_: object) -> str:
    grid = f"{call.names[1]}.permute(0, 2, 3, 1)"
    return _call(f"{_F}grid_sample", call.names[0], grid, align_corners=align_corners)


def affine_grid(call: WrittenCall, size: tuple[int, int], align_corners: bool) -> str:
    found = _call(f"{_F}affine_grid", *call.names, (call.shape[0], 1, *size), align_corners=align_corners)
    return f"{found}.permute(0, 3, 1, 2)"


def nll_loss(call: WrittenCall, reduction: str, ignore_index: int) -> str:
    return _call(f"{_F}nll_loss", *call.names, ignore_index=ignore_index, reduction=f'"{reduction}"')


def attention(call: WrittenCall, causal_mask: str | None) -> str | None:
    """A mask of any kind excludes the other."""
    bias = call.names[3:]
    if causal_mask not in (None, "TopLeft") or (bias and causal_mask):
        return None
    given = [f"{name}.transpose(1, 2)" for name in call.names[:3]]
    causal: dict[str, object] = {"is_causal": True} if causal_mask else {}
    return f"{_call(f'{_F}scaled_dot_product_attention', *given, *bias, **causal)}.transpose(1, 2)"


_SAME = (
    "abs sign ceil floor trunc exp log sqrt sigmoid erf tanh sin cos tan sinh cosh asin acos atan asinh acosh atanh "
    "isfinite isinf isnan logical_not bitwise_not floor_divide atan2 maximum minimum logical_and logical_or "
    "logical_xor bitwise_and bitwise_or bitwise_xor where outer"
)
"""Functions of the same name."""

TORCH_FORMS: Mapping[str, tuple[Form, ...]] = {
    **{name: (plain(f"torch.{name}"),) for name in _SAME.split()},
    "negative": (plain("torch.neg"), of_floats(text("0 - {0}"))),
    "square": (plain("torch.square"), text("{0} ** 2")),
    "round": (plain("torch.round"), text("torch.round({0}, decimals=0)")),
    "rsqrt": (plain("torch.rsqrt"), of_floats(text("1 / torch.sqrt({0})"))),
    "nn.relu": (plain("torch.relu"), plain(f"{_F}relu"), text("torch.clamp({0}, min=0)")),
    "nn.gelu": (plain(f"{_F}gelu"),), "nn.gelu_tanh": (text(f'{_F}gelu({{0}}, approximate="tanh")'),),
    "nn.selu": (plain(f"{_F}selu"),), "nn.silu": (plain(f"{_F}silu"), text("{0} * torch.sigmoid({0})")),
    "add": (plain("torch.add"), between("+")), "subtract": (plain("torch.sub"), between("-")),
    "multiply": (plain("torch.mul"), between("*")), "divide": (plain("torch.div"), between("/")),
    "floor_divide": (plain("torch.floor_divide"), text('torch.div({0}, {1}, rounding_mode="floor")'), between("//")),
    "floor_mod": (plain("torch.remainder"), between("%")), "mod": (plain("torch.fmod"),),
    "power": (plain("torch.pow"), between("**")), "log_add_exp": (plain("torch.logaddexp"),),
    "maximum": (plain("torch.maximum"), plain("torch.max")), "minimum": (plain("torch.minimum"), plain("torch.min")),
    "equal": (plain("torch.eq"), between("==")), "not_equal": (plain("torch.ne"), between("!=")),
    "less": (plain("torch.lt"), between("<")), "less_equal": (plain("torch.le"), between("<=")),
    "greater": (plain("torch.gt"), between(">")), "greater_equal": (plain("torch.ge"), between(">=")),
    "logical_and": (plain("torch.logical_and"), between("&")), "logical_or": (plain("torch.logical_or"), between("|")),
    "logical_xor": (plain("torch.logical_xor"), between("^")),
    "ewise_fma": (text("{0} * {1} + {2}"), text("torch.addcmul({2}, {0}, {1})")),
    "nn.leakyrelu": (leaky_relu,), "nn.softplus": (softplus,), "clip": (clamped, clamped_twice, hardtanh),
    "astype": (cast_to,),
    **{f"{name}{form}": forms for form in ("", ":all") for name, forms in {
        "sum": (summed,), "mean": (reduced("torch.mean"),),
        "max": (along("torch.max", "[0]", "torch.max"),),
        "variance": (reduced("torch.var", correction=0),),
        "std": (reduced("torch.std", correction=0), sample_std),
        "median": (median,), "argmax": (extreme("torch.argmax"),), "argmin": (extreme("torch.argmin"),),
    }.items()},
    "min:all": (along("torch.min", "", "torch.min"),), "prod:all": (product,),
    "cumsum": (scanned("torch.cumsum"),), "cumprod": (scanned("torch.cumprod"),),
    "nn.softmax": (along_axis("torch.softmax"),), "nn.log_softmax": (along_axis("torch.log_softmax"),),
    **{name: (reshaped("reshape"), reshaped("view")) for name in ("reshape", "reshape:inferred")},
    "flatten": (plain("torch.flatten"), reshaped("reshape")),
    **{name: (permuted, swapped) for name in ("permute_dims", "permute_dims:reverse")},
    "expand_dims": (unsqueezed,), "squeeze": (squeezed, squeezed_once), "squeeze:all": (squeezed,),
    "broadcast_to": (expanded, broadcasted), "collapse_sum_to": (of_floats(summed_to),),
    "collapse_sum_like": (of_floats(summed_to),),
    "concat": (concatenated("torch.cat"),), "concat:flat": (concatenated("torch.cat"),),
    "stack": (concatenated("torch.stack"),),
    "split": (split, chunked, split_at), "split:at": (split, split_at), "tile": (repeated_whole, repeated_by_method),
    "repeat": (repeated,), "repeat:flat": (repeated,), "flip": (flipped,),
    "strided_slice": (sliced,), "strided_slice:backwards": (sliced_backwards,),
    "tril": (triangle("torch.tril"),), "triu": (triangle("torch.triu"),),
    "take": (indexed, selected, embedded), "take:flat": (indexed, taken_flat, selected),
    "index_tensor": (indexed,), "index_tensor:pairs": (indexed_by_pairs,),
    "gather_elements": (gathered,), "gather_nd": (gathered_nd,), "gather_nd:pairs": (gathered_nd,),
    "scatter_elements": (scattered,), "scatter_nd": (put_nd,), "index_put": (put,), "one_hot": (one_hot,),
    "slice_scatter": (slice_scattered,), "sort": (ordered,), "argsort": (order,),
    "topk": (topk,), "topk:values": (topk,), "topk:indices": (topk,),
    "bucketize": (bucketized,), "meshgrid": (grid_of,),
    "zeros": (filled("torch.zeros"),), "ones": (filled("torch.ones"),), "full": (filled("torch.full"),),
    "zeros_like": (filled_like("torch.zeros_like"),), "ones_like": (filled_like("torch.ones_like"),),
    "full_like": (filled_like("torch.full_like"),), "arange": (ranged,), "eye": (eye,), "eye_like": (eye,),
    "hamming_window": (hamming,),
    "matmul": (plain("torch.matmul"), of_ranks(plain("torch.mm"), 2, 2), linear),
    **{f"matmul:{form}": (plain("torch.matmul"), between("@"))
       for form in ("vectors", "vector first", "vector second")},
    **{f"einsum:{one}": (einsum,) for one in
       ("ij,jk->ik", "bij,bjk->bik", "i,j->ij", "ij->ji", "ij->j", "i,i->", "bij,bik->bjk")},
    **{f"nn.conv{rank}d": (convolution, padded_convolution) for rank in (1, 2, 3)},
    **{f"nn.conv{rank}d_transpose": (transposed_convolution,) for rank in (1, 2)},
    **{f"nn.max_pool{rank}d": (max_pool,) for rank in (1, 2, 3)}, "nn.max_pool2d:ceil": (max_pool,),
    **{f"nn.avg_pool{rank}d": (average_pool,) for rank in (1, 2)},
    "nn.avg_pool3d": (of_dtypes(average_pool, "float32", "float64"),),
    **{f"nn.adaptive_avg_pool{rank}d": (adaptive_average,) for rank in (1, 2, 3)},
    "nn.conv2d:NHWC": (channels_last(convolution, 3, 2, 0, 1),), "nn.max_pool2d:NHWC": (channels_last(max_pool),),
    "nn.avg_pool2d:NHWC": (channels_last(average_pool),), "nn.batch_flatten": (text("torch.flatten({0}, 1)"),),
    "nn.layer_norm": (normalised(f"{_F}layer_norm"),), "nn.rms_norm": (normalised(f"{_F}rms_norm"),),
    "nn.batch_norm": (batch_norm,), "nn.group_norm": (group_norm,), "nn.instance_norm": (instance_norm,),
    "nn.prelu": (prelu,), **{f"nn.pad{form}": (pad,) for form in ("", ":reflect", ":replicate", ":circular")},
    "nn.pixel_shuffle": (pixel_shuffle,),
    **{f"image.resize{rank}d{form}": (resize,) for rank in (2, 3) for form in ("", ":nearest")},
    "image.grid_sample": (grid_sample,), "image.affine_grid": (affine_grid,),
    "nn.nll_loss": (nll_loss,), "nn.nll_loss:each": (nll_loss,),
    "nn.attention": (attention,), "nn.attention_bias": (attention,),
    "grad.no_grad": (method("detach"),), "grad.start_checkpoint": (method("clone"),),
    "grad.end_checkpoint": (method("contiguous"),),
}  # fmt: skip
"""How to say a call of each row, by the row's name."""
