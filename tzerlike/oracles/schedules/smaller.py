"""Smaller schedules in place of one, by its trace: what a reduction tries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from tzerlike.oracles.fewer_steps import HeldStep, fewer_steps
from tzerlike.oracles.schedules.trace import TraceStep, items_of, steps_in, strings_in, trace_text
from tzerlike.systems.refusal import CompilerRefused, ask_compiler
from tzerlike.systems.tvm_api import tirx, tvm
from tzerlike.tir.node import dtype_of

_NUMBERS = 3
"""So many of the smallest numbers are tried in place of one."""


def smaller_traces(text: str) -> Iterator[str]:
    """Yield the texts of traces with fewer steps, but with the last, which is the one that goes wrong; with an earlier
    look in place of a later one at the same; with smaller numbers. Nothing for what is no trace, or has decisions."""
    try:
        given, decisions = ask_compiler(lambda: tvm.ir.load_json(text))
        steps = steps_in(given)
    except (CompilerRefused, ValueError, TypeError):
        return
    if len(decisions):
        return
    for smaller in chain(_fewer(steps), _looking_once(steps), _with_smaller_numbers(steps)):
        yield trace_text(smaller)


def _fewer(steps: Sequence[TraceStep]) -> Iterator[list[TraceStep]]:
    made: dict[str, int] = {}
    held = []
    for number, step in enumerate(steps):
        takes = frozenset(made[name] for name in strings_in(step.inputs) if name in made)
        held.append(HeldStep(takes, step.only_looks))
        made |= dict.fromkeys(step.outputs, number)
    for kept in fewer_steps(held):
        yield [steps[place] for place in kept]


def _looking_once(steps: Sequence[TraceStep]) -> Iterator[list[TraceStep]]:
    """The steps without a later look at the same: what it found goes by the names of the first."""
    seen: dict[str, TraceStep] = {}
    for place, step in enumerate(steps[:-1]):
        if not step.only_looks:
            continue
        asked = repr((step.kind, step.inputs, step.attributes))
        first = seen.setdefault(asked, step)
        if first is not step and len(first.outputs) == len(step.outputs):
            names = dict(zip(step.outputs, first.outputs, strict=True))
            yield [*steps[:place], *(replace(one, inputs=_named(one.inputs, names)) for one in steps[place + 1 :])]


def _named(value: Any, names: dict[str, str]) -> Any:
    """An input with other names for some results."""
    items = items_of(value)
    if items is not None:
        return [_named(item, names) for item in items]
    return names.get(value, value) if isinstance(value, str) else value


def _with_smaller_numbers(steps: Sequence[TraceStep]) -> Iterator[list[TraceStep]]:
    for place, step in enumerate(steps):
        for inputs in _smaller(step.inputs):
            yield [*steps[:place], replace(step, inputs=inputs), *steps[place + 1 :]]
        for attributes in _smaller(step.attributes):
            yield [*steps[:place], replace(step, attributes=attributes), *steps[place + 1 :]]


def _smaller(value: Any) -> Iterator[Any]:
    """A value with a smaller number in place of one in it."""
    if type(value) is int:
        yield from range(min(value, _NUMBERS))
    elif type(value) is tirx.IntImm and (dtype := dtype_of(value)) != "bool":
        yield from (tirx.IntImm(dtype, number) for number in range(min(int(value), _NUMBERS)))
    items = items_of(value) or []
    for place, item in enumerate(items):
        for less in _smaller(item):
            yield [*items[:place], less, *items[place + 1 :]]
