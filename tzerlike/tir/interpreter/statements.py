"""Statements of TIR as closures. Each returns what comes next: NEXT, or that a loop is left or continued."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import compress
from typing import Any

from tzerlike.systems.tvm_api import (
    array_items,
    memory_var_of,
    name_of,
    operator_name,
    predicate_of,
    s_tir,
    source_of,
    structural_walk,
    tirx,
    tvm,
    type_of,
)
from tzerlike.tir.interpreter.calls import predicated_store, thread_reduction
from tzerlike.tir.interpreter.expressions import Compiler, Thunk
from tzerlike.tir.interpreter.fault import BrokenRule, raising
from tzerlike.tir.interpreter.formats import FLOATS
from tzerlike.tir.interpreter.memory import BufferView, Memory, PipelinePoint, size_of
from tzerlike.tir.interpreter.regions import Regions
from tzerlike.tir.interpreter.state import (
    Domain,
    Node,
    Slots,
    State,
    concurrent_kind,
    dtype_text,
    loads,
    pipeline_of,
    shown_name,
    written_in,
)
from tzerlike.tir.interpreter.threads import ThreadAxis, barrier, run_crew
from tzerlike.tir.interpreter.views import data_owner, distinct, layout, matched, memory_of
from tzerlike.tir.interpreter.wellformed import block_misfit, dtype_of, element_dtype, layout_misfit


class Flow(IntEnum):
    """What runs after a statement."""

    NEXT = 0
    BREAK = 1
    CONTINUE = 2


Action = Callable[[], Flow]

_SPATIAL, _REDUCTION = 0, 2
"""tirx.IterVar's iter_type of a data-parallel axis and of one of reduction."""

_HINTS = (
    "pragma_auto_unroll_max_step", "pragma_unroll_explicit", "pragma_loop_partition_hint", "pragma_scope",
    "tirx.compute_scope", "compute_scope", "storage_alignment", "buffer_dim_align",
    "pragma_unroll", "device_scope",
    "async_scope", "async_commit_queue_scope", "async_wait_queue_scope", "async_wait_inflight_count", "volatile_scope",
)  # fmt: skip
"""Attributes that say how to compile a statement and not what it means."""

_NOTHING = ("tirx.prefetch", "tirx.start_profile_intrinsic", "tirx.end_profile_intrinsic")
"""Calls that compute nothing."""

_ELEMENTS_A_STEP = 64
"""How much memory is made in the time of a scalar operation, roughly."""

_THREADS = 4
"""tirx.ForKind of a loop bound to threads."""


@dataclass(slots=True)
class StatementCompiler:
    """Compiles statements; `cost` of `compile` is a bound on the scalar operations of one execution, None if the
    program alone does not tell."""

    state: State
    slots: Slots
    tracked: bool
    barriers: bool
    promises: bool = False
    """Whether blocks are held to what they say of their axes: iterations over spatial ones count as concurrent, and it
    is noted which points of a block's domain are reached."""
    regions: Regions = field(init=False)
    expressions: Compiler = field(init=False)
    axes: Mapping[str, ThreadAxis] = field(default_factory=dict)
    """The thread axes that loops around are bound to."""
    pipeline: tuple[tuple[int, int], ...] = ()
    """Stages and orders for the next sequence of statements, the body of a software pipeline."""

    def __post_init__(self) -> None:
        self.regions = Regions(self.slots)
        self.expressions = Compiler(self.state, self.slots, self.tracked, self._allow)

    @property
    def in_threads(self) -> bool:
        """Whether a loop over the threads of a block is around."""
        return bool(self._threads())

    def _threads(self) -> list[ThreadAxis]:
        """The axes that tell the threads of a block apart."""
        return [axis for tag, axis in self.axes.items() if tag.startswith("threadIdx")]

    def _allow(self, buffer: Node, store: bool, indices: Sequence[Node]) -> Thunk | None:
        return self.regions.check(buffer, store, indices, self.expressions.compile)

    def compile(self, node: Node) -> tuple[Action, int | None]:
        """The closure of a statement and its cost."""
        compiler = _TABLE.get(type(node))
        if compiler is None:
            return self._refused(node, type(node).__name__)
        return compiler(self, node)

    def _refused(self, node: Node, what: str) -> tuple[Action, int | None]:
        def run() -> Flow:
            raise BrokenRule("unsupported", what).at(node)

        return run, 1

    def expression(self, node: Node) -> tuple[Thunk, int]:
        """The closure of an expression and its cost."""
        self.expressions.cost = 0
        run = self.expressions.compile(node)
        return run, self.expressions.cost + 1

    def number(self, node: Node) -> tuple[Thunk, int]:
        """The same for an expression that has to be one number."""
        self.expressions.cost = 0
        run = self.expressions.number(node)
        return run, self.expressions.cost + 1

    def sequence(self, node: Node) -> tuple[Action, int | None]:
        parts = array_items(node.seq)
        pipeline, self.pipeline = self.pipeline, ()
        if pipeline and len(pipeline) != len(parts):
            return self._refused(node, "a software pipeline with other statements than stages")
        compiled = [self.compile(part) for part in parts]
        steps = [step for step, _ in compiled]
        if pipeline:
            steps = [self._staged(step, stage, order) for step, (stage, order) in zip(steps, pipeline, strict=True)]

        def run() -> Flow:
            for step in steps:
                flow = step()
                if flow:
                    return flow
            return Flow.NEXT

        return run, _total(cost for _, cost in compiled)

    def _staged(self, step: Action, stage: int, order: int) -> Action:
        """A statement of a software pipeline; the loop has put its iteration into the path."""
        state = self.state

        def run() -> Flow:
            path = state.path
            # The loop's own iteration; a block between it and the statement may have added its point.
            place = max(place for place, (_, iteration) in enumerate(path) if isinstance(iteration, int))
            execution, iteration = path[place]
            assert isinstance(iteration, int)
            point = PipelinePoint(iteration, iteration + stage, order)
            state.path = (*path[:place], (execution, point), *path[place + 1 :])
            flow = step()
            state.path = (*state.path[:place], *path[place:])
            return flow

        return run

    def store(self, node: Node) -> tuple[Action, int | None]:
        if predicate_of(node) is not None:
            return self._refused(node, "a predicated store")
        value, cost = self.expression(node.value)
        self.expressions.cost = 0
        access = self.expressions.access(node.buffer, array_items(node.indices), value, dtype_of(node.value))
        cost += self.expressions.cost
        return self._simple(node, access, cost), cost

    def _simple(self, node: Node, action: Callable[[], object], cost: int) -> Action:
        spend = self.state.spend

        def run() -> Flow:
            spend(cost)
            try:
                action()
            except BrokenRule as broken:
                raise broken.at(node) from None
            return Flow.NEXT

        return run

    def evaluate(self, node: Node) -> tuple[Action, int | None]:
        value = node.value
        name = operator_name(value) if type(value) is tvm.ir.Call else ""
        arguments = array_items(value.args) if name else []
        if name == "tirx.assume" and arguments:
            return self._require(node, arguments[0], "assume")
        if name == "tirx.masked_store" and len(arguments) >= 3:
            return self._called(node, predicated_store(self.expressions, arguments))
        if name in ("tirx.break_loop", "tirx.continue_loop"):
            return self.leave(node) if name == "tirx.break_loop" else self.resume(node)
        if name in _NOTHING:
            return self._computed(node, arguments, lambda: None)
        if name == "tirx.tvm_storage_sync":
            named: Any = arguments[0] if arguments else None
            scope = str(named.value) if type(named) is tvm.ir.StringImm else "some"
            if not scope.startswith("shared"):
                return self._refused(node, f"a barrier for {scope} memory")
            return self._computed(node, arguments, lambda: barrier(self.state))
        action, cost = self.expression(value)
        return self._simple(node, action, cost), cost

    def _called(self, node: Node, made: tuple[Callable[[], None], int] | str) -> tuple[Action, int | None]:
        """What a call does, and its cost; or why it is refused."""
        if isinstance(made, str):
            return self._refused(node, made)
        return self._simple(node, *made), made[1]

    def _computed(self, node: Node, arguments: list[Node], then: Callable[[], object]) -> tuple[Action, int | None]:
        """What is computed of the arguments of a call, and then done: what is no number is no value either."""
        numbers = [self.expression(argument) for argument in arguments if dtype_of(argument) is not None]
        cost = 1 + sum(cost for _, cost in numbers)

        def action() -> None:
            for number, _ in numbers:
                number()
            then()

        return self._simple(node, action, cost), cost

    def assertion(self, node: Node) -> tuple[Action, int | None]:
        return self._require(node, node.condition, "assert")

    def _require(self, node: Node, condition: Node, rule: str) -> tuple[Action, int | None]:
        holds, cost = self.number(condition)

        def action() -> None:
            if not holds():
                raise BrokenRule(rule)

        return self._simple(node, action, cost), cost

    def bind(self, node: Node) -> tuple[Action, int | None]:
        if type(type_of(node.var)) is not tvm.ir.PrimType:
            return self._refused(node, "a pointer bound to a variable")
        if dtype_text(node.var) != dtype_text(node.value):
            return self._refused(node, "a variable bound to a value of another dtype")
        value, cost = self.expression(node.value)
        slot, frame = self.slots.define(node.var), self.state.frame

        def action() -> None:
            frame[slot] = value()

        return self._simple(node, action, cost), cost

    def branch(self, node: Node) -> tuple[Action, int | None]:
        condition, cost = self.number(node.condition)
        then, then_cost = self.compile(node.then_case)
        other, other_cost = self.compile(node.else_case) if node.else_case is not None else (None, 0)
        spend = self.state.spend

        def run() -> Flow:
            spend(cost)
            try:
                chosen = condition()
            except BrokenRule as broken:
                raise broken.at(node) from None
            if chosen:
                return then()
            return other() if other is not None else Flow.NEXT

        worst = None if then_cost is None or other_cost is None else max(then_cost, other_cost)
        return run, _total((cost, worst))

    def _oddity(self, kind: int, tag: str, pipelined: bool) -> str:
        """What is wrong with a loop that is not modelled; "" for the others."""
        if kind > _THREADS:
            return "a loop of an unknown kind"
        if kind == _THREADS and not tag.startswith(("threadIdx", "blockIdx", "vthread")):
            return f"threads of {tag or 'no axis'}"
        if kind == _THREADS and tag in self.axes:
            return f"a loop over {tag} inside of another"
        if kind == _THREADS and tag.startswith("blockIdx") and self.in_threads and self.barriers:
            return "blocks inside of threads that wait for each other"
        return "a software pipeline of concurrent iterations" if pipelined and concurrent_kind(kind) else ""

    def loop(self, node: Node) -> tuple[Action, int | None]:
        kind = int(node.kind)
        tag = str(node.thread_binding.thread_tag) if node.thread_binding is not None else ""
        pipeline = pipeline_of(node)
        for name in node.annotations:
            if str(name).startswith("pragma_") and str(name) not in _HINTS:
                return self._refused(node, f"the annotation {name}")
        odd = self._oddity(kind, tag, bool(pipeline))
        if odd:
            return self._refused(node, odd)
        minimum, _ = self.number(node.min)
        extent, _ = self.number(node.extent)
        stride = self.number(node.step)[0] if node.step is not None else None
        slot, frame, held = self.slots.define(node.loop_var), self.state.frame, dtype_of(node.loop_var)
        if held is None or not held.is_int:
            return self._refused(node, "a loop over what is no integer")
        low, high = held.low, held.high
        in_block = kind == _THREADS and tag.startswith("threadIdx")
        outermost = in_block and not self.in_threads
        axes, self.pipeline = self.axes, pipeline
        self.axes = {**axes, tag: ThreadAxis(slot, extent)} if kind == _THREADS else axes
        with self.slots.binding(slot):
            body, cost = self.compile(node.body)
        self.axes = axes
        unused, self.pipeline = self.pipeline, ()
        if unused:
            return self._refused(node, "a software pipeline without a sequence")
        state, spend = self.state, self.state.spend
        concurrent = self.tracked and (concurrent_kind(kind) or bool(pipeline))
        ends = [bound for bound in (node.min, node.extent, node.step) if bound is not None]
        steady = not any(loads(bound) for bound in ends)
        if concurrent and not steady and written_in(node.body, ends):
            # Each thread asks for itself how far it has to go.
            return self._refused(node, "concurrent iterations that change their own number")

        def bounds() -> range:
            try:
                start, count = minimum(), extent()
                by = stride() if stride is not None else 1
                if count < 0:
                    raise BrokenRule("negative-extent", f"a loop of {count} iterations")
                if by <= 0:
                    raise BrokenRule("unsupported", f"a loop with step {by}")
                if kind == _THREADS and (start or not count):
                    raise BrokenRule("unsupported", f"{count} threads from {start}")
                if count and not low <= start <= start + count - 1 <= high:
                    raise BrokenRule("integer-overflow", f"{count} iterations from {start}")
            except BrokenRule as broken:
                raise broken.at(node) from None
            return range(start, start + count, by)

        def serial() -> Flow:
            for value in bounds():
                spend(1)
                frame[slot] = value
                flow = body()
                if flow is Flow.BREAK:
                    break
            return Flow.NEXT

        def unsteady() -> Flow:
            """A serial loop whose bounds are in memory, which its body may write."""
            rounds = bounds()
            value = rounds.start
            while value < rounds.stop:
                spend(1)
                frame[slot] = value
                if body() is Flow.BREAK:
                    break
                try:
                    later = bounds()
                except BrokenRule:
                    state.moved = True
                    if state.rereads:
                        raise
                    later = rounds
                state.moved = state.moved or later != rounds
                if state.rereads:
                    rounds = later
                value += rounds.step
            return Flow.NEXT

        def any_order() -> Flow:
            depth = len(state.path)
            state.executions += 1
            mine = state.executions
            for value in bounds():
                spend(1)
                frame[slot] = value
                # What is above may be in another phase than before the last barrier.
                state.path = (*state.path[:depth], (mine, value))
                if body() is Flow.BREAK:
                    raise BrokenRule("unsupported", "a break out of concurrent iterations").at(node)
            state.path = state.path[:depth]
            return Flow.NEXT

        def work(value: int) -> None:
            frame[slot] = value
            if body() is Flow.BREAK:
                raise BrokenRule("unsupported", "a break out of concurrent iterations").at(node)

        def in_phases() -> Flow:
            values = bounds()
            spend(len(values))
            try:
                run_crew(state, values, work)
            except BrokenRule as broken:
                raise broken.at(node) from None
            return Flow.NEXT

        run = in_phases if in_block and self.barriers else any_order if concurrent else serial if steady else unsteady
        if outermost:
            run = self._with_shared_memory(run)
        count = int(node.extent.value) if type(node.extent) is tirx.IntImm else None
        total = None if count is None or cost is None else max(count, 0) * (cost + 1)
        return run, total

    def _with_shared_memory(self, run: Action) -> Action:
        """`run` for a block of threads of its own: what they share starts anew."""
        state = self.state

        def block() -> Flow:
            state.shared, state.given = {}, {}
            return run()

        return block

    def while_loop(self, node: Node) -> tuple[Action, int | None]:
        condition, cost = self.number(node.condition)
        body, _ = self.compile(node.body)
        spend = self.state.spend

        def holds() -> bool:
            spend(cost)
            try:
                return bool(condition())
            except BrokenRule as broken:
                raise broken.at(node) from None

        def run() -> Flow:
            while holds():
                if body() is Flow.BREAK:
                    break
            return Flow.NEXT

        return run, None

    def leave(self, node: Node) -> tuple[Action, int | None]:
        return (lambda: Flow.BREAK), 0

    def resume(self, node: Node) -> tuple[Action, int | None]:
        return (lambda: Flow.CONTINUE), 0

    def attribute(self, node: Node) -> tuple[Action, int | None]:
        name = str(node.attr_key)
        if name in ("thread_extent", "virtual_thread") and isinstance(node.node, tirx.IterVar):
            return self._thread(node)
        if name == "reduce_scope" and isinstance(node.node, tirx.CommReducer):
            return self._called(
                node, thread_reduction(self.expressions, node, self._threads() if self.barriers else [])
            )
        if name not in _HINTS:
            return self._refused(node, f"the attribute {name}")
        return self.compile(node.body)

    def _thread(self, node: Node) -> tuple[Action, int | None]:
        """A launch of threads: the body, once for each, in any order."""
        variable, extent = node.node.var, node.value
        tag, dtype = str(node.node.thread_tag), dtype_of(extent)
        if dtype is None or not dtype.is_int or dtype.lanes != 1 or dtype_of(variable) != dtype:
            return self._refused(node, "a launch of so many threads")
        binding = tirx.IterVar(None, tirx.Var(str(name_of(variable)), type_of(variable)), 1, tag)
        zero = tirx.IntImm(type_of(extent).dtype, 0)
        return self.loop(tirx.For(variable, zero, extent, _THREADS, node.body, binding))

    def allocate(self, node: Node) -> tuple[Action, int | None]:
        make = self.allocation(node.buffer)
        return self._simple(node, make, 1), 1

    def allocation(self, buffer: Node, versioned: bool = False) -> Callable[[], None]:
        """The action that gives `buffer` fresh memory, of which nothing is initialised."""
        ty, dtype, wrong = type_of(buffer), element_dtype(buffer), layout_misfit(buffer)
        if dtype is None or wrong:
            return raising("unsupported", f"memory for {wrong}")
        scope = str(ty.storage_scope)
        slot = self.slots.define(buffer)
        self.regions.define(buffer)
        shape = [self.expressions.number(extent) for extent in array_items(ty.shape)]
        if dtype.base == "handle" or dtype.scalable or (dtype.is_float and dtype.scalar not in FLOATS):
            return raising("unsupported", f"memory of dtype {dtype}")
        if self.in_threads and scope == "warp":
            return raising("unsupported", "memory of a warp")
        lanes, scalar = dtype.lanes, dtype.scalar
        frame, tracked, state = self.state.frame, self.tracked, self.state
        common = self.in_threads and scope.startswith("shared")
        strides = array_items(ty.strides)
        # How often a thread that waits for others has come here: each time the memory is another one.
        times = self.slots.add() if common and self.barriers else None

        def make() -> None:
            place: int | tuple[int, int] = slot
            if times is not None:
                frame[times] = (frame[times] or 0) + 1
                place = (slot, frame[times])
            if common and place in state.shared:
                frame[slot] = state.shared[place]
                return
            extents = tuple([extent() for extent in shape])
            size = size_of(extents) * lanes
            state.spend(size // _ELEMENTS_A_STEP)
            if strides and not distinct(extents, strides):
                raise BrokenRule("alias", f"elements of {shown_name(buffer)} share memory")
            memory = Memory.of_size(scalar, size, tracked, versioned, state.first_value(dtype))
            frame[slot] = BufferView.compact(memory, extents, lanes)
            if common:
                state.shared[place] = frame[slot]

        return make

    def declare(self, node: Node) -> tuple[Action, int | None]:
        """A view of another buffer's memory."""
        owner = data_owner(node.data) if hasattr(node, "data") else self.slots.owner(memory_var_of(node.buffer))
        if owner is None:
            return self._refused(node, "a buffer over a pointer")
        source = self.slots.find(owner)
        if source is None:
            return self._refused(node, "a view of an unknown buffer")
        self.regions.alias(node.buffer, owner)
        lay = layout(node.buffer, self.expressions.number)
        slot, frame = self.slots.define(node.buffer), self.state.frame

        def action() -> None:
            frame[slot] = lay(memory_of(frame, source).memory)

        return self._simple(node, action, 1), 1

    def _by_threads(self, value: Node) -> bool:
        """Whether a value differs between the threads of a block by itself."""
        used: list[int | None] = []
        structural_walk(value, (tirx.Var, lambda node, *_: used.append(self.slots.find(node))))
        return any(axis.slot in used for axis in self._threads())

    def realize(self, node: Node) -> tuple[Action, int | None]:
        block, wrong = node.block, block_misfit(node)
        if wrong:
            return self._refused(node, wrong)
        predicate, cost = self.number(node.predicate)
        values = [self.number(value)[0] for value in array_items(node.iter_values)]
        domains = [
            (self.number(axis.dom.min)[0], self.number(axis.dom.extent)[0]) for axis in array_items(block.iter_vars)
        ]
        axes = [self.slots.define(axis.var) for axis in array_items(block.iter_vars)]
        kinds = [int(axis.iter_type) for axis in array_items(block.iter_vars)]
        reduced = [kind == _REDUCTION for kind in kinds]
        spatial = [slot for slot, kind in zip(axes, kinds, strict=True) if kind == _SPATIAL]
        with self.slots.binding(*axes):
            with self.regions.inside(block):
                matches = []
                for match in array_items(block.match_buffers):
                    self.regions.alias(match.buffer, source_of(match.source))
                    matches.append(matched(match, self.slots, self.expressions.number))
                fresh = [self.allocation(buffer, versioned=True) for buffer in array_items(block.alloc_buffers)]
                init, init_cost = self.compile(block.init) if block.init is not None else (None, 0)
                body, body_cost = self.compile(block.body)
            refresh = self.regions.entry(block, self.expressions.number)
        frame, state, spend, promises = self.state.frame, self.state, self.state.spend, self.promises
        if block.init is not None and any(
            self._by_threads(value) for value in compress(array_items(node.iter_values), reduced)
        ):
            return self._refused(node, "a block that reduces over threads")
        own = cost + 2 * len(axes) + 1
        this = object()
        domain = Domain(any(reduced))
        if promises:
            state.domains.append(domain)

        def enter() -> bool | None:
            """Bind the axes; whether the reduction starts here, None when the predicate is false."""
            if not predicate():
                return None
            first = True
            size = 1
            points = [value() for value in values]
            for slot, point, (low, extent), reduces in zip(axes, points, domains, reduced, strict=True):
                frame[slot] = point
                start, length = low(), extent()
                size *= length
                if not start <= point < start + length:
                    axis = shown_name(array_items(block.iter_vars)[axes.index(slot)].var)
                    raise BrokenRule("block-domain", f"{point} for {axis} in the block {block.name_hint}")
                if reduces and point != start:
                    first = False
            if promises:
                domain.visit(tuple(points), size)
            # First: the shape of an allocation may load what the block declares to read.
            refresh()
            for match in matches:
                match()
            for make in fresh:
                make()
            return first

        def run() -> Flow:
            spend(own)
            try:
                first = enter()
            except BrokenRule as broken:
                raise broken.at(node) from None
            if first is None:
                return Flow.NEXT
            depth = len(state.path)
            if promises:
                state.path = (*state.path, (this, tuple([frame[slot] for slot in spatial])))
            if first and init is not None:
                init()
            flow = body()
            state.path = state.path[:depth]
            return flow

        return run, _total((own, init_cost, body_cost))


_TABLE: dict[Any, Callable[[StatementCompiler, Node], tuple[Action, int | None]]] = {
    tirx.SeqStmt: StatementCompiler.sequence,
    tirx.BufferStore: StatementCompiler.store,
    tirx.Evaluate: StatementCompiler.evaluate,
    tirx.AssertStmt: StatementCompiler.assertion,
    tirx.Bind: StatementCompiler.bind,
    tirx.IfThenElse: StatementCompiler.branch,
    tirx.For: StatementCompiler.loop,
    tirx.While: StatementCompiler.while_loop,
    tirx.Break: StatementCompiler.leave,
    tirx.Continue: StatementCompiler.resume,
    tirx.AttrStmt: StatementCompiler.attribute,
    tirx.AllocBuffer: StatementCompiler.allocate,
    tirx.DeclBuffer: StatementCompiler.declare,
    s_tir.SBlockRealize: StatementCompiler.realize,
}


def _total(costs: Any) -> int | None:
    total = 0
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return total
