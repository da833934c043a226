"""Simpler expressions: constants and parts in the place of wholes, smaller numbers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from tzerlike.mutators.hole import needs_constant
from tzerlike.mutators.tree import Kind, Site, Tree
from tzerlike.reduction.order import weight
from tzerlike.reduction.program import Make, mapped, number
from tzerlike.reduction.search import spans
from tzerlike.tvm_api import structural_walk, tirx, tvm


def constant_values(tree: Tree) -> Iterator[Make]:
    """0 in the place of what runs of statements store or bind, and 0 for the indices of what they read and write."""
    for roles in (("value",), ("indices",)):
        tops = [site for site in _tops(tree) if site.role in roles and not _constant(site)]
        for start, stop in spans(len(tops)):
            yield partial(_zeroed, tree, tops[start:stop])


def _tops(tree: Tree) -> list[Site]:
    return [site for site in tree.expressions() if site.parent is not None and site.parent.kind is Kind.STMT]


def _constant(site: Site) -> bool:
    return type(site.node) in (tirx.IntImm, tirx.FloatImm) or (
        type(site.node) is tirx.Broadcast and type(site.node.value) in (tirx.IntImm, tirx.FloatImm)
    )


def _zeroed(tree: Tree, sites: list[Site]) -> Any:
    changes = [(site, zero) for site in sites if (zero := number(site.dtype, 0)) is not None]
    return tree.replace_all(changes) if changes else None


def simpler_expressions(tree: Tree) -> Iterator[Make]:
    """For each expression, the largest first: a constant, or one of the expressions of its dtype that it is made of."""
    sites = [site for site in tree.expressions() if not _constant(site) and site.dtype]
    sites.sort(key=lambda site: -site.size)
    for site in sites:
        for value in _values(site):
            if (node := number(site.dtype, value)) is not None:
                yield partial(tree.replace, site, node)
        if needs_constant(site):
            continue
        for below in tree.below(site)[1:]:
            if below.dtype == site.dtype and not _constant(below):
                yield partial(tree.replace, site, below.node)


def _values(site: Site) -> tuple[int, ...]:
    """The constants worth trying at a place: no loop without an iteration, and blocks that run."""
    if site.role == "extent":
        return (1, 2)
    return (1, 0) if site.dtype == "bool" else (0, 1)


def smaller_numbers(tree: Tree) -> Iterator[Make]:
    """Every number closer to zero: first wherever it stands, in shapes and loops at once, then place by place."""
    found: set[int] = set()
    structural_walk(tree.func, (tirx.IntImm, lambda node: found.add(int(node.value))))
    for value in sorted((value for value in found if value > 1), reverse=True):
        for nearer in _nearer(value):
            if nearer > 0:
                yield partial(_everywhere, tree, value, nearer)
    for site in tree.of_type(tirx.IntImm):
        for nearer in (1,) if site.dtype == "bool" else _nearer(int(site.node.value)):
            if nearer > 0 or site.role != "extent":
                yield partial(_numbered, tree, site, nearer)
    for site in tree.of_type(tirx.FloatImm):
        for simple in (0.0, 1.0):
            yield partial(tree.replace, site, tirx.FloatImm(site.dtype, simple))


def _everywhere(tree: Tree, old: int, new: int) -> Any:
    def change(node: Any) -> Any:
        return tirx.IntImm(node.ty.dtype, new) if int(node.value) == old else node

    return mapped(tree.func, (tirx.IntImm, change))


def _numbered(tree: Tree, site: Site, value: int) -> Any:
    node = number(site.dtype, value)
    return None if node is None else tree.replace(site, node)


def _nearer(value: int) -> Iterator[int]:
    """Simpler numbers, the simplest first: 0, 1, 2, 4, its absolute value, its half, the next one towards zero."""
    towards = value - 1 if value > 0 else value + 1
    for other in dict.fromkeys((0, 1, 2, 4, abs(value), int(value / 2), towards)):
        if weight(other) < weight(value):
            yield other


def usual_dtypes(tree: Tree) -> Iterator[Make]:
    """One dtype wherever another one stands: int32 for integers, float32 for floats."""
    found: set[str] = set()
    structural_walk(tree.func, (tvm.ir.PrimType, lambda ty: found.add(str(ty.dtype))))
    for old in sorted(found):
        for new in _usual(old):
            yield partial(_retyped, tree, old, new)


def _usual(dtype: str) -> Iterator[str]:
    base = dtype.partition("x")[0]
    if base != dtype:
        yield base
    elif dtype.startswith(("float", "bfloat")) and dtype != "float32":
        yield "float32"
    elif dtype.startswith(("int", "uint")) and dtype != "int32":
        yield "int32"
    if dtype.startswith(("float", "bfloat")):
        yield "int32"


def _retyped(tree: Tree, old: str, new: str) -> Any:
    into = tvm.ir.PrimType(new)
    return mapped(tree.func, (tvm.ir.PrimType, lambda ty: into if str(ty.dtype) == old else ty))
