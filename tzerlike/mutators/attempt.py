"""One attempt at a mutation, in the worker or in a separate child."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from dataclasses import asdict
from random import Random
from typing import Any, Protocol

from tzerlike.core.mutation import ILL_FORMED, NOT_BUILT, Attempt, Mutant, Mutation
from tzerlike.core.observation import NOBODYS, Observation
from tzerlike.mutators import Guarded, MutationEnv, Mutator, make_mutators, runs_compiler
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import Job
from tzerlike.systems import tvm_api
from tzerlike.systems.refusal import CompilerRefused
from tzerlike.tir.typecheck import TypeChecker

_JOB = "mutate"


def attempted(mutator: Mutator, func: Any, rng: Random, env: MutationEnv) -> Attempt:
    """Have `mutator` make a child of `func`; what it raises on its own account passes."""
    try:
        child = (mutator.told if isinstance(mutator, Guarded) else mutator)(func, rng, env)
    except CompilerRefused as refusal:
        return Attempt(None, amiss=refusal.message)
    except Exception as error:
        if not tvm_api.raised_by_tvm(error):
            raise
        return Attempt(None, NOT_BUILT)
    if child is None:
        return Attempt(None)
    module = tvm_api.module_of(child)
    bad = TypeChecker().check(child)
    if bad is not None:
        return Attempt(None, ILL_FORMED, f"{bad.rule}: {bad.where}" if runs_compiler(mutator) else "")
    return Attempt(tvm_api.dump_ir(module)) if tvm_api.well_formed(module) else Attempt(None, ILL_FORMED)


def mutate(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    """Repeat a `mutation` on the program `ir` for a kind of `target`, without donors, and lay down the Attempt."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    mutation = Mutation.from_json(item["mutation"])
    (mutator,) = make_mutators([mutation.mutator])
    func = tvm_api.entry_of(tvm_api.load_ir(item["ir"]))
    attempt = attempted(mutator, func, mutation.rng, MutationEnv(target=item["target"]))
    signal.setitimer(signal.ITIMER_PROF, 0)
    channel.add_result(asdict(attempt))


class Explore(Protocol):
    """`tzerlike.execution.executor.ForkExecutor.explore`."""

    def __call__(
        self, job: str, item: Mapping[str, Any], keeps: Callable[[list[dict[str, Any]]], bool], /
    ) -> tuple[list[dict[str, Any]], Observation | None, int]: ...


def mutate_in_child(explore: Explore, mutation: Mutation, ir: str, target: str) -> Mutant:
    """Repeat a mutation that runs compiler code on the program `ir` for a kind of target, in a child.

    That is code under test, so what one reaches that gives a program counts.
    """
    item = {"mutation": mutation.to_json(), "ir": ir, "target": target}
    records, death, new_blocks = explore(_JOB, item, lambda records: bool(records) and records[0]["text"] is not None)
    died_of = 0 if death is None or death.exit in NOBODYS else death.signal
    return Mutant(Attempt(**records[0]) if records else Attempt(None), new_blocks, died_of)


JOBS: Mapping[str, Job] = {_JOB: mutate}
"""The job of a runner's child that mutates."""
