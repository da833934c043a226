"""Whether a program keeps the promises that schedule primitives rely on.

A primitive trusts what blocks say: that they are executed at every point of their domain, and those that reduce once,
that iterations over spatial axes are independent, that a reduction may be done in any order, that a block writes all
that it declares to write, and that there is no computation outside of blocks. A program that breaks one of these may be
scheduled into another, and that is nobody's bug. Mutation makes many such.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tzerlike.systems.tvm_api import array_items, s_tir, structural_equal, structural_walk, tirx, tvm
from tzerlike.tir import interpreter
from tzerlike.tir.interpreter import Argument, Verdict
from tzerlike.tir.scope import REDUCTION_AXIS, SPATIAL_AXIS

_ACCUMULATES = (tirx.Add, tirx.Mul, tirx.Min, tirx.Max)


def honest(func: Any, arguments: Sequence[Argument], max_steps: int) -> bool:
    """Whether all of `func` is in plain blocks that, run on `arguments`, keep their promises.

    It says no where it cannot tell: of nested blocks, conditions and loops inside of blocks, unusual reductions.
    """
    if not in_plain_blocks(func):
        return False
    program = interpreter.prepare(func, promises=True)
    return program.run(arguments, max_steps).verdict is Verdict.DEFINED and program.covers_domains


def in_plain_blocks(func: Any) -> bool:
    """Whether blocks do all of the work, each nothing but stores of the elements that it declares to write, and those
    that reduce accumulate in one of the usual ways."""
    stores: list[Any] = []
    structural_walk(func.body, (tirx.BufferStore, lambda node, *_: stores.append(node)))
    return bool(stores) and _plain(func.body)


def _plain(node: Any) -> bool:
    kind = type(node)
    if kind is tirx.SeqStmt:
        return all(_plain(part) for part in array_items(node.seq))
    if kind is tirx.For:
        return _plain(node.body)
    if kind is not s_tir.SBlockRealize or array_items(node.block.match_buffers):
        return False
    block = node.block
    if array_items(block.iter_vars) or _stores(block.body) is not None:
        return _plain_leaf(block)
    return block.init is None and _plain(block.body)


def _plain_leaf(block: Any) -> bool:
    """Whether a block does nothing but store the elements that it declares to write, each at every execution."""
    stores = _stores(block.body)
    if stores is None or array_items(block.alloc_buffers):
        return False
    declared = [(region.source, array_items(region.region)) for region in array_items(block.writes)]
    if not all(any(_is_element(region, store) for store in stores) for region in declared):
        return False
    kinds = {int(axis.iter_type) for axis in array_items(block.iter_vars)}
    if not kinds <= {SPATIAL_AXIS, REDUCTION_AXIS}:
        return False
    if REDUCTION_AXIS not in kinds:
        return block.init is None
    start = [] if block.init is None else _stores(block.init)
    return start is not None and len(stores) == 1 and len(start) <= 1 and _accumulates(stores[0])


def _stores(body: Any) -> list[Any] | None:
    """The statements of `body`, or None where one of them is no store."""
    parts = array_items(body.seq) if type(body) is tirx.SeqStmt else [body]
    return parts if all(type(part) is tirx.BufferStore for part in parts) else None


def _is_element(declared: tuple[Any, list[Any]], store: Any) -> bool:
    buffer, region = declared
    if not buffer.same_as(store.buffer) or len(region) != len(array_items(store.indices)):
        return False
    return all(
        type(part.extent) is tirx.IntImm and int(part.extent.value) == 1 and structural_equal(part.min, index)
        for part, index in zip(region, array_items(store.indices), strict=True)
    )


def _accumulates(store: Any) -> bool:
    """Whether a store combines an element with something that does not depend on the buffer, in any order."""
    value = store.value
    if type(value) not in _ACCUMULATES:
        return False
    old = [_is_load(value.a, store), _is_load(value.b, store)]
    if old == [True, False]:
        return not _mentions(value.b, store.buffer)
    return old == [False, True] and not _mentions(value.a, store.buffer)


def _is_load(node: Any, store: Any) -> bool:
    if type(node) is not tvm.ir.TensorLoad or not node.source.same_as(store.buffer):
        return False
    read, written = array_items(node.indices), array_items(store.indices)
    return len(read) == len(written) and all(map(structural_equal, read, written))


def _mentions(node: Any, buffer: Any) -> bool:
    found: list[bool] = []

    def load(inner: Any, *context: object) -> None:
        if inner.source.same_as(buffer):
            found.append(True)

    structural_walk(node, (tvm.ir.TensorLoad, load))
    return bool(found)
