"""A recorded schedule made to fit a program with fewer loops, blocks or axes than the one that it was recorded on.

A look-up in a trace names all that it finds, and TVM applies it only where it finds as many. Padding is given for each
axis.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tzerlike.mutators.schedule import product_intrinsic
from tzerlike.oracles.schedules.trace import TraceStep, items_of, steps_in, strings_in
from tzerlike.systems.refusal import CompilerRefused, ask_compiler
from tzerlike.systems.tvm_api import module_of, s_tir, scheduling, tvm

_COUNTS = re.compile(r"old_outputs\.size\(\) == new_outputs\.size\(\) \((\d+) vs\. (\d+)\)")
"""What TVM says of an instruction that gives more or fewer results than were recorded."""

_PADS = "PadEinsum"

ApplySteps = Callable[[Sequence[TraceStep]], Any]
"""Applies steps to a program afresh and returns the schedule; CompilerRefused where TVM does not."""


def schedule_by(text: str, func: Callable[[], Any]) -> Any:
    """Apply a trace in text to a copy of a program; CompilerRefused where TVM does not, and no way fits."""
    for transposed in (False, True):
        product_intrinsic(transposed)
    steps, decisions = ask_compiler(lambda: tvm.ir.load_json(text))

    def apply(steps: Sequence[TraceStep]) -> Any:
        schedule = ask_compiler(lambda: scheduling(module_of(func())))
        trace = [[step.to_json() for step in steps], decisions]
        ask_compiler(lambda: s_tir.schedule.Trace.apply_json_to_schedule(trace, schedule))
        return schedule

    return _applied(steps_in(steps), apply)


def _applied(steps: Sequence[TraceStep], apply: ApplySteps) -> Any:
    """The schedule after `steps`, with look-ups that name fewer results where the program has fewer.

    Nobody knows which are gone: first it is taken to be the outermost loops that no step takes, then the innermost.
    """
    try:
        return apply(steps)
    except CompilerRefused as refusal:
        if _COUNTS.search(refusal.message) is None and all(step.kind != _PADS for step in steps):
            raise
        for outer_first in (True, False):
            fitted = _fitted(list(steps), apply, outer_first)
            if fitted is not None:
                return fitted
        raise


def _fitted(steps: list[TraceStep], apply: ApplySteps, outer_first: bool) -> Any | None:
    schedule = None
    for place in range(len(steps)):
        schedule = None
        while schedule is None:
            try:
                schedule = apply(steps[: place + 1])
            except CompilerRefused as refusal:
                fewer = _less_of(steps, place, refusal.message, outer_first)
                if fewer is None:
                    return None
                steps[place] = fewer
    return schedule


def _less_of(steps: Sequence[TraceStep], place: int, message: str, outer_first: bool) -> TraceStep | None:
    """A step with fewer results, or with padding for fewer axes, in place of one that was refused; None without one."""
    if (counts := _COUNTS.search(message)) is not None:
        return _with_fewer(steps, place, int(counts[2]), outer_first)
    return _padded_less(steps[place]) if steps[place].kind == _PADS else None


def _padded_less(step: TraceStep) -> TraceStep | None:
    """A step with padding for one axis less, that which is padded least: TVM does not say how many there are."""
    (padding,) = map(items_of, step.attributes)
    if padding is None or len(padding) == 1:
        return None
    least = padding.index(min(padding))
    return replace(step, attributes=[[*padding[:least], *padding[least + 1 :]]])


def _with_fewer(steps: Sequence[TraceStep], place: int, count: int, outer_first: bool) -> TraceStep | None:
    """A step with `count` results, all that later ones take among them; None where there is none."""
    step = steps[place]
    taken = {name for later in steps[place + 1 :] for name in strings_in(later.inputs)}
    unused = [name for name in step.outputs if name not in taken]
    surplus = len(step.outputs) - count
    if not 0 < surplus <= len(unused):
        return None
    gone = set(unused[:surplus] if outer_first else unused[-surplus:])
    return replace(step, outputs=tuple(name for name in step.outputs if name not in gone))
