"""Where a primitive has to refuse: blocks that TVM's documentation excludes.

An InternalError is a bug there too; but what is due is a ScheduleError, not a result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tzerlike.systems.tvm_api import array_items, is_variable, structural_walk, tirx, tvm
from tzerlike.tir.odd.expressions import is_fixed


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
    if type(value) is tirx.Select:
        padding = value.false_value
    elif type(value) is tvm.ir.Call and str(getattr(value.op, "name", "")).endswith(".if_then_else"):
        padding = array_items(value.args)[2]
    else:
        return True
    return not is_fixed(padding)


def _among(var: Any, others: Sequence[Any]) -> bool:
    return any(var.same_as(other) for other in others)


_DOCUMENTED = "the documentation of `{}` excludes the block that it is called on: “{}”"

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
    }
)
"""By the names of primitives; what is quoted is python/tvm/s_tir/schedule/schedule.py of TVM."""
