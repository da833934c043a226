"""Programs with smaller loops, changed in their text; buffers and indices stay, so nothing gets out of bounds."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tzerlike.systems.text import integer_in, with_integer

_SMALL = 2
"""What the extents of the smallest program are at most."""


def halved(ir: str) -> Iterator[str]:
    """Yield the program with the extents of its loops divided by 2, by 4, and so on until all are small."""
    divisor, largest = 1, max((extent for _, _, extent in _loops(json.loads(ir))), default=0)
    while largest > _SMALL * divisor:
        divisor *= 2
        yield _divided(ir, divisor)


def _divided(ir: str, divisor: int) -> str:
    graph = json.loads(ir)
    nodes = graph["nodes"]
    for loop, constant, extent in list(_loops(graph)):
        if extent > _SMALL:
            # Constants of its own: other nodes may share the old ones.
            nodes.append(with_integer(graph, constant, max(_SMALL, extent // divisor)))
            loop["data"]["extent"] = len(nodes) - 1
    return json.dumps(graph)


def _loops(graph: dict[str, Any]) -> Iterator[tuple[Any, Any, int]]:
    """The loops with constant extents, each with a constant of its extent's dtype and the extent."""
    nodes = graph["nodes"]
    for node in nodes:
        if node["type"] == "tirx.For" and (found := _folded(graph, nodes[node["data"]["extent"]])) is not None:
            yield node, *found


_FOLDS: Mapping[str, Callable[[int, int], int]] = {
    "Add": operator.add, "Sub": operator.sub, "Mul": operator.mul, "Min": min, "Max": max,
    "FloorDiv": operator.floordiv, "FloorMod": operator.mod,
}  # fmt: skip
"""What the kinds of nodes that TVM folds come to."""


def _folded(graph: dict[str, Any], node: Any) -> tuple[Any, int] | None:
    """A constant in an expression of constants, and what that comes to; None of any other expression."""
    value = integer_in(graph, node)
    if value is not None:
        return node, value
    kind = node["type"].rpartition(".")[2]
    if kind not in _FOLDS:
        return None
    left, right = (_folded(graph, graph["nodes"][node["data"][name]]) for name in "ab")
    if left is None or right is None or (kind.startswith("Floor") and not right[1]):
        return None
    return left[0], _FOLDS[kind](left[1], right[1])
