"""Whether somebody would write a program for the compiler, judged by its text alone.

What is in no list here came of a fuzzer, or of a pass: hints, intrinsics of lowered programs, memory of other devices.
The lists are those of what TOPI, Relax's lowering and TVM's schedules use in programs that they hand to the pipeline.
"""

from __future__ import annotations

import json
from typing import Any

_MATHEMATICS = frozenset((
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "clz", "copysign", "cos", "cosh", "erf", "exp",
    "exp10", "exp2", "fabs", "floor", "fma", "fmod", "hypot", "isinf", "isfinite", "isnan", "ldexp", "log", "log10",
    "log1p", "log2", "max_value", "min_value", "nearbyint", "nextafter", "popcount", "pow", "q_multiply_shift",
    "q_multiply_shift_per_axis", "reinterpret", "round", "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "tan", "tanh",
    "trunc", "if_then_else", "break_loop", "continue_loop", "buffer_data",
))  # fmt: skip

_NAMESPACES = ("tirx.", "prim.", "tir.")

HINTS = frozenset((
    "axis", "buffer_dim_align", "dst_layout", "input_shape", "layout_free_buffers", "pragma_auto_unroll_max_step",
    "pragma_unroll_explicit", "schedule_rule", "src_layout",
))  # fmt: skip
"""Keys of annotations that only advise, and that TVM's own programs have."""

_SCOPES = frozenset(("", "global", "local", "shared"))

_SERIAL, _THREAD_BINDING = 0, 4

_ODD_NODES = frozenset(("tirx.AssertStmt", "prim.Shuffle", "tirx.DeclBuffer"))
"""Statements and expressions that passes make, and hardly anybody writes."""


def odd_in(ir: str, *, threads: bool) -> str:
    """Return what nobody would write in the program of a module in canonical JSON, in a word or two, or "".

    `threads` says whether its target has threads to bind loops to. What is no such text is odd.
    """
    try:
        nodes: list[dict[str, Any]] = json.loads(ir)["nodes"]
        return next((odd for node in nodes if (odd := _odd(node, nodes, threads))), "")
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError):
        return "no program"


def binds_threads(ir: str) -> bool:
    """Whether a program in canonical JSON has loops that are bound to threads."""
    try:
        nodes = json.loads(ir)["nodes"]
        return any(node["type"] == "tirx.For" and node["data"]["kind"] == _THREAD_BINDING for node in nodes)
    except (KeyError, TypeError, ValueError, RecursionError):
        return False


def _odd(node: dict[str, Any], nodes: list[dict[str, Any]], threads: bool) -> str:
    kind: str = node["type"]
    data: Any = node.get("data")
    if kind == "tirx.AttrStmt":
        return f"attribute {_text(data['attr_key'], nodes)}"
    if kind in _ODD_NODES:
        return kind
    if kind == "ir.Op":
        name = str(data)
        own = next((name.removeprefix(space) for space in _NAMESPACES if name.startswith(space)), name)
        return "" if own in _MATHEMATICS else name
    if kind == "tirx.For" and data["kind"] == _THREAD_BINDING and not threads:
        return "a thread binding"
    if kind in ("tirx.For", "s_tir.SBlock"):
        keys = _keys(data.get("annotations"), nodes)
        return next((key for key in keys if key not in HINTS), "")
    if kind in ("tirx.BufferType", "ir.PointerType"):
        scope = _text(data.get("storage_scope", ""), nodes)
        return "" if scope in _SCOPES else f"memory {scope}"
    return ""


def _keys(place: Any, nodes: list[dict[str, Any]]) -> list[str]:
    """The keys of a map, which lie at even places of its data."""
    entries = nodes[place].get("data") or [] if isinstance(place, int) else []
    return [_text(key, nodes) for key in entries[::2]]


def _text(place: Any, nodes: list[dict[str, Any]]) -> str:
    return str(nodes[place].get("data", "") if isinstance(place, int) else place)
