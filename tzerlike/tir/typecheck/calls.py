"""The rules of calls: the number of operands of an operator, and the relation of their dtypes to its own.

TVM's constructor of calls checks nothing. Each row says where its signature is from: the function of `tvm.tirx` that
makes such calls and infers the type (python/tvm/tirx/op.py, src/tirx/op/op.cc), the registered number of operands
(src/tirx/op/builtin.cc), or LLVM's language reference. An operator without a row breaks no rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tzerlike.core.dtypes import DType, parse, with_lanes
from tzerlike.systems.tvm_api import llvm_intrinsic_name, tirx, tvm
from tzerlike.tir.typecheck.rule import require

Signature = Callable[[Sequence[str], str], bool]
"""Whether dtypes of operands go with the dtype of the result."""


def check_call(node: Any, operands: Sequence[str], own: str) -> None:
    """BadType where the operands of a call do not go with its operator and dtype."""
    name = str(getattr(node.op, "name", ""))
    signature = SIGNATURES.get(name)
    if name in _LLVM_CALLS:
        intrinsic, operands = _intrinsic_called(node, operands), operands[1:]
        require(intrinsic is not None, "call", "no intrinsic of LLVM")
        name = intrinsic or "llvm.?"
        signature = LLVM_SIGNATURES.get(name)
    if signature is not None and _known(operands, own):
        require(signature(operands, own), "call", f"{name} of {', '.join(operands) or 'nothing'} typed {own}")


def _known(operands: Sequence[str], own: str) -> bool:
    return bool(own) and all(operands)


_LLVM_CALLS = ("tirx.call_llvm_pure_intrin", "tirx.call_llvm_intrin")


def _intrinsic_called(node: Any, operands: Sequence[str]) -> str | None:
    """The name of the intrinsic that the first operand says, "" where it cannot be told; None where there is none."""
    number: Any = node.args[0] if operands else None
    if type(number) is tvm.ir.StringImm:
        return str(number.value)
    return llvm_intrinsic_name(int(number.value)) if type(number) is tirx.IntImm else None


def _like_result(count: int) -> Signature:
    """Operands of the result's dtype."""
    return lambda operands, own: list(operands) == [own] * count


def _kind(dtype: str) -> DType:
    return parse(dtype) or DType("", 0)


def _with_scalar(scalar: str, dtype: str) -> str:
    kind = _kind(dtype)
    return with_lanes(scalar, kind.lanes, kind.scalable)


def _test(operands: Sequence[str], own: str) -> bool:
    return len(operands) == 1 and own == _with_scalar("bool", operands[0])


def _choice(operands: Sequence[str], own: str) -> bool:
    return list(operands) == ["bool", own, own]


def _scaled(operands: Sequence[str], own: str) -> bool:
    """A value and an integer for each lane, or one for all."""
    return len(operands) == 2 and operands[0] == own and _kind(operands[1]).is_int


def _counted(operands: Sequence[str], own: str) -> bool:
    return len(operands) == 1 and _kind(operands[0]).is_int and own == _with_scalar("int32", operands[0])


def _same_bits(operands: Sequence[str], own: str) -> bool:
    if len(operands) != 1 or "handle" in (operands[0], own):
        return len(operands) == 1
    before, after = _kind(operands[0]), _kind(own)
    return before.scalable == after.scalable and before.bits * before.lanes == after.bits * after.lanes


def _half(operands: Sequence[str], own: str) -> bool:
    return operands[:1] == [with_lanes(_kind(own).scalar, 2 * _kind(own).lanes)]


def _joined(operands: Sequence[str], own: str) -> bool:
    scalars = {_kind(dtype).scalar for dtype in operands[:2]}
    return scalars == {_kind(own).scalar} and sum(_kind(dtype).lanes for dtype in operands[:2]) == _kind(own).lanes


def _mask(operands: Sequence[str], own: str) -> bool:
    """TVM's own code says uint1 for one bit of a mask (tensor_intrin/arm_cpu.py)."""
    bounds = len(operands) == 2 and operands[0] == operands[1] and _kind(operands[0]).is_int
    return bounds and _kind(own).scalar in ("bool", "uint1")


def _null_test(operands: Sequence[str], own: str) -> bool:
    return list(operands) == ["handle"] and own == "bool"


def _moved(operands: Sequence[str], own: str) -> bool:
    return len(operands) == 2 and operands[0] == own == "handle" and _kind(operands[1]).is_int


def _field(operands: Sequence[str], own: str) -> bool:
    return len(operands) == 3 and operands[0] == "handle" and _kind(operands[1]).is_int and _kind(operands[2]).is_int


def _flagged(operands: Sequence[str], own: str) -> bool:
    """A value and one bit: whether zero, or the least value, is poison."""
    return len(operands) == 2 and operands[0] == own and _kind(operands[1]).bits == 1


_MATH = """
    exp exp2 exp10 log log10 log1p sqrt rsqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh erf sigmoid
    floor trunc round nearbyint fabs popcount
"""

SIGNATURES: Mapping[str, Signature] = {
    # python/tvm/tirx/op.py: call_intrin(x.ty, name, x)
    **{f"tirx.{name}": _like_result(1) for name in _MATH.split()},
    "prim.ceil": _like_result(1),
    "prim.log2": _like_result(1),
    # op.py: likely, ignore_loop_partition; builtin.cc: tvm_thread_invariant is the operand
    "prim.likely": _like_result(1),
    "tirx.ignore_loop_partition": _like_result(1),
    "tirx.tvm_thread_invariant": _like_result(1),
    # op.py and op.cc: a call of the type of the first operand, and code generation takes operands of one type
    **{f"tirx.{name}": _like_result(2) for name in ("pow", "atan2", "hypot", "copysign", "nextafter", "fmod")},
    "tirx.fma": _like_result(3),
    "tirx.ldexp": _scaled,
    # op.cc: isnan, isinf, isfinite give bool with the lanes of x
    **{f"tirx.{name}": _test for name in ("isnan", "isinf", "isfinite")},
    # op.py: clz gives int32
    "prim.clz": _counted,
    # op.cc: if_then_else wants a scalar bool and arms of one type
    "prim.if_then_else": _choice,
    # op.cc: reinterpret wants as many bits as it gives
    "tirx.reinterpret": _same_bits,
    # op.py: vectorlow, vectorhigh, vectorcombine, get_active_lane_mask
    "tirx.vectorlow": _half,
    "tirx.vectorhigh": _half,
    "tirx.vectorcombine": _joined,
    "tirx.get_active_lane_mask": _mask,
    # builtin.h: isnullptr(handle) -> bool, handle_add_byte_offset(handle, offset), tvm_struct_get(handle, index, kind)
    "tirx.isnullptr": _null_test,
    "tirx.handle_add_byte_offset": _moved,
    "tirx.tvm_struct_get": _field,
    # builtin.h: a condition that holds
    "tirx.assume": lambda operands, own: list(operands) == ["bool"],
}
"""The signatures of operators."""

LLVM_SIGNATURES: Mapping[str, Signature] = {
    f"llvm.{name}": signature
    for names, signature in (
        ("abs ctlz cttz", _flagged),
        ("bitreverse bswap canonicalize ceil cos exp exp10 exp2 fabs floor log log10 log2 nearbyint", _like_result(1)),
        ("rint round roundeven sin sqrt trunc ctpop cosh sinh tan tanh acos asin atan", _like_result(1)),
        ("copysign maximum maxnum minimum minnum pow sadd.sat smax smin ssub.sat uadd.sat umax umin", _like_result(2)),
        ("usub.sat atan2", _like_result(2)),
        ("fma fmuladd fshl fshr", _like_result(3)),
        ("powi ldexp", _scaled),
    )
    for name in names.split()
}
"""The signatures of intrinsics of LLVM, by its language reference: operands of the result's type, and immediates."""
