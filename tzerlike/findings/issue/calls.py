"""Calls on a schedule as people write them: without look-ups that nothing uses, and index maps as lambdas."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from tzerlike.oracles.schedule_defaults import DEFAULTS

_SCHEDULE = "sch"

_JSON = re.compile(r"tvm\.ir\.load_json\(('(?:[^'\\]|\\.)*')\)")
_INFIX = {
    "Add": "+", "Sub": "-", "Mul": "*", "FloorDiv": "//", "FloorMod": "%",
    "LT": "<", "LE": "<=", "GT": ">", "GE": ">=", "EQ": "==", "NE": "!=",
}  # fmt: skip
_CALLED = {"Min": "T.min", "Max": "T.max", "Div": "T.truncdiv", "Mod": "T.truncmod"}
_GIVEN = "|".join(f"{name}={re.escape(value)}" for name, value in DEFAULTS.items())
_DEFAULTS = re.compile(rf", (?:{_GIVEN}|func_name=(['\"])main\1)(?=[,)])")
"""Arguments that are what s_tir.Schedule takes by default."""
_OF_MAIN = re.compile(r"(?<=\.get_sblock\()((['\"])[^'\"]*\2), (['\"])main\3(?=\))")
"""A look-up in the function that it is in by default."""


def plain_calls(text: str) -> str:
    """Return the lines of calls as a reader needs them; what has no plain form stays as it is."""
    lines = needed(text.splitlines())
    return "\n".join(with_lambdas(line) for line in lines)


def schedule_of(module: str, calls: Iterable[str]) -> str:
    """Return the statement that begins a schedule of `module`: with a seed where one of the calls draws."""
    drawn = any(f"{_SCHEDULE}.sample" in call for call in calls)
    return f"{_SCHEDULE} = s_tir.Schedule({module}{', seed=1' * drawn})"


def needed(calls: Sequence[str]) -> list[str]:
    """The calls, in TVM's style, without arguments that are the default, and without look-ups whose result nothing
    uses: those change no schedule."""
    kept: list[str] = []
    for call in reversed(calls):
        variables, _, value = call.partition(" = ")
        looks_up = value.startswith(f"{_SCHEDULE}.get")
        names = re.findall(r"\w+", variables)
        if not kept or not looks_up or any(re.search(rf"\b{name}\b", other) for name in names for other in kept):
            kept.append(call)
    return [_styled(_OF_MAIN.sub(r"\1", _DEFAULTS.sub("", call))) for call in reversed(kept)]


def _styled(call: str) -> str:
    """A call with double quotes, and tuples without a comma that they do not need; one whose text holds other quotes,
    JSON for one, stays as it is."""
    if '"' in call or "\\" in call or _JSON.search(call):
        return call
    return re.sub(r"(?<=, )([^(),]*), \)", r"\1)", re.sub(r"'([^'\"\\]*)'", r'"\1"', call))


def with_lambdas(call: str) -> str:
    """Return a call with each index map that it gives as JSON as the lambda that makes it."""

    def plain(match: re.Match[str]) -> str:
        try:
            return _lambda(json.loads(ast.literal_eval(match[1])))
        except (ValueError, LookupError, TypeError, SyntaxError):
            return match[0]

    return _JSON.sub(plain, call)


def _lambda(graph: Any) -> str:
    nodes = graph["nodes"]
    root = nodes[graph["root_index"]]
    if root["type"] != "tirx.IndexMap" or nodes[root["data"]["inverse_index_map"]]["type"] != "None":
        raise ValueError("no plain index map")
    names = [_source(nodes, index) for index in nodes[root["data"]["initial_indices"]]["data"]]
    results = [_source(nodes, index) for index in nodes[root["data"]["final_indices"]]["data"]]
    return f"lambda {', '.join(names)}: ({', '.join(results)}{',' * (len(results) == 1)})"


def _source(nodes: Any, index: int, inner: bool = False) -> str:
    node = nodes[index]
    data, kind = node["data"], node["type"].rpartition(".")[2]
    if kind in ("Var", "SizeVar"):
        return str(nodes[data["name"]]["data"])
    if kind == "IntImm":
        return str(data["value"])
    if kind in _CALLED:
        return f"{_CALLED[kind]}({_source(nodes, data['a'])}, {_source(nodes, data['b'])})"
    text = f"{_source(nodes, data['a'], True)} {_INFIX[kind]} {_source(nodes, data['b'], True)}"
    return f"({text})" if inner else text
