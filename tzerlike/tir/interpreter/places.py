"""The place in a program at which a rule is broken, in one line.

TVM's own printer is not used: it is under test as well, and some programs kill it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tzerlike.systems.tvm_api import array_items, operator_name, s_tir, source_of, tirx, tvm, type_of
from tzerlike.tir.interpreter.state import Node, shown_name

DEEPEST = 4
LONGEST = 160

_SYMBOLS: Mapping[Any, str] = {
    tirx.Add: "+",
    tirx.Sub: "-",
    tirx.Mul: "*",
    tirx.Div: "/",
    tirx.Mod: "mod",
    tirx.FloorDiv: "//",
    tirx.FloorMod: "%",
    tirx.EQ: "==",
    tirx.NE: "!=",
    tirx.LT: "<",
    tirx.LE: "<=",
    tirx.GT: ">",
    tirx.GE: ">=",
    tirx.And: "and",
    tirx.Or: "or",
    tirx.LShift: "<<",
    tirx.RShift: ">>",
    tirx.BitwiseAnd: "&",
    tirx.BitwiseOr: "|",
    tirx.BitwiseXor: "^",
}


_APPLIED: Mapping[Any, Sequence[str]] = {
    tirx.Min: ("a", "b"),
    tirx.Max: ("a", "b"),
    tirx.Select: ("condition", "true_value", "false_value"),
    tirx.Ramp: ("base", "stride", "lanes"),
    tirx.Broadcast: ("value", "lanes"),
}
"""What is written like a call, with the fields that are its operands."""


def place_of(statement: Node) -> str:
    """The text of a statement, with `...` for what lies deep or behind LONGEST characters."""
    describe = _STATEMENTS.get(type(statement))
    text = describe(statement) if describe is not None else type(statement).__name__
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def text_of(node: Node, depth: int = DEEPEST) -> str:
    """The text of an expression down to `depth`."""
    kind = type(node)
    if kind is tirx.Var:
        return shown_name(node)
    if kind is tirx.IntImm or kind is tirx.FloatImm:
        return str(node.value)
    if depth == 0:
        return "..."
    if kind in _SYMBOLS:
        return f"({text_of(node.a, depth - 1)} {_SYMBOLS[kind]} {text_of(node.b, depth - 1)})"
    if kind is tvm.ir.TensorLoad:
        return _element(source_of(node), array_items(node.indices), depth)
    if kind is tvm.ir.Call:
        name = (operator_name(node) or "a call").rpartition(".")[2]
        return _applied(name, array_items(node.args), depth)
    if kind is tirx.Cast:
        return f"{type_of(node).dtype}({text_of(node.value, depth - 1)})"
    if kind in _APPLIED:
        return _applied(kind.__name__.lower(), [getattr(node, field) for field in _APPLIED[kind]], depth)
    return kind.__name__


def _applied(name: str, operands: Sequence[Node], depth: int) -> str:
    return f"{name}({', '.join(text_of(operand, depth - 1) for operand in operands)})"


def _element(buffer: Node, indices: Sequence[Node], depth: int) -> str:
    return f"{shown_name(buffer)}[{', '.join(text_of(index, depth - 1) for index in indices) or '()'}]"


_STATEMENTS: Mapping[Any, Callable[[Node], str]] = {
    tirx.BufferStore: lambda node: (
        f"{_element(node.buffer, array_items(node.indices), DEEPEST)} = {text_of(node.value)}"
    ),
    tirx.For: lambda node: f"for {shown_name(node.loop_var)} from {text_of(node.min)}, {text_of(node.extent)} times",
    tirx.While: lambda node: f"while {text_of(node.condition)}",
    tirx.IfThenElse: lambda node: f"if {text_of(node.condition)}",
    tirx.Bind: lambda node: f"{shown_name(node.var)} = {text_of(node.value)}",
    tirx.Evaluate: lambda node: text_of(node.value),
    tirx.AssertStmt: lambda node: f"assert {text_of(node.condition)}",
    tirx.AllocBuffer: lambda node: f"buffer {shown_name(node.buffer)}",
    tirx.DeclBuffer: lambda node: f"buffer {shown_name(node.buffer)}",
    tirx.AttrStmt: lambda node: f"attribute {node.attr_key}",
    s_tir.SBlockRealize: lambda node: f"block {node.block.name_hint}",
}
