"""Whether a predicate rules out each round of the loops around it: a comparison of a loop's variable with a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tzerlike.systems.tvm_api import tirx
from tzerlike.tir.tree import Site, key


def never_holds(predicate: Any, site: Site) -> bool:
    """Whether a predicate at `site` is false for every value of the loops around, as far as that is plain to see."""
    if type(predicate) is tirx.And:
        return never_holds(predicate.a, site) or never_holds(predicate.b, site)
    if type(predicate) not in _RULED_OUT or type(predicate.b) is not tirx.IntImm:
        return False
    values = _values(predicate.a, site)
    return values is not None and _RULED_OUT[type(predicate)](values, int(predicate.b.value))


_RULED_OUT: dict[type, Callable[[range, int], bool]] = {
    tirx.LT: lambda values, bound: values[0] >= bound,
    tirx.LE: lambda values, bound: values[0] > bound,
    tirx.GT: lambda values, bound: values[-1] <= bound,
    tirx.GE: lambda values, bound: values[-1] < bound,
    tirx.EQ: lambda values, bound: bound not in values,
}


def _values(var: Any, site: Site) -> range | None:
    """What a loop's variable may be; None for what is none, or has a bound that is no number."""
    parent = site.parent
    while parent is not None:
        loop = parent.node
        if type(loop) is tirx.For and key(loop.loop_var) == key(var):
            if type(loop.min) is tirx.IntImm and type(loop.extent) is tirx.IntImm and int(loop.extent.value) > 0:
                return range(int(loop.min.value), int(loop.min.value) + int(loop.extent.value))
            return None
        parent = parent.parent
    return None
