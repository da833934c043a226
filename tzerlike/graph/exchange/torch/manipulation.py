"""What only moves elements."""

from __future__ import annotations

from tzerlike.graph.exchange.torch.words import Form, applied, at, of_sequence
from tzerlike.graph.exchange.writing import WrittenCall


def reshaped(name: str) -> Form:
    return lambda call, shape=(-1,): applied(f"{call.names[0]}.{name}", tuple(shape))


def permuted(call: WrittenCall, axes: tuple[int, ...] | None) -> str:
    return applied(f"{call.names[0]}.permute", tuple(range(len(call.shape)))[::-1] if axes is None else tuple(axes))


def swapped(call: WrittenCall, axes: tuple[int, ...] | None) -> str | None:
    """Two axes that change places."""
    rank = len(call.shape)
    order = range(rank)[::-1] if axes is None else [axis % rank for axis in axes]
    moved = [place for place, axis in enumerate(order) if place != axis]
    return applied("torch.transpose", *call.names, *moved) if len(moved) == 2 else None


def unsqueezed(call: WrittenCall, axis: tuple[int, ...]) -> str | None:
    found, rank = call.names[0], len(call.output.shape)
    for one in sorted(place % rank for place in axis):
        found = f"{found}.unsqueeze({one})"
    return found if axis else None


def squeezed(call: WrittenCall, axis: tuple[int, ...] | None) -> str:
    return applied("torch.squeeze", *call.names, *(() if axis is None else (tuple(axis),)))


def squeezed_once(call: WrittenCall, axis: tuple[int, ...]) -> str | None:
    return applied("torch.squeeze", *call.names, axis[0]) if len(axis) == 1 else None


def expanded(call: WrittenCall, shape: tuple[int, ...]) -> str:
    return applied(f"{call.names[0]}.expand", tuple(shape))


def broadcasted(call: WrittenCall, shape: tuple[int, ...]) -> str:
    return applied("torch.broadcast_to", *call.names, tuple(shape))


def summed_to(call: WrittenCall, **_: object) -> str:
    return applied(f"{call.names[0]}.sum_to_size", tuple(call.output.shape))


def concatenated(function: str) -> Form:
    return lambda call, axis: applied(function, f"[{', '.join(call.names)}]", dim=axis or 0)


def split(call: WrittenCall, indices_or_sections: int | tuple[int, ...], axis: int) -> str:
    sizes = [one.shape[axis] for one in call.outputs]
    how = sizes[0] if isinstance(indices_or_sections, int) else sizes
    return of_sequence(call, applied("torch.split", *call.names, how, dim=axis))


def split_at(call: WrittenCall, indices_or_sections: int | tuple[int, ...], axis: int) -> str:
    return of_sequence(call, applied("torch.tensor_split", *call.names, indices_or_sections, dim=axis))


def chunked(call: WrittenCall, indices_or_sections: int, axis: int) -> str:
    return of_sequence(call, applied("torch.chunk", *call.names, indices_or_sections, dim=axis))


def repeated_whole(call: WrittenCall, repeats: tuple[int, ...]) -> str:
    return applied("torch.tile", *call.names, tuple(repeats))


def repeated_by_method(call: WrittenCall, repeats: tuple[int, ...]) -> str:
    return applied(f"{call.names[0]}.repeat", *repeats)


def repeated(call: WrittenCall, repeats: int, axis: int | None) -> str:
    return applied("torch.repeat_interleave", *call.names, repeats, **({} if axis is None else {"dim": axis}))


def flipped(call: WrittenCall, axis: int) -> str:
    return applied("torch.flip", *call.names, (axis,))


def sliced(
    call: WrittenCall, axes: tuple[int, ...], begin: tuple[int, ...], end: tuple[int, ...], strides: tuple[int, ...]
) -> str:
    return at(call, call.names[0], axes[0], f"{begin[0]}:{end[0]}:{strides[0]}")


def sliced_backwards(
    call: WrittenCall, axes: tuple[int, ...], begin: tuple[int, ...], end: tuple[int, ...], strides: tuple[int, ...]
) -> str:
    flip = applied("torch.flip", *call.names, (axes[0],))
    return at(call, flip, axes[0], f"{call.shape[axes[0]] - 1 - begin[0]}::{-strides[0]}")


def triangle(function: str) -> Form:
    return lambda call, k: applied(function, *call.names, k)
