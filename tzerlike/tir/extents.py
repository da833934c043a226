"""Programs with smaller loops, on the text of a program; buffers and indices stay, so nothing gets out of bounds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tzerlike.systems.text import integer_in, with_integer

_SMALL = 2
"""What the extents of the smallest program are at most."""


def halved(ir: str) -> Iterator[str]:
    """Yield the program with the extents of its loops divided by 2, by 4, and so on until all are small."""
    divisor, largest = 1, max((extent for _, extent in _loops(json.loads(ir))), default=0)
    while largest > _SMALL * divisor:
        divisor *= 2
        yield _divided(ir, divisor)


def _divided(ir: str, divisor: int) -> str:
    graph = json.loads(ir)
    nodes = graph["nodes"]
    for loop, extent in list(_loops(graph)):
        if extent > _SMALL:
            # Constants of its own: other nodes may share the old ones.
            nodes.append(with_integer(graph, nodes[loop["data"]["extent"]], max(_SMALL, extent // divisor)))
            loop["data"]["extent"] = len(nodes) - 1
    return json.dumps(graph)


def _loops(graph: dict[str, Any]) -> Iterator[tuple[Any, int]]:
    """The loops with constant extents, and those."""
    nodes = graph["nodes"]
    for node in nodes:
        if node["type"] == "tirx.For":
            value = integer_in(graph, nodes[node["data"]["extent"]])
            if value is not None:
                yield node, value
