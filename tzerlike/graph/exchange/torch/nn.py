"""Layers, with what is around them: padding, losses."""

from __future__ import annotations

from collections.abc import Sequence

from tzerlike.graph.exchange.torch.words import NN, TORCH_FLOATS, Form, applied
from tzerlike.graph.exchange.writing import WrittenCall


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
    function = f"{NN}conv{len(strides)}d"
    return applied(function, *call.names, None, tuple(strides), even, tuple(dilation), groups)


def padded_convolution(
    call: WrittenCall,
    strides: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int = 1,
    **_: object,
) -> str:
    data = applied(f"{NN}pad", call.names[0], _backwards(_pairs(padding)))
    function = f"{NN}conv{len(strides)}d"
    return applied(function, data, call.names[1], stride=tuple(strides), dilation=tuple(dilation), groups=groups)


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
    function = f"{NN}conv_transpose{len(strides)}d"
    more = tuple(strides), even, tuple(output_padding), groups, tuple(dilation)
    return applied(function, *call.names, None, *more)


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
    return applied(f"{NN}max_pool{rank}d", *call.names, tuple(pool_size), *more)


def average_pool(
    call: WrittenCall, pool_size: tuple[int, ...], strides: tuple[int, ...], padding: tuple[int, ...] = (),
    count_include_pad: bool = False, **_: object,
) -> str | None:  # fmt: skip
    rank = len(pool_size)
    even = _even(padding or (0,) * (2 * rank))
    if even is None:
        return None
    more = tuple(strides), even, False, count_include_pad
    return applied(f"{NN}avg_pool{rank}d", *call.names, tuple(pool_size), *more)


def adaptive_average(call: WrittenCall, output_size: tuple[int, ...], layout: str) -> str:
    return applied(f"{NN}adaptive_avg_pool{len(output_size)}d", *call.names, tuple(output_size))


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
        return None if last is None else applied(function, call.names[0], last, *call.names[1:], epsilon)

    return form


def batch_norm(
    call: WrittenCall, axis: int, epsilon: float, center: bool, scale: bool, momentum: float, **_: object
) -> str | None:
    data, gamma, beta, mean, variance = call.names
    if len(call.shape) < 2 or axis % len(call.shape) != 1:
        return None
    given = (data, mean, variance, gamma if scale else None, beta if center else None, False, momentum, epsilon)
    return f"{applied(f'{NN}batch_norm', *given)}, {mean}, {variance}"


def group_norm(call: WrittenCall, num_groups: int, epsilon: float, **_: object) -> str:
    return applied(f"{NN}group_norm", call.names[0], num_groups, *call.names[1:], epsilon)


def instance_norm(call: WrittenCall, epsilon: float, **_: object) -> str:
    data, gamma, beta = call.names
    return applied(f"{NN}instance_norm", data, weight=gamma, bias=beta, eps=epsilon)


def prelu(call: WrittenCall, axis: int) -> str | None:
    fits = len(call.shape) > 1 and axis % len(call.shape) == 1
    return applied(f"{NN}prelu", *call.names) if fits else None


def pad(call: WrittenCall, pad_width: tuple[int, ...], pad_mode: str, pad_value: float = 0) -> str | None:
    """Only numbers are put before and behind any axis; elements only around the last ones, of one or two more."""
    pairs = list(zip(pad_width[::2], pad_width[1::2], strict=True))
    if pad_mode == "constant":
        return applied(f"{NN}pad", *call.names, _backwards(pairs), value=_whole(call.dtype, pad_value))
    kept = next((place for place, pair in enumerate(pairs) if any(pair)), len(pairs))
    if kept not in (1, 2) or not 1 <= len(pairs) - kept <= 3 or call.dtype not in TORCH_FLOATS:
        return None
    return applied(f"{NN}pad", *call.names, _backwards(pairs[kept:]), mode=f'"{pad_mode}"')


def _whole(dtype: str, value: float) -> float:
    return value if dtype in TORCH_FLOATS else int(value)


def pixel_shuffle(call: WrittenCall, upscale_factor: int) -> str:
    return applied(f"{NN}pixel_shuffle", *call.names, upscale_factor)


def nll_loss(call: WrittenCall, reduction: str, ignore_index: int) -> str:
    return applied(f"{NN}nll_loss", *call.names, ignore_index=ignore_index, reduction=f'"{reduction}"')


def attention(call: WrittenCall, causal_mask: str | None) -> str | None:
    """A mask of any kind excludes the other."""
    bias = call.names[3:]
    if causal_mask not in (None, "TopLeft") or (bias and causal_mask):
        return None
    given = [f"{name}.transpose(1, 2)" for name in call.names[:3]]
    causal: dict[str, object] = {"is_causal": True} if causal_mask else {}
    return f"{applied(f'{NN}scaled_dot_product_attention', *given, *bias, **causal)}.transpose(1, 2)"
