"""Whether a loop repeats itself: its first iteration already has the final effect, or only the last one has any."""

from __future__ import annotations

from typing import Any

from tzerlike.systems.tvm_api import array_items, s_tir, source_of, tirx, tvm
from tzerlike.tir.node import key, uses, variables_in
from tzerlike.tir.odd.program import is_pure
from tzerlike.tir.scope import THREAD_BINDING
from tzerlike.tir.tree import Site, Tree

_MAY_STAND = (tirx.BufferStore, tirx.For, tirx.SeqStmt, s_tir.SBlockRealize, s_tir.SBlock)


def only_repeats(tree: Tree, site: Site) -> bool:
    """Whether all that a loop of more than one round does is to store values that depend neither on its variable nor on
    what it stores. Threads that do the same, and kernels that are launched again, are another matter."""
    loop = site.node
    if type(loop.extent) is tirx.IntImm and int(loop.extent.value) <= 1:
        return False
    inside: list[Any] = [below.node for below in tree.below(site)]
    if any(type(node) is tirx.For and int(node.kind) == THREAD_BINDING for node in inside):
        return False
    statements = [node for node in inside if isinstance(node, tirx.Stmt)]
    stored = {key(node.buffer) for node in statements if type(node) is tirx.BufferStore}
    return (
        bool(stored)
        and all(type(node) in _MAY_STAND for node in statements)
        and all(is_pure(node) for node in inside if type(node) is tvm.ir.Call)
        and not any(key(var) == key(loop.loop_var) for node in inside for var in uses(node))
        and not any(type(node) is tvm.ir.TensorLoad and key(source_of(node)) in stored for node in inside)
    )


def overwrites(tree: Tree, site: Site) -> bool:
    """Whether each iteration of a loop, but the last, makes something that no one reads before the next one makes it
    anew. A compiler that sees that has next to nothing to do."""
    loop = site.node
    if int(loop.kind) == THREAD_BINDING or (type(loop.extent) is tirx.IntImm and int(loop.extent.value) <= 1):
        return False
    inside: list[Any] = [below.node for below in tree.below(site)]
    moving = {key(loop.loop_var)}

    def moves(*values: Any) -> bool:
        return any(key(var) in moving for value in values for var in variables_in(value))

    for node in inside:
        if type(node) is s_tir.SBlockRealize:
            axes = zip(array_items(node.block.iter_vars), array_items(node.iter_values), strict=True)
            moving |= {key(axis.var) for axis, value in axes if moves(value)}
        elif type(node) in (tirx.Bind, tirx.Let) and moves(node.value):
            moving.add(key(node.var))
        elif type(node) is tirx.For and moves(node.min, node.extent):
            moving.add(key(node.loop_var))
    read = {key(source_of(node)) for node in inside if type(node) is tvm.ir.TensorLoad}
    stores = [node for node in inside if type(node) is tirx.BufferStore and key(node.buffer) not in read]
    elsewhere = {key(node.buffer) for node in stores if moves(*array_items(node.indices))}
    return any(key(node.buffer) not in elsewhere for node in stores)
