"""The rules of expressions: those that TVM's constructors check on their operands (`src/tirx/ir/expr.cc`).

A rule takes the checker, the node and the dtype that it says it has. Operands without a dtype are nobody's offence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from tzerlike.core.dtypes import DType, parse, with_lanes
from tzerlike.systems.tvm_api import array_items, structural_equal, tirx, tvm
from tzerlike.tir.tree import ARITHMETIC, BITWISE, COMPARISON, LOGIC
from tzerlike.tir.typecheck.calls import check_call
from tzerlike.tir.typecheck.rule import require

if TYPE_CHECKING:
    from tzerlike.tir.typecheck.checker import TypeChecker

ExpressionRule = Callable[["TypeChecker", Any, str], None]


@cache
def lanes_of(dtype: str) -> str:
    """What is left of a dtype without its scalar: x4, xvscalex4, or "" of a scalar."""
    parsed = parse(dtype)
    return "" if parsed is None else dtype.removeprefix(parsed.scalar)


def _name(node: Any) -> str:
    return type(node).__name__


def _scalar(dtype: str) -> str:
    parsed = parse(dtype)
    return dtype if parsed is None else parsed.scalar


def _kind(dtype: str) -> DType:
    return parse(dtype) or DType("", 0)


def _alike(checker: TypeChecker, node: Any, rule: str) -> str:
    """The dtype of both operands."""
    first, second = checker.dtype(node.a), checker.dtype(node.b)
    require(first == second or not (first and second), rule, f"{_name(node)} of {first} and {second}")
    return first


def _arithmetic(checker: TypeChecker, node: Any, own: str) -> None:
    inner = _alike(checker, node, "operands")
    require(inner == own or not inner, "operands", f"{_name(node)} of {inner} typed {own}")


def _bitwise(checker: TypeChecker, node: Any, own: str) -> None:
    _arithmetic(checker, node, own)
    kind = _kind(own)
    shift = type(node) in (tirx.LShift, tirx.RShift)
    require(kind.is_int or (kind.is_bool and not shift) or not kind.base, "operands", f"{_name(node)} of {own}")


def _comparison(checker: TypeChecker, node: Any, own: str) -> None:
    inner = _alike(checker, node, "comparison")
    require(own == "bool" + lanes_of(inner) or not inner, "comparison", f"{_name(node)} of {inner} typed {own}")


def _logic(checker: TypeChecker, node: Any, own: str) -> None:
    inner = checker.dtype(node.a) if type(node) is tirx.Not else _alike(checker, node, "logic")
    require(inner == own and _kind(inner).is_bool, "logic", f"{_name(node)} of {inner} typed {own}")


def _bitwise_not(checker: TypeChecker, node: Any, own: str) -> None:
    inner = checker.dtype(node.a)
    fits = inner == own and (_kind(inner).is_int or _kind(inner).is_bool)
    require(fits, "operands", f"BitwiseNot of {inner} typed {own}")


def _cast(checker: TypeChecker, node: Any, own: str) -> None:
    inner = checker.dtype(node.value)
    require(lanes_of(inner) == lanes_of(own) or not (inner and own), "cast", f"Cast of {inner} to {own}")


def _select(checker: TypeChecker, node: Any, own: str) -> None:
    condition, first, second = map(checker.dtype, (node.condition, node.true_value, node.false_value))
    fits = _kind(condition).is_bool and lanes_of(condition) in ("", lanes_of(own)) and first == second == own
    require(fits, "select", f"Select of {condition}, {first} and {second} typed {own}")


def _vector(checker: TypeChecker, node: Any, own: str, parts: Sequence[Any]) -> None:
    """A vector of scalars: its number of lanes is an expression, k or vscale * k."""
    inner = [checker.dtype(part) for part in parts]
    kind = _kind(own)
    fits = all(dtype == kind.scalar for dtype in inner) and own != kind.scalar
    require(fits, "vector", f"{_name(node)} of {' and '.join(inner)} typed {own}")
    if type(node.lanes) is tirx.IntImm:
        lanes = int(node.lanes.value)
        require(own == with_lanes(kind.scalar, lanes), "vector", f"{_name(node)} of {lanes} lanes typed {own}")
    else:
        require(kind.scalable, "vector", f"{_name(node)} of lanes that vary typed {own}")


def _ramp(checker: TypeChecker, node: Any, own: str) -> None:
    _vector(checker, node, own, (node.base, node.stride))


def _broadcast(checker: TypeChecker, node: Any, own: str) -> None:
    _vector(checker, node, own, (node.value,))


def _shuffle(checker: TypeChecker, node: Any, own: str) -> None:
    vectors, indices = checker.dtypes(node.vectors), checker.dtypes(node.indices)
    scalar = _scalar(own)
    fits = {_scalar(dtype) for dtype in vectors} == {scalar} and own == with_lanes(scalar, len(indices))
    require(fits, "shuffle", f"Shuffle of {', '.join(vectors)} by {len(indices)} indices typed {own}")


def _let(checker: TypeChecker, node: Any, own: str) -> None:
    check_binding(checker, node.var, node.value)
    body = checker.dtype(node.body)
    require(body == own, "let", f"Let with a body of {body} typed {own}")


def check_binding(checker: TypeChecker, var: Any, value: Any) -> None:
    """The types of a variable and of its value; those of pointers say what they point to."""
    bound, given = checker.stated(var), checker.dtype(value)
    fits = bound == given and (bound != "handle" or structural_equal(var.ty, value.ty))
    require(fits or not (bound and given), "binding", f"a variable of {bound} for {given}")


def check_access(checker: TypeChecker, buffer: Any, indices: Any) -> str:
    """The dtype of what stands in a buffer at some indices: of these the last one may be a vector."""
    held = checker.element(buffer)
    given = checker.dtypes(indices)
    if not held:
        return ""
    rank = len(array_items(buffer.ty.shape))
    require(len(given) == rank, "access", f"{len(given)} indices of a buffer of {rank} dimensions")
    for dtype in given:
        require(_kind(dtype).is_int or _kind(dtype).is_bool, "access", f"an index of {dtype or 'no dtype'}")
    for dtype in given[:-1]:
        require(lanes_of(dtype) == "", "access", f"an index of {dtype} that is not the last one")
    index, element = _kind(given[-1] if given else "int32"), _kind(held)
    if not index.scalable and not element.scalable:
        return with_lanes(element.scalar, element.lanes * index.lanes)
    return with_lanes(element.scalar, element.lanes * index.lanes, scalable=True)


def _load(checker: TypeChecker, node: Any, own: str) -> None:
    held = check_access(checker, node.source, node.indices)
    require(held == own or not held, "access", f"a load of {held} typed {own}")


def _integer(checker: TypeChecker, node: Any, own: str) -> None:
    kind, value = _kind(own), int(node.value)
    require(kind.lanes == 1 and (kind.is_int or kind.is_bool), "constant", f"an IntImm typed {own}")
    # One bit is 0 or 1, signed or not, and a uint64 may be kept as the int64 with its bits.
    fits = value in (0, 1) if kind.bits == 1 else kind.low <= value <= kind.high
    require(fits or own == "uint64", "constant", f"an IntImm out of the range of {own}")


def _float(checker: TypeChecker, node: Any, own: str) -> None:
    require(_kind(own).is_float and lanes_of(own) == "", "constant", f"a FloatImm typed {own}")


def _call(checker: TypeChecker, node: Any, own: str) -> None:
    operands = checker.dtypes(node.args)
    check_call(node, operands, own)
    name = str(getattr(node.op, "name", ""))
    match name, array_items(node.args) if name.startswith("tirx.masked_") else []:
        case "tirx.masked_load", [buffer, *indices, _]:
            _predicated(checker, node, buffer, indices, own)
        case "tirx.masked_store", [buffer, _, *indices, _]:
            _predicated(checker, node, buffer, indices, operands[1])


def _predicated(checker: TypeChecker, node: Any, buffer: Any, indices: Any, given: str) -> None:
    """A load or store of `given` under a mask, which is the last operand (python/tvm/tirx/op.py)."""
    held = check_access(checker, buffer, indices)
    require(held == given or not held, "access", f"{node.op.name} of {given} where there is {held}")


RULES: Mapping[type, ExpressionRule] = {
    **dict.fromkeys(ARITHMETIC, _arithmetic),
    **dict.fromkeys(BITWISE, _bitwise),
    **dict.fromkeys(COMPARISON, _comparison),
    **dict.fromkeys((*LOGIC, tirx.Not), _logic),
    tirx.BitwiseNot: _bitwise_not,
    tirx.Cast: _cast,
    tirx.Select: _select,
    tirx.Ramp: _ramp,
    tirx.Broadcast: _broadcast,
    tirx.Shuffle: _shuffle,
    tirx.Let: _let,
    tirx.IntImm: _integer,
    tirx.FloatImm: _float,
    tvm.ir.TensorLoad: _load,
    tvm.ir.Call: _call,
}
"""The rules, by the type of the node."""
