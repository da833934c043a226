"""Forms that none of the seeds has: which nodes stand where, and of which dtypes.

The seeds are what TVM's own libraries make and what its tests' authors write. Mutators also make what nobody thought of
writing; most of it is harmless, but of contested reports nearly all have such a form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tzerlike.core.dtypes import parse
from tzerlike.systems.tvm_api import (
    CALLED_NODES,
    array_items,
    is_buffer,
    operator_name,
    params_of,
    s_tir,
    structural_walk,
    tirx,
    tvm,
    type_of,
)
from tzerlike.tir.node import dtype_of, is_choice, key, variables_in
from tzerlike.tir.odd.expressions import path_of
from tzerlike.tir.odd.program import BOUNDS
from tzerlike.tir.reducers.program import buffers_of
from tzerlike.tir.scope import REDUCTION_AXIS
from tzerlike.tir.tile_language import ROOT
from tzerlike.tir.tree import ARITHMETIC, BITWISE, COMPARISON, LOGIC, Kind, Site, Tree, in_init

USUAL_FORMS = Path(__file__).with_name("usual_forms.txt")
"""A line for each form of the seeds, written by scripts/usual_forms.py."""

TILE_FORMS = USUAL_FORMS.with_name("tile_forms.txt")
"""A line for each form that only kernels in TileLang's dialect have, of its seeds, written by the same script."""

_REVIEWED = frozenset((
    *(f"{stmt} at the top" for stmt in ("Evaluate", "IfThenElse", "Bind")),
    *(f"{stmt} in Root" for stmt in ("BufferStore", "Bind", "Vectorized", "Unrolled", "AllocBuffer")),
    *(f"{stmt} in SBlock" for stmt in ("AllocBuffer", "Parallel", "Unrolled", "Vectorized", "While")),
    *(f"{stmt} in Vectorized" for stmt in ("Evaluate", "AllocBuffer")),
    *(f"{stmt} in Unrolled" for stmt in ("For", "Unrolled", "Vectorized", "IfThenElse", "Evaluate", "AllocBuffer")),
    "Unrolled in Parallel", "Vectorized in IfThenElse", "While in For",
    "number in Evaluate.value", "Broadcast in BufferStore.value",
    *(f"{kind} in Bind.value" for kind in ("number", "call", "comparison", "logic")),
    *(f"{kind} in For.extent" for kind in ("TensorLoad", "choice", "Cast", "bits")),
    *(f"{kind} in For.min" for kind in ("TensorLoad", "arithmetic")), "For.min by another variable",
    *(f"{kind} in Let" for kind in ("number", "Var", "TensorLoad", "arithmetic", "call", "Cast")),
    *(f"Let {form}" for form in ("in BufferStore.value", "in arithmetic", "of int", "of float")),
    "Var in Bind.value", "Cast in choice", "Var in Ramp", "Ramp in Cast",
    "SBlock at the top",
    *(f"{stmt} in While" for stmt in ("Evaluate", "For")),
    "Thread in Unrolled", "Thread.extent by For",
    *(f"{kind} in Parallel.extent" for kind in ("Var", "arithmetic")),
    *(f"Parallel.extent by {whose}" for whose in ("For", "another variable")),
    *(f"{kind} in BufferStore.indices" for kind in ("Cast", "choice", "bits")),
    *(f"{kind} in IfThenElse.condition" for kind in ("TensorLoad", "Var")), "logic in While.condition",
    *(f"Var of {dtype}" for dtype in ("bool", "bfloat")),
    *(f"Broadcast of {dtype} vectors" for dtype in ("bool", "uint", "bfloat")),
    *(f"own memory of {dtype} vectors" for dtype in ("float", "int")),
    *(f"parameter of {sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *(f"{kind} for bound" for kind in ("TensorLoad", "Cast", "bits")),
    *(f"{kind} for a region" for kind in ("bits", "choice", "comparison", "logic")),
    *(f"{kind} for init" for kind in ("Cast", "Broadcast", "Evaluate", "IfThenElse", "comparison")),
    "uint of uint", "bfloat of int", "int of bfloat", "bool of uint", "tirx.reinterpret of bfloat",
))  # fmt: skip
"""Forms that no seed has and anybody might write all the same."""

_LARGE = 1 << 16

_PURPOSES = {
    **dict.fromkeys(BOUNDS, "bound"),
    **dict.fromkeys(("condition", "predicate"), "condition"),
    "iter_values": "axis",
    "indices": "index",
}

_LOOPS = ("For", "Parallel", "Vectorized", "Unrolled", "Thread")

_CLASSES: Mapping[type, str] = {
    **dict.fromkeys(ARITHMETIC, "arithmetic"),
    **dict.fromkeys(COMPARISON, "comparison"),
    **dict.fromkeys((*LOGIC, tirx.Not), "logic"),
    **dict.fromkeys((*BITWISE, tirx.BitwiseNot), "bits"),
    **dict.fromkeys((tirx.IntImm, tirx.FloatImm), "number"),
    tirx.Select: "choice",
    tvm.ir.TensorLoad: "TensorLoad",
}


def unusual(tree: Tree) -> Iterator[tuple[Site, str]]:
    """The nodes of a program whose form no seed has, with the form in words."""
    known = usual_forms() | tile_forms() if is_tile_kernel(tree) else usual_forms()
    return ((site, form) for site, form in forms(tree) if form not in known)


@cache
def usual_forms() -> frozenset[str]:
    return _REVIEWED.union(USUAL_FORMS.read_text().splitlines())


@cache
def tile_forms() -> frozenset[str]:
    return frozenset(TILE_FORMS.read_text().splitlines())


def is_tile_kernel(tree: Tree) -> bool:
    """Whether a program is a kernel in TileLang's dialect."""
    return any(str(site.node.name_hint) == ROOT for site in tree.of_type(s_tir.SBlock))


def forms(tree: Tree) -> Iterator[tuple[Site, str]]:
    """The forms of all nodes of a program: a node can have several. Those of its buffers are said of its root."""
    counters = {key(site.node.loop_var): _statement(site) for site in tree.of_type(tirx.For)}
    for site in tree.sites:
        found = _of_expression(site) if site.kind is Kind.EXPR else _of_statement(site, counters)
        yield from ((site, form) for form in found)
    given = params_of(tree.func)
    parameters = frozenset(map(key, given))
    yield from ((tree.sites[0], f"parameter of {dtype_of(param)}") for param in given if not is_buffer(param))
    for buffer in buffers_of(tree):
        shape = array_items(type_of(buffer).shape)
        whose = "given" if key(buffer) in parameters else "own"
        yield tree.sites[0], f"{whose} memory of {_family(str(type_of(buffer).dtype.dtype))}"
        yield tree.sites[0], f"{whose} memory of {len(shape)} dimensions"
        yield tree.sites[0], f"{whose} memory, {type_of(buffer).storage_scope}"
        yield from ((tree.sites[0], f"size: {_class(extent)}") for extent in shape)


def _of_statement(site: Site, counters: Mapping[int, str]) -> Iterator[str]:
    node, name = site.node, _statement(site)
    if not name:
        return
    around = next(filter(None, map(_statement, site.ancestors())), "")
    yield f"{name} in {around}" if around else f"{name} at the top"
    if type(node) is tirx.For:
        for bound in BOUNDS:
            value = getattr(node, bound)
            variables = [] if value is None else variables_in(value)
            owners = (counters.get(key(var), "another variable") for var in variables)
            yield from (f"{name}.{bound} by {owner}" for owner in owners)
    elif type(node) is s_tir.SBlock:
        yield from _of_block(node, name)
    if in_init(site):
        yield f"{name} for init"


def _of_block(block: Any, name: str) -> Iterator[str]:
    parts = {field: array_items(getattr(block, field)) for field in ("iter_vars", "match_buffers", "alloc_buffers")}
    yield from (f"{name} with {field}" for field, values in parts.items() if values)
    yield from (f"axis {axis.iter_type} of {type_of(axis.var).dtype}" for axis in parts["iter_vars"])
    if block.init is not None:
        reduces = any(int(axis.iter_type) == REDUCTION_AXIS for axis in parts["iter_vars"])
        yield f"init {'of' if reduces else 'without'} a reduction"
    found: list[Any] = []
    for region in (*array_items(block.reads), *array_items(block.writes)):
        for extent in array_items(region.region):
            structural_walk(extent, (tvm.ir.Expr, found.append))
    yield from (f"{_class(expr)} for a region" for expr in found if type(expr) is not tvm.ir.Op)


def _of_expression(site: Site) -> Iterator[str]:
    node, above = site.node, site.parent
    assert above is not None
    kind = _kind(node)
    inside = above.kind is Kind.EXPR
    place = _class(above.node) if inside else f"{_owner(above)}.{site.role}"
    yield f"{_class(node)} in {place}"
    yield from (f"{_class(node)} for {purpose}" for purpose in _purposes(site))
    if kind is tvm.ir.Call:
        yield f"{operator_name(node) or 'a function'} of {_family(site.dtype)}"
    elif kind is tirx.Cast:
        yield f"{_family(site.dtype)} of {_family(dtype_of(node.value))}"
    elif kind is tirx.IntImm:
        value = int(node.value)
        if not 0 <= value < _LARGE:
            yield f"{'negative' if value < 0 else 'large'} number in {place}"
    else:
        yield f"{_class(node)} of {_family(site.dtype)}"


def _purposes(site: Site) -> Iterator[str]:
    """What an expression is part of, from the inside: an index, a condition, a bound, an axis, an initialisation."""
    for part in path_of(site):
        if part.role in _PURPOSES:
            yield _PURPOSES[part.role]
        elif part.role == "args" and part.index == 0 and part.parent is not None and is_choice(part.parent.node):
            yield "condition"
    if in_init(site):
        yield "init"


def _class(node: Any) -> str:
    """What an expression is, alike for those that stand for each other."""
    kind = _kind(node)
    if kind is tvm.ir.Call:
        return "choice" if is_choice(node) else "call"
    return _CLASSES.get(kind, kind.__name__)


def _kind(node: Any) -> type:
    """The type of an expression: of a call that is an operation on bits in older versions, that of the latter."""
    kind = type(node)
    called = CALLED_NODES.get(operator_name(node)) if kind is tvm.ir.Call else None
    return kind if called is None or called not in _CLASSES else called


def _owner(site: Site) -> str:
    return _statement(site) or type(site.node).__name__


def _statement(site: Site) -> str:
    """What a statement is; "" for those that only hold others, and for expressions."""
    kind = type(site.node)
    if site.kind is Kind.EXPR or kind in (tirx.SeqStmt, s_tir.SBlockRealize):
        return ""
    if kind is tirx.For:
        return _LOOPS[int(site.node.kind)]
    if kind is s_tir.SBlock and site.parent is not None and site.parent.parent is None:
        return "Root"
    return kind.__name__


def _family(text: str) -> str:
    """A dtype without its width."""
    dtype = parse(text)
    return text if dtype is None else dtype.base if dtype.lanes == 1 else f"{dtype.base} vectors"
