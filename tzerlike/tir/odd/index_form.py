"""Extents, bounds and axis values of a program, which are hardly ever other than arithmetic on indices.

Those places are the bounds of loops, the sizes of buffers, what the axes of blocks are bound to, and their conditions.
In the seeds (what TVM's own libraries and its tests' authors write) nothing else is in them.
"""

from __future__ import annotations

from typing import Any

from tzerlike.core.dtypes import parse
from tzerlike.systems.tvm_api import array_items, s_tir, structural_walk, tirx, tvm, type_of
from tzerlike.tir.node import dtype_of, is_choice, key, variables_in
from tzerlike.tir.tree import ARITHMETIC, COMPARISON, LOGIC, Kind, Site

_ARITHMETIC = frozenset((*ARITHMETIC, *COMPARISON, *LOGIC, tirx.Not, tirx.Select, tirx.Let, tirx.IntImm, tirx.Var))
_OF_BOUNDS = _ARITHMETIC | {tirx.LShift, tirx.RShift, tvm.ir.TensorLoad}
"""Loops over what memory says, or that double, are common; blocks at such places are not."""

_DIVISIONS = (tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod)

_NARROW = 16
"""Bits of the floats that people calculate indices with, at the least."""


def strange_at(site: Site) -> str:
    """Return what is strange about an expression for the place that it is in, "" for nothing."""
    top = site
    while top.parent is not None and top.parent.kind is Kind.EXPR:
        top = top.parent
    above = type(top.parent.node) if top.parent is not None else None
    if above in (tirx.For, s_tir.SBlockRealize) and type(site.node) in _DIVISIONS and _is_counted(site.node.b, site):
        return "a divisor that a loop counts"
    if above is tirx.For and not _is_usual(site.node, _OF_BOUNDS):
        return "a bound that is no arithmetic on indices"
    if above is s_tir.SBlockRealize and not _is_usual(site.node, _ARITHMETIC):
        return "a binding that is no arithmetic on indices"
    return "an index by way of a narrow float" if _comes_of_narrow_float(site.node) and _in_index(site) else ""


def _is_counted(divisor: Any, site: Site) -> bool:
    """Whether a loop around has a part in an expression: most begin at 0."""
    counters = {key(above.node.loop_var) for above in site.ancestors() if type(above.node) is tirx.For}
    return not counters.isdisjoint(map(key, variables_in(divisor)))


def strange_extents(buffer: Any) -> bool:
    """Whether a buffer is of a size that it takes other than arithmetic on indices to say."""
    parts: list[Any] = []
    for extent in array_items(type_of(buffer).shape):
        structural_walk(extent, (tvm.ir.Expr, parts.append))
    return not all(type(part) is tvm.ir.Op or _is_usual(part, _ARITHMETIC) for part in parts)


def _is_usual(node: Any, kinds: frozenset[type]) -> bool:
    kind = type(node)
    if kind is tirx.Cast:
        return _is_signed(dtype_of(node)) and _is_whole(dtype_of(node.value))
    return kind in kinds or is_choice(node)


def _is_signed(text: str) -> bool:
    dtype = parse(text)
    return dtype is not None and (dtype.is_bool or dtype.base == "int")


def _is_whole(text: str) -> bool:
    dtype = parse(text)
    return dtype is not None and not dtype.is_float


def _comes_of_narrow_float(node: Any) -> bool:
    dtype = parse(dtype_of(node.value)) if type(node) is tirx.Cast else None
    return dtype is not None and dtype.is_float and dtype.bits < _NARROW


def _in_index(site: Site) -> bool:
    at = site
    while at.parent is not None and at.kind is Kind.EXPR:
        if at.role == "indices":
            return True
        at = at.parent
    return False
