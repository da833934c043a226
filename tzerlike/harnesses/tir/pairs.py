"""Tensor IR in a campaign: PrimFuncs, their mutators, and the applicable passes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from random import Random
from typing import Any

from tzerlike.campaign.pairs import DrawProgram, Passes, Plan
from tzerlike.core.bandit import Yields
from tzerlike.core.case import Case, ContextConfig
from tzerlike.core.config import CampaignConfig
from tzerlike.core.errors import Fault, UserError
from tzerlike.core.mutation import Attempt, Mutant, Mutation
from tzerlike.core.observation import Observation
from tzerlike.core.targets import kind_of_target
from tzerlike.findings.faults.bundle import Occasion
from tzerlike.harnesses.tir.fault import fault_of_mutation
from tzerlike.mutators import OF_TILES, MutationEnv, Mutator, make_mutators, runs_compiler
from tzerlike.mutators.attempt import Explore, attempted, mutate_in_child
from tzerlike.passes.catalog import discover, instantiate
from tzerlike.passes.dlight import DLIGHT, SHIPPED_SCHEDULE, drawn_schedule, lacks_threads
from tzerlike.passes.facts import Fact, Facts, facts_of
from tzerlike.passes.label import Label, label
from tzerlike.passes.pipeline import default_pipeline
from tzerlike.passes.plan import PlannedSource
from tzerlike.passes.preconditions import drawn, facts_after
from tzerlike.passes.source import RandomSource
from tzerlike.passes.tilelang import tile_pipeline
from tzerlike.systems import tvm_api

_LIVE_PROGRAMS = 256

_SCHEDULE_STAYS = 8
"""Of so many mutations of passes one draws another schedule."""

_CHEAP_TARGETS = {"llvm": '{"kind": "llvm", "opt-level": 0}'}


class TirPairs:
    """The pairs of a campaign on tensor IR (tzerlike.campaign.pairs).

    Schedule primitives are a part of the compiler that is looked at like its passes: they run in a child of their own,
    by `explore`, and what they reach counts.
    """

    def __init__(self, config: CampaignConfig, explore: Explore, mutators: Sequence[Mutator] | None = None) -> None:
        def pipeline_of(context: ContextConfig) -> Passes:
            return default_pipeline(config.case_target, context).passes

        made = make_mutators(config.mutator_names) if mutators is None else mutators
        self._mutators = {mutator.name: mutator for mutator in made}
        catalog = tuple(info for info in discover() if drawn(info.name))
        self._source: RandomSource | PlannedSource = (
            RandomSource(catalog, pipeline_of)
            if config.pass_mode in ("random", "paper")
            else PlannedSource(catalog, pipeline_of, tiles=tile_pipeline(config.case_target))
        )
        self._target = kind_of_target(config.case_target)
        self._explore = explore
        self._live = lru_cache(_LIVE_PROGRAMS)(_parsed)

    @property
    def mutators(self) -> Sequence[str]:
        return tuple(self._mutators)

    def mutant(self, mutation: Mutation, program: str, donor: DrawProgram) -> Mutant:
        mutator, rng = self._mutators[mutation.mutator], mutation.rng
        if (Fact.TILES in facts_of(program)) != (mutation.mutator in OF_TILES):
            return Mutant(Attempt(None))
        if runs_compiler(mutator):
            return mutate_in_child(self._explore, mutation, program, self._target)
        env = MutationEnv(target=self._target, donor=lambda: self._live(donor(rng)))
        return Mutant(attempted(mutator, self._live(program), rng, env))

    def repeated(self, occasion: Occasion) -> Fault | None:
        return fault_of_mutation(occasion)

    def admit(self, case: Case) -> None:
        try:
            kind = kind_of_target(case.target)
            facts_of(case.ir)
        except ValueError as error:
            raise UserError(f"{case.id[:16]}: not a program that this tzerlike reads") from error
        if kind != self._target:
            raise UserError(f"{case.id[:16]}: it is for {kind}")
        for spec in case.passes:
            instantiate(spec)

    def cheap(self, target: str) -> str:
        return _CHEAP_TARGETS.get(target, target)

    def fresh(self, rng: Random, program: str) -> Plan:
        first = self._schedule(program, (), rng)
        passes, config = self._source.fresh(rng, self._facts(program))
        return (*first, *passes), config

    def mutate(self, passes: Passes, config: ContextConfig, rng: Random, donor: Passes, program: str) -> Plan:
        (first, own), (_, others) = _split(passes), _split(donor)
        first = self._schedule(program, first, rng)
        own, config = self._source.mutate(own, config, rng, others, self._facts(program))
        return (*first, *own), config

    def fit(self, case: Case, program: str) -> Plan:
        first, own = _split(case.passes)
        config, facts = case.config, self._facts(program)
        if facts != self._facts(case.ir):
            own, config = self._source.fit(own, config, facts)
        return (*self._schedule(program, first), *own), config

    def shrunk(self, case: Case, new_blocks: tuple[int, ...]) -> Passes:
        first, own = _split(case.passes)
        return (*first, *self._source.shrunk(own, case.config, new_blocks[len(first) :], self._facts(case.ir)))

    def _schedule(self, program: str, first: Passes, rng: Random | None = None) -> Passes:
        """What gives the loops of a program threads, where the target wants some: what a sequence has `first`, or
        another schedule once in a while."""
        if not self._lacks_threads(program):
            return ()
        if rng is not None and not (first and rng.randrange(_SCHEDULE_STAYS)):
            return (drawn_schedule(rng),)
        return first or (SHIPPED_SCHEDULE,)

    def _lacks_threads(self, program: str) -> bool:
        return self._target != "llvm" and lacks_threads(facts_of(program))

    def _facts(self, program: str) -> Facts:
        """The facts that the passes behind a schedule find."""
        facts = facts_of(program)
        return facts_after((SHIPPED_SCHEDULE,), facts) if self._lacks_threads(program) else facts

    def learn(self, yields: Yields) -> None:
        self._source.learn(yields)

    def label(self, case: Case, seen: Observation) -> Label:
        return label(self._source.whole(case), facts_of(case.ir), seen.pass_name, seen.message)


def _split(passes: Passes) -> tuple[Passes, Passes]:
    """The schedule that a sequence begins with, if any, and what is behind it."""
    count = int(bool(passes) and passes[0].name == DLIGHT)
    return passes[:count], passes[count:]


def _parsed(program: str) -> Any:
    return tvm_api.entry_of(tvm_api.load_ir(program))
