"""The paper's general-purpose mutators (section 3.2): insertion, deletion, replacement.

A place is picked uniformly over the nodes of the function, not over its depth.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random
from typing import Any

from tzerlike.core.dtypes import DType
from tzerlike.mutators.generate import (
    Stake,
    fill,
    fitted,
    interval_of,
    make_generator,
    stake,
    steering_buffers,
    stored_to,
)
from tzerlike.mutators.generator import BOOL, Generator, Value
from tzerlike.mutators.protocol import MutationEnv
from tzerlike.systems.tvm_api import array_items, op_call, tirx, tvm, type_of
from tzerlike.tir import dtypes
from tzerlike.tir.hole import Hole, hole_at
from tzerlike.tir.node import DEFINING, dtype_of, key, loop_with, seq
from tzerlike.tir.scope import Scope, scope_at
from tzerlike.tir.tree import (
    ARITHMETIC,
    BITWISE,
    COMPARISON,
    LOGIC,
    Kind,
    Site,
    Tree,
    free_variables,
    jumps_out,
    left_early,
)

ATTEMPTS = 5
"""How many places a mutator tries before it gives up."""


def insertion(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Put generated code instead of a node, or beside a statement."""
    tree = Tree(func)
    generator = make_generator(tree, rng, env.target, rng.random() < env.defined_weight)
    size = budget(tree, rng, env)
    for _ in range(ATTEMPTS):
        site = pick(tree, rng)
        made: Any | None
        if site.kind is Kind.STMT and (generator.defined or rng.randrange(5)):
            made = beside(site, generator.stmt(scope_at(tree, site), size), rng)
        elif type(site.node) in DEFINING:
            continue
        else:
            made = fill(generator, tree, site, size)
        if made is not None:
            return tree.replace(site, made)
    return None


def deletion(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Put a child of a node in the node's place, where it has the same type and its variables are known."""
    tree = Tree(func)
    sites = [site for site in tree.sites[1:] if site.kind is not Kind.FIXED and site.size > 1]
    defined = rng.random() < env.defined_weight
    if defined:
        steering = steering_buffers(tree)
        sites = [s for s in sites if s.kind is Kind.EXPR and stake(s) is Stake.VALUE]
        sites = [s for s in sites if stored_to(s) not in steering]
    rng.shuffle(sites)
    for site in sites[:12]:
        inner = [s for s in tree.below(site)[1:] if s.kind is site.kind and s.dtype == site.dtype]
        known = scope_at(tree, site).identities() if inner else set()
        inner = [s for s in inner if {key(var) for var in free_variables(tree, s)} <= known]
        if type(site.node) in (tirx.For, tirx.While):
            inner = [s for s in inner if not jumps_out(tree, s)]
        if defined:
            inner = [s for s in inner if _no_wider(tree, site, s) and not _guarded(site, s)]
        if inner:
            return tree.replace(site, rng.choice(inner).node)
    return None


def replacement(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Build another constructor from a node's children, generating what is missing; primitives are redrawn."""
    tree = Tree(func)
    generator = make_generator(tree, rng, env.target, rng.random() < env.defined_weight)
    for _ in range(ATTEMPTS):
        site = pick(tree, rng)
        made = _replaced(generator, tree, site)
        if made is not None:
            return tree.replace(site, made)
    return None


def pick(tree: Tree, rng: Random) -> Site:
    """A site that may be replaced, uniformly; the whole body only where there is no other."""
    return rng.choice([site for site in tree.sites[1:] if site.kind is not Kind.FIXED] or tree.sites[:1])


def budget(tree: Tree, rng: Random, env: MutationEnv) -> int:
    """How many nodes to generate: mostly few, never more than the child may have."""
    room = max(1, env.max_nodes - tree.size)
    return min(room, rng.choice((3, 5, 8, 8, 12, 16, 24, 40)))


def beside(site: Site, made: Any, rng: Random) -> Any:
    """`made` before or after the statement at `site`."""
    return seq([made, site.node] if rng.randrange(2) else [site.node, made])


def _guarded(site: Site, inner: Site) -> bool:
    """Whether `inner` is only computed under a condition within `site`."""
    for above in inner.ancestors():
        name = str(getattr(above.node.op, "name", "")) if type(above.node) is tvm.ir.Call else ""
        if name == "prim.if_then_else" or type(above.node) is tirx.Select:
            return True
        if above is site:
            break
    return False


def _no_wider(tree: Tree, site: Site, inner: Site) -> bool:
    """Whether the integer at `inner` has no value that the one at `site` cannot have."""
    dtype = dtypes.parse(site.dtype)
    if dtype is None or not dtype.is_int:
        return dtype is not None and dtype.base != "handle"
    scope = scope_at(tree, site)
    outer, found = interval_of(scope, site.node, dtype), interval_of(scope, inner.node, dtype)
    return outer is not None and found is not None and outer[0] <= found[0] and found[1] <= outer[1]


def _replaced(generator: Generator, tree: Tree, site: Site) -> Any | None:
    """Another node for `site`, from its children where it has some."""
    if site.kind is Kind.STMT:
        return _other_statement(generator, scope_at(tree, site), tree, site)
    hole = hole_at(tree, site)
    if site.size == 1 or hole.constant or hole.dtype is None:
        return fill(generator, tree, site, 1)
    made = _other_expression(generator, hole, hole.dtype, tree, site)
    return None if made is None else fitted(generator, tree, site, hole, Value(made))


def _other_expression(generator: Generator, hole: Hole, dtype: DType, tree: Tree, site: Site) -> Any | None:
    """Another expression of the same dtype around some of the children of `site`."""
    if dtype.base == "handle":
        return None
    known = hole.scope.identities()
    children = [s for s in tree.below(site)[1:] if s.parent is site]
    usable = [s for s in children if {key(var) for var in free_variables(tree, s)} <= known]
    operands = [s.node for s in usable if s.dtype == site.dtype]
    conditions = [s.node for s in usable if s.dtype == "bool"]

    def taken(pool: list[Any], dtype: DType) -> Any:
        if pool and generator.chance(80):
            return pool.pop(generator.rng.randrange(len(pool)))
        return generator.expr(hole.scope, dtype, 4).node

    operand, condition = partial(taken, operands, dtype), partial(taken, conditions, BOOL)
    choices: list[Any] = []
    if dtype.is_bool:
        choices += [*LOGIC, "not", *(COMPARISON if type(site.node) in COMPARISON else ())]
    elif not generator.defined or dtype.is_float:
        choices += ARITHMETIC[:3] if dtype.is_float else ARITHMETIC + BITWISE
    choices += [tirx.Min, tirx.Max] if not dtype.is_bool else []
    choices += ["select", "if", "let", "cast"]
    chosen = generator.rng.choice(choices)
    if chosen in COMPARISON:
        return chosen(site.node.a, site.node.b)
    if chosen == "not":
        return tirx.Not(operand())
    if chosen == "select":
        return tirx.Select(condition(), operand(), operand())
    if chosen == "if":
        return op_call("prim.if_then_else", [condition(), operand(), operand()], site.dtype)
    if chosen == "let":
        value = operand()
        var = tirx.Var(generator.names.fresh("v"), site.dtype)
        return tirx.Let(var, value, tirx.Max(var, operand()) if not dtype.is_bool else tirx.Or(var, operand()))
    if chosen == "cast":
        return generator.expr(hole.scope, dtype, 6).node
    return chosen(operand(), operand())


def _other_statement(generator: Generator, scope: Scope, tree: Tree, site: Site) -> Any | None:
    """Another statement that re-uses the body, the condition or the value of the one at `site`."""
    node = site.node
    kind = type(node)
    if generator.defined:
        return _same_statement(generator, node)
    if kind is tirx.IfThenElse:
        return _from_conditional(generator, node)
    if kind in (tirx.For, tirx.While) and left_early(tree, site):
        return None
    if kind is tirx.For:
        return generator.rng.choice((_unit_loop, _guarded_loop))(generator, scope, node)
    if kind is tirx.SeqStmt:
        parts = array_items(node.seq)
        if any(type(part) in DEFINING for part in parts):
            return None
        generator.rng.shuffle(parts)
        return seq(parts)
    if kind is tirx.BufferStore:
        return _from_store(generator, scope, node)
    if kind is tirx.While:
        return tirx.IfThenElse(node.condition, node.body, None)
    return None


def _same_statement(generator: Generator, node: Any) -> Any | None:
    """Another statement that does the same."""
    if type(node) is tirx.IfThenElse:
        other = node.else_case if node.else_case is not None else seq([])
        return tirx.IfThenElse(tirx.Not(node.condition), other, node.then_case)
    if type(node) is tirx.BufferStore and dtypes.parse(dtype_of(node.value)) is not None:
        return _bound_store(generator, node)
    return None


def _from_conditional(generator: Generator, node: Any) -> Any:
    choice = generator.rng.randrange(3)
    if choice == 0 and node.else_case is not None:
        return tirx.IfThenElse(node.condition, node.else_case, node.then_case)
    if choice == 1:
        return tirx.IfThenElse(tirx.Not(node.condition), node.then_case, node.else_case)
    return seq([part for part in (node.then_case, node.else_case) if part is not None])


def _unit_loop(generator: Generator, scope: Scope, node: Any) -> Any:
    """One iteration of the loop: its variable bound to its first value."""
    return seq([tirx.Bind(node.loop_var, node.min), node.body])


def _guarded_loop(generator: Generator, scope: Scope, node: Any) -> Any:
    """The loop with a condition around its body."""
    guard = tirx.NE(node.loop_var, node.min)
    if generator.chance(50):
        guard = generator.expr(scope, BOOL, 4).node
    return loop_with(node, body=tirx.IfThenElse(guard, node.body, None))


def _from_store(generator: Generator, scope: Scope, node: Any) -> Any:
    indices: Sequence[Any] = array_items(node.indices)
    choice = generator.rng.randrange(3)
    if choice == 0:
        return tirx.IfThenElse(generator.expr(scope, BOOL, 4).node, node, None)
    if choice == 1:
        current = tirx.BufferLoad(node.buffer, indices)
        return tirx.BufferStore(node.buffer, tirx.Select(tirx.EQ(current, node.value), current, node.value), indices)
    return _bound_store(generator, node)


def _bound_store(generator: Generator, node: Any) -> Any:
    """The store with its value bound to a variable first."""
    value = tirx.Var(generator.names.fresh("v"), type_of(node.value).dtype)
    return seq([tirx.Bind(value, node.value), tirx.BufferStore(node.buffer, value, array_items(node.indices))])
