"""What is made from attributes alone, or in the shape of another tensor."""

from __future__ import annotations

from tzerlike.graph.exchange.torch.words import Form, applied, torch_dtype
from tzerlike.graph.exchange.writing import WrittenCall


def _kind(call: WrittenCall) -> dict[str, object]:
    return {"dtype": torch_dtype(call.output.dtype)}


def filled(function: str) -> Form:
    def form(call: WrittenCall, fill_value: float | None = None, **_: object) -> str:
        more = () if fill_value is None else (_number(call.output.dtype, fill_value),)
        return applied(function, tuple(call.output.shape), *more, **_kind(call))

    return form


def filled_like(function: str) -> Form:
    def form(call: WrittenCall, fill_value: float | None = None, **_: object) -> str:
        return applied(function, *call.names, *(() if fill_value is None else (_number(call.dtype, fill_value),)))

    return form


def _number(dtype: str, value: float) -> object:
    return bool(value) if dtype == "bool" else value


def ranged(call: WrittenCall, start: int, end: int, step: int, dtype: str) -> str:
    return applied("torch.arange", start, end, step, **_kind(call))


def eye(call: WrittenCall, k: int, **_: object) -> str | None:
    return applied("torch.eye", *call.output.shape, **_kind(call)) if k == 0 else None


def hamming(call: WrittenCall, window_size: int, periodic: bool, alpha: float, beta: float, dtype: str) -> str:
    return applied("torch.hamming_window", window_size, periodic, alpha, beta, **_kind(call))
