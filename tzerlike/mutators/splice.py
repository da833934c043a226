"""Splice: inserts a part of another corpus member in place of, or beside, a part of this one."""

from __future__ import annotations

from random import Random
from typing import Any

from tzerlike.mutators.general import beside
from tzerlike.mutators.generate import fitted, make_generator
from tzerlike.mutators.generator import Generator, Value
from tzerlike.mutators.protocol import MutationEnv
from tzerlike.mutators.statements import fill
from tzerlike.systems.tvm_api import array_items, s_tir, tirx, uses_blocks
from tzerlike.tir import dtypes
from tzerlike.tir.hole import hole_at, needs_constant
from tzerlike.tir.node import dtype_of, key, seq, substitute
from tzerlike.tir.scope import Buffer, Scope, buffer_of, scope_at
from tzerlike.tir.tree import Site, Tree, free_variables, jumps_out, renamed


def splice(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Copy a statement or an expression of the donor; its free variables and buffers become ones in scope here.

    Buffers become buffers of the same dtype and rank where there are, and in defined mode only where every
    dimension is at least as long; the others are allocated and filled before the spliced statement.
    """
    donor = env.donor()
    if donor is None:
        return None
    tree, other = Tree(func), Tree(donor)
    generator = make_generator(tree, rng, env.target, rng.random() < env.defined_weight)
    room = env.max_nodes - tree.size
    if rng.randrange(3) == 0:
        return _splice_expression(tree, other, generator, room)
    return _splice_statement(tree, other, generator, room)


def _splice_statement(tree: Tree, other: Tree, generator: Generator, room: int) -> Any | None:
    parts = [
        s
        for s in other.statements()
        if 2 < s.size <= room
        and not jumps_out(other, s)
        and type(s.node) not in (tirx.Bind, tirx.DeclBuffer)
        and not (s.number == 0 and type(s.node) is s_tir.SBlockRealize)
    ]
    if not uses_blocks(tree.func):
        parts = [s for s in parts if not any(type(i.node) is s_tir.SBlock for i in other.below(s))]
    places = tree.statements()[1:] or tree.statements()
    if not parts or not places:
        return None
    part, place = generator.rng.choice(parts), generator.rng.choice(places)
    scope = scope_at(tree, place)
    if scope.in_block and any(type(i.node) is s_tir.SBlock for i in other.below(part)):
        return None
    made = _adopt(other, part, scope, generator)
    return None if made is None else tree.replace(place, beside(place, made, generator.rng))


def _splice_expression(tree: Tree, other: Tree, generator: Generator, room: int) -> Any | None:
    wanted: dict[str, list[Site]] = {}
    for site in tree.expressions():
        if site.dtype and site.dtype != "handle" and not needs_constant(site):
            wanted.setdefault(site.dtype, []).append(site)
    parts = [s for s in other.expressions() if 1 < s.size <= room and s.dtype in wanted]
    if not parts:
        return None
    part = generator.rng.choice(parts)
    place = generator.rng.choice(wanted[part.dtype])
    scope = scope_at(tree, place)
    values: dict[int, Any] = {}
    renames: dict[int, Buffer] = {}
    for var in free_variables(other, part):
        if tirx.is_buffer_var(var):
            match = _matching(generator, scope, buffer_of(var, "param"))
            if match is None:
                return None
            renames[key(var)] = match
        else:
            if dtype_of(var) == "handle":
                return None
            values[key(var)] = _value_for(generator, scope, var)
    node = renamed(_with_buffers(other, part, renames), generator.names.fresh, values)
    made = fitted(generator, tree, place, hole_at(tree, place), Value(node))
    return None if made is None else tree.replace(place, made)


def _adopt(other: Tree, part: Site, scope: Scope, generator: Generator) -> Any | None:
    """The statement of the donor as one that fits into `scope`."""
    values: dict[int, Any] = {}
    renames: dict[int, Buffer] = {}
    before: list[Any] = []
    blocks = [s for s in other.below(part) if type(s.node) is s_tir.SBlock]
    in_blocks = {key(var) for block in blocks for var in free_variables(other, block)}
    block_scope = scope.extended()
    block_scope.enter_block()
    for var in free_variables(other, part):
        if not tirx.is_buffer_var(var):
            if dtypes.parse(dtype_of(var)) is None or dtype_of(var) == "handle":
                return None
            values[key(var)] = _value_for(generator, block_scope if key(var) in in_blocks else scope, var)
            continue
        wanted = buffer_of(var, "alloc")
        match = _matching(generator, scope, wanted)
        if match is None:
            if any(extent is None for extent in wanted.shape):
                return None
            memory = "local" if scope.threaded else "global"
            made = generator.buffer(scope, "b", [extent or 1 for extent in wanted.shape], wanted.dtype, memory)
            match = buffer_of(made, "alloc")
            before += [tirx.AllocBuffer(made), fill(generator, scope, match)]
        renames[key(var)] = match
    node = _with_buffers(other, part, renames)
    return seq([*before, renamed(node, generator.names.fresh, values)])


def _with_buffers(other: Tree, part: Site, renames: dict[int, Buffer]) -> Any:
    """The node of `part` with other buffers; built anew, for their types differ."""
    sub = Tree(tirx.PrimFunc([], part.node if isinstance(part.node, tirx.Stmt) else tirx.Evaluate(part.node)))

    def change(site: Site, node: Any) -> Any:
        kind = type(node)
        if kind is tirx.BufferStore and key(node.buffer) in renames:
            return tirx.BufferStore(renames[key(node.buffer)].var, node.value, array_items(node.indices))
        if type(getattr(node, "source", None)) is tirx.Var and key(node.source) in renames:
            return tirx.BufferLoad(renames[key(node.source)].var, array_items(node.indices))
        return node

    body = sub.rewrite(change).body
    body = substitute(body, {identity: buffer.var for identity, buffer in renames.items()})
    return body if isinstance(part.node, tirx.Stmt) else body.value


def _matching(generator: Generator, scope: Scope, wanted: Buffer) -> Buffer | None:
    """A buffer in scope with the dtype and rank of `wanted`; in defined mode one that is nowhere shorter."""
    usable = generator.readable(scope)
    if generator.defined:
        writable = {key(b.var) for b in generator.writable(scope)}
        usable = [b for b in usable if key(b.var) in writable]
    found = [b for b in usable if b.dtype == wanted.dtype and len(b.shape) == len(wanted.shape)]
    if generator.defined:
        found = [
            b
            for b in found
            if all(
                have is not None and want is not None and have >= want
                for have, want in zip(b.shape, wanted.shape, strict=True)
            )
        ]
    return generator.rng.choice(found) if found else None


def _value_for(generator: Generator, scope: Scope, var: Any) -> Any:
    """What stands for a free variable of the donor: a variable or a constant of the same dtype."""
    dtype = dtypes.parse(dtype_of(var))
    if dtype is None or dtype.base == "handle":
        raise ValueError(f"no value for a variable of type {var.ty}")
    if generator.defined and dtype.is_int:
        return dtypes.constant(dtype, 0 if generator.chance(50) else 1)
    return generator.leaf(scope, dtype).node
