"""Calls that are statements by what they do to memory: stores with a mask, and reductions over threads.

Each gives what is done and its cost in scalar operations, or says why it is not modelled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tzerlike.core.dtypes import parse, with_lanes
from tzerlike.systems.tvm_api import array_items, operator_name, source_of, tirx, tvm, type_of
from tzerlike.tir.interpreter.expressions import Compiler
from tzerlike.tir.interpreter.fault import BrokenRule
from tzerlike.tir.interpreter.memory import BufferView
from tzerlike.tir.interpreter.state import Node, dtype_text
from tzerlike.tir.interpreter.threads import ThreadAxis, given_by_all
from tzerlike.tir.interpreter.wellformed import access_misfit, dtype_of, element_dtype

Done = tuple[Callable[[], None], int]


def predicated_store(expressions: Compiler, arguments: Sequence[Node]) -> Done | str:
    """A predicated vector store: lanes that are switched off keep what memory holds."""
    buffer, value, *indices, mask = arguments
    lanes, slot = dtype_of(value), expressions.slots.find(buffer)
    wrong = access_misfit(buffer, indices, lanes)
    if lanes is None or lanes.lanes == 1 or slot is None or wrong:
        return wrong or "a masked store"
    held = element_dtype(buffer)
    if held is None or held.lanes != 1 or dtype_text(mask) != with_lanes("bool", lanes.lanes):
        return "a masked store with another mask"
    if expressions.allow(buffer, True, indices) is not None:
        return "a masked store in a block with regions of its own"
    expressions.cost = 1 + lanes.lanes
    stored, active = expressions.compile(value), expressions.compile(mask)
    places = [expressions.compile(index) for index in indices]
    widths = [getattr(parse(str(type_of(index).dtype)), "lanes", 1) for index in indices]
    state, tracked, width = expressions.state, expressions.tracked, lanes.lanes

    def action() -> None:
        view: BufferView | None = state.frame[slot]
        if view is None:
            raise BrokenRule("unsupported", "a buffer before it has memory")
        columns = [p() if n > 1 else [p()] * width for p, n in zip(places, widths, strict=True)]
        seen: set[int] = set()
        for on, element, where in zip(active(), stored(), zip(*columns, strict=True), strict=True):
            if on:
                position = view.locate(where)
                if position in seen:
                    raise BrokenRule("race", "two lanes of a store write one element")
                seen.add(position)
                if tracked:
                    view.memory.note_write(position, state.path)
                view.memory.values[position] = element

    return action, expressions.cost


def thread_reduction(expressions: Compiler, node: Node, threads: Sequence[ThreadAxis]) -> Done | str:
    """A reduction over `threads` of a block: each gives some values, and gets what all of its group give together.

    Threads of a group differ in the reduced axes alone. What is lowered to shuffles of a warp or to shared memory
    combines values in an order of its own, which for floats the bounds of their errors cover.
    """
    reducer, call = node.node, node.body.value if type(node.body) is tirx.Evaluate else None
    if call is None or type(call) is not tvm.ir.Call or operator_name(call) != "tirx.tvm_thread_allreduce":
        return "a scope of reductions without one"
    state, slots, count = expressions.state, expressions.slots, len(array_items(reducer.result))
    _, *parts = array_items(call.args)
    given, active, taken, axes = (
        parts[:count],
        parts[count : count + 1],
        parts[count + 1 :][:count],
        parts[2 * count + 1 :],
    )
    by_slot = {axis.slot: axis for axis in threads}
    # Of an axis with one thread there is but its index, a constant.
    reduced = [slots.find(axis) for axis in axes if type(axis) is tirx.Var]
    own = [by_slot[slot] for slot in reduced if slot in by_slot]
    if len(taken) != count or len(own) != len(reduced) or not all(type(one) is tvm.ir.TensorLoad for one in taken):
        return "a reduction over threads like this one"
    expressions.cost = 1
    values, holds = [expressions.compile(value) for value in given], expressions.number(active[0])
    nothing = [expressions.compile(one) for one in array_items(reducer.identity_element)]
    sides = [slots.define(var) for side in (reducer.lhs, reducer.rhs) for var in array_items(side)]
    with slots.binding(*sides):
        combine = [expressions.compile(one) for one in array_items(reducer.result)]
    total: list[Any] = [None] * count
    stores = [
        expressions.access(source_of(one), array_items(one.indices), partial(total.__getitem__, place), dtype_of(one))
        for place, one in enumerate(taken)
    ]
    this, others = object(), [axis.slot for axis in threads if axis not in own]

    def action() -> None:
        frame = state.frame
        mine = [value() for value in (values if holds() else nothing)]
        group = (this, *[frame[slot] for slot in others])
        size = math.prod(axis.extent() for axis in own)
        first, *more = given_by_all(state, group, tuple([frame[axis.slot] for axis in own]), mine, size)
        state.spend(size)
        for other in more:
            for slot, value in zip(sides, (*first, *other), strict=True):
                frame[slot] = value
            first = [each() for each in combine]
        total[:] = first
        for store in stores:
            store()

    return action, expressions.cost
