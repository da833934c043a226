"""A generator of models alone: each drawn anew from the rows of `--harness graph`, and built with the default pipeline.

Nothing is mutated, learned or preferred; a model has as many vertices as one of the harness may have.
"""

from __future__ import annotations

from random import Random

from baselines.driver import Undirected, main
from tzerlike.core.case import GRAPH, Case, ContextConfig
from tzerlike.graph.evolve import MODEL_LIMITS, MOST_VERTICES
from tzerlike.graph.generate import random_model
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import model_text
from tzerlike.graph.sound import oversized
from tzerlike.graph.spec import ROWS
from tzerlike.graph.stored import WITHOUT_CHECKS
from tzerlike.harnesses.graph.pairs import CHECKED
from tzerlike.harnesses.graph.running import run_case


class RandomModels(Undirected):
    def __init__(self) -> None:
        self._menu = Menu(list(ROWS.values()))

    def propose(self, rng: Random) -> Case:
        while oversized(model := random_model(rng, rng.randint(1, MOST_VERTICES), self._menu, MODEL_LIMITS)):
            pass
        # As often as in a campaign, functions do not check their arguments: that halves the time of a build.
        config = ContextConfig() if rng.random() < CHECKED else WITHOUT_CHECKS
        return Case(model_text(model), config=config, harness=GRAPH)


if __name__ == "__main__":
    main(RandomModels, run_case)
