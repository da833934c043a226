"""What looks up, places or sorts elements."""

from __future__ import annotations

from tzerlike.graph.exchange.torch.words import NN, TORCH_FLOATS, applied, at, of_sequence, torch_dtype
from tzerlike.graph.exchange.writing import WrittenCall


def indexed(call: WrittenCall, axis: int | None = 0, mode: str = "fast") -> str | None:
    """A tensor of rank 0 is a number there, which a model cannot know."""
    return at(call, call.names[0], axis or 0, call.names[1]) if call.kinds[1].shape else None


def selected(call: WrittenCall, axis: int | None = 0, mode: str = "fast") -> str:
    data, index = call.names
    if len(call.kinds[1].shape) == 1:
        return applied("torch.index_select", data, axis or 0, index)
    found = applied("torch.index_select", data, axis or 0, f"{index}.reshape(-1)")
    return f"{found}.reshape({tuple(call.output.shape)!r})"


def taken_flat(call: WrittenCall, **_: object) -> str | None:
    return applied("torch.take", *call.names) if call.kinds[1].dtype == "int64" else None


def embedded(call: WrittenCall, axis: int | None = 0, mode: str = "fast") -> str | None:
    fits = len(call.shape) == 2 and axis in (0, -2) and call.dtype in TORCH_FLOATS
    return applied(f"{NN}embedding", call.names[1], call.names[0]) if fits else None


def indexed_by_pairs(call: WrittenCall) -> str | None:
    data, *indices = call.names
    return f"{data}[{', '.join(indices)}]" if all(one.shape for one in call.kinds[1:]) else None


def gathered(call: WrittenCall, axis: int) -> str:
    return applied("torch.gather", call.names[0], axis, call.names[1])


def gathered_nd(call: WrittenCall, batch_dims: int) -> str:
    data, places = call.names
    return f"{data}[{', '.join(f'{places}[..., {n}]' for n in range(call.kinds[1].shape[-1]))}]"


def scattered(call: WrittenCall, axis: int, reduction: str) -> str | None:
    """TVM's importer knows no scatter_reduce."""
    data, places, updates = call.names
    return applied("torch.scatter", data, axis, places, updates) if reduction == "update" else None


def put(call: WrittenCall, accumulate: bool) -> str:
    data, rows, columns, values = call.names
    return applied("torch.index_put", data, f"({rows}, {columns})", values, accumulate)


def put_nd(call: WrittenCall, reduction: str) -> str | None:
    data, places, updates = call.names
    if reduction not in ("update", "add"):
        return None
    return applied("torch.index_put", data, f"({places}[:, 0],)", updates, reduction == "add")


def one_hot(call: WrittenCall, on_value: float, off_value: float, depth: int, axis: int) -> str | None:
    if call.dtype != "int64" or (on_value, off_value) != (1, 0):
        return None
    found, rank = applied(f"{NN}one_hot", *call.names, depth), len(call.output.shape)
    moved = found if axis % rank == rank - 1 else f"{found}.movedim(-1, {axis})"
    return f"{moved}.to(torch.float64)"


def slice_scattered(call: WrittenCall, start: int, end: int, step: int, axis: int) -> str:
    return applied("torch.slice_scatter", *call.names, axis, start, end, step)


def ordered(call: WrittenCall, axis: int, descending: bool) -> str:
    return applied("torch.sort", *call.names, dim=axis, descending=descending) + "[0]"


def order(call: WrittenCall, axis: int, descending: bool, dtype: str) -> str:
    found = applied("torch.argsort", *call.names, dim=axis, descending=descending)
    return found if dtype == "int64" else f"{found}.to({torch_dtype(dtype)})"


def topk(call: WrittenCall, k: int, axis: int, ret_type: str, largest: bool, dtype: str) -> str | None:
    found = applied("torch.topk", *call.names, k, dim=axis, largest=largest)
    return found + {"both": "", "values": "[0]", "indices": "[1]"}[ret_type] if dtype == "int64" else None


def bucketized(call: WrittenCall, out_int32: bool, right: bool) -> str:
    return applied("torch.bucketize", *call.names, out_int32=out_int32, right=right)


def grid_of(call: WrittenCall, indexing: str) -> str:
    return of_sequence(call, applied("torch.meshgrid", *call.names, indexing='"ij"'))
