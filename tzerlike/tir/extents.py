"""Programs with smaller loops, on the text of a program; buffers and indices stay, so nothing gets out of bounds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_SMALL = 2
"""What the extents of the smallest program are at most."""


def halved(ir: str) -> Iterator[str]:
    """Yield the program with the extents of its loops divided by 2, by 4, and so on until all are small."""
    divisor, largest = 1, max((extent for _, extent in _loops(json.loads(ir)["nodes"])), default=0)
    while largest > _SMALL * divisor:
        divisor *= 2
        yield _divided(ir, divisor)


def _divided(ir: str, divisor: int) -> str:
    graph = json.loads(ir)
    nodes = graph["nodes"]
    for loop, extent in list(_loops(nodes)):
        if extent > _SMALL:
            # Constants of its own: other nodes may share the old ones.
            old = nodes[loop["data"]["extent"]]
            nodes.append({"type": "int", "data": max(_SMALL, extent // divisor)})
            nodes.append({**old, "data": {**old["data"], "value": len(nodes) - 1}})
            loop["data"]["extent"] = len(nodes) - 1
    return json.dumps(graph)


def _loops(nodes: list[Any]) -> Iterator[tuple[Any, int]]:
    """The loops with constant extents, and those."""
    for node in nodes:
        if node["type"] == "tirx.For":
            extent = nodes[node["data"]["extent"]]
            if extent["type"] == "ir.IntImm" and isinstance(value := nodes[extent["data"]["value"]]["data"], int):
                yield node, value
