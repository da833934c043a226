"""The table of expression constructors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tzerlike.core.dtypes import DType
from tzerlike.mutators.generator import INT32, ExprMaker, Generator, Value, exactly
from tzerlike.mutators.intrinsics import INTRINSICS, Intrinsic
from tzerlike.systems.tvm_api import op_call, tirx, tvm
from tzerlike.tir import dtypes
from tzerlike.tir.scope import Scope, ScopeVar

_POOL = (
    "int8",
    "int16",
    "int32",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "float16",
    "float32",
    "float32",
    "float64",
)
"""Scalar dtypes that operands of comparisons and sources of casts are drawn from."""


def arithmetic(generator: Generator, scope: Scope, dtype: DType, size: int, operator: Any) -> Value | None:
    """`operator` on two generated operands; in defined mode integers are narrowed until the result is safe."""
    left = generator.expr(scope, dtype, size // 2)
    right = generator.expr(scope, dtype, size - size // 2)
    if not dtype.is_int or not generator.defined:
        return Value(operator(left.node, right.node))
    return defined_arithmetic(generator, dtype, operator, left, right)


def defined_arithmetic(generator: Generator, dtype: DType, operator: Any, left: Value, right: Value) -> Value:
    """`operator` on integers without overflow and without a zero divisor."""
    if operator in DIVISIONS:
        if right.low is None or right.low < 1:
            right = exactly(dtype, generator.rng.choice((1, 2, 3, 4, 5, 7)))
    elif operator in (tirx.LShift, tirx.RShift):
        right = exactly(dtype, generator.rng.randrange(min(dtype.bits - 1, 4)))
    interval = result_interval(operator, left, right)
    if interval is None or not dtype.low <= interval[0] <= interval[1] <= dtype.high:
        limit = 7 if operator is tirx.Mul or dtype.bits <= 8 else 31
        left = generator.narrowed(left, dtype, 0, limit)
        if operator is tirx.Sub and dtype.base == "uint":
            left, right = exactly(dtype, limit), generator.narrowed(right, dtype, 0, limit)
        elif operator not in (tirx.LShift, tirx.RShift):
            right = generator.narrowed(right, dtype, 1 if operator in DIVISIONS else 0, limit)
        interval = result_interval(operator, left, right)
    low, high = interval if interval is not None else (dtype.low, dtype.high)
    return Value(operator(left.node, right.node), low, high)


DIVISIONS = (tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod)


def result_interval(operator: Any, left: Value, right: Value) -> tuple[int, int] | None:
    """The interval of the mathematical result; None where an operand's is unknown.

    Divisors must be positive and shift amounts non-negative.
    """
    if left.low is None or left.high is None or right.low is None or right.high is None:
        return None
    a, b, c, d = left.low, left.high, right.low, right.high
    if operator in _MONOTONE:
        compute = _MONOTONE[operator]
        corners = [compute(x, y) for x in (a, b) for y in (c, d)]
        return min(corners), max(corners)
    if operator is tirx.FloorMod:
        return 0, d - 1
    if operator is tirx.Mod:
        return -(d - 1) if a < 0 else 0, d - 1 if b > 0 else 0
    if a >= 0 and c >= 0:
        return 0, min(b, d) if operator is tirx.BitwiseAnd else (1 << max(b, d).bit_length()) - 1
    width = max(x.bit_length() for x in (a, b, c, d))
    return -(1 << width), (1 << width) - 1


_MONOTONE: dict[Any, Callable[[int, int], int]] = {
    tirx.Add: lambda x, y: x + y,
    tirx.Sub: lambda x, y: x - y,
    tirx.Min: min,
    tirx.Max: max,
    tirx.FloorDiv: lambda x, y: x // y,
    tirx.Div: lambda x, y: abs(x) // y * (1 if x >= 0 else -1),
    tirx.Mul: lambda x, y: x * y,
    tirx.LShift: lambda x, y: x << y,
    tirx.RShift: lambda x, y: x >> y,
}


def comparison(generator: Generator, scope: Scope, dtype: DType, size: int, operator: Any) -> Value | None:
    """A comparison of two operands of one random dtype with the lanes of `dtype`."""
    operand = _operand_dtype(generator, scope, dtype)
    left = generator.expr(scope, operand, size // 2)
    right = generator.expr(scope, operand, size - size // 2)
    return Value(operator(left.node, right.node))


def _operand_dtype(generator: Generator, scope: Scope, like: DType) -> DType:
    """A dtype to compute in: often that of something in scope, with the lanes of `like`."""
    at_hand = [b.dtype for b in scope.buffers] + [v.dtype for v in scope.variables]
    text = generator.rng.choice(at_hand if at_hand and generator.chance(70) else _POOL)
    parsed = dtypes.parse(text)
    if parsed is None or not (parsed.is_int or parsed.is_float) or parsed.bits < 8 or parsed.suffix:
        parsed = INT32
    return DType(parsed.base, parsed.bits, parsed.suffix, like.lanes, like.scalable)


def negation(generator: Generator, scope: Scope, dtype: DType, size: int) -> Value | None:
    return Value(tirx.Not(generator.expr(scope, dtype, size).node))


def bitwise_not(generator: Generator, scope: Scope, dtype: DType, size: int) -> Value | None:
    value = generator.expr(scope, dtype, size)
    if dtype.base != "int" or value.low is None or value.high is None:
        return Value(tirx.BitwiseNot(value.node), *((dtype.low, dtype.high) if dtype.is_int else (None, None)))
    return Value(tirx.BitwiseNot(value.node), -value.high - 1, -value.low - 1)


def cast(generator: Generator, scope: Scope, dtype: DType, size: int) -> Value | None:
    """A cast from another dtype; in defined mode the value fits, and floats do not become integers."""
    source = _operand_dtype(generator, scope, dtype)
    if source == dtype or (generator.defined and dtype.is_int and not source.is_int):
        source = DType("int", 64 if dtype.bits == 32 else 32, "", dtype.lanes, dtype.scalable)
    value = generator.expr(scope, source, size)
    if generator.defined and dtype.is_int and not value.within(dtype.low, dtype.high):
        value = generator.narrowed(value, source, 0, min(dtype.high, source.high, 100))
    keeps = dtype.is_int and source.is_int and generator.defined
    return Value(tirx.Cast(str(dtype), value.node), *((value.low, value.high) if keeps else (None, None)))


def select(generator: Generator, scope: Scope, dtype: DType, size: int) -> Value | None:
    lanes = dtype.lanes if generator.chance(50) else 1
    condition = generator.expr(scope, DType("bool", 1, "", lanes, dtype.scalable and lanes > 1), size // 3)
    left, right = generator.expr(scope, dtype, size // 3), generator.expr(scope, dtype, size // 3)
    return Value(tirx.Select(condition.node, left.node, right.node), *_hull(left, right))


def _hull(left: Value, right: Value) -> tuple[int | None, int | None]:
    if left.low is None or left.high is None or right.low is None or right.high is None:
        return None, None
    return min(left.low, right.low), max(left.high, right.high)


def ramp(generator: Generator, scope: Scope, dtype: DType, size: int) -> Value | None:
    element = DType(dtype.base, dtype.bits)
    base = generator.expr(scope, element, size - 1)
    stride = exactly(element, dtypes.clamp(generator.rng.choice((1, 1, 2, 3, 0, -1)), element))
    if not generator.defined:
        return Value(tirx.Ramp(base.node, stride.node, _lanes(dtype)))
    if dtype.scalable:
        return None
    reach = (stride.low or 0) * (dtype.lanes - 1)
    room = max(0, min(dtype.high - abs(reach), 31))
    base = generator.narrowed(base, element, 0, room)
    low, high = (base.low or 0) + min(0, reach), (base.high or 0) + max(0, reach)
    if low < dtype.low or high > dtype.high:
        return None
    return Value(tirx.Ramp(base.node, stride.node, _lanes(dtype)), low, high)


def broadcast(generator: Generator, scope: Scope, dtype: DType, size: int) -> Value | None:
    value = generator.expr(scope, DType(dtype.base, dtype.bits, dtype.suffix), size)
    return Value(tirx.Broadcast(value.node, _lanes(dtype)), value.low, value.high)


def _lanes(dtype: DType) -> Any:
    lanes = tirx.IntImm("int32", dtype.lanes)
    return tirx.Mul(tirx.vscale(), lanes) if dtype.scalable else lanes


def shuffle(generator: Generator, scope: Scope, dtype: DType, size: int) -> Value | None:
    """A permutation of the lanes of a vector, or one lane taken out of it."""
    lanes = dtype.lanes if dtype.lanes > 1 else generator.rng.choice((2, 4))
    vector = generator.expr(scope, DType(dtype.base, dtype.bits, dtype.suffix, lanes), size)
    picks = [tirx.IntImm("int32", generator.rng.randrange(lanes)) for _ in range(dtype.lanes)]
    return Value(tirx.Shuffle([vector.node], picks), vector.low, vector.high)


def let(generator: Generator, scope: Scope, dtype: DType, size: int) -> Value | None:
    """A value bound to a fresh variable, and an expression that may use it."""
    bound = dtype if dtype.lanes == 1 else INT32
    value = generator.expr(scope, bound, size // 2)
    var = tirx.Var(generator.names.fresh("v"), str(bound))
    inner = scope.extended(variables=[ScopeVar(var, str(bound), "let", value.low, value.high)])
    body = generator.expr(inner, dtype, size - size // 2)
    return Value(tirx.Let(var, value.node, body.node), body.low, body.high)


def buffer_load(generator: Generator, scope: Scope, dtype: DType, size: int) -> Value | None:
    """A load from a buffer of the dtype, or of its scalar with a Ramp for index."""
    whole = [b for b in generator.readable(scope) if b.dtype == str(dtype)]
    parts = [b for b in generator.readable(scope) if b.dtype == dtype.scalar] if dtype.lanes > 1 else []
    if not whole and (not parts or dtype.scalable):
        return None
    buffer = generator.rng.choice(whole or parts)
    indices = generator.indices(scope, buffer, size // 2, 1 if whole else dtype.lanes)
    if indices is None:
        return None
    node = tirx.BufferLoad(buffer.var, indices)
    return Value(node, dtype.low, dtype.high) if dtype.is_int else Value(node)


def masked_load(generator: Generator, scope: Scope, dtype: DType, size: int) -> Value | None:
    """A vector load whose lanes are switched by a mask; what a masked lane gives is undefined, so wild mode only."""
    if generator.defined or dtype.scalable:
        return None
    buffers = [b for b in scope.buffers if b.dtype == dtype.scalar]
    if not buffers:
        return None
    buffer = generator.rng.choice(buffers)
    indices = generator.indices(scope, buffer, 1, dtype.lanes)
    if indices is None:
        return None
    mask = generator.expr(scope, DType("bool", 1, "", dtype.lanes), size // 2)
    return Value(op_call("tirx.masked_load", [buffer.var, *indices, mask.node], str(dtype)))


def intrinsic(generator: Generator, scope: Scope, dtype: DType, size: int) -> Value | None:
    """A call of an intrinsic that has the result dtype."""
    fitting = [
        entry
        for entry in INTRINSICS
        if entry.gives(dtype) and generator.target in entry.targets and (entry.total or not generator.defined)
    ]
    return intrinsic_call(generator, scope, dtype, size, generator.rng.choice(fitting)) if fitting else None


def intrinsic_call(generator: Generator, scope: Scope, dtype: DType, size: int, entry: Intrinsic) -> Value | None:
    """A call of `entry` with result dtype `dtype`."""
    operand = dtype
    if entry.result != "T":
        scalar = dtypes.parse(generator.rng.choice(entry.dtypes))
        if scalar is None:
            return None
        operand = DType(scalar.base, scalar.bits, scalar.suffix, dtype.lanes)
    args = []
    share = max(1, size // len(entry.args))
    for text in entry.args:
        if text.startswith("$"):
            args.append(tvm.ir.StringImm(text[1:]))
        elif text in ("#true", "#false"):
            args.append(tirx.IntImm("bool", text == "#true"))
        elif text.startswith("#"):
            args.append(dtypes.constant(dtype, int(text[1:])))
        else:
            args.append(_operand(generator, scope, operand, text, share, entry.domain).node)
    node: Any
    if entry.op == "tirx.call_llvm_pure_intrin":
        # LLVM's number for the name comes from the running LLVM
        node = tirx.call_llvm_pure_intrin(str(dtype), str(args[0].value), *args[1:])
    else:
        node = op_call(entry.op, args, str(dtype))
    if not dtype.is_int:
        return Value(node)
    if entry.op in ("prim.clz", "tirx.popcount"):
        return Value(node, 0, operand.bits)
    return Value(node, dtype.low, dtype.high)


def _operand(generator: Generator, scope: Scope, result: DType, text: str, size: int, domain: str) -> Value:
    """An operand as an intrinsic's signature asks for it."""
    dtype: DType | None
    if text == "T":
        dtype = result
    elif text == "bits":
        dtype = DType("int" if result.is_float else "float", result.bits, "", result.lanes)
        if result.bits == 8:
            dtype = DType("uint" if result.base == "int" else "int", 8, "", result.lanes)
    elif text in ("half", "double"):
        lanes = result.lanes // 2 if text == "half" else result.lanes * 2
        dtype = DType(result.base, result.bits, result.suffix, lanes)
    elif text.startswith("="):
        dtype = dtypes.parse(text[1:])
    else:
        scalar = dtypes.parse(text)
        dtype = DType(scalar.base, scalar.bits, "", result.lanes) if scalar is not None else None
    if dtype is None:
        raise ValueError(f"bad operand {text!r} in the table of intrinsics")
    value = generator.expr(scope, dtype, size)
    if not generator.defined:
        return value
    if dtype.is_int and domain == "positive":
        return generator.narrowed(value, dtype, 1, min(dtype.high, 1000))
    return _tamed(value, dtype, domain) if dtype.is_float else value


def _tamed(value: Value, dtype: DType, domain: str) -> Value:
    """A float operand kept to where the function is defined and far from overflow."""
    if domain == "any":
        return value

    def number(x: float) -> Any:
        return dtypes.constant(dtype, x)

    low, high = {"positive": (0.125, 64.0), "unit": (-0.75, 0.75), "above-one": (1.0, 64.0), "small": (-4.0, 4.0)}[
        domain
    ]
    return Value(tirx.Max(tirx.Min(value.node, number(high)), number(low)))


def null_check(generator: Generator, scope: Scope, dtype: DType, size: int) -> Value | None:
    """Whether a pointer is null."""
    handle = pointer(generator, scope)
    return None if handle is None else Value(op_call("tirx.isnullptr", [handle], "bool"))


def pointer(generator: Generator, scope: Scope) -> Any | None:
    """An expression for a pointer: a buffer's, an element's, a region's, or one moved by some bytes."""
    if not scope.buffers:
        return None
    buffer = generator.rng.choice(scope.buffers)
    choice = generator.rng.randrange(4)
    data = tirx.buffer_data(buffer.var)
    if choice == 0:
        indices = generator.indices(scope, buffer, 1)
        if indices is not None:
            return tirx.address_of(tirx.BufferLoad(buffer.var, indices))
    if choice == 1:
        offset, extent = tirx.IntImm("int32", 0), tirx.IntImm("int32", 1)
        return tirx.tvm_access_ptr(buffer.dtype, data, offset, extent, tirx.IntImm("int32", 1))
    if choice == 2 and not generator.defined:
        return tirx.handle_add_byte_offset(data, tirx.IntImm("int32", generator.rng.choice((0, 1, 4, -4))))
    return data


def _int(dtype: DType) -> bool:
    return dtype.is_int and dtype.bits >= 8


def _number(dtype: DType) -> bool:
    return (dtype.is_int or dtype.is_float) and dtype.bits >= 8


def _float_or_int(dtype: DType) -> bool:
    return (dtype.is_float and not dtype.suffix) or _int(dtype)


def _bool(dtype: DType) -> bool:
    return dtype.is_bool


def _vector(dtype: DType) -> bool:
    return dtype.lanes > 1


def _any(dtype: DType) -> bool:
    return True


def _rows(
    how: Callable[[Generator, Scope, DType, int, Any], Value | None],
    fits: Callable[[DType], bool],
    weight: int,
    *nodes: str,
) -> tuple[ExprMaker, ...]:
    """Rows for operators that are built alike."""

    def maker(operator: Any) -> Callable[[Generator, Scope, DType, int], Value | None]:
        return lambda generator, scope, dtype, size: how(generator, scope, dtype, size, operator)

    return tuple(ExprMaker(f"prim.{node}", weight, fits, maker(getattr(tirx, node))) for node in nodes)


EXPRESSIONS: tuple[ExprMaker, ...] = (
    *_rows(arithmetic, _float_or_int, 6, "Add", "Sub", "Mul", "Min", "Max"),
    *_rows(arithmetic, lambda d: _int(d) or (d.is_float and d.base == "float" and not d.suffix), 3, "Div"),
    *_rows(arithmetic, _int, 4, "FloorDiv", "FloorMod", "Mod"),
    *_rows(arithmetic, _int, 2, "BitwiseAnd", "BitwiseOr", "BitwiseXor", "LShift", "RShift"),
    *_rows(comparison, _bool, 4, "EQ", "NE", "LT", "LE", "GT", "GE"),
    *_rows(arithmetic, _bool, 4, "And", "Or"),
    ExprMaker("prim.Not", 3, _bool, negation),
    ExprMaker("prim.BitwiseNot", 2, _int, bitwise_not),
    ExprMaker("prim.Cast", 5, _number, cast),
    ExprMaker("prim.Select", 4, _any, select),
    ExprMaker("prim.Ramp", 4, lambda d: _vector(d) and _int(d), ramp),
    ExprMaker("prim.Broadcast", 8, _vector, broadcast),
    ExprMaker("prim.Shuffle", 2, lambda d: not d.scalable and not d.suffix, shuffle),
    ExprMaker("prim.Let", 3, _any, let),
    ExprMaker("ir.TensorLoad", 20, _any, buffer_load),
    ExprMaker("ir.Call", 10, _any, intrinsic),
    ExprMaker("ir.Call", 2, lambda d: _vector(d) and _number(d), masked_load),
    ExprMaker("ir.Call", 1, lambda d: _bool(d) and d.lanes == 1, null_check),
)
"""Every expression constructor that the generator uses; constants and variables are `Generator.leaf`."""
