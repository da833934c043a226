"""Checks of a stored case before TVM sees any of it; a one-line UserError for what no case of a campaign contains.

Loading a saved program makes nodes of any type that TVM registers, constructing a target or a pass may do anything its
attributes ask for, and printing a program for another TVM makes Python text of its names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tzerlike.core.case import Case, PassSpec, Scalar
from tzerlike.core.errors import UserError
from tzerlike.core.targets import checked_target
from tzerlike.core.untrusted import one_line, parse_json
from tzerlike.passes.arguments import ARGUMENTS, OPTIONS, TARGET_ARGUMENTS
from tzerlike.passes.tilelang import TILE_ARGUMENTS
from tzerlike.tir.allowlist.names import NATIVE_PRAGMA, NODES

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,255}")
_BIG = re.compile(r"-?[0-9]{1,39}")
_PASS_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,255}")
_LEAST, _GREATEST = -(1 << 31), (1 << 31) - 1


def require_allowed(case: Case) -> None:
    """UserError unless everything in `case` but what its program computes is in a table."""
    try:
        checked_target(case.target)
    except UserError as error:
        raise UserError(f"case.target: {error}") from error
    for key, value in case.config.options:
        if key not in OPTIONS:
            raise UserError(f"case.config.options: {_shown(key)} is not an option that a case may set")
        _require_alike(value, OPTIONS[key], f"case.config.options.{key}")
    for name in case.config.disabled_passes:
        if _PASS_NAME.fullmatch(name) is None:
            raise UserError(f"case.config.disabled_passes: {_shown(name)} is not a pass name")
    for spec in case.passes:
        _require_pass(spec)
    require_graph(case.ir, "case.ir")


def _require_pass(spec: PassSpec) -> None:
    domains = ARGUMENTS.get(spec.name) or TILE_ARGUMENTS.get(spec.name, {})
    for key, value in spec.args:
        place = f"case.passes: {spec.name}.{_shown(key)}"
        if key in TARGET_ARGUMENTS and isinstance(value, str):
            try:
                checked_target(value)
            except UserError as error:
                raise UserError(f"{place}: {error}") from error
        else:
            _require_alike(value, domains.get(key, (None, False, 0)), place)


def _require_alike(value: Scalar, domain: Sequence[Scalar], place: str) -> None:
    """UserError unless `value` is of the type of one in `domain`; a text has to be one of them."""
    alike = [known for known in domain if type(known) is type(value)]
    if not alike or (isinstance(value, str | float) and value not in alike):
        raise UserError(f"{place}: {_shown(value)} is not a value it may have")
    if type(value) is int and not _LEAST <= value <= _GREATEST:
        raise UserError(f"{place}: out of range")


def require_graph(text: str, place: str) -> None:
    """UserError where what `tvm.ir.load_json` would read has a node, a name or a pragma that no program needs.

    What holds no node at all is left to TVM to complain about.
    """
    try:
        graph = parse_json(text.encode(), constant=float)
    except (ValueError, RecursionError) as error:
        if '"type"' in text or "\\u" in text:
            raise UserError(f"{place}: not JSON ({one_line(str(error), 80)})") from error
        return
    nodes = graph.get("nodes") if isinstance(graph, dict) else None
    if not isinstance(nodes, list):
        return
    for node in nodes:
        if not isinstance(node, dict) or not isinstance(node.get("type"), str):
            raise UserError(f"{place}: a node without a type")
        if node["type"] not in NODES:
            raise UserError(f"{place}: a node of type {_shown(node['type'])}, which no program needs")
        _require_texts(node, nodes, place)


def _require_texts(node: Mapping[str, Any], nodes: Sequence[Any], place: str) -> None:
    data = node.get("data")
    if node["type"] in ("ir.GlobalVar", "tirx.Axis"):
        named = _named(data, nodes)
        if _IDENTIFIER.fullmatch(named) is None:
            raise UserError(f"{place}: {_shown(named)} is not an identifier")
    if node["type"] == "ffi.BigInt" and not (isinstance(data, str) and _BIG.fullmatch(data)):
        raise UserError(f"{place}: {_shown(data)} is no integer of 128 bits")
    for text in data.values() if isinstance(data, dict) else (data,):
        if not isinstance(text, str):
            continue
        if text.startswith(NATIVE_PRAGMA):
            raise UserError(f"{place}: {_shown(text)} brings code of its own")
        # A schedule's trace has such graphs inside of its texts.
        if '"nodes"' in text:
            require_graph(text, place)


def _named(data: Any, nodes: Sequence[Any]) -> str:
    """The name of a node, which is a text or the place of one."""
    name = data.get("name_hint", data.get("name")) if isinstance(data, dict) else data
    if isinstance(name, int) and 0 <= name < len(nodes) and isinstance(nodes[name], dict):
        name = nodes[name].get("data")
    return name if isinstance(name, str) else ""


def _shown(value: object) -> str:
    return one_line(repr(value), 60)
