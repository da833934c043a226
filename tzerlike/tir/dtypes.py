"""The dtypes from which mutation draws, and interesting values of them."""

from __future__ import annotations

import math
from random import Random
from typing import Any

from tzerlike.core.dtypes import DType, clamp, parse, with_lanes
from tzerlike.systems.tvm_api import tirx

__all__ = [
    "EXOTIC", "FLOATS", "INTEGERS", "UNSIGNED", "DType", "clamp", "constant", "interesting_float", "interesting_int",
    "largest_float", "parse", "with_lanes",
]  # fmt: skip

INTEGERS = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64", "bfloat16")
EXOTIC = ("float8_e4m3fn", "float8_e5m2", "int4", "uint4", "int1", "uint1")
"""Dtypes that TVM knows and that its LLVM code generator handles in part."""


def interesting_int(rng: Random, dtype: DType, value: int = 0) -> int:
    """An integer that `dtype` can hold: near `value`, a boundary, a small number or a power of two."""
    choice = rng.randrange(8)
    if choice == 0:
        number = value + rng.choice((-1, 1))
    elif choice == 1:
        number = -value
    elif choice == 2:
        number = rng.choice((value * 2, value // 2, value * 3, value + 4, value - 4))
    elif choice == 3:
        number = rng.choice((dtype.low, dtype.high, dtype.low + 1, dtype.high - 1))
    elif choice == 4:
        power = 1 << rng.randrange(dtype.bits)
        number = rng.choice((power, power - 1, power + 1, -power))
    else:
        number = rng.choice((0, 1, -1, 2, 3, 4, 5, 7, 8, 16))
    return clamp(number, dtype)


def interesting_float(rng: Random, dtype: DType, value: float = 0.0) -> float:
    """A float near `value` or at one of the edges of floating point."""
    largest = largest_float(dtype)
    if rng.randrange(3) == 0:
        return rng.choice((-value, value + 1.0, value - 1.0, value * 0.5, value * 2.0))
    return rng.choice(
        (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 1e-7, 255.0, largest, -largest, float("inf"), float("-inf"), float("nan"))
    )


def largest_float(dtype: DType) -> float:
    """A large value that `dtype` can hold; constructors refuse larger ones."""
    if dtype.bits == 16:
        return 65504.0 if dtype.base == "float" else 3.3e38
    return {32: 3.4e38, 64: 1.7e308}.get(dtype.bits, {"_e4m3fn": 448.0, "_e5m2": 57344.0}.get(dtype.suffix, 6.0))


def constant(dtype: DType, value: int | float) -> Any:
    """The constant expression of `dtype`, broadcast when it has lanes; raises for handles."""
    if dtype.is_float:
        bound = largest_float(dtype)
        number = float(value)
        node = tirx.FloatImm(dtype.scalar, max(-bound, min(bound, number)) if math.isfinite(number) else number)
    else:
        node = tirx.IntImm(dtype.scalar, int(value))
    if dtype.scalable:
        return tirx.Broadcast(node, tirx.vscale() * dtype.lanes)
    return node if dtype.lanes == 1 else tirx.Broadcast(node, tirx.IntImm("int32", dtype.lanes))
