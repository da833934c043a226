"""Expressions, variables and problems of the arithmetic harness: plain values, without TVM.

Node names are those of TVM's expression classes. Vectors are dtypes with lanes, `int32x4`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from math import prod
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from tzerlike.core.errors import UserError
from tzerlike.core.schema import converted

SCALARS = ("int32", "int64", "int8", "int16", "uint8", "uint16", "uint32", "uint64")

ARITHMETIC_OPS = ("Add", "Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod", "Min", "Max")
BITWISE_OPS = ("LShift", "RShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor")
COMPARISONS = ("EQ", "NE", "LT", "LE", "GT", "GE")

ARITY: Mapping[str, int] = {
    **dict.fromkeys((*ARITHMETIC_OPS, *BITWISE_OPS, *COMPARISONS, "And", "Or"), 2),
    **dict.fromkeys(("BitwiseNot", "Not", "Cast", "Broadcast", "likely"), 1),
    **dict.fromkeys(("Select", "if_then_else"), 3),
    "Ramp": 2,
    "Var": 0,
    "IntImm": 0,
}
"""Every operator with the number of its operands; `if_then_else` and `likely` are calls in TVM, the rest nodes."""

_SYMBOLS = {
    "Add": "+", "Sub": "-", "Mul": "*", "FloorDiv": "//", "FloorMod": "%",
    "LShift": "<<", "RShift": ">>", "BitwiseAnd": "&", "BitwiseOr": "|", "BitwiseXor": "^",
    "EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">=", "And": "&&", "Or": "||",
}  # fmt: skip

_CALLED = {"Div": "truncdiv", "Mod": "truncmod", "Min": "min", "Max": "max"}

_VARIABLE = re.compile(r"[a-z][a-z0-9_]{0,15}")
_DTYPE = re.compile(r"(bool|u?int(8|16|32|64))(x([2-9]|[1-5][0-9]|6[0-4]))?")

ASSIGNMENTS = 1 << 20
"""Assignments of a stored problem at most."""


class Expr(NamedTuple):
    """An expression. `value` is the name of a Var, the number of an IntImm, else None; `dtype` that of the result.

    A Ramp's operands are base and stride; its lanes, like those of a Broadcast, are in its dtype.
    """

    op: str
    dtype: str
    args: tuple[Expr, ...] = ()
    value: int | str | None = None

    def __str__(self) -> str:
        """Infix text in which `//` and `%` are Python's; what truncates is spelled out, as TVMScript does."""
        if self.op == "IntImm" and self.dtype == "bool":
            return str(bool(self.value))
        if self.op in ("Var", "IntImm"):
            return str(self.value)
        if self.op in _SYMBOLS:
            return f"({self.args[0]} {_SYMBOLS[self.op]} {self.args[1]})"
        name = {"Cast": self.dtype, "Not": "!", "BitwiseNot": "~"}.get(self.op, _CALLED.get(self.op, self.op))
        tail = f", {lanes(self.dtype)}" if self.op in ("Ramp", "Broadcast") else ""
        return f"{name}({', '.join(map(str, self.args))}{tail})"


def const(value: int, dtype: str) -> Expr:
    return Expr("IntImm", dtype, (), value)


def boolean(value: bool) -> Expr:
    return Expr("IntImm", "bool", (), int(value))


@cache
def scalar(dtype: str) -> str:
    """The dtype of one lane."""
    return dtype.partition("x")[0]


@cache
def lanes(dtype: str) -> int:
    """The number of lanes; 1 for a scalar."""
    return int(dtype.partition("x")[2] or 1)


@cache
def vector_dtype(dtype: str, count: int) -> str:
    return scalar(dtype) if count == 1 else f"{scalar(dtype)}x{count}"


@cache
def bits(dtype: str) -> int:
    """The width of one lane; 1 for bool."""
    name = scalar(dtype)
    return 1 if name == "bool" else int(name.lstrip("uint"))


@cache
def limits(dtype: str) -> tuple[int, int]:
    """The least and the greatest value of a lane."""
    width = bits(dtype)
    if dtype.startswith("int"):
        return -(1 << (width - 1)), (1 << (width - 1)) - 1
    return 0, (1 << width) - 1


def walk(node: Expr) -> Iterator[Expr]:
    """Yield a node and everything below it, parents first."""
    stack = [node]
    while stack:
        top = stack.pop()
        yield top
        if top.args:
            stack.extend(top.args[::-1])


@dataclass(frozen=True, slots=True)
class Variable:
    """A scalar variable, the values it is tried at, and what the analyzer is given about them.

    `told` is "range" (bound to the range from the first value to the last), "steps" (that, and the modular set
    of the values), or "nothing" (it may be anything of its dtype; `values` is a sample).
    """

    name: str
    dtype: str
    values: tuple[int, ...]
    told: Literal["range", "steps", "nothing"] = "range"

    @property
    def node(self) -> Expr:
        """The variable as an expression."""
        return Expr("Var", self.dtype, (), self.name)

    @property
    def bindable(self) -> bool:
        """Whether the analyzer can be given its values: the extent of a range has the variable's dtype too."""
        return self.told == "nothing" or self.values[-1] - self.values[0] + 1 <= limits(self.dtype)[1]

    @property
    def step(self) -> int:
        return self.values[1] - self.values[0] if len(self.values) > 1 else 1


@dataclass(frozen=True, slots=True)
class Problem:
    """What an analysis is asked about.

    `roots` is one expression, or the two sides of a comparison. An assignment belongs to the problem when
    every constraint is true there. A constraint is scalar and boolean.
    """

    variables: tuple[Variable, ...]
    roots: tuple[Expr, ...]
    constraints: tuple[Expr, ...] = ()

    @property
    def root(self) -> Expr:
        return self.roots[0]

    def __str__(self) -> str:
        text = " ? ".join(map(str, self.roots))
        domains = [f"{v.name}: {v.dtype} {v.told} {list(v.values)}" for v in self.variables]
        return "; ".join((f"{self.root.dtype} {text}", *domains, *(f"given {c}" for c in self.constraints)))

    def trying(self, assignment: Mapping[str, int]) -> Problem:
        """The problem with an assignment among those that it is tried at, if only a sample is."""

        def with_value(variable: Variable) -> Variable:
            if variable.told != "nothing":
                return variable
            return replace(variable, values=tuple(sorted({*variable.values, assignment[variable.name]})))

        return replace(self, variables=tuple(map(with_value, self.variables)))

    def to_json(self) -> dict[str, Any]:
        return {
            "variables": msgspec.to_builtins(self.variables),
            "roots": [_node_to_json(node) for node in self.roots],
            "constraints": [_node_to_json(node) for node in self.constraints],
        }

    @classmethod
    def from_json(cls, data: object) -> Problem:
        """Rebuild from `to_json`; UserError that names the place when it is not a problem."""
        stored = converted(data, _StoredProblem, "problem")
        for index, variable in enumerate(stored.variables):
            if complaint := _complaint(variable):
                raise UserError(f"problem.variables[{index}].{complaint}")
        known = {variable.name: variable.dtype for variable in stored.variables}
        if len(known) != len(stored.variables):
            raise UserError("problem.variables: two have the same name")
        if prod(len(variable.values) for variable in stored.variables) > ASSIGNMENTS:
            raise UserError(f"problem.variables: more than {ASSIGNMENTS} assignments")
        roots, constraints = (
            tuple(_node_from_json(item, f"problem.{key}[{index}]", known) for index, item in enumerate(items))
            for key, items in (("roots", stored.roots), ("constraints", stored.constraints))
        )
        if len({node.dtype for node in roots}) != 1:
            raise UserError("problem.roots: their dtypes differ")
        if any(constraint.dtype != "bool" for constraint in constraints):
            raise UserError("problem.constraints: one is not boolean")
        return cls(stored.variables, roots, constraints)


class _StoredProblem(msgspec.Struct):
    """A problem as its file has it, expressions still as JSON."""

    variables: Annotated[tuple[Variable, ...], Meta(max_length=64)]
    roots: Annotated[list[Any], Meta(min_length=1, max_length=2)]
    constraints: list[Any]


def _complaint(variable: Variable) -> str:
    """What a variable of a file is not to be, or ""."""
    values = variable.values
    if variable.dtype not in (*SCALARS, "bool"):
        return "dtype: not one of a scalar"
    if not _VARIABLE.fullmatch(variable.name):
        return "name: not a variable's name"
    least, greatest = limits(variable.dtype)
    if not all(least <= value <= greatest for value in values):
        return "values: out of range"
    if not values or any(later <= earlier for earlier, later in pairwise(values)):
        return "values: not an ascending list"
    if variable.told == "steps" and any(later - earlier != variable.step for earlier, later in pairwise(values)):
        return "values: not in equal steps"
    return "" if variable.bindable else "values: a range too long for the dtype"


def _node_to_json(node: Expr) -> list[Any]:
    return [node.op, node.dtype, node.value, *map(_node_to_json, node.args)]


def _node_from_json(data: object, place: str, variables: Mapping[str, str]) -> Expr:
    if not isinstance(data, list) or len(data) < 3 or not isinstance(data[0], str) or not isinstance(data[1], str):
        raise UserError(f"{place}: expected an operator, a dtype, a value and operands")
    op, dtype, value, *args = data
    if ARITY.get(op) != len(args):
        raise UserError(f"{place}: operator {op[:40]!r} with {len(args)} operands")
    if not _DTYPE.fullmatch(dtype):
        raise UserError(f"{place}: dtype {dtype[:40]!r}")
    if op == "Var" and (not isinstance(value, str) or variables.get(value) != dtype):
        raise UserError(f"{place}: no variable {str(value)[:40]!r} of dtype {dtype}")
    if op == "IntImm" and not in_range(value, dtype):
        raise UserError(f"{place}: not a constant of {dtype}")
    if op not in ("Var", "IntImm") and value is not None:
        raise UserError(f"{place}: {op} has no value")
    operands = tuple(_node_from_json(arg, f"{place}[{index}]", variables) for index, arg in enumerate(args, 3))
    node = Expr(op, dtype, operands, value)
    if not well_typed(node):
        raise UserError(f"{place}: {op} of {', '.join(arg.dtype for arg in operands)} with dtype {dtype}")
    return node


def in_range(value: object, dtype: str) -> bool:
    """Whether `value` is an integer that a lane can have."""
    least, greatest = limits(dtype)
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= greatest


def well_typed(node: Expr) -> bool:
    """Whether the dtypes of the operands go with that of the node; nothing is said of what lies below."""
    op, dtype, count = node.op, node.dtype, lanes(node.dtype)
    operands = [arg.dtype for arg in node.args]
    truth = vector_dtype("bool", count)
    if op in ("Var", "IntImm"):
        return count == 1
    if op in COMPARISONS:
        return dtype == truth and operands[0] == operands[1] and lanes(operands[0]) == count
    if op in ("And", "Or", "Not", "likely"):
        return dtype == truth and all(operand == truth for operand in operands)
    if op == "Select":
        return operands == [truth, dtype, dtype]
    if op == "if_then_else":
        return operands == ["bool", dtype, dtype]
    if op == "Cast":
        return lanes(operands[0]) == count
    if op in ("Ramp", "Broadcast"):
        return count > 1 and all(operand == scalar(dtype) for operand in operands)
    return scalar(dtype) != "bool" and all(operand == dtype for operand in operands)
