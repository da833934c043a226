"""A kernel as the device passes leave it, judged without a device: interpreted, and compared with the program.

By the time that reductions over threads are lowered, barriers have been placed, memory has been shared out and loops
have become threads, vectors and copies; the kernel is still one function with the parameters of the program. Where a
pass left out a barrier, mixed up threads or let two buffers share memory too early, its threads race or compute
something else. What comes later (warp shuffles, the split into host and device, the code generator) is not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tzerlike.core.case import ContextConfig
from tzerlike.core.effort import Effort
from tzerlike.core.observation import Stage
from tzerlike.core.results import Ending, Ran, Results
from tzerlike.execution.compare.results import interpret_seeded
from tzerlike.execution.diagnosis.meaning import KERNEL_STEPS, Inspection, Meaning
from tzerlike.execution.diagnosis.search import Correctness
from tzerlike.execution.diagnosis.walk import Change
from tzerlike.systems import tvm_api
from tzerlike.systems.compilation import StepNotes
from tzerlike.systems.tvm_api import array_items, structural_walk, tirx
from tzerlike.tir.honest import honest

JUDGED_BEFORE = "s_tir.LowerThreadAllreduce"
"""The pass of the default pipeline whose input is interpreted: the first one after the barriers are placed."""

_PROGRAM_STEPS = 200_000
"""Scalar operations that the interpreter may take on a program for threads: the usual thousand threads of a block need
as many for a guard alone."""

_LAUNCH = "thread_extent"

_DIVERGENT = "divergent-barrier"
_FAULTS = ("race: read and written", _DIVERGENT, "uninitialised", "out-of-bounds")
"""How the interpreter describes what no kernel may do. Threads that write one and the same value into one place are
what unifying the threads of two loops gives, and do no harm; a value that is computed and thrown away may overflow."""


def judge_lowered(
    func: Any,
    lowered: Any | None,
    config: ContextConfig,
    input_seed: int,
    effort: Effort,
    notes: StepNotes,
    paced: Callable[[bool], None] = lambda limited: None,
    *,
    scheduled: bool = False,
) -> Results:
    """Interpret `func` on inputs drawn from `input_seed`, and `lowered`, what the device passes made of it.

    `lowered` is a module, or None where it did not come to that. The results speak of it as the optimised build. What a
    pass has `scheduled` is only judged where blocks keep what they promise to schedules.
    """
    notes.enter_stage(Stage.INTERPRET)
    paced(False)
    inputs, judgement, results = interpret_seeded(
        func, input_seed, replace(effort, steps=max(effort.steps, _PROGRAM_STEPS))
    )
    notes.note_results(results)
    # In a pipeline of a case's own, the pass may run before there are barriers.
    judged = results.defined and lowered is not None and config.pipeline == "default"
    if judged and inputs is not None and scheduled:
        judged = honest(func, inputs.arguments, _PROGRAM_STEPS)
    if judged and inputs is not None and judgement is not None:
        inside = with_memory_inside(tvm_api.entry_of(lowered))
        if inside is None:
            ran = Ran()
        else:
            meaning = Meaning(func, inputs, judgement, spare=KERNEL_STEPS)
            ran = _ran(meaning.look(tvm_api.module_of(inside)), config)
            # ThreadSync places a barrier behind such a wait: where some threads come to it, the program asks for that.
            if ran.message.startswith(_DIVERGENT) and _has_attribute(func.body, "async_wait_queue_scope"):
                ran = Ran()
        results = replace(results, optimised=ran)
    paced(True)
    return results


def _ran(look: Inspection, config: ContextConfig) -> Ran:
    """How the lowered form ended; NOT_RUN where nothing can be said."""
    if look.state is Correctness.RIGHT:
        return Ran(Ending.AGREES)
    if look.change is Change.RESULT:
        return Ran(Ending.DIFFERS, difference=look.difference)
    # A pass that is left out may be the one that keeps the threads apart, or a load behind its guard.
    if look.detail.startswith(_FAULTS) and not config.disabled_passes:
        rule, _, where = look.detail.partition(": ")
        # A signature goes by the first line.
        return Ran(Ending.UNDEFINED, f"{rule}\n{where}")
    return Ran()


def with_memory_inside(func: Any) -> Any | None:
    """Return a kernel whose memory of blocks and threads is allocated inside of the innermost launch.

    TVM allocates such memory in front of a launch or between two; on the device each block or thread has its own.
    None where TVM's constructors refuse what a pass has left behind, or launches are nested too deeply.
    """
    try:
        return func.with_body(_sunk(func.body, ()))
    except RecursionError:
        return None
    except tvm_api.CONSTRUCTION_ERRORS as error:
        if not tvm_api.raised_by_tvm(error):
            raise
        return None


def _sunk(stmt: Any, pending: Sequence[Any]) -> Any:
    """`stmt` with the allocations in `pending` at the start of each of its innermost launches."""
    if not _launches(stmt):
        return stmt
    if type(stmt) is tirx.SeqStmt:
        kept = []
        for part in array_items(stmt.seq):
            if type(part) is tirx.AllocBuffer and str(part.buffer.ty.storage_scope) != "global":
                pending = (*pending, part)
            else:
                kept.append(_sunk(part, pending))
        return tirx.SeqStmt(kept) if len(kept) > 1 else kept[0]
    if type(stmt) is tirx.AttrStmt:
        inner = _launches(stmt.body) or not _is_launch(stmt)
        body = _sunk(stmt.body, pending) if inner else _in_sequence(pending, stmt.body)
        return tirx.AttrStmt(stmt.node, stmt.attr_key, stmt.value, body)
    if type(stmt) is tirx.IfThenElse:
        other = None if stmt.else_case is None else _sunk(stmt.else_case, pending)
        return tirx.IfThenElse(stmt.condition, _sunk(stmt.then_case, pending), other)
    if type(stmt) is tirx.For:
        body = _sunk(stmt.body, pending)
        return tirx.For(
            stmt.loop_var, stmt.min, stmt.extent, stmt.kind, body, stmt.thread_binding, stmt.annotations, stmt.step
        )
    return stmt


def _in_sequence(first: Sequence[Any], stmt: Any) -> Any:
    return tirx.SeqStmt([*first, stmt]) if first else stmt


def _is_launch(node: Any) -> bool:
    return str(node.attr_key) == _LAUNCH


def _launches(stmt: Any) -> bool:
    """Whether threads are launched somewhere in `stmt`."""
    return _has_attribute(stmt, _LAUNCH)


def _has_attribute(stmt: Any, name: str) -> bool:
    found: set[str] = set()
    structural_walk(stmt, (tirx.AttrStmt, lambda node: found.add(str(node.attr_key))))
    return name in found
