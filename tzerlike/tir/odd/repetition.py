"""Whether a loop repeats itself: its first iteration already has the final effect."""

from __future__ import annotations

from typing import Any

from tzerlike.systems.tvm_api import s_tir, source_of, tirx, tvm
from tzerlike.tir.node import key, uses
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
