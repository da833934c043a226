"""Buffers that view the memory of others: declared views, and a block's own names for regions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from tzerlike.systems.tvm_api import array_items, operator_name, source_of, tirx, tvm, type_of
from tzerlike.tir.interpreter.fault import BrokenRule, raising
from tzerlike.tir.interpreter.memory import BufferView, Memory, row_major, size_of
from tzerlike.tir.interpreter.state import Node, Slots
from tzerlike.tir.interpreter.wellformed import element_dtype, layout_misfit, match_misfit

Number = Callable[[Node], Callable[[], Any]]
"""Compiles an expression that has to be one number."""


def data_owner(data: Node) -> Node | None:
    """The buffer whose data pointer an expression is; None for any other expression."""
    if type(data) is not tvm.ir.Call or operator_name(data) != "tirx.buffer_data":
        return None
    arguments = array_items(data.args)
    return arguments[0] if len(arguments) == 1 and element_dtype(arguments[0]) is not None else None


def memory_of(frame: list[Any], slot: int) -> BufferView:
    """The view in a slot; BrokenRule where the buffer has not been allocated by now."""
    view: BufferView | None = frame[slot]
    if view is None:
        raise BrokenRule("unsupported", "a view of a buffer before it has memory")
    return view


def layout(buffer: Node, number: Number) -> Callable[[Memory], BufferView]:
    """How a declared buffer lies over memory, from its shape, strides and offset."""
    ty, dtype, wrong = type_of(buffer), element_dtype(buffer), layout_misfit(buffer)
    shape = [number(extent) for extent in array_items(ty.shape)] if not wrong else []
    strides = [number(stride) for stride in array_items(ty.strides)] if not wrong else []
    fixed = not wrong and ty.elem_offset is not None and type(ty.elem_offset) is not tirx.Var
    offset = number(ty.elem_offset) if fixed else lambda: 0

    def lay(memory: Memory) -> BufferView:
        if wrong or dtype is None or dtype.scalar != memory.dtype:
            raise BrokenRule("unsupported", wrong or f"a view of {memory.dtype} as {dtype}")
        extents = tuple([extent() for extent in shape])
        size_of(extents)
        steps = tuple([stride() for stride in strides]) if strides else row_major(extents)
        return BufferView(memory, extents, steps, offset(), dtype.lanes)

    return lay


def matched(match: Node, slots: Slots, number: Number) -> Callable[[], None]:
    """What gives a block's own name for a region its view; variables of its shape and strides get their values."""
    source, target = source_of(match.source), match.buffer
    found, wrong = slots.find(source), match_misfit(match)
    if found is None or wrong:
        return raising("unsupported", wrong or "a region of an unknown buffer")
    region, ty = array_items(match.source.region), type_of(target)
    slot, frame = slots.define(target), slots.state.frame
    starts, extents = [number(part.min) for part in region], [number(part.extent) for part in region]
    named = [
        (slots.define(var), kind, place)
        for kind, group in (("shape", ty.shape), ("stride", ty.strides))
        for place, var in enumerate(array_items(group))
        if type(var) is tirx.Var and slots.find(var) is None
    ]
    if type(ty.elem_offset) is tirx.Var:
        named.append((slots.define(ty.elem_offset), "offset", 0))
    shape = [number(extent) for extent in array_items(ty.shape)]
    declared = [number(stride) for stride in array_items(ty.strides)]
    placed = number(ty.elem_offset) if ty.elem_offset is not None else None
    dropped = len(region) - len(shape)

    def action() -> None:
        base = memory_of(frame, found)
        offset = base.offset
        corner, sizes = [start() for start in starts], [extent() for extent in extents]
        for low, size, whole, stride in zip(corner, sizes, base.shape, base.strides, strict=True):
            if low < 0 or low + size > whole:
                raise BrokenRule("out-of-bounds", "a matched region")
            offset += low * stride
        if any(size != 1 for size in sizes[:dropped]):
            raise BrokenRule("unsupported", "a matched region of another rank")
        values = {"shape": sizes[dropped:], "stride": list(base.strides[dropped:]), "offset": [offset]}
        for where, kind, place in named:
            frame[where] = values[kind][place]
        if declared and [stride() for stride in declared] != values["stride"]:
            raise BrokenRule("assert", "the strides of a matched region")
        if placed is not None and placed() != offset:
            raise BrokenRule("assert", "the offset of a matched region")
        wanted = tuple([extent() for extent in shape])
        if wanted != tuple(sizes[dropped:]):
            raise BrokenRule("unsupported", "a matched region of another shape")
        frame[slot] = BufferView(base.memory, wanted, base.strides[dropped:], offset, base.lanes)

    return action


def distinct(shape: Sequence[int], strides: Sequence[Node]) -> bool:
    """Whether constant strides give every element a place of its own; strides that are variables are compact."""
    if any(type(stride) is not tirx.IntImm for stride in strides):
        return True
    places = numpy.zeros((1,), numpy.int64)
    for extent, stride in zip(shape, strides, strict=True):
        places = (places[:, None] + numpy.arange(extent) * int(stride.value)).reshape(-1)
    return len(numpy.unique(places)) == len(places)
