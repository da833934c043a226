"""TVMFuzz's generator (Pankratz 2020) as Tzer's paper describes it: a new TIR expression each time, nothing learned.

Nodes are drawn by a table of probabilities; operands may be of any type, and are cast to the one that their operator
takes. The expression is stored to a buffer of one element, and runs through the default pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from baselines.driver import Undirected, main
from tzerlike.core.case import Case
from tzerlike.systems import tvm_api
from tzerlike.systems.tvm_api import tirx

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
DTYPES = (*INTEGERS, *FLOATS, "bool")

LEAVES = {"variable": 4, "constant": 3, "load": 2}
BRANCHES = {"arithmetic": 8, "cast": 3, "select": 2, "unary": 3, "of integers": 4, "comparison": 4, "logic": 4}
"""Weights of nodes; a branch that gives no value of the type that is wanted is not drawn."""

DEPTH = 8
LEAF_SHARE = 0.15
ELEMENTS = 16

_ARITHMETIC = (tirx.Add, tirx.Sub, tirx.Mul, tirx.Div, tirx.Min, tirx.Max)
_OF_INTEGERS = (
    tirx.Mod, tirx.FloorDiv, tirx.FloorMod, tirx.BitwiseAnd, tirx.BitwiseOr, tirx.BitwiseXor, tirx.LShift, tirx.RShift,
)  # fmt: skip
_COMPARISONS = (tirx.EQ, tirx.NE, tirx.LT, tirx.LE, tirx.GT, tirx.GE)
_LOGIC = (tirx.And, tirx.Or)
_FUNCTIONS = ("exp", "tanh", "sigmoid", "log", "sqrt", "rsqrt", "sin", "cos", "floor", "ceil", "trunc", "abs", "erf")


class Expressions:
    """Makes one expression and what it reads: variables and buffers by their types, which become parameters."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._variables: list[tuple[str, Any]] = []
        self._buffers: dict[str, Any] = {}

    @property
    def read(self) -> list[Any]:
        return [*(variable for _, variable in self._variables), *self._buffers.values()]

    def expression(self, dtype: str, depth: int) -> Any:
        """An expression of a type."""
        leaf = depth <= 0 or self._rng.random() < LEAF_SHARE
        weights = LEAVES if leaf else {kind: BRANCHES[kind] for kind in BRANCHES if kind in _apt(dtype)}
        (kind,) = self._rng.choices(list(weights), list(weights.values()))
        return _MAKERS[kind](self, dtype, depth - 1)

    def operand(self, dtype: str, depth: int) -> Any:
        """An expression of any type, cast to the one that is wanted."""
        own = self._rng.choice(DTYPES)
        value = self.expression(own, depth)
        return value if own == dtype else tirx.Cast(dtype, value)

    def two(self, operators: Sequence[Any], dtype: str, depth: int) -> Any:
        """One of the operators on two operands of a type."""
        return self._rng.choice(operators)(self.operand(dtype, depth), self.operand(dtype, depth))

    def variable(self, dtype: str, depth: int) -> Any:
        known = [variable for of, variable in self._variables if of == dtype]
        if known and self._rng.random() < 0.7:
            return self._rng.choice(known)
        made = tirx.Var(f"v{len(self._variables)}", dtype)
        self._variables.append((dtype, made))
        return made

    def constant(self, dtype: str, depth: int) -> Any:
        if dtype == "bool":
            return tirx.const(self._rng.random() < 0.5, "bool")
        if dtype in FLOATS:
            return tirx.const(self._rng.uniform(-100, 100), dtype)
        return tirx.const(self._rng.randint(0 if dtype.startswith("u") else -100, 100), dtype)

    def load(self, dtype: str, depth: int) -> Any:
        """An element of a buffer, at an index that is an expression itself."""
        if dtype not in self._buffers:
            self._buffers[dtype] = tirx.decl_buffer((ELEMENTS,), dtype, f"b{len(self._buffers)}", layout=None)
        index = tirx.FloorMod(self.operand("int32", depth), tirx.const(ELEMENTS, "int32"))
        return tirx.BufferLoad(self._buffers[dtype], [index])

    def cast(self, dtype: str, depth: int) -> Any:
        return tirx.Cast(dtype, self.expression(self._rng.choice([one for one in DTYPES if one != dtype]), depth))

    def select(self, dtype: str, depth: int) -> Any:
        return tirx.Select(self.operand("bool", depth), self.operand(dtype, depth), self.operand(dtype, depth))

    def unary(self, dtype: str, depth: int) -> Any:
        operand = self.operand(dtype, depth)
        if dtype == "bool":
            return tirx.Not(operand)
        if dtype in INTEGERS:
            return tirx.BitwiseNot(operand)
        return getattr(tirx, self._rng.choice(_FUNCTIONS))(operand)

    def arithmetic(self, dtype: str, depth: int) -> Any:
        return self.two(_ARITHMETIC, dtype, depth)

    def of_integers(self, dtype: str, depth: int) -> Any:
        return self.two(_OF_INTEGERS, dtype, depth)

    def comparison(self, dtype: str, depth: int) -> Any:
        return self.two(_COMPARISONS, self._rng.choice((*INTEGERS, *FLOATS)), depth)

    def logic(self, dtype: str, depth: int) -> Any:
        return self.two(_LOGIC, dtype, depth)


_MAKERS: dict[str, Callable[[Expressions, str, int], Any]] = {
    "variable": Expressions.variable,
    "constant": Expressions.constant,
    "load": Expressions.load,
    "arithmetic": Expressions.arithmetic,
    "cast": Expressions.cast,
    "select": Expressions.select,
    "unary": Expressions.unary,
    "of integers": Expressions.of_integers,
    "comparison": Expressions.comparison,
    "logic": Expressions.logic,
}


def _apt(dtype: str) -> set[str]:
    """The branches that give a value of a type."""
    own = {"comparison", "logic"} if dtype == "bool" else {"arithmetic"}
    return {"cast", "select", "unary"} | own | ({"of integers"} if dtype in INTEGERS else set())


class TvmFuzz(Undirected):
    def propose(self, rng: Random) -> Case:
        made = Expressions(rng)
        dtype = rng.choice(DTYPES)
        value = made.expression(dtype, rng.randint(1, DEPTH))
        out = tirx.decl_buffer((1,), dtype, "out", layout=None)
        store = tirx.BufferStore(out, value, [tirx.const(0, "int32")])
        return Case(tvm_api.dump_ir(tvm_api.module_of(tvm_api.PrimFunc([*made.read, out], store))))


if __name__ == "__main__":
    main(TvmFuzz)
