"""A recorded schedule made to fit a program with fewer loops or blocks than the one that it was recorded on.

A look-up in a trace names all that it finds, and TVM applies it only where it finds as many.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tzerlike.mutators.schedule import product_intrinsic
from tzerlike.systems.refusal import CompilerRefused, ask_compiler
from tzerlike.systems.tvm_api import module_of, s_tir, scheduling, tvm, tvm_ffi

_COUNTS = re.compile(r"old_outputs\.size\(\) == new_outputs\.size\(\) \((\d+) vs\. (\d+)\)")
"""What TVM says of an instruction that gives more or fewer results than were recorded."""


@dataclass(frozen=True, slots=True)
class TraceStep:
    """An instruction as TVM writes it into JSON; results go by their names, in `inputs` of later ones too."""

    kind: str
    inputs: Any
    attributes: Any
    outputs: tuple[str, ...]

    def to_json(self) -> list[Any]:
        return [self.kind, self.inputs, self.attributes, list(self.outputs)]


ApplySteps = Callable[[Sequence[TraceStep]], Any]
"""Applies steps to a program afresh and returns the schedule; CompilerRefused where TVM does not."""


def steps_in(trace: Any) -> list[TraceStep]:
    """Return the steps of a trace in JSON."""
    return [TraceStep(str(kind), given, attributes, tuple(outputs)) for kind, given, attributes, outputs in trace]


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
        if _COUNTS.search(refusal.message) is None:
            raise
        for outer_first in (True, False):
            fitted = _fitted(list(steps), apply, outer_first)
            if fitted is not None:
                return fitted
        raise


def _fitted(steps: list[TraceStep], apply: ApplySteps, outer_first: bool) -> Any | None:
    schedule = None
    for place in range(len(steps)):
        for _ in range(2):
            try:
                schedule = apply(steps[: place + 1])
                break
            except CompilerRefused as refusal:
                counts = _COUNTS.search(refusal.message)
                fewer = None if counts is None else _with_fewer(steps, place, int(counts[2]), outer_first)
                if fewer is None:
                    return None
                steps[place] = fewer
        else:
            return None
    return schedule


def _with_fewer(steps: Sequence[TraceStep], place: int, count: int, outer_first: bool) -> TraceStep | None:
    """A step with `count` results, all that later ones take among them; None where there is none."""
    step = steps[place]
    taken = {name for later in steps[place + 1 :] for name in _names_in(later.inputs)}
    unused = [name for name in step.outputs if name not in taken]
    surplus = len(step.outputs) - count
    if not 0 < surplus <= len(unused):
        return None
    gone = set(unused[:surplus] if outer_first else unused[-surplus:])
    return replace(step, outputs=tuple(name for name in step.outputs if name not in gone))


def _names_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield str(value)
    elif isinstance(value, Sequence | tvm_ffi.Array):
        for item in value:
            yield from _names_in(item)
