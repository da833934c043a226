"""The constants of a user's file: names that stand for a number or a text, substituted where functions use them.

Nothing of the file is run: a constant is a literal, or arithmetic on literals and on constants above it.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

Constant = int | float | str | bool

_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_LARGEST = 10**18


def definitions_with_constants(text: str) -> dict[str, str]:
    """Return every top-level function and class of a Python text by name, each with its constants put in.

    Empty lines stand before each, so that its lines have their numbers in the text. SyntaxError when it is no Python.
    """
    constants: dict[str, Constant] = {}
    found: dict[str, str] = {}
    lines = lines_of(text)
    for node in ast.parse(text).body:
        value = _value(node.value, constants) if isinstance(node, ast.Assign) else None
        bound = _bound_by(node)
        constants = {name: old for name, old in constants.items() if not bound & {name, "*"}}
        if isinstance(node, ast.Assign) and value is not None:
            constants |= {target.id: value for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            own = [line.encode() for line in lines[: node.end_lineno]]
            for use in sorted(_uses(node, constants), key=lambda name: (name.lineno, -name.col_offset)):
                line = own[use.lineno - 1]
                put = repr(constants[use.id]).encode()
                own[use.lineno - 1] = line[: use.col_offset] + put + line[use.end_col_offset :]
            found[node.name] = "\n" * (first - 1) + b"".join(own[first - 1 :]).decode()
    return found


def lines_of(text: str) -> list[str]:
    """The lines of a text as Python counts them: a form feed and the like end none."""
    return re.split(r"(?<=\n)", text)


def _bound_by(node: ast.stmt) -> set[str]:
    """The names that a statement at the top of a file may give another meaning; "*" for any."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)}
    return names | {one.asname or one.name.partition(".")[0] for one in ast.walk(node) if isinstance(one, ast.alias)}


def _value(node: ast.expr, constants: Mapping[str, Constant]) -> Constant | None:
    """The value of an expression; None where it is no constant."""
    match node:
        case ast.Constant(value=int() | float() | str() as value):
            return value
        case ast.Name(id=name):
            return constants.get(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            number = _value(operand, constants)
            return -number if isinstance(number, int | float) else None
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            a, b = _value(left, constants), _value(right, constants)
            if not isinstance(a, int | float) or not isinstance(b, int | float):
                return None
            try:
                value = _OPERATIONS[type(op)](a, b)
            except (ArithmeticError, ValueError):
                return None
            return value if abs(value) < _LARGEST else None
    return None


def _uses(node: ast.AST, constants: Mapping[str, Constant]) -> list[ast.Name]:
    """The names of constants that a definition reads, and does not bind itself."""
    names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
    bound = {one.id for one in names if not isinstance(one.ctx, ast.Load)}
    bound |= {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
    return [one for one in names if one.id in constants and one.id not in bound]
