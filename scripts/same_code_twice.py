"""Does the performance oracle call a build slower than the same build?

    python scripts/same_code_twice.py PAIRS [SEED]

Enlarges built-in seeds, in an order that SEED gives, builds each several times and times every build against the one
before it, as the oracle does with two builds that differ; the long measurement is made for all of them, not only where
a short one gives reason to. Prints how many of PAIRS looked slower and how many the oracle would report; exits 1 if
there is one of those.
"""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from random import Random
from statistics import median
from typing import Any

from standalone import cache_directory

from tzerlike.core.case import ContextConfig
from tzerlike.core.results import Timing
from tzerlike.execution.compare.enlarge import enlarged
from tzerlike.execution.compare.slowdown import slower
from tzerlike.execution.compare.speed import Race
from tzerlike.processes.forked import each_in_child
from tzerlike.systems.compilation import Compilation
from tzerlike.systems.tvm_api import entry_of, load_ir
from tzerlike.tir.allowlist import native
from tzerlike.tir.seeds import builtin_seeds

BUILDS = 9
CONFIG = ContextConfig(options=(("tirx.disable_assert", True),))


def raced(ir: str, input_seed: int) -> list[Any]:
    """Of each pair of builds whether the second looked slower, and their timing."""
    large = enlarged(ir, input_seed)
    if large is None:
        return []
    module = load_ir(large.ir)
    race = Race(entry_of(module), input_seed, large.attempt)
    builds = [native.entry_point(module, Compilation("llvm", CONFIG).build(module))]
    if not race.worth_timing(builds[0]):
        return []
    builds += (native.entry_point(module, Compilation("llvm", CONFIG).build(module)) for _ in range(BUILDS - 1))
    pairs = list(pairwise(builds))
    looked = [race.looks_slow(*pair) for pair in pairs]
    timings = [race.timed(*pair) for pair in pairs]
    return [[look, t.baseline, t.optimised, t.floor] for look, t in zip(looked, timings, strict=True)]


def main() -> None:
    wanted, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    seeds = list(builtin_seeds(cache_directory(), "llvm"))
    Random(seed).shuffle(seeds)
    pairs = looked = found = 0
    for one, (answer, _) in zip(seeds, each_in_child(seeds, lambda s: json.dumps(raced(s.ir, seed))), strict=True):
        for look, first, second, floor in json.loads(answer or "[]"):
            timing = Timing(tuple(first), tuple(second), floor)
            pairs, looked, found = pairs + 1, looked + look, found + slower(timing)
            if slower(timing):
                print(f"{one.name}: {median(first) * 1e6:.1f} us, {median(second) * 1e6:.1f} us, noise {floor:.3f}")
        print(f"{pairs} pairs, {looked} looked slower, {found} were called slower", flush=True)
        if pairs >= wanted:
            break
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
