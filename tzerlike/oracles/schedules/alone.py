"""The last step of a schedule as the only one, on the program that it is given."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from tzerlike.core.observation import Stage
from tzerlike.oracles.schedule_lookups import NoLookup, lookup_of
from tzerlike.oracles.schedules.fitted import schedule_by
from tzerlike.oracles.schedules.trace import TraceStep, items_of, steps_in, trace_text
from tzerlike.processes.channel import Channel
from tzerlike.systems.refusal import CompilerRefused, ask_compiler
from tzerlike.systems.tvm_api import (
    ENTRY,
    array_items,
    dump_ir,
    entry_of,
    load_ir,
    module_of,
    s_tir,
    scheduling,
    tvm,
)


def lay_last_alone(item: Mapping[str, Any], channel: Channel) -> None:
    """Lay down the program that the last step of a schedule is given, and a trace of look-ups and that step.

    Nothing where it is the only step, or takes what no look-up leads to.
    """
    channel.enter_stage(Stage.INTERPRET)
    with suppress(CompilerRefused, NoLookup):
        whole = schedule_by(item["trace"], lambda: entry_of(load_ir(item["parent"])))
        *earlier, last = steps_in(whole.trace.as_json()[0])
        if all(step.only_looks for step in earlier):
            return
        given = ask_compiler(lambda: scheduling(load_ir(item["parent"])))
        before = s_tir.schedule.Trace(array_items(whole.trace.insts)[:-1], {})
        ask_compiler(lambda: before.apply_to_schedule(given, remove_postproc=False))
        known: dict[str, Any] = {}
        for step, instruction in zip(earlier, array_items(given.trace.insts), strict=True):
            known |= zip(step.outputs, array_items(instruction.outputs), strict=True)
        ir = dump_ir(module_of(given.mod[ENTRY]))
        looks = _Looks(given, known)
        alone = replace(last, inputs=looks.at(last.inputs))
        steps = [*looks.steps, alone]
        channel.add_result({"ir": ir, "trace": trace_text(steps)})


class _Looks:
    """Look-ups for what a step takes; NoLookup where none leads to it."""

    def __init__(self, schedule: Any, known: Mapping[str, Any]) -> None:
        self._schedule = schedule
        self._known = known
        self._blocks: dict[str, str] = {}
        self._loops: dict[str, tuple[str, ...]] = {}
        self.steps: list[TraceStep] = []

    def at(self, value: Any) -> Any:
        """What stands in the place of an input, with the names that the look-ups give to blocks and loops."""
        if (items := items_of(value)) is not None:
            return [self.at(item) for item in items]
        if not isinstance(value, str) or value not in self._known:
            return value
        found = self._known[value]
        if isinstance(found, tvm.ir.Expr):
            return int(self._schedule.get(found))
        lookup = lookup_of(self._schedule, found)
        block = self._block(lookup.block)
        return block if lookup.loop is None else self._loops_of(lookup.block, block, lookup.loops)[lookup.loop]

    def _block(self, name: str) -> str:
        if name not in self._blocks:
            self._blocks[name] = f"b{len(self.steps)}"
            self.steps.append(TraceStep("GetSBlock", [], [name, ENTRY], (self._blocks[name],)))
        return self._blocks[name]

    def _loops_of(self, name: str, block: str, count: int) -> tuple[str, ...]:
        if name not in self._loops:
            first = len(self.steps)
            self._loops[name] = tuple(f"l{first}_{place}" for place in range(count))
            self.steps.append(TraceStep("GetLoops", [block], [], self._loops[name]))
        return self._loops[name]
