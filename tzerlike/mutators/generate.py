"""Filling holes: the generator with its tables."""

from __future__ import annotations

from enum import Enum
from random import Random
from typing import Any

from tzerlike.core.dtypes import DType
from tzerlike.mutators.expressions import DIVISIONS, EXPRESSIONS, pointer
from tzerlike.mutators.generator import Generator, Value
from tzerlike.mutators.statements import STATEMENTS
from tzerlike.systems.tvm_api import array_items, source_of, tirx, tvm
from tzerlike.tir import dtypes
from tzerlike.tir.hole import Hole, hole_at
from tzerlike.tir.node import dtype_of, key
from tzerlike.tir.scope import Names, Scope, names_in
from tzerlike.tir.tree import Kind, Site, Tree


def make_generator(tree: Tree, rng: Random, target: str, defined: bool) -> Generator:
    """A generator for one mutation of the function of `tree`."""
    names = Names(names_in(tree.func, tree))
    generator = Generator(rng, names, target, defined, EXPRESSIONS, STATEMENTS, written_buffers(tree))
    if defined:
        generator.steering = steering_buffers(tree)
    return generator


def fill(generator: Generator, tree: Tree, site: Site, size: int) -> Any | None:
    """Something for the hole at `site` with about `size` nodes; None for holes that only what was there fits."""
    hole = hole_at(tree, site)
    if hole.kind is Kind.STMT:
        return None if generator.defined else generator.stmt(hole.scope, size)
    if hole.dtype is None:
        return None
    if hole.dtype.base == "handle":
        return None if generator.defined else pointer(generator, hole.scope)
    if hole.constant:
        return None if generator.defined else generator.constant(hole.dtype).node
    return fitted(generator, tree, site, hole, generator.expr(hole.scope, hole.dtype, size))


def fitted(generator: Generator, tree: Tree, site: Site, hole: Hole, value: Value) -> Any | None:
    """`value` as it may stand at `site`.

    In wild mode that is `value` itself. In defined mode an integer is brought into the interval of what stood
    there, so that what surrounds it stays in bounds and free of overflow, and None means that no other value can
    stand there: conditions that may guard an access, bounds of loops, places of stores.
    """
    if not generator.defined:
        return value.node
    dtype = hole.dtype
    if dtype is None:
        return None
    matters = stake(site)
    if matters is Stake.VALUE and stored_to(site) in generator.steering:
        matters = Stake.CONTROL
    if dtype.is_bool and matters is Stake.CONTROL:
        return None
    if not dtype.is_int:
        return value.node if matters is Stake.VALUE else None
    interval = interval_of(hole.scope, site.node, dtype)
    if interval is None:
        return None
    free = matters is Stake.VALUE or (matters is Stake.LOAD and _readable_load(generator, hole.scope, site))
    if not free and interval[0] != interval[1]:
        return None
    return generator.narrowed(value, dtype, *interval).node


class Stake(Enum):
    """What depends on the value of an expression."""

    VALUE = "a number that is stored"
    LOAD = "which element is read"
    CONTROL = "what is executed, what is written, or what a variable means"


def stake(site: Site) -> Stake:
    """What depends on the expression at `site`."""
    found = Stake.VALUE
    below = site
    for above in site.ancestors():
        kind, role = type(above.node), below.role
        if kind is tvm.ir.TensorLoad:
            found = Stake.LOAD
        elif kind is tvm.ir.Call:
            name = str(getattr(above.node.op, "name", ""))
            if (name == "prim.if_then_else" and below.index == 0) or name in _ADDRESSING:
                return Stake.CONTROL
        elif kind is tirx.Cast:
            source, target = dtypes.parse(dtype_of(above.node.value)), dtypes.parse(dtype_of(above.node))
            if source is not None and target is not None and source.is_float and not target.is_float:
                return Stake.CONTROL
        elif (kind is tirx.Select and role == "condition") or (kind is tirx.Let and role == "value"):
            return Stake.CONTROL
        elif above.kind is not Kind.EXPR:
            return found if kind in (tirx.BufferStore, tirx.Evaluate) and role == "value" else Stake.CONTROL
        below = above
    return found


_ADDRESSING = ("tirx.address_of", "tirx.tvm_access_ptr", "tirx.masked_load", "tirx.masked_store", "tirx.assume")


def stored_to(site: Site) -> int | None:
    """The key of the buffer that the value at `site` goes to, if any."""
    for above in site.ancestors():
        if above.kind is not Kind.EXPR:
            return key(above.node.buffer) if type(above.node) is tirx.BufferStore else None
    return None


def steering_buffers(tree: Tree) -> set[int]:
    """The keys of the buffers whose elements decide what is accessed or executed, or divide, directly or by others."""
    steering: set[int] = set()
    loads = tree.of_type(tvm.ir.TensorLoad)
    for site in loads:
        if stake(site) is not Stake.VALUE or any(type(above.node) in _PARTIAL for above in site.ancestors()):
            steering.add(key(source_of(site.node)))
    for _ in range(3):
        steering.update(key(source_of(site.node)) for site in loads if stored_to(site) in steering)
    return steering


_PARTIAL = (*DIVISIONS, tirx.LShift, tirx.RShift)
"""Operators that are not defined for all integers."""


def interval_of(scope: Scope, expr: Any, dtype: DType) -> tuple[int, int] | None:
    """The interval of an integer expression, as TVM's analyzer sees it; None where it sees none."""
    analyzer = tvm.sym.Analyzer()
    for variable in scope.variables:
        if variable.low is not None and variable.high is not None and variable.low <= variable.high:
            extent = tirx.IntImm(variable.dtype, variable.high - variable.low + 1)
            analyzer.bind(variable.var, tvm.ir.Range.from_min_extent(tirx.IntImm(variable.dtype, variable.low), extent))
    bound = analyzer.const_int_bound(expr)
    low, high = max(int(bound.min_value), dtype.low), min(int(bound.max_value), dtype.high)
    return (low, high) if low <= high else None


def _readable_load(generator: Generator, scope: Scope, site: Site) -> bool:
    """Whether every buffer whose element `site` selects may be read anywhere."""
    readable = {key(buffer.var) for buffer in generator.readable(scope)}
    return all(key(source_of(s.node)) in readable for s in site.ancestors() if type(s.node) is tvm.ir.TensorLoad)


def written_buffers(tree: Tree) -> set[int]:
    """The keys of the buffers that `tree`'s function may write: stored to, viewed, or passed on as pointers."""
    written = set()
    for site in tree.sites:
        kind = type(site.node)
        if kind is tirx.BufferStore:
            written.add(key(site.node.buffer))
        elif kind is tirx.Var and tirx.is_buffer_var(site.node):
            written.add(key(site.node))
        elif kind is tvm.ir.Call and str(getattr(site.node.op, "name", "")) == "tirx.address_of":
            written.update(
                key(source_of(load)) for load in array_items(site.node.args) if type(load) is tvm.ir.TensorLoad
            )
    return written
