"""Conditions and numbers in the ranges that the surrounding loops leave, by the minimum and maximum of expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tzerlike.systems.tvm_api import array_items, s_tir, tirx
from tzerlike.tir.node import key
from tzerlike.tir.tree import Site

Span = tuple[int, int]
"""The least and the greatest that an expression can be."""


def never_holds(predicate: Any, site: Site) -> bool:
    """Whether a condition at `site` is false for all that the loops and blocks around count, as far as spans tell."""
    kind = type(predicate)
    if kind is tirx.And:
        return never_holds(predicate.a, site) or never_holds(predicate.b, site)
    if kind is tirx.Or:
        return never_holds(predicate.a, site) and never_holds(predicate.b, site)
    if kind not in _RULED_OUT:
        return False
    first, second = span_of(predicate.a, site), span_of(predicate.b, site)
    return first is not None and second is not None and _RULED_OUT[kind](first, second)


def only_zero(node: Any, site: Site) -> bool:
    """Whether an integer at `site` is 0 for all that the loops and blocks around count, as far as spans tell."""
    return span_of(node, site) == (0, 0)


_RULED_OUT: dict[type, Callable[[Span, Span], bool]] = {
    tirx.LT: lambda one, other: one[0] >= other[1],
    tirx.LE: lambda one, other: one[0] > other[1],
    tirx.GT: lambda one, other: one[1] <= other[0],
    tirx.GE: lambda one, other: one[1] < other[0],
    tirx.EQ: lambda one, other: one[1] < other[0] or one[0] > other[1],
}


def span_of(node: Any, site: Site) -> Span | None:
    """The least and the greatest that an integer at `site` can be; None where the loops around do not tell."""
    kind = type(node)
    if kind is tirx.IntImm:
        return int(node.value), int(node.value)
    if kind is tirx.Var:
        return _span_of_variable(node, site)
    if kind not in _SPANS:
        return None
    first, second = span_of(node.a, site), span_of(node.b, site)
    return None if first is None or second is None else _SPANS[kind](first, second)


def _product(one: Span, other: Span) -> Span:
    corners = [first * second for first in one for second in other]
    return min(corners), max(corners)


def _quotient(one: Span, other: Span) -> Span | None:
    return (one[0] // other[0], one[1] // other[0]) if other[0] == other[1] > 0 else None


def _remainder(one: Span, other: Span) -> Span | None:
    if other[0] != other[1] or other[0] <= 0:
        return None
    return one if one[0] >= 0 and one[1] < other[0] else (0, other[0] - 1)


def _common_bits(one: Span, other: Span) -> Span | None:
    return (0, min(one[1], other[1])) if min(one[0], other[0]) >= 0 else None


def _shifted_zero(one: Span, other: Span) -> Span | None:
    return one if one == (0, 0) else None


_SPANS: dict[type, Callable[[Span, Span], Span | None]] = {
    tirx.Add: lambda one, other: (one[0] + other[0], one[1] + other[1]),
    tirx.Sub: lambda one, other: (one[0] - other[1], one[1] - other[0]),
    tirx.Min: lambda one, other: (min(one[0], other[0]), min(one[1], other[1])),
    tirx.Max: lambda one, other: (max(one[0], other[0]), max(one[1], other[1])),
    tirx.Mul: _product,
    tirx.FloorDiv: _quotient,
    tirx.FloorMod: _remainder,
    tirx.BitwiseAnd: _common_bits,
    tirx.LShift: _shifted_zero,
    tirx.RShift: _shifted_zero,
}


def _span_of_variable(var: Any, site: Site) -> Span | None:
    """What a loop's variable or a block's axis can be; None for what is neither, or has a bound that is no number."""
    for above in site.ancestors():
        node = above.node
        if type(node) is tirx.For and key(node.loop_var) == key(var):
            return _between(node.min, node.extent)
        for place, axis in enumerate(array_items(node.iter_vars) if type(node) is s_tir.SBlock else ()):
            if key(axis.var) == key(var):
                return _within(_between(axis.dom.min, axis.dom.extent), place, above.parent)
    return None


def _within(domain: Span | None, place: int, realize: Site | None) -> Span | None:
    """What there is of a domain in what an axis is bound to."""
    bound = None if realize is None else span_of(array_items(realize.node.iter_values)[place], realize)
    if domain is None or bound is None or bound[0] > domain[1] or bound[1] < domain[0]:
        return domain
    return max(bound[0], domain[0]), min(bound[1], domain[1])


def _between(low: Any, extent: Any) -> Span | None:
    if type(low) is not tirx.IntImm or type(extent) is not tirx.IntImm or int(extent.value) <= 0:
        return None
    return int(low.value), int(low.value) + int(extent.value) - 1
