"""One TE operator with the types of its inputs, and its conversion to a PrimFunc. Imports TVM only for that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Tensor:
    """The type of an input: shape (ints, or names of symbolic `int32` dimensions) and dtype."""

    shape: tuple[int | str, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class Operator:
    """One seed to be: `apply` maps placeholder tensors of types `inputs` to an output or a list of outputs."""

    name: str
    apply: Callable[..., Any]
    inputs: tuple[Tensor, ...]


SHORT = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "i64": "int64",
    "i32": "int32",
    "i16": "int16",
    "i8": "int8",
    "u64": "uint64",
    "u32": "uint32",
    "u16": "uint16",
    "u8": "uint8",
    "b": "bool",
}


def t(spec: str) -> Tensor:
    """Return the type that `spec` abbreviates: `f32:4,5` is float32 (4, 5), `i8:n,3` has a symbolic dimension."""
    dtype, _, dims = spec.partition(":")
    shape = tuple(int(d) if d.isdigit() else d for d in dims.split(",") if d)
    return Tensor(shape, SHORT[dtype])


def op(name: str, apply: Callable[..., Any], *inputs: str) -> Operator:
    """Return the operator `name` on inputs abbreviated as in `t`; the types become part of the name."""
    suffix = "_".join(spec.replace(":", "_").replace(",", "x") for spec in inputs)
    return Operator(f"topi.{name}.{suffix}" if suffix else f"topi.{name}", apply, tuple(map(t, inputs)))


def prim_func_of(operator: Operator) -> Any:
    """Return the PrimFunc of `operator`: inputs `p0`, `p1`, ..., then its outputs."""
    from tzerlike.systems.tvm_api import part
    from tzerlike.systems.tvm_build import target_of

    te = part("te")
    symbols: dict[str, Any] = {}

    def dimension(d: int | str) -> Any:
        return d if isinstance(d, int) else symbols.setdefault(d, te.var(d, dtype="int32"))

    tensors = [
        te.placeholder(tuple(map(dimension, tensor.shape)), dtype=tensor.dtype, name=f"p{index}")
        for index, tensor in enumerate(operator.inputs)
    ]
    # A few operators choose their schedule by the target in scope.
    with target_of("llvm"):
        result = operator.apply(*tensors)
    outputs = [result] if hasattr(result, "op") else list(result)
    return te.create_prim_func([*tensors, *outputs])
