"""A PrimFunc prepared for interpretation, once for any number of inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy

from tzerlike.core.dtypes import parse
from tzerlike.systems.tvm_api import array_items, params_of, tirx, tvm, type_of
from tzerlike.tir.interpreter.expressions import Thunk
from tzerlike.tir.interpreter.fault import BrokenRule, raising
from tzerlike.tir.interpreter.formats import FLOATS, given
from tzerlike.tir.interpreter.memory import BufferView, Memory, row_major
from tzerlike.tir.interpreter.places import place_of
from tzerlike.tir.interpreter.state import Node, Slots, State, has_barrier, shown_name, tracked
from tzerlike.tir.interpreter.statements import Action, StatementCompiler
from tzerlike.tir.interpreter.verdict import RULES, Argument, Expected, Judgement, Verdict
from tzerlike.tir.interpreter.views import distinct
from tzerlike.tir.interpreter.wellformed import layout_misfit
from tzerlike.tir.scope import shape_variables

MAX_STEPS = 200_000

ALIGNMENT = 64
"""Bytes that the memory of every argument is aligned to: what TVM's runtime gives."""


@dataclass(slots=True)
class Program:
    """A compiled PrimFunc. `cost` bounds the scalar operations of a run, None if it depends on values."""

    func: Node
    state: State
    slots: Slots
    body: Action
    cost: int | None
    tracked: bool
    extents: list[tuple[Thunk, int, int]]
    """Extents of parameters that follow from others, with the parameter's position and the axis."""

    def run(self, arguments: Sequence[Argument], max_steps: int = MAX_STEPS, *, once: bool = False) -> Judgement:
        """Interpret the function on `arguments`, one for each parameter; they stay as they are.

        Where the bounds of a loop change while it runs, code may evaluate them once or in each round: the results hold
        for both, or with `once` for the first.
        """
        self.state.rereads = self.state.moved = False
        judgement = self._run(arguments, max_steps)
        if once or not self.state.moved or judgement.verdict is not Verdict.DEFINED:
            return judgement
        self.state.rereads = True
        other = self._run(arguments, max_steps)
        if other.verdict is not Verdict.DEFINED:
            return Judgement(Verdict.UNKNOWN, "unsupported", "the bounds of a loop change while it runs", other.steps)
        return replace(
            judgement,
            expected={place: _either(first, other.expected[place]) for place, first in judgement.expected.items()},
        )

    def _run(self, arguments: Sequence[Argument], max_steps: int) -> Judgement:
        state = self.state
        state.path, state.steps, state.limit, state.executions = (), 0, max_steps, 0
        for domain in state.domains:
            domain.points.clear()
        try:
            buffers = self._bind(arguments)
            # Branches may make a run cheaper than its bound by far; up to here it is tried.
            if self.cost is not None and self.cost > 8 * max_steps:
                raise BrokenRule("step-budget", f"up to {self.cost} operations")
            self.body()
            return Judgement(Verdict.DEFINED, steps=state.steps, expected=self._results(buffers))
        except BrokenRule as broken:
            verdict, _ = RULES[broken.rule]
            return Judgement(verdict, broken.rule, _describe(broken), state.steps)
        except RecursionError:
            return Judgement(Verdict.UNKNOWN, "unsupported", "nested too deeply", state.steps)

    @property
    def covers_domains(self) -> bool:
        """Whether each block was executed at every point of its domain, and each that reduces no more than once.

        Only known of a program prepared with `promises`.
        """
        return all(domain.covered for domain in self.state.domains)

    def _bind(self, arguments: Sequence[Argument]) -> dict[int, BufferView]:
        frame = self.state.frame
        params = params_of(self.func)
        if len(params) != len(arguments):
            raise ValueError(f"{len(arguments)} arguments for {len(params)} parameters")
        buffers: dict[int, BufferView] = {}
        bound: dict[int, int] = {}
        for param, argument in zip(params, arguments, strict=True):
            if not tirx.is_buffer_var(param):
                slot = self.slots.find(param)
                dtype = parse(str(type_of(param).dtype)) if type(type_of(param)) is tvm.ir.PrimType else None
                if slot is None or dtype is None:
                    raise BrokenRule("unsupported", f"the parameter {shown_name(param)}")
                frame[slot] = _scalar(argument, dtype.is_float)
                bound[slot] = frame[slot]
        for position, (param, argument) in enumerate(zip(params, arguments, strict=True)):
            if tirx.is_buffer_var(param):
                view = self._argument(param, numpy.asarray(argument), bound)
                slot = self.slots.find(param)
                assert slot is not None
                frame[slot] = view
                buffers[position] = view
        for run, position, axis in self.extents:
            if run() != buffers[position].shape[axis]:
                raise BrokenRule(
                    "assert",
                    f"axis {axis} of {shown_name(params[position])} has {buffers[position].shape[axis]} elements",
                )
        return buffers

    def _argument(self, param: Node, array: Any, bound: dict[int, int]) -> BufferView:
        """The view of a buffer parameter; the variables of its shape and strides take their values from it."""
        ty = type_of(param)
        dtype, wrong = parse(str(ty.dtype.dtype)), layout_misfit(param)
        if dtype is None or dtype.scalable or wrong or (dtype.is_float and dtype.scalar not in FLOATS):
            raise BrokenRule("unsupported", wrong or f"a parameter of dtype {ty.dtype.dtype}")
        if dtype.base == "handle":
            raise BrokenRule("unsupported", "a buffer of handles")
        extents = array_items(ty.shape)
        if int(ty.data_alignment) > ALIGNMENT:
            raise BrokenRule("alignment", f"{shown_name(param)} asks for {ty.data_alignment} bytes")
        shape = array.shape[: len(extents)]
        strides = row_major(shape)
        pairs = [*zip(extents, shape, strict=True), *zip(array_items(ty.strides), strides, strict=False)]
        for expr, value in [*pairs, (ty.elem_offset, 0)]:
            if type(expr) is tirx.Var:
                slot = self.slots.find(expr)
                if slot is not None:
                    if bound.setdefault(slot, value) != value:
                        raise BrokenRule("assert", f"{shown_name(expr)} is {bound[slot]} and {value}")
                    self.state.frame[slot] = value
        if type(ty.elem_offset) is tirx.IntImm and int(ty.elem_offset.value):
            raise BrokenRule("assert", f"{shown_name(param)} starts where its memory does")
        flat = array.reshape(-1).tolist()
        values = [given(x) for x in flat] if dtype.is_float else flat
        declared = array_items(ty.strides)
        if declared and not distinct(shape, declared):
            raise BrokenRule("alias", f"elements of {shown_name(param)} share memory")
        memory = Memory(dtype.scalar, values)
        if self.tracked:
            memory.track()
        return BufferView.compact(memory, tuple(shape), dtype.lanes)

    def _results(self, buffers: dict[int, BufferView]) -> dict[int, Expected]:
        expected = {}
        params = params_of(self.func)
        for position, view in buffers.items():
            dtype = parse(str(type_of(params[position]).dtype.dtype))
            assert dtype is not None
            shape = view.shape if view.lanes == 1 else (*view.shape, view.lanes)
            values = view.memory.values
            if dtype.is_float:
                numbers: Any = numpy.array([v for v, _ in values], numpy.float64).reshape(shape)
                bound = numpy.array([b for _, b in values], numpy.float64).reshape(shape)
                if not numpy.isfinite(numbers).all():
                    raise BrokenRule("exceptional-value", "in a result")
            else:
                kind = numpy.bool_ if dtype.is_bool else numpy.int64 if dtype.base == "int" else numpy.uint64
                numbers = numpy.array(values, kind).reshape(shape)
                bound = numpy.zeros(shape, numpy.float64)
            expected[position] = Expected(numbers, bound)
        return expected


def prepare(func: Node, *, promises: bool = False, regions: bool = True, fill: int | None = None) -> Program:
    """Compile a PrimFunc for the interpreter. What is not modelled becomes a BrokenRule when it is reached.

    With `promises` blocks are held to what they say of their axes: iterations over spatial ones count as concurrent,
    and `covers_domains` says whether a run reached all of them. Without `regions` they may access what they like.
    With `fill`, 0 or 1, memory that nobody wrote holds one of two values.
    """
    state = State(fill=fill)
    slots = Slots(state)
    watched = promises or tracked(func.body)
    compiler = StatementCompiler(state, slots, watched, watched and has_barrier(func.body), promises)
    compiler.regions.kept = regions
    for param in params_of(func):
        slots.define(param)
        if tirx.is_buffer_var(param):
            for var in shape_variables(param):
                slots.define(var)
    extents = [
        (compiler.expression(expr)[0], position, axis)
        for position, param in enumerate(params_of(func))
        if tirx.is_buffer_var(param)
        for axis, expr in enumerate(array_items(type_of(param).shape))
        if type(expr) is not tirx.Var
    ]
    with slots.binding(*slots.table.values()):
        try:
            body, cost = compiler.compile(func.body)
        except RecursionError:
            body, cost = raising("unsupported", "nested too deeply"), 1
    return Program(func, state, slots, body, cost, watched, extents)


def interpret(func: Node, arguments: Sequence[Argument], *, max_steps: int = MAX_STEPS) -> Judgement:
    """Interpret a PrimFunc that no pass has touched on `arguments` and judge it; see Judgement."""
    return prepare(func).run(arguments, max_steps)


def _either(first: Expected, second: Expected) -> Expected:
    """What both say: an infinite bound where they differ."""
    bound = numpy.maximum(first.bound, second.bound)
    return Expected(first.values, numpy.where(first.values == second.values, bound, numpy.inf))


def _scalar(argument: Argument, is_float: bool) -> Any:
    if isinstance(argument, numpy.ndarray):
        raise ValueError("an array for a scalar parameter")
    return given(float(argument)) if is_float else argument


def _describe(broken: BrokenRule) -> str:
    place = place_of(broken.place) if broken.place is not None else ""
    return f"{broken.detail}: {place}" if broken.detail and place else broken.detail or place
