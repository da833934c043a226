"""What planted passes are made of: a change of one node, and where to make it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tzerlike.core.dtypes import parse
from tzerlike.systems.tvm_api import structural_equal, structural_walk, tirx, tvm
from tzerlike.tir.node import Node, dtype_of, key
from tzerlike.tir.tree import Kind, Site, Tree

Pass = Callable[[Any], Any]
"""PrimFunc to PrimFunc, or to None where it does not apply."""

Change = Callable[[Node], Node | None]
"""A node to what comes in its place, or to None to leave it."""

SiteChange = Callable[[Tree, Site], Node | None]
"""The same for a change that has to look around."""

INDEX_ROLES = frozenset({"indices", "iter_values", "min", "extent", "step"})


def is_value(site: Site) -> bool:
    """Whether an expression is computed for what it is: in no index, bound, condition or address."""
    current = site
    while current.kind is Kind.EXPR:
        if current.role in INDEX_ROLES or current.role == "condition" or current.parent is None:
            return False
        if type(current.parent.node) is tirx.Evaluate:
            return False
        if call_of(current.parent.node) == "prim.if_then_else" and current.index == 0:
            return False
        current = current.parent
    return current.kind is Kind.STMT and type(current.node) in (tirx.BufferStore, tirx.Bind)


def anywhere(site: Site) -> bool:
    return True


def everywhere(func: Any, change: Change, where: Callable[[Site], bool] = is_value) -> Any:
    """`func` with `change` made at every site that it applies to, from the leaves up."""

    def visit(site: Site, node: Node) -> Node:
        made = change(node) if where(site) else None
        return node if made is None else made

    return _other(func, Tree(func).rewrite(visit))


def first(func: Any, change: SiteChange) -> Any:
    """`func` with `change` made at the first site that it applies to."""
    tree = Tree(func)
    for site in tree.sites:
        made = change(tree, site)
        if made is not None:
            return _other(func, tree.replace(site, made))
    return None


def last(func: Any, change: SiteChange) -> Any:
    """`func` with `change` made at the last site that it applies to."""
    tree = Tree(func)
    for site in reversed(tree.sites):
        made = change(tree, site)
        if made is not None:
            return _other(func, tree.replace(site, made))
    return None


def _other(func: Any, made: Any) -> Any:
    return None if structural_equal(func, made) else made


def is_int(node: Node) -> bool:
    dtype = parse(dtype_of(node))
    return dtype is not None and dtype.is_int


def is_wide_int(node: Node) -> bool:
    """Whether the dtype is int32 or int64, scalar."""
    return dtype_of(node) in ("int32", "int64")


def is_float(node: Node) -> bool:
    dtype = parse(dtype_of(node))
    return dtype is not None and dtype.is_float


def constant(like: Node, value: float) -> Node:
    """The constant `value` in the dtype of `like`, lanes included."""
    return tirx.const(value, dtype_of(like))


def as_constant(node: Node) -> int | None:
    """The value of an integer constant, or None."""
    return int(node.value) if type(node) is tirx.IntImm else None


def call_of(node: Node) -> str:
    """The name of the intrinsic that `node` calls, or ""."""
    return str(node.op.name) if type(node) is tvm.ir.Call and isinstance(node.op, tvm.ir.Op) else ""


def same_call(node: Node, name: str) -> Node:
    """The call `node` with the intrinsic `name` in place of its own."""
    return tvm.ir.Call(name, node.args, ret_ty=dtype_of(node))


def mentions(tree_node: Node, var: Node) -> bool:
    """Whether an expression or statement uses the variable or buffer `var`."""
    seen: list[Node] = []
    structural_walk(tree_node, ((tirx.Var, seen.append),))
    return any(key(found) == key(var) for found in seen)


def loads_of(node: Node) -> list[Node]:
    """The loads in a statement or expression."""
    seen: list[Node] = []
    structural_walk(node, ((tvm.ir.TensorLoad, seen.append),))
    return seen


def stores_of(node: Node) -> list[Node]:
    """The stores in a statement."""
    seen: list[Node] = []
    structural_walk(node, ((tirx.BufferStore, seen.append),))
    return seen
