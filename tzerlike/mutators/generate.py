"""Filling holes: the generator with its tables, and what of TVM the tables leave out."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from tzerlike.mutators.expressions import EXPRESSIONS, pointer
from tzerlike.mutators.generator import Generator
from tzerlike.mutators.hole import Hole
from tzerlike.mutators.scope import Names, names_in
from tzerlike.mutators.statements import STATEMENTS
from tzerlike.mutators.tree import Kind, Tree, key
from tzerlike.tvm_api import array_items, tirx, tvm

IMPLIED_NODES: Mapping[str, str] = {
    "ir.FloatImm": "a leaf",
    "ir.IntImm": "a leaf",
    "ir.StringImm": "a leaf of calls",
    "ir.Var": "a leaf",
    "s_tir.SBlock": "comes with its realize",
    "tirx.Continue": "comes with Break",
}
"""Node types that the generator makes without a row of their own."""

EXCLUDED_NODES: Mapping[str, str] = {
    "ir.BaseFunc": "abstract",
    "ir.Constant": "abstract",
    "ir.Expr": "abstract",
    "ir.GenericConst": "holds tensors; Relax only",
    "ir.GlobalVar": "a function's name; the module has one function",
    "ir.Op": "what is called, no value",
    "ir.OpaqueExpr": "abstract; removed before IR is finished",
    "ir.TensorRegion": "only in signatures of blocks and in tile primitives",
    "ir.Tuple": "Relax only",
    "ir.TupleGetItem": "Relax only",
    "relax.*": "graph level",
    "sym.*": "internal to the arithmetic analyzer",
    "te.Reduce": "only inside of a TE compute; a PrimFunc that holds one cannot be compiled",
    "te.Tensor": "TE only",
    "tirx.PrimFunc": "the root",
    "tirx.Return": "ends the function before the callers' return value is set; MakePackedAPI makes it",
    "tirx.ScopeIdDefStmt": "names of warps and lanes in tile programs, which need a cluster launch",
    "tirx.Stmt": "abstract",
    "tirx.TilePrimitiveCall": "needs tile layouts and an execution scope",
}
"""Node types that the generator leaves out, each with the reason."""


def make_generator(tree: Tree, rng: Random, target: str, defined: bool) -> Generator:
    """A generator for one mutation of the function of `tree`."""
    names = Names(names_in(tree.func, tree))
    return Generator(rng, names, target, defined, EXPRESSIONS, STATEMENTS, written_buffers(tree))


def fill(generator: Generator, hole: Hole, size: int) -> Any | None:
    """Something for `hole` with about `size` nodes; None for holes that only what was there fits."""
    if hole.kind is Kind.STMT:
        return generator.stmt(hole.scope, size)
    if hole.dtype is None:
        return None
    if hole.dtype.base == "handle":
        return pointer(generator, hole.scope)
    if hole.constant:
        return generator.constant(hole.dtype).node
    return generator.expr(hole.scope, hole.dtype, size).node


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
            written.update(key(load.source) for load in array_items(site.node.args) if type(load) is tvm.ir.TensorLoad)
    return written
