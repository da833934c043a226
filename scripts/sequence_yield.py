"""The share of pass sequences that run to the end of a build without a rejection, on the built-in seeds.

    python scripts/sequence_yield.py [NUMBER]

Draws NUMBER plans (5,000 when not given) of each kind for llvm: Tzer's random prefixes, prefixes and
pipelines that respect preconditions, and the mix that a campaign draws. Each runs in a child of its own.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from random import Random

from standalone import cache_directory, executor_with

from tzerlike.case import Case, ContextConfig
from tzerlike.coverage import NoCoverage
from tzerlike.observation import Exit
from tzerlike.passes.catalog import discover
from tzerlike.passes.facts import Facts, facts_of
from tzerlike.passes.pipeline import default_pipeline
from tzerlike.passes.plan import PlannedSource
from tzerlike.passes.sequence import Sequence
from tzerlike.passes.source import RandomSource
from tzerlike.rng import rng_for
from tzerlike.seedgen import builtin_seeds

TARGET = '{"kind": "llvm", "opt-level": 0}'

Fresh = Callable[[Random, Facts], tuple[Sequence, ContextConfig]]


def pipeline_of(config: ContextConfig) -> Sequence:
    return default_pipeline("llvm", config).passes


def kinds() -> dict[str, Fresh]:
    catalog = discover()
    return {
        "random prefixes": RandomSource(catalog, pipeline_of).fresh,
        "prefixes": PlannedSource(catalog, pipeline_of, pipeline_share=0.0, wild_share=0.0).fresh,
        "pipelines": PlannedSource(catalog, pipeline_of, pipeline_share=1.0, wild_share=0.0).fresh,
        "a campaign's mix": PlannedSource(catalog, pipeline_of).fresh,
    }


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    seeds = builtin_seeds(cache_directory(), "llvm")
    executor = executor_with(NoCoverage())
    sources = kinds()
    for kind, fresh in sources.items():
        exits: Counter[str] = Counter()
        for index in range(number):
            rng = rng_for(0, kind, index)
            seed = seeds[rng.randrange(len(seeds))]
            passes, config = fresh(rng, facts_of(seed.ir))
            exits[executor.run([Case(seed.ir, passes, config, TARGET)])[0].exit.value] += 1
        others = ", ".join(f"{count} {name}" for name, count in exits.most_common() if name != Exit.OK)
        print(f"{kind}: {exits[Exit.OK] / number:.1%} of {number} compiled ({others})", flush=True)


if __name__ == "__main__":
    main()
