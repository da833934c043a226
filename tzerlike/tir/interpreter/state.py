"""The state that the closures of one program share while it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tzerlike.core.dtypes import DType, clamp
from tzerlike.systems.tvm_api import (
    is_buffer,
    memory_var_of,
    operator_name,
    source_of,
    structural_walk,
    tirx,
    tvm,
    type_of,
)
from tzerlike.tir.interpreter.fault import BrokenRule
from tzerlike.tir.interpreter.memory import Path

Node = Any

_FILL = 100
"""Far from what programs compute, and within what most dtypes hold."""


@dataclass(slots=True)
class Domain:
    """The points of a block's domain at which it was executed, and how many there are.

    `reduces` says that the block does more to what it writes at each execution: then twice at a point is once too much.
    """

    reduces: bool = False
    size: int | None = None
    points: set[tuple[int, ...]] = field(default_factory=set)
    repeated: bool = False

    def visit(self, point: tuple[int, ...], size: int) -> None:
        self.size = size
        self.repeated = self.repeated or (self.reduces and point in self.points)
        self.points.add(point)

    @property
    def covered(self) -> bool:
        return len(self.points) == self.size and not self.repeated


@dataclass(slots=True)
class State:
    """`frame` holds the values of variables and the views of buffers by slot; `path` is where a concurrent access
    stands; `steps` counts scalar operations up to `limit`."""

    frame: list[Any] = field(default_factory=list)
    path: Path = ()
    steps: int = 0
    limit: int = 0
    executions: int = 0
    """How many concurrent loops have been started: each execution has a number of its own."""
    rereads: bool = False
    """Whether the bounds of a loop are evaluated before each iteration, in place of once."""
    moved: bool = False
    """Whether the bounds of a loop have changed while it ran."""
    routine: object = None
    """The thread that runs, where threads wait for each other; see `tzerlike.tir.interpreter.threads`."""
    domains: list[Domain] = field(default_factory=list)
    """Of blocks that are held to their promises."""
    shared: dict[Any, Any] = field(default_factory=dict)
    """The memory that the threads of the present block share, by slot, and how often they have allocated it."""
    given: dict[Any, dict[tuple[int, ...], Any]] = field(default_factory=dict)
    """What its threads give to reductions, by reduction, group of threads, and thread."""

    fill: int | None = None
    """What memory that nobody wrote holds: 0 for the least of two values, 1 for the other; None where to read it is
    a fault."""

    def first_value(self, dtype: DType) -> Any:
        """What an element of fresh memory holds; None for nothing."""
        if self.fill is None:
            return None
        value = _FILL if self.fill else -_FILL
        if dtype.is_float:
            return (float(value), 0.0)
        return value > 0 if dtype.is_bool else clamp(value, dtype)

    def spend(self, steps: int) -> None:
        """Count `steps`; BrokenRule over the limit."""
        self.steps += steps
        if self.steps > self.limit:
            raise BrokenRule("step-budget")


@dataclass(slots=True)
class Slots:
    """Where each variable and buffer stands in the frame."""

    state: State
    table: dict[int, int] = field(default_factory=dict)
    keep: list[Node] = field(default_factory=list)
    """The variables themselves: an identity is only unique as long as its object lives."""
    bound: set[int] = field(default_factory=set)
    """The slots that have a value wherever the code that is being compiled runs."""

    def define(self, var: Node) -> int:
        """The slot of a variable at its definition."""
        key = hash(var)
        if key not in self.table:
            self.table[key] = self.add()
            self.keep.append(var)
        return self.table[key]

    def add(self) -> int:
        """A slot for something that has no variable."""
        self.state.frame.append(None)
        return len(self.state.frame) - 1

    @contextmanager
    def binding(self, *slots: int) -> Iterator[None]:
        """Compile what runs only once `slots` have got their values."""
        fresh = {slot for slot in slots if slot not in self.bound}
        self.bound |= fresh
        try:
            yield
        finally:
            self.bound -= fresh

    def find(self, var: Node) -> int | None:
        """The slot of a variable in use; None when nothing defines it."""
        return self.table.get(hash(var))

    def owner(self, memory: Node) -> Node | None:
        """The first buffer over the memory that a variable stands for; None where there is none."""
        return next((one for one in self.keep if is_buffer(one) and memory_var_of(one).same_as(memory)), None)


def shown_name(node: Node) -> str:
    """The name of a variable or buffer; "?" for what has none, as IR that was loaded may hold in its place."""
    return str(getattr(node, "name", None) or getattr(node, "name_hint", "?"))


def dtype_text(node: Node) -> str:
    """The dtype with lanes; "" for what has none (handles, strings, void)."""
    ty = type_of(node)
    return str(ty.dtype) if type(ty) is tvm.ir.PrimType else ""


def concurrent_kind(kind: int) -> bool:
    """Whether the iterations of a loop of this kind may run in any order or at once."""
    return kind in (1, 2, 4)


def pipeline_of(loop: Node) -> tuple[tuple[int, int], ...]:
    """Stage and order of each statement of a loop that is annotated as a software pipeline; () for any other."""
    if not loop.annotations:
        return ()
    try:
        stages = [int(stage) for stage in loop.annotations["software_pipeline_stage"]]
        orders = [int(order) for order in loop.annotations["software_pipeline_order"]]
    except (KeyError, TypeError, ValueError):
        return ()
    return tuple(zip(stages, orders, strict=False))


def loads(expression: Node) -> bool:
    """Whether an expression reads memory."""
    if type(expression) in (tirx.IntImm, tirx.Var):
        return False
    found: list[bool] = []
    structural_walk(expression, (tvm.ir.TensorLoad, lambda node, *_: found.append(True)))
    return bool(found)


def written_in(body: Node, expressions: Iterable[Node]) -> bool:
    """Whether a statement stores to a buffer that one of the expressions reads."""
    read: list[Node] = []
    stored: list[Node] = []
    for expression in expressions:
        structural_walk(expression, (tvm.ir.TensorLoad, lambda node, *_: read.append(source_of(node))))
    structural_walk(body, (tirx.BufferStore, lambda node, *_: stored.append(node.buffer)))
    return any(one.same_as(other) for one in read for other in stored)


WAITING = frozenset(("tirx.tvm_storage_sync", "tirx.tvm_thread_allreduce"))
"""Calls at which the threads of a block wait for each other."""


def has_barrier(body: Node) -> bool:
    """Whether threads wait for each other somewhere in `body`."""
    called: list[str] = []
    structural_walk(body, (tvm.ir.Call, lambda node, *_: called.append(operator_name(node))))
    return not WAITING.isdisjoint(called)


def tracked(body: Node) -> bool:
    """Whether `body` has a loop or thread whose iterations are concurrent, or overlap."""
    found: list[bool] = []
    structural_walk(
        body,
        (tirx.For, lambda node, *_: found.append(concurrent_kind(int(node.kind)) or bool(pipeline_of(node)))),
        (tirx.AttrStmt, lambda node, *_: found.append(isinstance(node.node, tirx.IterVar))),
    )
    return any(found)
