"""The crash oracle: the compiler died, ran on without end, or ate all memory.

A signature holds the kind, the stage, the pass and the top frames, and never an address: a crash inside
a pass has one signature whether the pass ran from a case's sequence or from the default pipeline.
"""

from __future__ import annotations

import signal
from collections import Counter

from tzerlike.case import Case
from tzerlike.observation import Exit, Frame, Observation, Stage
from tzerlike.oracles.finding import Finding

TOP_FRAMES = 3

_OWN_LIBRARY = "libtvm"
"""Frames of other libraries (libc, Python, ours) say how the process died, not why."""

_GENERIC = (
    "tvm::ffi::",
    "tvm::ObjectVisitor::",
    "tvm::ObjectMutator::",
    "tvm::runtime::detail::",
    "tvm::tirx::StmtVisitor::",
    "tvm::tirx::StmtMutator::",
    "tvm::tirx::ExprVisitor::",
    "tvm::tirx::ExprMutator::",
    "tvm::tirx::StmtExprVisitor::",
    "tvm::tirx::StmtExprMutator::",
)
"""Visitors that every pass goes through: in a signature they would hide one crash behind another."""


def judge_crash(case: Case, observation: Observation) -> Finding | None:
    """Return the finding of an observation that ended in a crash, a time-out or out of memory."""
    where = _place(observation)
    if observation.exit is Exit.CRASH:
        if observation.stack_overflow:
            return Finding("crash", (*where, "stack overflow", *_cycle(observation.backtrace)), case, observation)
        name = signal.Signals(observation.signal).name if observation.signal else "exit"
        return Finding("crash", (*where, name, *_top(observation.backtrace)), case, observation)
    if observation.exit is Exit.TIMEOUT:
        return Finding("hang", where, case, observation)
    if observation.exit is Exit.OOM:
        return Finding("oom", where, case, observation)
    return None


def _place(observation: Observation) -> tuple[str, ...]:
    """The stage and the pass; a pass of the default pipeline counts as PASSES like one of the sequence."""
    if observation.pass_name and observation.stage in (Stage.PASSES, Stage.BUILD):
        return (Stage.PASSES.value, observation.pass_name.rpartition(".")[2])
    return (observation.stage.value,)


def _own(frames: tuple[Frame, ...]) -> list[Frame]:
    own = [frame for frame in frames if frame.library.startswith(_OWN_LIBRARY)]
    return [frame for frame in own if not frame.function.startswith(_GENERIC)] or own


def _top(frames: tuple[Frame, ...]) -> tuple[str, ...]:
    return tuple(frame.function for frame in _own(frames)[:TOP_FRAMES])


def _cycle(frames: tuple[Frame, ...]) -> tuple[str, ...]:
    """The functions of the recursion, sorted: which of them was on top when the stack ended is chance."""
    counts = Counter(frame.function for frame in _own(frames))
    repeated = sorted(name for name, count in counts.items() if count > 1)
    return tuple(repeated[:TOP_FRAMES])
