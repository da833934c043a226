"""The generator: fills a hole of any type to a requested size (section 3.2, insertion).

It has two modes. In **wild** mode anything goes that the constructors accept. In **defined** mode every
integer carries the interval of its values, and operations are chosen or operands narrowed so that
nothing overflows, no divisor is zero, every index is inside of its buffer, nothing is read before it
was written, and iterations that may run at once touch different elements.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random
from typing import Any, NamedTuple

from tzerlike.core.dtypes import DType
from tzerlike.systems.tvm_api import tirx
from tzerlike.tir import dtypes
from tzerlike.tir.node import key
from tzerlike.tir.scope import Buffer, Names, Scope, ScopeVar

INT32 = DType("int", 32)
BOOL = DType("bool", 1)

SMALL_FLOATS = (0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -1.5, 0.25, 10.0)
SMALL_INTEGERS = (0, 1, 2, 3, 4, 5, 7, 8, 15, 16, -1, -2, -7)


class Value(NamedTuple):
    """An expression with the least and greatest value that each of its lanes can have (integers; else None)."""

    node: Any
    low: int | None = None
    high: int | None = None

    def within(self, low: int, high: int) -> bool:
        """Whether every possible value is known to lie in [low, high]."""
        return self.low is not None and self.high is not None and low <= self.low and self.high <= high


@dataclass(frozen=True, slots=True)
class ExprMaker:
    """A row of the table of expression constructors.

    `node` is TVM's type key; `fits` says whether the constructor can give the dtype; `make` builds it with
    about `size` nodes, or gives None where the scope has nothing to build it from.
    """

    node: str
    weight: int
    fits: Callable[[DType], bool]
    make: Callable[[Generator, Scope, DType, int], Value | None]


@dataclass(frozen=True, slots=True)
class StmtMaker:
    """A row of the table of statement constructors; `make` as for expressions."""

    node: str
    weight: int
    make: Callable[[Generator, Scope, int], Any | None]


@dataclass(slots=True)
class Generator:
    """One mutation's source of code.

    `written` are the keys of buffers that the function or the generated code stores to: where iterations may
    run at once, defined mode reads only other buffers. `steering` are buffers whose elements the function uses
    as indices, conditions, bounds or divisors: defined mode leaves their contents alone. `ready` are buffers
    that the generated code has filled, `private` those of them that only one iteration sees.
    """

    rng: Random
    names: Names
    target: str
    defined: bool
    expressions: Sequence[ExprMaker]
    statements: Sequence[StmtMaker]
    written: set[int] = field(default_factory=set)
    steering: set[int] = field(default_factory=set)
    ready: set[int] = field(default_factory=set)
    private: set[int] = field(default_factory=set)

    def expr(self, scope: Scope, dtype: DType, size: int) -> Value:
        """An expression of `dtype` with about `size` nodes."""
        if size > 1:
            fitting = [maker for maker in self.expressions if maker.fits(dtype)]
            for _ in range(3):
                maker = weighted(self.rng, fitting)
                value: Value | None = maker.make(self, scope, dtype, size - 1)
                if value is not None:
                    return value
        return self.leaf(scope, dtype)

    def stmt(self, scope: Scope, size: int) -> Any:
        """A statement with about `size` nodes."""
        for _ in range(6):
            made = weighted(self.rng, self.statements).make(self, scope, max(1, size - 1))
            if made is not None:
                return made
        return tirx.Evaluate(self.expr(scope, INT32, size).node)

    def leaf(self, scope: Scope, dtype: DType) -> Value:
        """A variable of `dtype`, or else a constant."""
        if dtype.lanes == 1:
            candidates = [v for v in scope.variables if v.dtype == str(dtype)]
            if candidates and self.rng.randrange(3):
                return self.variable(self.rng.choice(candidates), dtype)
        return self.constant(dtype)

    def variable(self, variable: ScopeVar, dtype: DType) -> Value:
        """The value of a variable in scope."""
        if not dtype.is_int:
            return Value(variable.var)
        low = dtype.low if variable.low is None else variable.low
        return Value(variable.var, low, dtype.high if variable.high is None else variable.high)

    def constant(self, dtype: DType) -> Value:
        """A constant; small in defined mode."""
        if dtype.is_float:
            value = self.rng.choice(SMALL_FLOATS) if self.defined else dtypes.interesting_float(self.rng, dtype)
            return Value(dtypes.constant(dtype, value))
        if dtype.is_int:
            number = self.rng.choice(SMALL_INTEGERS) if self.defined else dtypes.interesting_int(self.rng, dtype)
            return exactly(dtype, dtypes.clamp(number, dtype))
        return Value(dtypes.constant(dtype, self.rng.randrange(2)))

    def narrowed(self, value: Value, dtype: DType, low: int, high: int) -> Value:
        """`value` brought into [low, high], which `dtype` can hold, where it is not known to be there already."""
        if value.within(low, high) or (low <= dtype.low and dtype.high <= high):
            return value
        if low == high and self.rng.randrange(2):
            return exactly(dtype, low)
        span = high - low + 1
        if self.rng.randrange(3) == 0 or span > dtype.high:
            bounded = tirx.Max(tirx.Min(value.node, dtypes.constant(dtype, high)), dtypes.constant(dtype, low))
            return Value(bounded, low, high)
        remainder = tirx.FloorMod(value.node, dtypes.constant(dtype, span))
        return Value(remainder if low == 0 else tirx.Add(remainder, dtypes.constant(dtype, low)), low, high)

    def index(self, scope: Scope, extent: int | None, size: int, lanes: int = 1) -> Any | None:
        """An index into a dimension of `extent`, a Ramp when `lanes` > 1; None where none can be in bounds."""
        bounded = self.defined or self.rng.randrange(8) > 0
        if bounded and extent is not None and extent >= lanes:
            base = self._position(scope, extent - lanes, size)
        elif bounded and (self.defined or extent is not None):
            return None
        else:
            base = self.expr(scope, INT32, size)
        if lanes == 1:
            return base.node
        return tirx.Ramp(base.node, tirx.IntImm("int32", 1), tirx.IntImm("int32", lanes))

    def _position(self, scope: Scope, last: int, size: int) -> Value:
        """An int32 value in [0, last]."""
        fitting = [
            v
            for v in scope.variables
            if v.dtype == "int32" and v.low is not None and v.high is not None and v.low >= 0 and v.high <= last
        ]
        choice = self.rng.randrange(6)
        if fitting and choice < 4:
            variable = self.variable(self.rng.choice(fitting), INT32)
            if choice == 3 and variable.high is not None and variable.high < last:
                offset = self.rng.randint(1, last - variable.high)
                return Value(tirx.Add(variable.node, tirx.IntImm("int32", offset)))
            return variable
        if choice == 4 and size > 1:
            return self.narrowed(self.expr(scope, INT32, size - 1), INT32, 0, last)
        return exactly(INT32, self.rng.randint(0, last))

    def readable(self, scope: Scope) -> list[Buffer]:
        """Buffers that may be read."""
        if not self.defined:
            return scope.buffers
        alone = not (scope.racy or scope.in_block)
        return [
            buffer
            for buffer in scope.buffers
            if (identity := key(buffer.var)) in self.private
            or (alone and identity in self.ready)
            or (buffer.origin == "param" and (alone or identity not in self.written))
        ]

    def writable(self, scope: Scope) -> list[Buffer]:
        """Buffers that may be stored to."""
        if not self.defined:
            return scope.buffers
        alone = not (scope.racy or scope.in_block)
        return [
            buffer
            for buffer in scope.buffers
            if (identity := key(buffer.var)) in self.private
            or (alone and (identity in self.ready or (buffer.origin == "param" and identity not in self.steering)))
        ]

    def indices(self, scope: Scope, buffer: Buffer, size: int, lanes: int = 1) -> list[Any] | None:
        """Indices into `buffer`, the last one a Ramp when `lanes` > 1."""
        made = []
        for position, extent in enumerate(buffer.shape):
            last = position == len(buffer.shape) - 1
            index = self.index(scope, extent, size, lanes if last else 1)
            if index is None:
                return None
            made.append(index)
        return made if made or lanes == 1 else None

    def buffer(
        self,
        scope: Scope,
        stem: str,
        shape: Sequence[int],
        dtype: str,
        memory: str = "global",
        offset: Any | None = None,
    ) -> Any:
        """A fresh buffer; as in the parser, it has a tile layout only outside of S-TIR."""
        return tirx.decl_buffer(
            [tirx.IntImm("int32", extent) for extent in shape],
            dtype,
            self.names.fresh(stem),
            elem_offset=offset,
            scope=memory,
            layout=None if scope.s_tir else "default",
        )

    def chance(self, percent: int) -> bool:
        """True with a probability of `percent` in a hundred."""
        return self.rng.randrange(100) < percent


def exactly(dtype: DType, number: int) -> Value:
    """An integer constant."""
    return Value(dtypes.constant(dtype, number), number, number)


def weighted(rng: Random, makers: Sequence[Any]) -> Any:
    """One of `makers`, drawn by weight."""
    bounds = [*accumulate(maker.weight for maker in makers)]
    return makers[bisect(bounds, rng.randrange(bounds[-1]))]
