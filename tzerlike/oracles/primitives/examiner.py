"""Schedule primitives examined while a mutation is repeated: the worker's side, and a child's."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.effort import Check, Effort
from tzerlike.core.errors import UserError
from tzerlike.core.mutation import Mutation
from tzerlike.core.observation import Exit, Frame, Observation, Offence, Stage
from tzerlike.core.targets import kind_of_target
from tzerlike.execution.compare.results import interpret_seeded
from tzerlike.execution.plainness import plain_case
from tzerlike.mutators import MutationEnv, make_mutators
from tzerlike.mutators.schedule import product_intrinsic
from tzerlike.oracles.examiner import Ask, Look, Made
from tzerlike.oracles.primitives import CALLS, DUE, HELD, judge_primitives
from tzerlike.oracles.primitives.due import refusal_due
from tzerlike.oracles.primitives.script import script_of_calls
from tzerlike.oracles.protocol import Environment
from tzerlike.oracles.schedule_calls import (
    LOOKS,
    SEED,
    calls_in,
    counted_from_inside,
    fewer_calls,
    last_call_alone,
    make_calls,
    read_calls,
    with_smaller_numbers,
)
from tzerlike.oracles.schedule_lookups import NoLookup
from tzerlike.oracles.schedule_trace import record_schedule_calls, without_refused
from tzerlike.processes.channel import Channel
from tzerlike.processes.heap import stir
from tzerlike.systems import tvm_api
from tzerlike.systems.compilation import load
from tzerlike.systems.refusal import CompilerRefused, ask_compiler
from tzerlike.systems.tvm_api import ENTRY, s_tir
from tzerlike.tir.interpreter import Verdict
from tzerlike.tir.tree import Tree, defines_once
from tzerlike.tir.typecheck import TypeChecker


def wants(made: Made) -> bool:
    """Whether a mutation by schedule primitives gave no program, and the case is the parent itself.

    What it gave is another's to look at: that is well-typed.
    """
    return made.mutation is not None and made.parent is not None and made.case.id == made.parent.id


def look(ask: Ask, made: Made) -> Look:
    """Repeat the mutation of a campaign."""
    assert made.parent is not None and made.mutation is not None
    return look_again(ask, made.parent, {HELD: made.mutation.to_json()})


def look_again(ask: Ask, case: Case, held: Environment, inputs: str = "", layout: int = 0) -> Look:
    """Make the calls of a bundle on the program of a case, or repeat the mutation that made them."""
    mutation = Mutation.from_json(held[HELD])
    target = kind_of_target(case.target)
    item = {"mutation": mutation.to_json(), "ir": case.ir, "target": target, "seed": case.input_seed, "layout": layout}
    records, death = ask({**item, "calls": calls_in(held)})
    if death is not None or not records or "primitive" not in records[-1]:
        return Look(word="nothing wrong")
    last = records[-1]
    seen = Observation(Exit.OK, Stage.MUTATE, pass_name=f"Schedule.{last['primitive']}")
    if "message" in last:
        frames = tuple(Frame(name, "") for name in last["backtrace"])
        seen = replace(seen, exit=Exit.REJECTED, message=last["message"], backtrace=frames)
    else:
        offence = Offence(Check.TYPES.value, seen.pass_name, last["rule"], last["where"], last["place"])
        seen = replace(seen, offences=(offence,))
    finding = judge_primitives(plain_case(case), seen)
    if finding is None:
        return Look(word="nothing wrong")
    due = last.get(DUE, "")
    if due and held.get(DUE) == "":
        # A smaller program that has to be refused is another one's bug.
        return Look(word="to be refused")
    calls = without_refused([record["call"] for record in records if "call" in record])
    return Look(
        (finding,), "wrong", held={HELD: held[HELD], CALLS: calls, DUE: due}, repro=script_of_calls(finding, calls)
    )


def smaller(held: Environment) -> Iterator[Environment]:
    """The calls without some of them, with loops by their places from inside, or with smaller numbers."""
    calls = calls_in(held)
    offered = chain(fewer_calls(calls), counted_from_inside(calls), with_smaller_numbers(calls))
    return ({CALLS: less} for less in offered)


def last_alone(ask: Ask, case: Case, held: Environment) -> tuple[Case, Environment] | None:
    """The program that the last call is made on, and what a bundle of that would hold; None where there is no such."""
    calls = calls_in(held)
    records, death = ask({"ir": case.ir, "layout": 0, "last": calls}) if calls else ([], None)
    if death is not None or not records:
        return None
    (found,) = records
    return replace(case, ir=found["ir"]), {**held, CALLS: found["calls"]}


def _lay_last_alone(ir: str, lines: Sequence[str], channel: Channel) -> None:
    """Lay down the program that the last of some calls is made on, with look-ups and that call; nothing where the
    others are look-ups themselves, or none leads to what it takes."""
    *earlier, _ = read_calls(lines)
    if all(call.method.startswith(LOOKS) for call in earlier):
        return
    with suppress(CompilerRefused, UserError, NoLookup):
        schedule = ask_compiler(lambda: tvm_api.scheduling(tvm_api.load_ir(ir), SEED))
        results = ask_compiler(lambda: make_calls(schedule, earlier))
        given = tvm_api.dump_ir(tvm_api.module_of(schedule.mod[ENTRY]))
        channel.add_result({"ir": given, "calls": last_call_alone(schedule, lines[-1], results)})


class _Seen(Exception):
    """What was looked for has been laid down."""


class _Watch:
    """Looks at a schedule around each call on it, as long as what it holds is well-formed, well-typed and, as far as
    the interpreter can say, defined: who breaks that is to blame, and nobody after it."""

    def __init__(self, channel: Channel, input_seed: int) -> None:
        self._channel = channel
        self._seed = input_seed
        self._checker = TypeChecker()

    def after(self, schedule: Any, name: str, arguments: tuple[Any, ...], error: Exception | None) -> None:
        """Lay down what is wrong with a call that has returned, or raised `error`."""
        if error is None:
            self._returned(schedule, name)
        elif not isinstance(error, s_tir.ScheduleError):
            refusal = CompilerRefused(error).record()
            # Raised in TVM's Python, it is about how the call is written.
            if refusal["backtrace"] and self._good(schedule.mod):
                due = refusal_due(schedule, name, arguments)
                self._channel.add_result({"primitive": name, DUE: due, **refusal})
            raise _Seen

    def _returned(self, schedule: Any, name: str) -> None:
        if name.startswith("get"):
            return
        module = schedule.mod
        bad = self._checker.check_module(module)
        if bad is not None:
            self._channel.add_result({"primitive": name, "rule": bad.rule, "where": bad.where, "place": bad.place})
            raise _Seen
        if not self._good(module):
            raise _Seen

    def _good(self, module: Any) -> bool:
        func = module[ENTRY]
        if not defines_once(Tree(func)) or not tvm_api.well_formed(module):
            return False
        return interpret_seeded(func, self._seed, Effort())[2].verdict != Verdict.UNDEFINED


def _steps(item: Mapping[str, Any]) -> Callable[[Any], object]:
    """What is done to a program: the calls, or the mutation where there are none."""
    if item["calls"]:
        product_intrinsic(False), product_intrinsic(True)
        calls = read_calls(item["calls"])
        return lambda func: make_calls(tvm_api.scheduling(tvm_api.module_of(func), SEED), calls)
    mutation = Mutation.from_json(item["mutation"])
    (mutator,) = make_mutators([mutation.mutator])
    return lambda func: mutator(func, mutation.rng, MutationEnv(target=item["target"]))


def examine(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    """Make calls, or those of a mutation, lay down each before it is made, and then what is wrong with one."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    channel.enter_stage(Stage.INTERPRET)
    if "last" in item:
        product_intrinsic(False), product_intrinsic(True)
        _lay_last_alone(item["ir"], item["last"], channel)
        return
    steps = _steps(item)
    try:
        func = tvm_api.entry_of(load(item["ir"]))
    except CompilerRefused:
        return
    stir(item["layout"])
    module = tvm_api.module_of(func)
    watch = _Watch(channel, item["seed"])
    if TypeChecker().check(func) is not None or not tvm_api.well_formed(module):
        return
    record_schedule_calls(lambda line: channel.add_result({"call": line}), watch.after)
    try:
        steps(func)
    except (_Seen, CompilerRefused, UserError):
        pass
    except Exception as error:
        if not tvm_api.raised_by_tvm(error):
            raise
