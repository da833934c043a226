"""Element by element."""

from __future__ import annotations

from tzerlike.graph.exchange.torch.words import NN, applied, torch_dtype
from tzerlike.graph.exchange.writing import WrittenCall


def leaky_relu(call: WrittenCall, alpha: float) -> str:
    return applied(f"{NN}leaky_relu", *call.names, alpha)


def softplus(call: WrittenCall, beta: float, threshold: float) -> str:
    return applied(f"{NN}softplus", *call.names, beta, threshold)


def clamped(call: WrittenCall, min: float, max: float) -> str:
    return applied("torch.clamp", *call.names, min, max)


def clamped_twice(call: WrittenCall, min: float, max: float) -> str:
    return applied("torch.clamp_max", applied("torch.clamp_min", *call.names, min), max)


def hardtanh(call: WrittenCall, min: float, max: float) -> str | None:
    return applied(f"{NN}hardtanh", *call.names, min, max) if min < max else None


def cast_to(call: WrittenCall, dtype: str) -> str:
    return f"{call.names[0]}.to({torch_dtype(dtype)})"
