"""Whether the parts of a node are consistent.

TVM's constructors see to most of this, but IR that was loaded, or that a pass left half-way, may lack it. The
interpreter asks before it compiles a node, so that what it compiles never meets a value of another kind: such a program
is not modelled, and says so. Operands are asked for themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tzerlike.core.dtypes import DType, parse, with_lanes
from tzerlike.systems.tvm_api import array_items, buffer_type, source_of, tirx, tvm, type_of
from tzerlike.tir.interpreter.state import Node, dtype_text, shown_name

_ARITHMETIC = (
    tirx.Add, tirx.Sub, tirx.Mul, tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod, tirx.Min, tirx.Max,
    tirx.LShift, tirx.RShift, tirx.BitwiseAnd, tirx.BitwiseOr, tirx.BitwiseXor, tirx.And, tirx.Or,
)  # fmt: skip
_COMPARISONS = (tirx.EQ, tirx.NE, tirx.LT, tirx.LE, tirx.GT, tirx.GE)


def misfit(node: Node, kind: Any = None) -> str:
    """What does not fit in an expression; "" where everything does. `kind` is what a call stands for."""
    check = _CHECKS.get(kind or type(node))
    return "" if check is None else check(node)


def dtype_of(node: Node) -> DType | None:
    """The dtype of an expression; None for what has none, and for vectors whose length nobody knows."""
    dtype = parse(dtype_text(node))
    return None if dtype is None or dtype.scalable else dtype


def element_dtype(buffer: Node) -> DType | None:
    """The dtype of a buffer's elements; None for what is no buffer."""
    ty = buffer_type(buffer)
    return None if ty is None else parse(str(ty.dtype.dtype))


def access_misfit(buffer: Node, indices: Sequence[Node], value: DType | None) -> str:
    """What does not fit in a load or store of `value`, a dtype with all its lanes."""
    held = element_dtype(buffer)
    if held is None or value is None:
        return "an access of what is no buffer of numbers"
    if len(indices) != len(array_items(type_of(buffer).shape)):
        return f"{len(indices)} indices of the buffer {shown_name(buffer)}"
    given = [dtype_of(index) for index in indices]
    if any(dtype is None or not dtype.is_int for dtype in given):
        return f"an index of {shown_name(buffer)} that is no integer"
    widths = {dtype.lanes for dtype in given if dtype is not None} - {1}
    if len(widths) > 1:
        return f"indices of {shown_name(buffer)} of different lengths"
    if value.scalar != held.scalar or value.lanes != held.lanes * max(widths, default=1):
        return f"an access of {value} to the buffer {shown_name(buffer)} of {held}"
    return ""


def layout_misfit(buffer: Node) -> str:
    """What does not fit in the declaration of a buffer."""
    if element_dtype(buffer) is None:
        return "what is no buffer of numbers"
    ty = type_of(buffer)
    shape, strides, offset = array_items(ty.shape), array_items(ty.strides), ty.elem_offset
    if strides and len(strides) != len(shape):
        return f"{len(strides)} strides of the buffer {shown_name(buffer)}"
    if not all(map(_is_whole, [*shape, *strides, *([] if offset is None else [offset])])):
        return f"the buffer {shown_name(buffer)} laid out by what is no integer"
    return ""


def match_misfit(match: Node) -> str:
    """What does not fit between a block's own name for a region and the region."""
    source, buffer, rank = source_of(match.source), match.buffer, len(array_items(match.source.region))
    if element_dtype(source) is None or element_dtype(source) != element_dtype(buffer):
        return "a matched region of another dtype"
    if rank != len(array_items(type_of(source).shape)) or rank < len(array_items(type_of(buffer).shape)):
        return "a matched region of another rank"
    return layout_misfit(buffer)


def block_misfit(realize: Node) -> str:
    """What does not fit between the realization of a block and the block."""
    axes = array_items(realize.block.iter_vars)
    if len(axes) != len(array_items(realize.iter_values)):
        return "a block with other values than axes"
    if any(axis.dom is None or not _is_whole(axis.var) for axis in axes):
        return "an axis without a domain of integers"
    return ""


def _is_whole(node: Node) -> bool:
    """Whether an expression is one integer."""
    dtype = dtype_of(node)
    return dtype is not None and dtype.is_int and dtype.lanes == 1


def _says(fits: bool, node: Node) -> str:
    return "" if fits else f"{type(node).__name__} of other dtypes"


def _arithmetic(node: Node) -> str:
    return _says(dtype_text(node.a) == dtype_text(node.b) == dtype_text(node), node)


def _comparison(node: Node) -> str:
    dtype = dtype_of(node.a)
    lanes = dtype.lanes if dtype is not None else 1
    return _says(dtype_text(node.a) == dtype_text(node.b) and dtype_text(node) == with_lanes("bool", lanes), node)


def _complement(node: Node) -> str:
    return _says(dtype_text(node.a) == dtype_text(node), node)


def _integer(node: Node) -> str:
    dtype, value = dtype_of(node), int(node.value)
    if dtype is None or dtype.lanes != 1 or not (dtype.is_int or dtype.is_bool):
        return f"an integer that is said to be {dtype_text(node)}"
    if dtype.is_bool:
        return _says(value in (0, 1), node)
    # The constant is kept in 64 bits, whatever they stand for.
    fits = dtype.low <= value <= dtype.high or (dtype.base == "uint" and dtype.bits == 64)
    return "" if fits else f"{value} that is said to be {dtype}"


def _select(node: Node) -> str:
    own, condition = dtype_of(node), dtype_of(node.condition)
    if own is None or condition is None or not condition.is_bool or condition.lanes not in (1, own.lanes):
        return _says(False, node)
    return _says(dtype_text(node.true_value) == dtype_text(node.false_value) == dtype_text(node), node)


def _let(node: Node) -> str:
    fits = dtype_text(node.var) == dtype_text(node.value) and dtype_text(node.body) == dtype_text(node)
    return _says(fits and dtype_of(node.var) is not None, node)


def _ramp(node: Node) -> str:
    own = dtype_of(node)
    if own is None or not own.is_int or own.lanes < 2:
        return _says(False, node)
    return _says(dtype_text(node.base) == dtype_text(node.stride) == own.scalar, node)


def _broadcast(node: Node) -> str:
    own, inner = dtype_of(node), dtype_of(node.value)
    if own is None or inner is None or own.lanes < 2:
        return _says(False, node)
    return _says(inner.scalar == own.scalar and own.lanes % inner.lanes == 0, node)


def _shuffle(node: Node) -> str:
    own = dtype_of(node)
    vectors = [dtype_of(vector) for vector in array_items(node.vectors)]
    picks = [dtype_of(index) for index in array_items(node.indices)]
    if own is None or any(dtype is None or dtype.scalar != own.scalar for dtype in vectors):
        return _says(False, node)
    whole = all(dtype is not None and dtype.is_int and dtype.lanes == 1 for dtype in picks)
    return _says(whole and len(picks) == own.lanes, node)


def _cast(node: Node) -> str:
    own, inner = dtype_of(node), dtype_of(node.value)
    return _says(own is not None and inner is not None and own.lanes == inner.lanes, node)


_CHECKS: Mapping[Any, Callable[[Node], str]] = {
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    **dict.fromkeys(_COMPARISONS, _comparison),
    tirx.Not: _complement,
    tirx.BitwiseNot: _complement,
    tirx.IntImm: _integer,
    tirx.Select: _select,
    tirx.Let: _let,
    tirx.Ramp: _ramp,
    tirx.Broadcast: _broadcast,
    tirx.Shuffle: _shuffle,
    tirx.Cast: _cast,
    tvm.ir.TensorLoad: lambda node: access_misfit(source_of(node), array_items(node.indices), dtype_of(node)),
}
