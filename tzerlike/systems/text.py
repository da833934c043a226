"""How different TVMs write programs. Imports no TVM."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_APART = (0, 27)
"""The version from which on the value of a constant is a node of its own."""

_NO_OTHER_CALL = '        assert name == "if_then_else", name\n'
"""What an evaluator says of calls that it does not know."""

_CALLED = """\
        operators = {"shift_left": "LShift", "shift_right": "RShift"}
        operator = operators.get(name, "Bitwise" + name.removeprefix("bitwise_").title())
        parts = [value_of(part, at) for part in expr.args]
        dtype = str(expr.ty.dtype)
        if operator == "BitwiseNot":
            return lanewise(lambda a: wrap(~a, dtype), parts)
        if operator in OPERATIONS:
            return lanewise(OPERATIONS[operator], parts)
"""
"""What an evaluator says of the operators on bits where they are calls."""

CALLED_OPERATORS = {
    "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
    "BitwiseNot": "bitwise_not",
    "LShift": "shift_left",
    "RShift": "shift_right",
}
"""The nodes of expressions that were operators to call, and by what name."""

_RENAMED = (
    ((0, 27), "tvm.sym", "tvm.arith"),
    *(((0, 27), f"tirx.{later}(", f"tirx.{earlier}(") for later, earlier in CALLED_OPERATORS.items()),
    ((0, 27), _NO_OTHER_CALL, f"{_CALLED}{_NO_OTHER_CALL}"),
    ((0, 26), "expr.ty.dtype", "expr.dtype"),
    ((0, 26), "result.ty == expr.ty", "result.dtype == expr.dtype"),
)
"""What scripts say from a version on, and what before."""


def integers_apart(graph: Mapping[str, Any]) -> bool:
    """Whether, in the JSON of a module, the values of constants are nodes of their own."""
    return not _before(str(graph.get("metadata", {}).get("tvm_version", "")), _APART)


def script_for(version: str, script: str) -> str:
    """Return a script on expressions and their analysis as a version of TVM runs it; it is written for the latest."""
    for since, later, earlier in _RENAMED:
        if _before(version, since):
            script = script.replace(later, earlier)
    return script


def _before(version: str, other: tuple[int, int]) -> bool:
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) < other


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
