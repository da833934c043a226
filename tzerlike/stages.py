"""What a forked child does with a case: load, apply the passes, build.

Each step is noted in the tray before it is taken, so that a death is attributed exactly.
Whatever TVM raises is the behaviour of the compiler and becomes data here; an exception of
our own code passes through and is reported as HARNESS by the executor.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeVar

from tzerlike import tvm_api
from tzerlike.case import Case
from tzerlike.observation import Exit, Stage
from tzerlike.passes import instantiate
from tzerlike.tray import Tray

_T = TypeVar("_T")

_MESSAGE_LIMIT = 16_384
_OUT_OF_MEMORY = ("std::bad_alloc", "Cannot allocate memory", "out of memory", "failed to allocate")


class CompilerRefused(Exception):
    """TVM raised while it worked on a case; `cause` is what it raised."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


def _ask_compiler(step: Callable[[], _T]) -> _T:
    try:
        return step()
    except Exception as error:
        raise CompilerRefused(error) from error


def run_case(case: Case, tray: Tray, blocks: Callable[[], int] = lambda: 0) -> dict[str, Any]:
    """Take `case` through its stages and return its record: exit, message, backtrace, blocks by pass.

    `blocks` returns how many blocks the child has been the first to reach so far; it is read after each pass.
    """
    reached = []
    try:
        module = _ask_compiler(lambda: tvm_api.load_ir(case.ir))
        target = _ask_compiler(lambda: tvm_api.target_of(case.target))
        passes = [instantiate(spec) for spec in case.passes]
        watch = tvm_api.PassWatch(tray.note_pass)
        context = _ask_compiler(lambda: tvm_api.pass_context(case.config, [watch]))
        with target, context:
            tray.enter_stage(Stage.PASSES)
            reached.append(blocks())
            module = _ask_compiler(lambda: tvm_api.bind_target(module, target))
            for spec, step in zip(case.passes, passes, strict=True):
                tray.note_pass(spec.name)
                module = _ask_compiler(lambda step=step, module=module: step(module))  # type: ignore[misc]
                reached.append(blocks())
            tray.note_pass("")
            tray.enter_stage(Stage.BUILD)
            _ask_compiler(lambda: tvm_api.build(module, target, case.config.pipeline))
    except CompilerRefused as refusal:
        return _refusal(refusal.cause)
    tray.enter_stage(Stage.DONE)
    return {"exit": Exit.OK.value, "pass_blocks": [after - before for before, after in pairwise(reached)]}


def touch(case: Case) -> None:
    """Take the first, cheap steps of a case that is known to compile, for what they leave behind: memory that is ours.

    After a fork, the first write to each page of the parent's costs a fault and a copy. A child that has time before
    its case arrives makes the copies that every case needs.
    """
    module = tvm_api.load_ir(case.ir)
    target = tvm_api.target_of(case.target)
    with target, tvm_api.pass_context(case.config, [tvm_api.PassWatch(lambda name: None)]):
        for spec in case.passes:
            instantiate(spec)
        tvm_api.bind_target(module, target)


def render_module(ir: str) -> dict[str, Any]:
    """Return the TVMScript of a module, and whether parsing it gives the same module back."""
    try:
        module = _ask_compiler(lambda: tvm_api.load_ir(ir))
        script = _ask_compiler(lambda: tvm_api.script_of(module))
    except CompilerRefused as refusal:
        return _refusal(refusal.cause)
    try:
        again = _ask_compiler(lambda: tvm_api.parse_script(script))
        faithful = bool(_ask_compiler(lambda: tvm_api.structural_equal(again, module)))
    except CompilerRefused:
        faithful = False
    return {"exit": Exit.OK.value, "script": script, "faithful": faithful}


def _refusal(error: Exception) -> dict[str, Any]:
    message = f"{type(error).__name__}: {error}"[:_MESSAGE_LIMIT]
    frames = [frame.name for frame in traceback.extract_tb(error.__traceback__) if "::" in frame.name]
    exhausted = isinstance(error, MemoryError) or any(phrase in message for phrase in _OUT_OF_MEMORY)
    return {
        "exit": (Exit.OOM if exhausted else Exit.REJECTED).value,
        "message": message,
        "backtrace": list(reversed(frames))[:32],
    }
