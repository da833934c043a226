"""Where a primitive has to refuse: blocks that TVM's documentation excludes, or on which it cannot work.

An InternalError is a bug there too; but what is due is a ScheduleError, not a result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tzerlike.systems.tvm_api import array_items, is_variable, s_tir, structural_walk, tirx, tvm


def refusal_due(schedule: Any, primitive: str, arguments: Sequence[Any]) -> str:
    """Return why a primitive has to refuse a call, as a sentence; "" where nothing is known that speaks against it."""
    asks = _ASKS.get(primitive)
    if asks is None or not arguments:
        return ""
    why, excluded = asks
    return why if excluded(schedule.get(arguments[0]), arguments[1:]) else ""


def _has_other_variables(block: Any, arguments: Sequence[Any]) -> bool:
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


def _pads_nothing(block: Any, arguments: Sequence[Any]) -> bool:
    store = block.body
    if type(store) is not tirx.BufferStore:
        return True
    value = store.value
    chosen = type(value) is tvm.ir.Call and str(getattr(value.op, "name", "")).endswith(".if_then_else")
    return not chosen and type(value) is not tirx.Select


def _is_matched_elsewhere(field: str) -> Callable[[Any, Sequence[Any]], bool]:
    def excluded(block: Any, arguments: Sequence[Any]) -> bool:
        regions = array_items(getattr(block, field))
        if len(arguments) < 2 or not isinstance(arguments[0], int) or not 0 <= arguments[0] < len(regions):
            return False
        buffer, matches = regions[arguments[0]].source, array_items(block.match_buffers)
        structural_walk(block.body, (s_tir.SBlock, lambda inner, *_: matches.extend(array_items(inner.match_buffers))))
        return any(
            match.source.source.same_as(buffer)
            and _has_fixed_strides(match.buffer)
            and str(match.buffer.scope()) != str(arguments[1])
            for match in matches
        )

    return excluded


def _has_fixed_strides(buffer: Any) -> bool:
    strides = array_items(buffer.strides)
    return bool(strides) and all(type(stride) is tirx.IntImm for stride in strides)


def _among(var: Any, others: Sequence[Any]) -> bool:
    return any(var.same_as(other) for other in others)


_DOCUMENTED = "the documentation of `{}` excludes the block that it is called on: “{}”"
_MATCHED = "a `match_buffer` of the buffer has strides and a scope of its own, which no cache in another scope can have"

_ASKS: Mapping[str, tuple[str, Callable[[Any, Sequence[Any]], bool]]] = MappingProxyType(
    {
        "reverse_compute_inline": (
            _DOCUMENTED.format(
                "reverse_compute_inline",
                "the indices of each `BufferLoad` on the RHS are all distinct atomic variables, and no variables other "
                "than those indexing variables are allowed in the statement",
            ),
            _has_other_variables,
        ),
        "decompose_padding": (
            _DOCUMENTED.format("decompose_padding", "The input block is a block which match padding pattern."),
            _pads_nothing,
        ),
        "cache_read": (_MATCHED, _is_matched_elsewhere("reads")),
        "cache_write": (_MATCHED, _is_matched_elsewhere("writes")),
    }
)
"""By the names of primitives; what is quoted is python/tvm/s_tir/schedule/schedule.py of TVM."""
