"""Where the fuzz loop's sequences and PassContexts come from."""

from __future__ import annotations

from random import Random

from tzerlike.case import ContextConfig, PassSpec
from tzerlike.passes.info import Catalog, Pool
from tzerlike.passes.sequence import mutate_config, mutate_sequence, random_config, random_sequence


class CatalogSource:
    """Draws from a catalogue of passes."""

    def __init__(self, catalog: Catalog) -> None:
        self._pool = Pool(catalog)

    def fresh(self, rng: Random) -> tuple[tuple[PassSpec, ...], ContextConfig]:
        return random_sequence(rng, self._pool), random_config(rng)

    def mutate(
        self, passes: tuple[PassSpec, ...], config: ContextConfig, rng: Random, donor: tuple[PassSpec, ...]
    ) -> tuple[tuple[PassSpec, ...], ContextConfig]:
        """Change the sequence, or one time in four the context."""
        if rng.randrange(4) == 0:
            return passes, mutate_config(config, rng)
        return mutate_sequence(passes, rng, self._pool, donor), config
