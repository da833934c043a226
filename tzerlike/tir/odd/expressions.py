"""Odd forms of expressions, by the type of the node."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from tzerlike.core.dtypes import parse
from tzerlike.systems.tvm_api import array_items, s_tir, structural_equal, structural_walk, tirx, tvm, type_of
from tzerlike.tir.dtypes import largest_float
from tzerlike.tir.node import accessed_by, dtype_of, is_choice, key, substitute
from tzerlike.tir.odd.program import ACCESSES, BOUNDS, NEVER, UNFOLDED, UNUSED, Odds, Program, within
from tzerlike.tir.odd.unreachable import never_holds, only_zero, span_of
from tzerlike.tir.reducers.program import number
from tzerlike.tir.tree import ARITHMETIC, BITWISE, COMPARISON, LOGIC, Kind, Site, left_early

EXTREME = 1 << 20
"""As an index or a divisor, such a number is one of the edges that a fuzzer goes for."""

_EDGE = 1 << 16
"""How far from the lowest and the highest number of its dtype a constant is still one of the edges."""

OUTSIDE = "an index outside of its buffer"

_SIMPLER = "an expression that is one of its operands, or a number"

_REMAINDERS = (tirx.Mod, tirx.FloorMod)

_QUOTIENTS = (tirx.Div, tirx.FloorDiv)

_DIVISIONS = (*_QUOTIENTS, *_REMAINDERS)

_FOLDS: Mapping[Any, Callable[[int, int], int]] = {
    tirx.Add: operator.add,
    tirx.Sub: operator.sub,
    tirx.Mul: operator.mul,
    tirx.Min: min,
    tirx.Max: max,
}

_COMMUTATIVE = (tirx.Add, tirx.Mul, tirx.BitwiseAnd, tirx.BitwiseOr, tirx.BitwiseXor)

_NEUTRAL = {
    *((kind, 0) for kind in (tirx.Add, tirx.Sub, tirx.BitwiseXor, tirx.LShift, tirx.RShift)),
    *((kind, 1) for kind in (tirx.Mul, *_QUOTIENTS)),
}

_ABSORBING = {(tirx.Mul, 0), (tirx.BitwiseAnd, 0), *((kind, 1) for kind in _REMAINDERS)}
"""Operations that are their first operand, or 0, where the second is this number."""

_OF_THE_SAME = {
    **dict.fromkeys((tirx.Sub, tirx.BitwiseXor, *_REMAINDERS, tirx.NE, tirx.LT, tirx.GT), 0),
    **dict.fromkeys((*_QUOTIENTS, tirx.EQ, tirx.LE, tirx.GE), 1),
}
"""What operations come to on twice the same."""

_IDEMPOTENT = (tirx.Min, tirx.Max, tirx.BitwiseAnd, tirx.BitwiseOr)

_BEYOND = 1.001
"""By what factor a constant is beyond the floats of a dtype, at the least."""

_PLACES = ("indices", "iter_values", "predicate", *BOUNDS)

_CONDITIONS = ("condition", "predicate")


def _select(program: Program, site: Site) -> Odds:
    return _choice(site, site.node.condition, site.node.true_value, site.node.false_value)


def _choice(site: Site, condition: Any, first: Any, second: Any) -> Odds:
    if is_fixed(condition):
        yield "a constant condition", lambda: first
    elif never_holds(condition, site):
        yield NEVER, lambda: second


def _call(program: Program, site: Site) -> Odds:
    name, args = str(getattr(site.node.op, "name", "")).partition(".")[2], array_items(site.node.args)
    if name == "if_then_else":
        yield from _choice(site, *args)
    if name == "likely":
        yield "a hint", lambda: args[0]
    if name == "pow" and not _is_standard_float(site.dtype):
        yield "a power that TVM's own function refuses", lambda: args[0]


def _is_standard_float(text: str) -> bool:
    """Whether tvm.tirx.pow takes a dtype: it refuses bfloat16 and float8."""
    dtype = parse(text)
    return dtype is not None and dtype.base == "float" and not dtype.suffix


def _logic(program: Program, site: Site) -> Odds:
    first, second = site.node.a, site.node.b
    if is_fixed(first) or is_fixed(second):
        yield "a constant condition", lambda: second if is_fixed(first) else first


def _not(program: Program, site: Site) -> Odds:
    if is_fixed(site.node.a):
        yield "a constant condition", lambda: site.node.a


def _binary(program: Program, site: Site) -> Odds:
    node = site.node
    if is_fixed(node.a) and is_fixed(node.b):
        yield UNFOLDED, partial(folded, node, site.dtype)
    elif type(node) in _DIVISIONS and only_zero(node.b, site):
        yield NEVER, lambda: node.a
    elif type(node) in _DIVISIONS and type(node.b) is tirx.IntImm and int(node.b.value) < 0:
        yield "a negative divisor", lambda: type(node)(node.a, number(site.dtype, 2))
    elif (simpler := _simpler(node, site.dtype)) is not None:
        yield _SIMPLER, lambda: simpler


def _cast(program: Program, site: Site) -> Odds:
    source, wanted = parse(str(type_of(site.node.value).dtype)), parse(site.dtype)
    if not source or not source.is_float or not wanted:
        return
    value = _float_in(site.node.value)
    if wanted.is_float:
        if value is not None and math.isfinite(value) and abs(value) > _BEYOND * largest_float(wanted):
            yield NEVER, lambda: tirx.FloatImm(site.dtype, 1.0)
    elif wanted.is_int and value is not None and not (math.isfinite(value) and wanted.low <= int(value) <= wanted.high):
        yield NEVER, partial(number, site.dtype, 1)


def _let(program: Program, site: Site) -> Odds:
    node = site.node
    if key(node.var) not in program.used:
        yield UNUSED, lambda: node.body
    elif _in_condition(site) or any(part.role in BOUNDS for part in path_of(site)):
        yield "a name in a condition or a bound", lambda: substitute(node.body, {key(node.var): node.value})
    elif type(node.value) is tirx.Let:
        yield "a name for an expression with a name", lambda: substitute(node.body, {key(node.var): node.value})


def _ramp(program: Program, site: Site) -> Odds:
    if _has_load(site.node.stride):
        one = number(dtype_of(site.node.stride), 1)
        yield "a stride that memory says", lambda: tirx.Ramp(site.node.base, one, site.node.lanes)


def _has_load(node: Any) -> bool:
    loads: list[Any] = []
    structural_walk(node, (tvm.ir.TensorLoad, loads.append))
    return bool(loads)


def _integer(program: Program, site: Site) -> Odds:
    above = site.parent
    if site.role == "indices" and above is not None and type(above.node) in ACCESSES:
        extent = array_items(type_of(accessed_by(above.node)).shape)[site.index]
        if not within(site.node, number(site.dtype, 0), extent):
            yield OUTSIDE, partial(number, site.dtype, 0)
    kind = None if above is None else type(above.node)
    if abs(int(site.node.value)) >= EXTREME and (
        _in_index_or_divisor(site)
        or (kind in ARITHMETIC and _in_condition(site))
        or (kind is tirx.Mul and _is_lowest(site))
        or (above is not None and kind in COMPARISON and _is_at_an_edge(site) and not _has_load(above.node))
    ):
        yield "an extreme constant", partial(number, site.dtype, 2)


def _is_lowest(site: Site) -> bool:
    """Whether a number is the lowest of its signed dtype, by which nobody multiplies."""
    dtype = parse(site.dtype)
    return dtype is not None and int(site.node.value) == dtype.low


def _is_at_an_edge(site: Site) -> bool:
    """Whether a number is among the lowest or highest of its dtype, which the analyzer takes for infinity."""
    dtype, value = parse(site.dtype), int(site.node.value)
    return dtype is not None and not dtype.low + _EDGE < value < dtype.high - _EDGE


def _variable(program: Program, site: Site) -> Odds:
    """A loop's variable as an index, where the loop runs beyond the buffer and no condition is in between."""
    above = site.parent
    if site.role != "indices" or above is None or type(above.node) not in ACCESSES or _is_guarded(program, site):
        return
    extent, span = array_items(type_of(accessed_by(above.node)).shape)[site.index], span_of(site.node, site)
    if span is not None and type(extent) is tirx.IntImm and not 0 <= span[0] <= span[1] < int(extent.value):
        yield OUTSIDE, partial(number, site.dtype, 0)


def _is_guarded(program: Program, site: Site) -> bool:
    """Whether a condition or a jump may keep an expression from being calculated in all rounds of the loops around."""
    return any(
        type(above.node) in (tirx.IfThenElse, tirx.Select, tirx.While, *LOGIC)
        or (type(above.node) is tvm.ir.Call and is_choice(above.node))
        or (type(above.node) is s_tir.SBlockRealize and not is_fixed(above.node.predicate))
        or (type(above.node) is tirx.For and left_early(program.tree, above))
        for above in site.ancestors()
    )


def is_fixed(node: Any) -> bool:
    """Whether an expression has the same value wherever it stands."""
    kind = type(node)
    if kind in (tirx.IntImm, tirx.FloatImm):
        return True
    if kind in (tirx.Cast, tirx.Broadcast):
        return is_fixed(node.value)
    if kind is tirx.Not:
        return is_fixed(node.a)
    if kind in (*ARITHMETIC, *BITWISE, *COMPARISON, *LOGIC):
        return is_fixed(node.a) and is_fixed(node.b)
    return kind is tirx.Let and is_fixed(node.body)


def folded(node: Any, dtype: str) -> Any:
    """What a sum or the like of two numbers is; of others one of them, or 1."""
    fold = _FOLDS.get(type(node))
    numbers = type(node.a) is tirx.IntImm and type(node.b) is tirx.IntImm
    whole = None if fold is None or not numbers else number(dtype, fold(int(node.a.value), int(node.b.value)))
    if whole is not None:
        return whole
    return node.a if str(type_of(node.a).dtype) == dtype else number(dtype, 1)


def _simpler(node: Any, dtype: str) -> Any | None:
    """The operand or the number that an operation on integers comes to, whatever they are; None where it does not."""
    kind, first, second = type(node), node.a, node.b
    operands = parse(dtype_of(first))
    if operands is None or operands.is_float:
        return None
    if structural_equal(first, second):
        value = _OF_THE_SAME.get(kind)
        return first if kind in _IDEMPOTENT else None if value is None else number(dtype, value)
    for one, other in ((first, second), (second, first)):
        constant = int(other.value) if type(other) is tirx.IntImm else None
        if (kind, constant) in _NEUTRAL and (other is second or kind in _COMMUTATIVE):
            return one
        if (kind, constant) in _ABSORBING and (other is second or kind in _COMMUTATIVE):
            return number(dtype, 0)
    return None


def _float_in(node: Any) -> float | None:
    """The number that an expression is, or a float or vector of; None where it is something else."""
    while type(node) is tirx.Broadcast or (type(node) is tirx.Cast and "float" in dtype_of(node)):
        node = node.value
    return float(node.value) if type(node) is tirx.FloatImm else None


def path_of(site: Site) -> Iterator[Site]:
    """An expression and those around it, up to the statement."""
    while site.kind is Kind.EXPR:
        yield site
        assert site.parent is not None
        site = site.parent


def _in_condition(site: Site) -> bool:
    return any(
        part.role in _CONDITIONS
        or (part.role == "args" and part.index == 0 and part.parent is not None and is_choice(part.parent.node))
        for part in path_of(site)
    )


def _in_index_or_divisor(site: Site) -> bool:
    return any(
        part.role in _PLACES or (part.role == "b" and part.parent is not None and type(part.parent.node) in _DIVISIONS)
        for part in path_of(site)
    )


RULES: Mapping[type, Callable[[Program, Site], Odds]] = {
    tirx.Select: _select,
    tvm.ir.Call: _call,
    tirx.Not: _not,
    tirx.Let: _let,
    tirx.Cast: _cast,
    tirx.Ramp: _ramp,
    tirx.IntImm: _integer,
    tirx.Var: _variable,
    **dict.fromkeys(LOGIC, _logic),
    **dict.fromkeys(ARITHMETIC + BITWISE + COMPARISON, _binary),
}
