"""Where a primitive has to refuse: blocks that TVM's documentation excludes, and the root.

An InternalError is a bug there too; but what is due is a ScheduleError, not a result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tzerlike.systems.tvm_api import array_items, is_variable, structural_walk, tirx, tvm
from tzerlike.tir.node import key
from tzerlike.tir.odd.expressions import is_fixed


def refusal_due(schedule: Any, primitive: str, arguments: Sequence[Any]) -> str:
    """Return why a primitive has to refuse a call, as a sentence; "" where nothing is known that speaks against it."""
    if not arguments:
        return ""
    if primitive in _NOT_ON_THE_ROOT and schedule.get_sref(arguments[0]).parent is None:
        return f"`{primitive}` does not operate on the root block"
    for asked, excluded in _EXCLUDED.get(primitive, ()):
        if excluded(schedule.get(arguments[0])):
            return f"the documentation of `{primitive}` excludes the block that it is called on: “{asked}”"
    return ""


def _has_other_buffers(block: Any) -> bool:
    return any(
        len({key(region.source) for region in array_items(regions)}) != 1 for regions in (block.reads, block.writes)
    )


def _has_other_variables(block: Any) -> bool:
    store = block.body
    if type(store) is not tirx.BufferStore:
        return True
    loads: list[Any] = []
    used: list[Any] = []
    for expr in (store.value, *array_items(store.indices)):
        structural_walk(
            expr,
            (tvm.ir.TensorLoad, lambda node, *_: loads.append(node)),
            (tirx.Var, lambda node, *_: used.append(node)),
        )
    axes = [axis.var for axis in array_items(block.iter_vars)]
    each = [array_items(load.indices) for load in loads]
    indexing = [index for indices in each for index in indices]
    plain = all(map(is_variable, indexing)) and all(
        not one.same_as(other) for indices in each for place, one in enumerate(indices) for other in indices[:place]
    )
    return not plain or any(_among(axis, used) and not _among(axis, indexing) for axis in axes)


def _pads_nothing(block: Any) -> bool:
    store = block.body
    if type(store) is not tirx.BufferStore:
        return True
    value = store.value
    if type(value) is tirx.Select:
        padding = value.false_value
    elif type(value) is tvm.ir.Call and str(getattr(value.op, "name", "")).endswith(".if_then_else"):
        padding = array_items(value.args)[2]
    else:
        return True
    return not is_fixed(padding)


def _among(var: Any, others: Sequence[Any]) -> bool:
    return any(var.same_as(other) for other in others)


_NOT_ON_THE_ROOT = frozenset(
    (
        "cache_index", "cache_inplace", "cache_read", "cache_write", "compute_inline", "pad_einsum", "reindex",
        "reverse_compute_inline", "rolling_buffer", "transform_layout",
    )
)  # fmt: skip
"""Primitives that say so themselves of a root block that is else as they want it."""

_ONE_BUFFER = "The block is a complete non-root block, which only produces and consumes one buffer"
_DISTINCT_VARIABLES = (
    "the indices of each `BufferLoad` on the RHS are all distinct atomic variables, and no variables other than those "
    "indexing variables are allowed in the statement"
)

_EXCLUDED: Mapping[str, Sequence[tuple[str, Callable[[Any], bool]]]] = MappingProxyType(
    {
        "reverse_compute_inline": (
            (_ONE_BUFFER, _has_other_buffers),
            (_DISTINCT_VARIABLES, _has_other_variables),
        ),
        "decompose_padding": (("The input block is a block which match padding pattern.", _pads_nothing),),
    }
)
"""What is asked of blocks, and whether one is otherwise, by the names of primitives; what is quoted is
python/tvm/s_tir/schedule/schedule.py of TVM."""
