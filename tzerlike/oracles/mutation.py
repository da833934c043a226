"""Mutations that kill: the process died in compiler code that a mutator ran, and does so again in a child.

The calls on a schedule that it made are kept: on a smaller program they are made again, as far as they can be.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.errors import UserError
from tzerlike.core.finding import Finding
from tzerlike.core.mutation import Mutation
from tzerlike.core.observation import NOBODYS, Exit, Frame, Observation, Stage
from tzerlike.core.targets import kind_of_target
from tzerlike.mutators import MutationEnv, make_mutators
from tzerlike.oracles.crash import manner_of_death
from tzerlike.oracles.examiner import Ask, Look, Made
from tzerlike.oracles.primitives import CALLS
from tzerlike.oracles.protocol import Environment
from tzerlike.oracles.schedule_calls import SEED, calls_in, fewer_calls, make_calls, read_calls
from tzerlike.oracles.schedule_trace import SCHEDULE, record_schedule_calls, without_refused
from tzerlike.processes.channel import Channel
from tzerlike.processes.heap import stir
from tzerlike.systems import tvm_api
from tzerlike.systems.compilation import load
from tzerlike.systems.refusal import CompilerRefused, ask_compiler


@dataclass(frozen=True, slots=True)
class Repetition:
    """What became of a repeated mutation: the signal its process died of, or 0, and the calls on a schedule."""

    mutation: Mutation
    signal: int
    calls: tuple[str, ...]
    place: tuple[str, ...] = ()
    """The deepest function of TVM that was at work, if one is known."""
    backtrace: tuple[Frame, ...] = ()

    @property
    def culprit(self) -> str:
        """What it died in: `v3 = sch.compute_at(v1, v2)` calls `Schedule.compute_at`."""
        if not self.calls:
            return self.mutation.mutator
        return "Schedule." + self.calls[-1].partition(f"= {SCHEDULE}.")[2].partition("(")[0]

    def finding(self, case: Case) -> Finding:
        """The finding of a repetition that died."""
        name = signal.Signals(self.signal).name
        seen = Observation(
            Exit.CRASH,
            Stage.MUTATE,
            message=f"{name} in {self.culprit}",
            pass_name=self.mutation.mutator,
            signal=self.signal,
            backtrace=self.backtrace,
        )
        return Finding("crash", (Stage.MUTATE.value, self.culprit, name), case, seen, marks=self.place)


def repeat(ask: Ask, mutation: Mutation, case: Case, layout: int = 0, calls: Sequence[str] = ()) -> Repetition:
    """Repeat `mutation` on the program of `case` in a child, without donors from a corpus, or make `calls`, if any.

    `layout` stirs the child's heap; see tzerlike.processes.heap.
    """
    item = {"mutation": mutation.to_json(), "ir": case.ir, "target": kind_of_target(case.target), "layout": layout}
    records, death = ask({**item, "calls": list(calls)})
    number = 0 if death is None or death.exit in NOBODYS else death.signal
    place = manner_of_death(death)[1:2] if death is not None and number else ()
    made = tuple(without_refused([record["call"] for record in records]))
    return Repetition(mutation, number, made, place, death.backtrace if death is not None else ())


def examine(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    """Repeat a mutation, or the calls that it made, and lay down each call on a schedule before it is made."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    mutation = Mutation.from_json(item["mutation"])
    (mutator,) = make_mutators([mutation.mutator])
    # Whether it dies is all that counts: neither a program that does not load nor what comes after the mutator is.
    with contextlib.suppress(CompilerRefused):
        func = tvm_api.entry_of(load(item["ir"]))
        stir(item["layout"])
        record_schedule_calls(lambda line: channel.add_result({"call": line}))
        if item["calls"]:
            schedule = ask_compiler(lambda: tvm_api.scheduling(tvm_api.module_of(func), SEED))
            with contextlib.suppress(UserError):
                ask_compiler(lambda: make_calls(schedule, read_calls(item["calls"])))
        else:
            ask_compiler(lambda: mutator(func, mutation.rng, MutationEnv(target=item["target"])))


def wants(made: Made) -> bool:
    """Never: a case that was made is of a mutation that did not kill. The worker sees the others itself."""
    return False


def look(ask: Ask, made: Made) -> Look:
    """Repeat the mutation that made a case."""
    assert made.parent is not None and made.mutation is not None
    return look_again(ask, made.parent, {"mutation": made.mutation.to_json()})


def look_again(ask: Ask, case: Case, held: Environment, inputs: str = "", layout: int = 0) -> Look:
    """Repeat a mutation of the program of a case, or make the calls that a bundle holds."""
    calls = calls_in(held)
    tried = repeat(ask, Mutation.from_json(held["mutation"]), case, layout, calls)
    if not tried.signal:
        return Look(word="no crash")
    made = list(tried.calls) if calls else []
    return Look((tried.finding(case),), held={"mutation": held["mutation"], CALLS: made})


def smaller(held: Environment) -> Iterator[dict[str, Any]]:
    """The calls without some of them."""
    return ({CALLS: calls} for calls in fewer_calls(calls_in(held)))
