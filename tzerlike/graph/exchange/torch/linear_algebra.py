"""Products of matrices."""

from __future__ import annotations

from tzerlike.graph.exchange.torch.words import NN, TORCH_FLOATS, applied
from tzerlike.graph.exchange.writing import WrittenCall


def linear(call: WrittenCall) -> str | None:
    fits = len(call.kinds[1].shape) == 2
    return applied(f"{NN}linear", call.names[0], f"{call.names[1]}.t()") if fits else None


def einsum(call: WrittenCall, subscripts: str) -> str | None:
    """A sum of whole numbers is int64."""
    if subscripts == "ij->j" and call.dtype not in (*TORCH_FLOATS, "int64"):
        return None
    return applied("torch.einsum", f'"{subscripts}"', *call.names)
