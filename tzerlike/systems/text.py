"""How programs are written down by one TVM and by another. Imports no TVM."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_APART = (0, 27)
"""The version from which on the value of a constant is a node of its own."""


def integers_apart(graph: Mapping[str, Any]) -> bool:
    """Whether, in the JSON of a module, the values of constants are nodes of their own."""
    version = re.match(r"(\d+)\.(\d+)", str(graph.get("metadata", {}).get("tvm_version", "")))
    return version is None or (int(version[1]), int(version[2])) >= _APART


def integer_in(graph: Mapping[str, Any], node: Mapping[str, Any]) -> int | None:
    """Return the value of a node that is a constant integer; None of any other."""
    if node["type"] != "ir.IntImm":
        return None
    value = node["data"]["value"]
    if integers_apart(graph):
        value = graph["nodes"][value]["data"]
    return value if isinstance(value, int) else None


def with_integer(graph: dict[str, Any], node: dict[str, Any], value: int) -> dict[str, Any]:
    """Return a constant like `node` with another value; what it takes besides is appended to the graph."""
    place = value
    if integers_apart(graph):
        graph["nodes"].append({"type": "int", "data": value})
        place = len(graph["nodes"]) - 1
    return {**node, "data": {**node["data"], "value": place}}
