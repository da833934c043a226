"""Passes that rewrite a part of an expression and forget to type the rest anew: what they leave still runs right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tzerlike.systems.tvm_api import PrimFunc, structural_map, tirx, tvm

PROGRAM = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), L: T.Buffer((8,), "int64")):
    for i in range(8):
        B[i] = A[i] // 3 + T.popcount(i)
    for j in range(8):
        if A[j] > 2:
            B[j] = T.Select(A[j] > 5, B[j], j)
    for k in range(T.int64(8)):
        L[k] = T.if_then_else(k > T.int64(3), L[k] % T.int64(7), k)
    for m in range(8):
        v: T.let[T.int32] = T.min(A[m], m)
        B[m] = T.max(v, B[m]) + T.Cast("int32", T.Cast("int8", T.min(T.max(A[m], 0), 9)))
"""

Node = Any


def _everywhere(of: type, change: Callable[[Node], Node]) -> Callable[[Any], Any]:
    """A pass that puts `change` in place of nodes `of` a type, below nodes that keep the type that they have."""

    def step(func: Any) -> Any:
        body = structural_map(func.body, (of, change))
        return PrimFunc(func.params, body, func.ret_type, func.attrs)

    return step


def _narrow(value: Node) -> Node:
    return tirx.Cast("int32", value)


def _wide(value: Node) -> Node:
    return tirx.Cast("int64", value)


def _is(node: Node, dtype: str) -> bool:
    return str(node.ty.dtype) == dtype


def _when(dtype: str, change: Callable[[Node], Node]) -> Callable[[Node], Node]:
    return lambda node: change(node) if _is(node, dtype) else node


def _called(name: str, change: Callable[[Node], Node]) -> Callable[[Node], Node]:
    return lambda node: change(node) if str(getattr(node.op, "name", "")) == name else node


FORGETFUL: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "quotients are computed wider": ("operands", _everywhere(tirx.FloorDiv, _when("int32", _wide))),
    "remainders are computed narrower": ("call", _everywhere(tirx.FloorMod, _when("int64", _narrow))),
    "minima are computed wider": ("binding", _everywhere(tirx.Min, _when("int32", _wide))),
    "maxima are computed wider": ("operands", _everywhere(tirx.Max, _when("int32", _wide))),
    "choices are made wider": ("access", _everywhere(tirx.Select, _when("int32", _wide))),
    "intrinsics are called wider": ("operands", _everywhere(tvm.ir.Call, _called("tirx.popcount", _wide))),
    "lazy choices are made narrower": ("access", _everywhere(tvm.ir.Call, _called("prim.if_then_else", _narrow))),
    "comparisons are numbers": ("select", _everywhere(tirx.GT, lambda node: tirx.Cast("int32", node))),
    "casts are dropped": ("operands", _everywhere(tirx.Cast, lambda node: node.value if _is(node, "int32") else node)),
    "loads are widened": ("operands", _everywhere(tvm.ir.TensorLoad, _when("int32", _wide))),
    "sums are narrowed": ("access", _everywhere(tirx.Add, _when("int32", lambda node: tirx.Cast("int16", node)))),
    "long loads are narrowed": ("operands", _everywhere(tvm.ir.TensorLoad, _when("int64", _narrow))),
}
"""The rule that the first broken node breaks, and the pass."""
