"""Intrinsics by their mathematical meaning: float32 and less in C's double, float64 in its long double."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tzerlike.tir.witness.graph import NotCovered
from tzerlike.tir.witness.scalars import CScalar

_AS_IN_C: Final = (
    "exp exp2 exp10 log log10 log1p sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh erf sqrt "
    "floor trunc fabs pow atan2 hypot copysign fma"
)

_FLOATS: Mapping[str, str] = {
    **{f"tirx.{name}": f"{name}{{l}}({{args}})" for name in _AS_IN_C.split()},
    "prim.ceil": "ceil{l}({args})",
    "prim.log2": "log2{l}({args})",
    "tirx.round": "nearbyint{l}({args})",
    "tirx.nearbyint": "nearbyint{l}({args})",
    "tirx.rsqrt": "1 / sqrt{l}({args})",
    "tirx.sigmoid": "1 / (1 + exp{l}(-{args}))",
    "fabsf": "fabs{l}({args})",
    "cosf": "cos{l}({args})",
    "llvm.fabs": "fabs{l}({args})",
    "llvm.minnum": "fmin{l}({args})",
    "llvm.fmuladd": "fma{l}({args})",
    "llvm.canonicalize": "{args}",
}
"""What C computes of the arguments, each converted to the wider type."""


_OF_BITS = ("bswap", "bitreverse", "cttz", "fshl", "smax", "umin", "sadd.sat", "uadd.sat", "abs")
"""LLVM's intrinsics on integers, as they are named in prelude.h after `llvm_`; they read and give a pattern of bits."""


def float_call(name: str, arguments: Sequence[str], scalar: CScalar) -> str | None:
    """An intrinsic on floats of one dtype; None where `name` is none."""
    if name in ("tirx.isnan", "tirx.isinf", "tirx.isfinite"):
        return f"((uint8_t)({name.removeprefix('tirx.')}({arguments[0]}) != 0))"
    if name == "tirx.nextafter" and scalar.stem in ("f32", "f64"):
        return f"finite_{scalar.stem}(nextafter{'f' if scalar.stem == 'f32' else ''}({', '.join(arguments)}))"
    wide = scalar.stem == "f64"
    form = _FLOATS.get(name)
    if form is None:
        return None
    converted = ", ".join(f"({'long double' if wide else 'double'}){argument}" for argument in arguments)
    return f"finite_{scalar.stem}({form.format(l='l' if wide else '', args=converted)})"


def integer_call(name: str, arguments: Sequence[str], scalar: CScalar, result: CScalar) -> str | None:
    """An intrinsic on integers; None where `name` is none."""
    if name in ("tirx.popcount", "prim.clz"):
        if name == "prim.clz" and scalar.stem[1:] not in ("32", "64"):
            raise NotCovered("clz of a narrow integer")
        return f"(({result.c}){name.partition('.')[2]}_{scalar.stem}({arguments[0]}))"
    if name == "llvm.ctpop":
        return f"(({result.c})popcount_{scalar.stem}({arguments[0]}))"
    if name.removeprefix("llvm.") in _OF_BITS and name.startswith("llvm."):
        operation = name.removeprefix("llvm.").replace(".", "_")
        flags = arguments[1:] if operation in ("cttz", "abs") else []
        taken = [f"bits_{scalar.stem}({argument})" for argument in arguments[: len(arguments) - len(flags)]]
        width, bits = scalar.stem[1:], ", ".join((*taken, *flags) if operation == "cttz" else taken)
        return f"of_bits_{scalar.stem}(llvm_{operation}({width}, {bits}))"
    if name == "tirx.q_multiply_shift" and scalar.stem == "i32":
        return f"q_multiply_shift({', '.join(arguments)})"
    return None
