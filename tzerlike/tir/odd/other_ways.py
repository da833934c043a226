"""A second way to replace an odd form, if one keeps more of the program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tzerlike.core.dtypes import parse
from tzerlike.systems.tvm_api import array_items, function_with, params_of, s_tir, tirx, type_of
from tzerlike.tir.node import dtype_of, seq
from tzerlike.tir.odd.expressions import folded
from tzerlike.tir.odd.program import UNFOLDED, UNSIGNED, UNSTORED, UNUSED
from tzerlike.tir.reducers.program import block_with
from tzerlike.tir.tree import Site, Tree


def _as_parameter(tree: Tree, site: Site) -> Any:
    """The function with the body of a loop in its place, and the loop's variable as a last parameter."""
    params = [*params_of(tree.func), site.node.loop_var]
    return function_with(tree.func, tree.replace(site, site.node.body).body, params=params)


def _as_name(tree: Tree, site: Site) -> Any | None:
    """The function with a name for a number that is calculated, as people have for those that they calculate with."""
    value = folded(site.node, site.dtype)
    if type(value) is not tirx.IntImm:
        return None
    name = tirx.Var("c", site.dtype)
    return _beginning_with(tirx.Bind(name, value), tree.replace(site, name))


def _used(tree: Tree, site: Site) -> Any | None:
    """The function with the name for what is calculated with it, where that is of its type."""
    node = site.node
    if type(node) is not tirx.Let or str(type_of(node.var).dtype) != site.dtype:
        return None
    return tree.replace(site, tirx.Let(node.var, node.body, node.var))


def _as_result(tree: Tree, site: Site) -> Any | None:
    """The function with what it evaluates in a last parameter; of one element it would not come back from its text."""
    dtype = parse(dtype_of(site.node.value))
    if dtype is None or dtype.base == "handle" or dtype.scalable:
        return None
    result = tirx.decl_buffer((max(dtype.lanes, 2),), dtype.scalar, "result")
    index = tirx.IntImm("int32", 0) if dtype.lanes == 1 else tirx.Ramp(0, 1, dtype.lanes)
    func = tree.replace(site, tirx.BufferStore(result, site.node.value, [index]))
    return function_with(func, func.body, params=[*params_of(func), result])


def _beginning_with(stmt: Any, func: Any) -> Any:
    root = func.body
    if type(root) is not s_tir.SBlockRealize:
        return function_with(func, seq([stmt, root]))
    block = block_with(root.block, body=seq([stmt, root.block.body]))
    return function_with(func, s_tir.SBlockRealize(array_items(root.iter_values), root.predicate, block))


OTHER_WAYS: Mapping[str, Callable[[Tree, Site], Any | None]] = {
    UNSIGNED: _as_parameter,
    UNFOLDED: _as_name,
    UNUSED: _used,
    UNSTORED: _as_result,
}
