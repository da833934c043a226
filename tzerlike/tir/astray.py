"""Accesses and casts that go wrong whatever the inputs, in code that runs on none of them too.

The interpreter sees what a program does on its inputs, or nothing of a program that it cannot run. What nobody may
write is told by the text: an index that is a number beyond the extent, or one that loops around the access take there
while no condition keeps them from it; a number that is cast to an integer type without such a value; two numbers whose
sum, difference or product their signed type does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import add, mul, sub
from typing import Any

from tzerlike.core.dtypes import parse
from tzerlike.systems.tvm_api import array_items, is_buffer, part, s_tir, tirx, type_of
from tzerlike.tir.node import accessed_by, dtype_of, is_choice, is_jump, key, variables_in
from tzerlike.tir.scope import constant_int
from tzerlike.tir.tree import Site, Tree

_GUARDS = (tirx.IfThenElse, tirx.Select, tirx.While, tirx.And, tirx.Or, s_tir.SBlockRealize)
"""What may keep an access that stands in it from being made; a block does so by its condition, or by its domain."""


_EXACT: Mapping[Any, Callable[[int, int], int]] = {tirx.Add: add, tirx.Sub: sub, tirx.Mul: mul}
"""What operations give that may overflow."""


def goes_astray(func: Any) -> bool:
    """Whether some access is out of the bounds of its buffer for certain, wherever it is made at all, or a cast or an
    operation on numbers gives none."""
    sites = Tree(func).sites
    if any(_has_no_value(site.node) for site in sites):
        return True
    left = {above.number for site in sites if is_jump(site.node) for above in site.ancestors()}
    return any(_is_astray(site, left) for site in sites if accessed_by(site.node) is not None)


def _has_no_value(node: Any) -> bool:
    """Whether a number is cast to an integer type that it is out of the range of, or NaN is, or two overflow."""
    if type(node) in _EXACT and type(node.a) is type(node.b) is tirx.IntImm:
        kind, exact = parse(dtype_of(node)), _EXACT[type(node)](int(node.a.value), int(node.b.value))
        return kind is not None and kind.is_int and kind.low < 0 and not kind.low <= exact <= kind.high
    if type(node) is not tirx.Cast or type(node.value) not in (tirx.IntImm, tirx.FloatImm):
        return False
    kind, number = parse(dtype_of(node)), node.value.value
    return kind is not None and kind.is_int and not kind.low - 1 < number < kind.high + 1


def _is_astray(site: Site, left: set[int]) -> bool:
    buffer: Any = accessed_by(site.node)
    if not is_buffer(buffer):
        return False
    extents = [constant_int(extent) for extent in array_items(type_of(buffer).shape)]
    indices = array_items(site.node.indices)
    if len(extents) != len(indices):
        return False
    loops = _loops_around(site, left)
    return any(
        extent is not None and not _within(index, loops, extent) for index, extent in zip(indices, extents, strict=True)
    )


def _loops_around(site: Site, left: set[int]) -> dict[int, tuple[Any, int, int]]:
    """The variables of the loops around an access with the first and the last number of each; none where something
    between them may keep it from being made, or a loop is `left` early."""
    found: dict[int, tuple[Any, int, int]] = {}
    for above in site.ancestors():
        node = above.node
        if type(node) in _GUARDS or is_choice(node):
            return {}
        if type(node) is tirx.For:
            first, extent = constant_int(node.min), constant_int(node.extent)
            if first is None or extent is None or extent <= 0 or above.number in left:
                return {}
            found[key(node.loop_var)] = (node.loop_var, first, first + extent - 1)
    return found


def _within(index: Any, loops: dict[int, tuple[Any, int, int]], extent: int) -> bool:
    """Whether an index stays below an extent, or where it goes is not known."""
    number = constant_int(index)
    if number is not None:
        return 0 <= number < extent
    variables = {key(variable) for variable in variables_in(index)}
    if not variables or not variables <= loops.keys():
        return True
    used = [loops[variable] for variable in variables]
    linear = [constant_int(one) for one in part("sym").detect_linear_equation(index, [loop for loop, _, _ in used])]
    numbers = [one for one in linear if one is not None]
    if not numbers or len(numbers) < len(linear):
        return True
    *factors, low = numbers
    high = low
    for factor, (_, first, last) in zip(factors, used, strict=True):
        low, high = low + min(factor * first, factor * last), high + max(factor * first, factor * last)
    return low >= 0 and high < extent
