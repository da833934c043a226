"""The walk itself: compile a case under an instrument that keeps every module, then look for the culprit.

Runs in a child with limits, since it may die like the case itself.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.effort import Effort
from tzerlike.core.observation import Stage
from tzerlike.core.results import CARRIED_VALUE
from tzerlike.core.targets import kind_of_target
from tzerlike.execution.compare.results import interpret_seeded
from tzerlike.execution.diagnosis.iterators import misled
from tzerlike.execution.diagnosis.kernel import KernelMeaning, kernel_turns
from tzerlike.execution.diagnosis.meaning import KERNEL_STEPS, Inspection, Meaning
from tzerlike.execution.diagnosis.search import Correctness, last_known, turning_point
from tzerlike.execution.diagnosis.walk import VERIFYING, Change, Walk
from tzerlike.passes.given import GivenPasses
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import Job
from tzerlike.systems import tvm_api, under_test
from tzerlike.systems.compilation import Compilation, load
from tzerlike.systems.program_diff import program_diff
from tzerlike.systems.refusal import CompilerRefused
from tzerlike.systems.tvm_passes import PassTrail, Turn
from tzerlike.tir.own_memory import with_own_memory
from tzerlike.tir.promises import TRUSTED
from tzerlike.tir.shape import change_of
from tzerlike.tir.typecheck import TypeChecker

_PLANS_MEMORY = "s_tir.PlanAndUpdateBufferAllocationLocation"

_NOT_MODELLED = "tirx.LowerTVMBuiltin"
"""The pass from which on the interpreter does not follow: behind it comes what makes code."""

_TO_VERIFY = 10.0
"""Seconds of processor time that TVM's verifiers get for a module."""


def walk_one(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    """Walk along the passes of a case and lay down the Walk.

    `item` holds the `case`; `inputs`, the path of an archive in place of the inputs that its seed gives, or "";
    `stop`, the place of the first pass that is not to run, or None; `diff`, whether a diff is wanted; and `fatal`, the
    places of modules that TVM's verifiers die of. Before and after each pass, and before a module is verified, a record
    says what goes on from now on, so that a death can be attributed.
    """
    case = Case.from_json(item["case"])
    channel.enter_stage(Stage.PASSES)
    own = [under_test().name_in_tvm(spec.name) for spec in case.passes]
    trail = PassTrail(lambda index, name: channel.add_result({"at": index, "name": name}), item["stop"], own)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    misuse: list[int] = []
    given = GivenPasses(case.passes, lambda: misuse.append(trail.begun))
    refusal, module = _compile(case, trail, given)
    signal.setitimer(signal.ITIMER_PROF, 0)
    channel.enter_stage(Stage.INTERPRET)
    meaning = None if module is None else meaning_of(case, module, item["inputs"])
    if item["stop"] is None and refusal is None:
        walk, pair = where_meaning_is_lost(meaning, trail, kind_of_target(case.target) != "llvm")
    else:
        walk, pair = _where_it_fails(meaning, module, trail, refusal, _Verifiers(channel, item["fatal"]))
    if misuse and (walk.index is None or walk.index >= misuse[0]):
        walk = replace(walk, misused=given.misused)
    record = walk.to_json()
    if item["diff"] and pair is not None:
        # First without: printing a module that is not well-formed may kill the process.
        channel.add_result({"walk": record})
        record = record | {"diff": _diff(walk, *pair)}
    channel.add_result({"walk": record})


Pair = tuple[Any, Any]
"""The modules before and after the culprit step."""


def _compile(case: Case, trail: PassTrail, given: GivenPasses) -> tuple[CompilerRefused | None, Any]:
    """Compile, and return what TVM raised if it did, and the module that it began with."""
    module = None
    try:
        module = load(case.ir)
        Compilation(case.target, case.config, given.steps, [trail]).build(module)
    except CompilerRefused as refusal:
        return refusal, module
    return None, module


def meaning_of(case: Case, module: Any, inputs: str) -> Meaning | None:
    """What the program means; None where it means nothing on these inputs, or the interpreter cannot tell."""
    func = tvm_api.entry_of(module)
    drawn, judgement, results = interpret_seeded(func, case.input_seed, Effort(inputs=inputs).thorough())
    if not (drawn and judgement and results.defined):
        return None
    if kind_of_target(case.target) == "llvm":
        return Meaning(func, drawn, judgement, once=True)
    return Meaning(func, drawn, judgement, spare=KERNEL_STEPS)


def where_meaning_is_lost(meaning: Meaning | None, trail: PassTrail, kernel: bool = False) -> tuple[Walk, Pair | None]:
    """Return the walk along a trail that was followed to its end, and the modules before and after the culprit step."""
    turns = kernel_turns(trail) if kernel else trail.turns
    if meaning is None:
        return _where_types_are_lost(trail, turns) or (Walk(trail.begun, unjudged=_names(turns)), None)

    looker = KernelMeaning(meaning, turns[-1].after) if kernel and turns else meaning

    @cache
    def look(step: int) -> Inspection:
        return looker.look(turns[step].after)

    def state(step: int) -> Correctness:
        return look(step).state

    found = turning_point(len(turns), state)
    ill_typed = _where_types_are_lost(trail, turns if found is None else turns[: found[1] + 1])
    if ill_typed is not None:
        return ill_typed
    if found is None:
        known = last_known(len(turns), state)
        end = max((place for place, name in enumerate(trail.names) if name == _NOT_MODELLED), default=trail.begun)
        later = [turn for turn in turns[known + 1 :] if turn.index < end]
        broken = (_where_a_promise_is_broken(trail, turn.index, turn.before) for turn in later)
        unjudged = [turn for turn in later if not kernel or not tvm_api.packed(tvm_api.entry_of(turn.after))]
        return next(filter(None, broken), (Walk(trail.begun, unjudged=_names(unjudged)), None))
    right, wrong = found
    suspects = turns[right + 1 : wrong + 1]
    left_over = _where_a_promise_is_broken(trail, turns[wrong].index, turns[wrong].before)
    if left_over is not None:
        return left_over
    seen = look(wrong)
    before, after = suspects[0].before, suspects[-1].after
    planned = len(suspects) == 1 and trail.names[suspects[0].index] == _PLANS_MEMORY
    walk = Walk(
        trail.begun,
        seen.change,
        _names(suspects),
        suspects[0].index,
        seen.detail,
        seen.difference,
        statements=change_of(tvm_api.dump_ir(before), tvm_api.dump_ir(after)),
        misled=(len(suspects) == 1 and misled(trail.names[suspects[0].index], tvm_api.entry_of(before))) or (),
        breaks=CARRIED_VALUE if planned and carries_values(looker, before) else "",
    )
    return walk, (before, after)


def carries_values(meaning: Meaning | KernelMeaning, module: Any) -> bool:
    """Whether a module means something else once each iteration over spatial axes alone has memory of its own."""
    func = with_own_memory(tvm_api.entry_of(module))
    return func is not None and meaning.look(tvm_api.module_of(func)).state is Correctness.WRONG


def _where_types_are_lost(trail: PassTrail, turns: Sequence[Turn]) -> tuple[Walk, Pair] | None:
    """The first pass that leaves ill-typed IR, if that is what the last of `turns` was given, or leaves, as well.

    No pass is to blame for what it makes of such IR.
    """
    checker = TypeChecker()
    bad = [checker.check_module(turn.after) for turn in turns]
    first = next((index for index, offence in enumerate(bad) if offence is not None), None)
    if first is None or all(offence is None for offence in bad[-2:]) or checker.check_module(turns[0].before):
        return None
    turn = turns[first]
    walk = Walk(trail.begun, Change.ILL_TYPED, _names([turn]), turn.index, str(bad[first]))
    return walk, (turn.before, turn.after)


def _where_a_promise_is_broken(trail: PassTrail, index: int, given: Any) -> tuple[Walk, Pair] | None:
    """The pass that left some of what it is there to remove to the pass at `index`, which was `given` that."""
    promise = TRUSTED.get(trail.names[index])
    if promise is None or promise.by not in trail.names[:index]:
        return None
    left = promise.broken_by(tvm_api.entry_of(given))
    by = max(place for place, name in enumerate(trail.names[:index]) if name == promise.by)
    if left is None:
        return None
    walk = Walk(trail.begun, Change.LEFTOVER, (promise.by,), by, left.where, statements=(left.rule,))
    return walk, (given, given)


def _where_it_fails(
    meaning: Meaning | None, module: Any, trail: PassTrail, refusal: CompilerRefused | None, verifiers: _Verifiers
) -> tuple[Walk, Pair | None]:
    """The pass under way; if it was given something ill-formed, the one that made it so.

    TVM's verifiers have the last word only where the interpreter has none: they refuse some programs that passes of
    the default pipeline leave and others take.
    """
    turns = trail.turns
    given = turns[-1].after if turns else module
    earlier_fault = _where_types_are_lost(trail, turns)
    if earlier_fault is None and trail.under_way and given is not None:
        earlier_fault = _where_a_promise_is_broken(trail, trail.under_way[-1][0], given)
    if earlier_fault is not None:
        return earlier_fault
    if meaning is None or meaning.look(given).state is Correctness.UNKNOWN:
        earlier = None if module is None else verifiers.refuse_after([module, *(turn.after for turn in turns)])
        if earlier is not None:
            turn = turns[earlier]
            return Walk(trail.begun, Change.ILL_FORMED, _names([turn]), turn.index), (turn.before, turn.after)
    message = "" if refusal is None else refusal.message
    if not trail.under_way:
        return Walk(trail.begun, Change.RAISED, detail=message), None
    index, name = trail.under_way[-1]
    return Walk(trail.begun, Change.RAISED, (name,), index, message), (given, given)


@dataclass(frozen=True, slots=True)
class _Verifiers:
    """TVM's, asked about modules by their places; some programs kill them, those at `fatal` for one."""

    channel: Channel
    fatal: Sequence[int]

    def refuse_after(self, modules: Sequence[Any]) -> int | None:
        """The place of the turn that makes a well-formed program ill-formed; None if the last module is well-formed.

        None too where it never was.
        """
        if self._accept(modules, len(modules) - 1):
            return None
        return next((turn for turn in reversed(range(len(modules) - 1)) if self._accept(modules, turn)), None)

    def _accept(self, modules: Sequence[Any], place: int) -> bool:
        if place in self.fatal:
            return False
        self.channel.add_result({VERIFYING: place})
        signal.setitimer(signal.ITIMER_PROF, _TO_VERIFY)
        accepted = bool(tvm_api.well_formed(modules[place]))
        signal.setitimer(signal.ITIMER_PROF, 0)
        return accepted


def _names(turns: Sequence[Turn]) -> tuple[str, ...]:
    """The names of the passes, each once, in their order; what changes a module between passes has none."""
    return tuple(dict.fromkeys(turn.name for turn in turns if turn.name))


def _diff(walk: Walk, before: Any, after: Any) -> str:
    name = " .. ".join(dict.fromkeys((walk.suspects[0], walk.suspects[-1]))) if walk.suspects else ""
    return program_diff(name, before, after)


JOBS: Mapping[str, Job] = MappingProxyType({"walk": walk_one})
