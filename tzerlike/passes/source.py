"""Tzer's own pass source: random sequences in any order; kept for comparison with `PlannedSource`."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tzerlike.core.bandit import Yields
from tzerlike.core.case import Case, ContextConfig
from tzerlike.passes.facts import ANY_PROGRAM, Facts
from tzerlike.passes.info import Catalog, Pool
from tzerlike.passes.sequence import Sequence, mutate_config, mutate_sequence, random_config, random_sequence


class RandomSource:
    """Draws from a catalogue of passes and heeds neither a program's facts nor what paid."""

    def __init__(self, catalog: Catalog, pipeline_of: Callable[[ContextConfig], Sequence]) -> None:
        self._pool = Pool(catalog)
        self._pipeline_of = pipeline_of

    def fresh(self, rng: Random, facts: Facts = ANY_PROGRAM) -> tuple[Sequence, ContextConfig]:
        return random_sequence(rng, self._pool), random_config(rng)

    def mutate(
        self, passes: Sequence, config: ContextConfig, rng: Random, donor: Sequence, facts: Facts = ANY_PROGRAM
    ) -> tuple[Sequence, ContextConfig]:
        """Change the sequence, or one time in four the context."""
        if rng.randrange(4) == 0:
            return passes, mutate_config(config, rng)
        return mutate_sequence(passes, rng, self._pool, donor), config

    def fit(self, passes: Sequence, config: ContextConfig, facts: Facts) -> tuple[Sequence, ContextConfig]:
        """A sequence stays as it is, whatever became of its program."""
        return passes, config

    def learn(self, yields: Yields) -> None:
        """Draws stay as they are, whatever paid."""

    def whole(self, case: Case) -> Sequence:
        """Return all passes that a case runs before code generation: its own, and the default pipeline after them."""
        config = case.config
        return case.passes + (config.enabled(self._pipeline_of(config)) if config.pipeline == "default" else ())

    def shrunk(self, passes: Sequence, config: ContextConfig, new_blocks: tuple[int, ...], facts: Facts) -> Sequence:
        """Drop every pass that added no coverage."""
        return tuple(spec for spec, blocks in zip(passes, new_blocks, strict=True) if blocks)
