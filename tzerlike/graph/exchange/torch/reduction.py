"""Reductions, and what else works along axes."""

from __future__ import annotations

import math

from tzerlike.graph.exchange.torch.words import TORCH_FLOATS, Form, applied, torch_dtype
from tzerlike.graph.exchange.writing import WrittenCall


def _in_dtype(call: WrittenCall) -> dict[str, object]:
    """Sums and products of whole numbers are int64, if nothing else is said."""
    return {} if call.dtype in (*TORCH_FLOATS, "int64") else {"dtype": torch_dtype(call.dtype)}


def _over(call: WrittenCall, axis: tuple[int, ...] | None, keepdims: bool) -> dict[str, object] | None:
    """The arguments of a reduction; no axes are all of them there."""
    if axis is None and not keepdims:
        return {}
    axes = tuple(range(len(call.shape))) if axis is None else axis
    return {"dim": axes, "keepdim": keepdims} if axes else None


def summed(call: WrittenCall, axis: tuple[int, ...] | None, keepdims: bool) -> str | None:
    over = _over(call, axis, keepdims)
    return None if over is None else applied("torch.sum", *call.names, **over, **_in_dtype(call))


def reduced(function: str, **more: object) -> Form:
    def form(call: WrittenCall, axis: tuple[int, ...] | None, keepdims: bool) -> str | None:
        over = _over(call, axis, keepdims)
        return None if over is None else applied(function, *call.names, **over, **more)

    return form


def sample_std(call: WrittenCall, axis: tuple[int, ...] | None, keepdims: bool) -> str | None:
    """By default the sum is divided by one less than the number of elements."""
    over = _over(call, axis, keepdims)
    count = math.prod(call.shape if axis is None else [call.shape[one] for one in axis])
    if over is None or count < 2:
        return None
    return f"{applied('torch.std', *call.names, **over)} * {math.sqrt((count - 1) / count)!r}"


def along(function: str, part: str = "", all_of: str = "") -> Form:
    """A reduction along one axis; `all_of` is one over all of them."""

    def form(call: WrittenCall, axis: tuple[int, ...] | None, keepdims: bool) -> str | None:
        if axis is None:
            return applied(all_of, *call.names) if all_of and not keepdims else None
        return applied(function, *call.names, axis[0], keepdims) + part if len(axis) == 1 else None

    return form


def product(call: WrittenCall, axis: tuple[int, ...] | None, keepdims: bool) -> str | None:
    """TVM's importer knows no other than that of all elements."""
    return None if axis is not None or keepdims else applied("torch.prod", *call.names, **_in_dtype(call))


def extreme(function: str) -> Form:
    return lambda call, axis, keepdims: applied(function, *call.names, dim=axis, keepdim=keepdims)


def median(call: WrittenCall, axis: int | None, keepdims: bool) -> str:
    return applied("torch.median", *call.names, *(() if axis is None else (axis, keepdims)))


def scanned(function: str) -> Form:
    def form(call: WrittenCall, axis: int, exclusive: bool) -> str | None:
        return None if exclusive else applied(function, *call.names, axis, **_in_dtype(call))

    return form


def along_axis(function: str) -> Form:
    return lambda call, axis: applied(function, *call.names, axis)
