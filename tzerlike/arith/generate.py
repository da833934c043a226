"""Random problems: typed expressions over few variables with small domains.

A rewrite fires where operands are related: the same subexpression twice, a modulus that divides a factor, a
bound next to a limit. So a problem draws most of its constants from a few favourites and their multiples, and often
takes up a subexpression again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from tzerlike.arith.model import (
    ARITHMETIC_OPS,
    COMPARISONS,
    SCALARS,
    Expr,
    Problem,
    Variable,
    bits,
    const,
    lanes,
    limits,
    scalar,
    vector_dtype,
)

MAX_ASSIGNMENTS = 256

_T = TypeVar("_T")

_MAIN_DTYPES = ("int32",) * 12 + ("int64",) * 5 + SCALARS
_DEPTHS = (2, 2, 2, 2, 3, 3, 3, 3, 4, 5)
_VARIABLES = (1, 2, 2, 2, 3)
_LANES = (2, 4, 8)
_VECTOR_SHARE = 0.06
_BOOL_SHARE = 0.3
_PAIR_SHARE = 0.12
_CONSTRAINT_SHARE = 0.35
_SECOND_DTYPE_SHARE = 0.35
_REUSE = 0.16

_FAVOURITES = (1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 8, 9, 10, 12, 15, 16, 17, 31, 32, 64, 100, 127, 128, 255, 256, 1024)
_FACTORS = (1, 1, 1, 1, 2, 2, 3, 4, -1, -1, -2)
_OFFSETS = (0, 0, 0, 0, 0, 0, 1, -1)
_LOWS = (0, 0, 0, 0, 0, 1, 2, -1, -2, -3, -5, -8, 5, 100)
_EXTENTS = (1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 12, 16)
_STEPS = (2, 3, 4, 8)

_INTEGER_OPERATORS = (
    ("Add",) * 8
    + ("Sub",) * 7
    + ("Mul",) * 6
    + ("FloorDiv",) * 6
    + ("FloorMod",) * 6
    + ("Div",) * 4
    + ("Mod",) * 4
    + ("Min",) * 4
    + ("Max",) * 4
    + ("Select",) * 3
    + ("if_then_else",) * 2
    + ("LShift", "RShift", "RShift", "BitwiseAnd", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot")
    + ("Cast",) * 2
)
_BOOL_OPERATORS = COMPARISONS * 4 + ("And",) * 4 + ("Or",) * 4 + ("Not",) * 2 + ("Select", "likely", "Cast")


def random_problem(rng: Random) -> Problem:
    """Return a problem with at most MAX_ASSIGNMENTS assignments; equal generators give equal problems."""
    return random_family(rng, 1)[0]


def random_family(rng: Random, count: int) -> tuple[Problem, ...]:
    """Return problems with the same variables and constraints, which take longer to draw and tabulate than roots do."""
    return _Generator(rng.random).family(count)


@dataclass(slots=True)
class _Generator:
    random: Callable[[], float]
    dtypes: tuple[str, ...] = ()
    favourites: tuple[int, ...] = ()
    variables: tuple[Variable, ...] = ()
    made: dict[str, list[Expr]] = field(default_factory=dict)

    def family(self, count: int) -> tuple[Problem, ...]:
        main = self.pick(_MAIN_DTYPES)
        self.dtypes = (main, self.pick(_MAIN_DTYPES)) if self.chance(_SECOND_DTYPE_SHARE) else (main,)
        self.favourites = tuple(self.pick(_FAVOURITES) for _ in range(3))
        self.variables = self.domains()
        constraints = self.constraints()
        return tuple(Problem(self.variables, self.roots(), constraints) for _ in range(count))

    def roots(self) -> tuple[Expr, ...]:
        self.made = {}
        main = self.dtypes[0]
        depth = self.pick(_DEPTHS)
        kind = self.random()
        if kind < _VECTOR_SHARE:
            count = self.pick(_LANES)
            dtype = vector_dtype("bool" if self.chance(_BOOL_SHARE) else main, count)
            return (self.expression(dtype, min(depth, 4)),)
        if kind < _VECTOR_SHARE + _PAIR_SHARE:
            return (self.expression(main, depth - 1), self.expression(main, depth - 1))
        return (self.expression("bool" if self.chance(_BOOL_SHARE) else main, depth),)

    def pick(self, items: Sequence[_T]) -> _T:
        return items[int(self.random() * len(items))]

    def chance(self, share: float) -> bool:
        return self.random() < share

    def domains(self) -> tuple[Variable, ...]:
        room = MAX_ASSIGNMENTS
        variables = []
        for name in "xyz"[: self.pick(_VARIABLES)]:
            variable = self.variable(name, self.pick(self.dtypes), room)
            room //= len(variable.values)
            variables.append(variable)
        return tuple(variables)

    def variable(self, name: str, dtype: str, room: int) -> Variable:
        least, greatest = limits(dtype)
        low = self.pick(_LOWS)
        extent = self.pick(self.favourites) if self.chance(0.2) else self.pick(_EXTENTS)
        extent = max(1, min(extent, room, 64))
        way = self.random()
        if way < 0.1:
            # Anything of its type: the small numbers and the ends of the range.
            sample = {*range(max(least, -3), 5), least, greatest, self.pick(self.favourites)}
            values = sorted(v for v in sample if least <= v <= greatest and v < 1 << 63)
            return Variable(name, dtype, tuple(values[: max(1, room)]), "nothing")
        step = self.pick(_STEPS) if way < 0.2 else 1
        extent = min(extent, greatest // step)
        low = max(least, min(low, greatest - extent * step))
        return Variable(name, dtype, tuple(range(low, low + extent * step, step)), "steps" if step > 1 else "range")

    def constraints(self) -> tuple[Expr, ...]:
        if not self.chance(_CONSTRAINT_SHARE):
            return ()
        return tuple(self.expression("bool", 1 if self.chance(0.6) else 2) for _ in range(1 + self.chance(0.3)))

    def expression(self, dtype: str, depth: int) -> Expr:
        again = self.made.setdefault(dtype, [])
        if again and self.chance(_REUSE):
            return self.pick(again)
        if dtype.startswith("bool"):
            node = self.truth(dtype, depth)
        elif depth <= 0:
            return self.leaf(dtype)
        else:
            node = self.integer(dtype, depth)
        again.append(node)
        return node

    def leaf(self, dtype: str) -> Expr:
        if lanes(dtype) > 1:
            lane = scalar(dtype)
            if self.chance(0.5):
                return Expr("Broadcast", dtype, (self.expression(lane, int(self.chance(0.3))),))
            stride = self.constant(lane) if self.chance(0.8) else self.leaf(lane)
            return Expr("Ramp", dtype, (self.expression(lane, int(self.chance(0.4))), stride))
        if self.chance(0.14):
            return self.constant(dtype)
        fitting = [variable for variable in self.variables if variable.dtype == dtype]
        if fitting:
            return self.pick(fitting).node
        return Expr("Cast", dtype, (self.pick(self.variables).node,))

    def constant(self, dtype: str) -> Expr:
        if lanes(dtype) > 1:
            return Expr("Broadcast", dtype, (self.constant(scalar(dtype)),))
        least, greatest = limits(dtype)
        greatest = min(greatest, (1 << 63) - 1)
        if self.chance(0.02):
            return const(self.pick((least, least + 1, greatest - 1, greatest)), dtype)
        if self.chance(0.2):
            value = self.pick((0, 1, -1, 2))
        else:
            value = self.pick(self.favourites) * self.pick(_FACTORS) + self.pick(_OFFSETS)
        return const(max(least, min(value, greatest)), dtype)

    def divisor(self, dtype: str, depth: int) -> Expr:
        if self.chance(0.12):
            return self.expression(dtype, depth)
        node = self.constant(dtype)
        inner = node.args[0] if node.args else node
        if inner.value == 0 or (isinstance(inner.value, int) and inner.value < 0 and self.chance(0.6)):
            inner = const(min(abs(self.pick(self.favourites)), limits(dtype)[1]), inner.dtype)
            node = Expr("Broadcast", dtype, (inner,)) if node.args else inner
        return node

    def integer(self, dtype: str, depth: int) -> Expr:
        op = self.pick(_INTEGER_OPERATORS)
        if op in ("Select", "if_then_else"):
            truth = "bool" if op == "if_then_else" else vector_dtype("bool", lanes(dtype))
            condition = self.expression(truth, depth - 1)
            branches = (self.expression(dtype, depth - 1), self.expression(dtype, depth - 1))
            return Expr(op, dtype, (condition, *branches))
        if op == "BitwiseNot":
            return Expr(op, dtype, (self.expression(dtype, depth - 1),))
        if op == "Cast":
            source = vector_dtype(self.pick((*self.dtypes, *self.dtypes, "bool")), lanes(dtype))
            if source != dtype:
                return Expr(op, dtype, (self.expression(source, depth - 1),))
            op = "Add"
        left = self.expression(dtype, depth - 1 - self.chance(0.2))
        if op in ("FloorDiv", "FloorMod", "Div", "Mod"):
            return Expr(op, dtype, (left, self.divisor(dtype, depth - 1)))
        if op in ("LShift", "RShift"):
            return Expr(op, dtype, (left, self.amount(dtype)))
        share, below = (0.75, 2) if op == "Mul" else (0.3, 1) if op in ARITHMETIC_OPS else (0.6, 2)
        right = self.constant(dtype) if self.chance(share) else self.expression(dtype, depth - below)
        return Expr(op, dtype, (left, right) if self.chance(0.85) else (right, left))

    def amount(self, dtype: str) -> Expr:
        if self.chance(0.15):
            return self.leaf(dtype)
        node = const(int(self.random() * min(6, bits(dtype))), scalar(dtype))
        return Expr("Broadcast", dtype, (node,)) if lanes(dtype) > 1 else node

    def truth(self, dtype: str, depth: int) -> Expr:
        count = lanes(dtype)
        op = self.pick(_BOOL_OPERATORS) if depth > 1 else self.pick(COMPARISONS)
        if op in ("And", "Or"):
            return Expr(op, dtype, (self.expression(dtype, depth - 1), self.expression(dtype, depth - 1)))
        if op == "Not" or (op == "likely" and count == 1):
            return Expr(op, dtype, (self.expression(dtype, depth - 1),))
        if op == "Select":
            return Expr(op, dtype, tuple(self.expression(dtype, depth - 1) for _ in range(3)))
        operand = vector_dtype(self.pick(self.dtypes), count)
        if op == "Cast":
            return Expr(op, dtype, (self.expression(operand, depth - 1),))
        if op == "likely":
            op = "LT"
        left = self.expression(operand, depth - 1)
        right = self.constant(operand) if self.chance(0.5) else self.expression(operand, depth - 1)
        return Expr(op, dtype, (left, right))
