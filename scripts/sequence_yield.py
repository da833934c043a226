"""The share of pass sequences that run to the end of a build without a rejection, on the built-in seeds.

    python scripts/sequence_yield.py [NUMBER [TARGET]]

Draws NUMBER plans (5,000 when not given) of each kind for TARGET, llvm or cuda: Tzer's random prefixes, prefixes and
pipelines that respect preconditions, and the mix that a campaign draws. Each runs in a child of its own. Below each
kind stand the most frequent internal errors: bugs, or preconditions that the tables lack.
"""

from __future__ import annotations

import sys
from collections import Counter

from standalone import cache_directory, executor_with

from tzerlike.core.case import Case, ContextConfig
from tzerlike.core.observation import Exit, message_template
from tzerlike.core.rng import rng_for
from tzerlike.coverage import NoCoverage
from tzerlike.passes.catalog import discover
from tzerlike.passes.facts import facts_of
from tzerlike.passes.label import Label, label
from tzerlike.passes.pipeline import default_pipeline
from tzerlike.passes.plan import PlannedSource
from tzerlike.passes.sequence import Sequence
from tzerlike.passes.source import RandomSource
from tzerlike.tir.seeds import builtin_seeds

TARGETS = {"llvm": '{"kind": "llvm", "opt-level": 0}', "cuda": '{"kind": "cuda", "arch": "sm_90"}'}
SHOWN = 5


def kinds(target: str) -> dict[str, RandomSource | PlannedSource]:
    catalog = discover()

    def pipeline_of(config: ContextConfig) -> Sequence:
        return default_pipeline(target, config).passes

    return {
        "random prefixes": RandomSource(catalog, pipeline_of),
        "prefixes": PlannedSource(catalog, pipeline_of, pipeline_share=0.0, wild_share=0.0),
        "pipelines": PlannedSource(catalog, pipeline_of, pipeline_share=1.0, wild_share=0.0),
        "a campaign's mix": PlannedSource(catalog, pipeline_of),
    }


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    target = sys.argv[2] if len(sys.argv) > 2 else "llvm"
    seeds = builtin_seeds(cache_directory(), target)
    executor = executor_with(NoCoverage())
    for kind, source in kinds(target).items():
        exits: Counter[str] = Counter()
        errors: Counter[str] = Counter()
        for index in range(number):
            rng = rng_for(0, kind, index)
            seed = seeds[rng.randrange(len(seeds))]
            passes, config = source.fresh(rng, facts_of(seed.ir))
            case = Case(seed.ir, passes, config, TARGETS[target])
            seen = executor.run([case])[0]
            exits[seen.exit.value] += 1
            if seen.exit is Exit.REJECTED:
                verdict = label(source.whole(case), facts_of(seed.ir), seen.pass_name, seen.message)
                exits[verdict.value] += 1
                if verdict is Label.INTERNAL_ERROR:
                    errors[f"{seen.pass_name or 'code generation'}: {message_template(seen.message, 90)}"] += 1
        others = ", ".join(f"{count} {name}" for name, count in exits.most_common() if name != Exit.OK)
        print(f"{kind}: {exits[Exit.OK] / number:.1%} of {number} compiled ({others})", flush=True)
        for text, count in errors.most_common(SHOWN):
            print(f"    {count:5} {text}")


if __name__ == "__main__":
    main()
