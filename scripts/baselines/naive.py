"""The simplest baseline: any seed, any passes in any order, again and again. Nothing is mutated or learned."""

from __future__ import annotations

from random import Random

from baselines.driver import Undirected, main, programs
from tzerlike.core.case import Case
from tzerlike.passes.catalog import discover
from tzerlike.passes.info import Pool
from tzerlike.passes.sequence import random_sequence


class Naive(Undirected):
    def __init__(self) -> None:
        self._programs = programs()
        self._pool = Pool(tuple(discover()))

    def propose(self, rng: Random) -> Case:
        return Case(rng.choice(self._programs), random_sequence(rng, self._pool))


if __name__ == "__main__":
    main(Naive)
