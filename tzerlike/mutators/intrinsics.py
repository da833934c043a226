"""The table of TVM's intrinsics with their real signatures; tests/left_out.py has those left out, and why.

A signature speaks of the result type T: `T` is an operand of that dtype and lanes; `bool`, `int32`,
... an operand of that dtype with T's lanes; `=int32` a scalar operand; `#31` or `#true` a constant;
`$name` a string; `bits` another dtype of T's width; `half` and `double` T's dtype with half and double the
lanes. What the code generators for LLVM and CUDA accept was tried out, dtype by dtype and with one and four
lanes; where they differ, each has a line of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from tzerlike.core.dtypes import DType

EVERYWHERE = ("llvm", "cuda")

ANY_FLOAT = ("float16", "float32", "float64", "bfloat16")
LIBM = ("float32", "float64", "bfloat16")
CUDA_MATH = ("float16", "float32", "float64", "bfloat16")
LIBDEVICE = ("float32", "float64")
WIDE_INT = ("int32", "int64", "uint32", "uint64")
ANY_INT = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
ANY = (*ANY_FLOAT, *ANY_INT, "bool")


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """One intrinsic as an expression.

    `dtypes` are the scalar dtypes that T may have, `lanes` what lanes: `1`, `n` (more than one, even) or `*`.
    `result` is T unless the result's dtype differs from the operands' (`isnan`): then the operands are T's
    and `result` names it. `domain` says how operands are kept to where the function is defined and tame: `any`,
    `positive`, `unit` ([-1, 1]), `above-one`, `small`. `total` is False where some operand values have no defined
    result even then, so that defined mode leaves it out.
    """

    op: str
    args: tuple[str, ...]
    dtypes: tuple[str, ...]
    lanes: str = "*"
    result: str = "T"
    domain: str = "any"
    total: bool = True
    targets: tuple[str, ...] = EVERYWHERE

    def gives(self, dtype: DType) -> bool:
        """Whether the intrinsic can have the result dtype `dtype`."""
        if dtype.scalable or (self.lanes == "1" and dtype.lanes != 1) or (self.lanes == "n" and dtype.lanes % 2):
            return False
        return dtype.scalar == self.result if self.result != "T" else dtype.scalar in self.dtypes


def _unary(
    names: str,
    dtypes: tuple[str, ...],
    lanes: str = "*",
    domain: str = "any",
    targets: tuple[str, ...] = EVERYWHERE,
) -> tuple[Intrinsic, ...]:
    return tuple(Intrinsic(name, ("T",), dtypes, lanes, domain=domain, targets=targets) for name in names.split())


def _llvm(name: str, count: int, dtypes: tuple[str, ...], *extra: str) -> Intrinsic:
    return Intrinsic("tirx.call_llvm_pure_intrin", (f"${name}", *("T",) * count, *extra), dtypes, targets=("llvm",))


INTRINSICS: tuple[Intrinsic, ...] = (
    *_unary(
        "tirx.sin tirx.cos tirx.tan tirx.tanh tirx.sigmoid tirx.floor prim.ceil tirx.trunc tirx.round tirx.nearbyint"
        " tirx.fabs",
        ANY_FLOAT,
    ),
    *_unary("tirx.exp tirx.exp2 tirx.exp10", ANY_FLOAT, domain="small"),
    *_unary("tirx.log prim.log2 tirx.log10 tirx.sqrt tirx.rsqrt", ANY_FLOAT, domain="positive"),
    *_unary("tirx.atanh", ANY_FLOAT, domain="unit", targets=("llvm",)),
    *_unary("tirx.atanh tirx.asin tirx.acos", LIBDEVICE, "1", "unit", targets=("cuda",)),
    *_unary("tirx.asin tirx.acos", LIBM, "1", "unit", targets=("llvm",)),
    *_unary("tirx.sinh tirx.cosh", LIBM, "1", "small", targets=("llvm",)),
    *_unary("tirx.sinh tirx.cosh", CUDA_MATH, domain="small", targets=("cuda",)),
    *_unary("tirx.atan tirx.erf", LIBM, "1", targets=("llvm",)),
    *_unary("tirx.atan tirx.erf", CUDA_MATH, targets=("cuda",)),
    *_unary("tirx.asinh", LIBM, "1", targets=("llvm",)),
    *_unary("tirx.asinh", LIBDEVICE, "1", targets=("cuda",)),
    *_unary("tirx.acosh", LIBM, "1", "above-one", targets=("llvm",)),
    *_unary("tirx.acosh", LIBDEVICE, "1", "above-one", targets=("cuda",)),
    *_unary("tirx.log1p", LIBM, "1", "positive", targets=("llvm",)),
    *_unary("tirx.log1p", LIBDEVICE, "1", "positive", targets=("cuda",)),
    # tirx.pow refuses bfloat16.
    Intrinsic("tirx.pow", ("T", "T"), ("float16", "float32", "float64"), domain="positive"),
    *(
        Intrinsic(name, ("T", "T"), dtypes, "1", targets=(target,))
        for name in ("tirx.atan2", "tirx.hypot", "tirx.copysign", "tirx.nextafter")
        for target, dtypes in (("llvm", LIBM), ("cuda", LIBDEVICE))
    ),
    Intrinsic("tirx.ldexp", ("T", "int32"), ("float32", "float64"), "1", total=False),
    Intrinsic("tirx.fma", ("T", "T", "T"), ANY_FLOAT, targets=("llvm",)),
    Intrinsic("tirx.fmod", ("T", "T"), CUDA_MATH, domain="positive", targets=("cuda",)),
    # Of smaller floats tirx.isnan() makes a float32 first.
    Intrinsic("tirx.isnan", ("T",), ("float32", "float64"), result="bool"),
    Intrinsic("prim.clz", ("T",), WIDE_INT, "1", domain="positive", result="int32"),
    Intrinsic("tirx.popcount", ("T",), ANY_INT, targets=("llvm",)),
    Intrinsic("tirx.popcount", ("T",), ("uint32", "uint64"), targets=("cuda",)),
    Intrinsic("tirx.reinterpret", ("bits",), (*ANY_INT, *ANY_FLOAT), total=False),
    Intrinsic("prim.if_then_else", ("=bool", "T", "T"), ANY, "1"),
    Intrinsic("prim.likely", ("T",), ("bool",)),
    Intrinsic("tirx.ignore_loop_partition", ("T",), ("bool",), "1"),
    Intrinsic("tirx.tvm_thread_invariant", ("T",), ("bool",), "1"),
    Intrinsic("tirx.q_multiply_shift", ("T", "#1073741824", "#31", "#2"), ("int32",), total=False),
    Intrinsic(
        "tirx.q_multiply_shift_per_axis",
        ("T", "#1073741824", "#1", "#2", "#31", "#true", "#false"),
        ("int32",),
        "1",
        total=False,
    ),
    Intrinsic("tirx.vectorlow", ("double",), ANY, "n", targets=("llvm",)),
    Intrinsic("tirx.vectorhigh", ("double",), ANY, "n", targets=("llvm",)),
    Intrinsic("tirx.vectorcombine", ("half", "half"), ANY, "n", targets=("llvm",)),
    Intrinsic("tirx.get_active_lane_mask", ("=int32", "=int32"), ("bool",), "n", targets=("llvm",)),
    _llvm("llvm.bswap", 1, ("int32", "int64")),
    _llvm("llvm.bitreverse", 1, ("int8", "int32", "int64")),
    _llvm("llvm.ctpop", 1, ANY_INT),
    _llvm("llvm.fshl", 3, ("int32", "int64")),
    _llvm("llvm.sadd.sat", 2, ("int8", "int16", "int32", "int64")),
    _llvm("llvm.uadd.sat", 2, ("uint8", "uint16", "uint32", "uint64")),
    _llvm("llvm.smax", 2, ("int8", "int16", "int32", "int64")),
    _llvm("llvm.umin", 2, ("uint8", "uint16", "uint32", "uint64")),
    _llvm("llvm.abs", 1, ("int32", "int64"), "#false"),
    _llvm("llvm.cttz", 1, ("int32", "int64"), "#false"),
    _llvm("llvm.fabs", 1, ("float32", "float64")),
    _llvm("llvm.minnum", 2, ("float32", "float64")),
    _llvm("llvm.fmuladd", 3, ("float32", "float64")),
    _llvm("llvm.canonicalize", 1, ("float32", "float64")),
    Intrinsic("tirx.call_pure_extern", ("$fabsf", "T"), ("float32",), "1", targets=("llvm",)),
    Intrinsic("tirx.call_extern", ("$cosf", "T"), ("float32",), "1", targets=("llvm",)),
)
"""Intrinsics that stand in expressions."""
