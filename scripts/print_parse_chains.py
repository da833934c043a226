"""Programs after many mutations, printed and parsed back: how many survive their own text, and why the others do not.

    python scripts/print_parse_chains.py OUT [CHAINS [GENERATIONS]]

Runs CHAINS chains (200 when not given) of GENERATIONS mutations (20), each from a built-in seed for llvm and with any
mutator. A program that does not come back the same is traced to the first generation with that fault, and the smallest
program for each cause is written to a directory of OUT: `module.json`, `module.py` where it prints, and `repro.py`,
which needs tvm alone and exits with 1 while the bug shows.
"""

from __future__ import annotations

import json
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from standalone import cache_directory

from tzerlike.core.case import Case, content_hash
from tzerlike.core.rng import rng_for
from tzerlike.findings.repro import quotable
from tzerlike.harnesses.tir.parts import program_source
from tzerlike.mutators import GROUPS, MutationEnv, Mutator, make_mutators
from tzerlike.oracles.round_trip.examiner import repro_of
from tzerlike.processes.forked import each_in_child, in_child
from tzerlike.systems.tvm_api import dump_ir, entry_of, load_ir, module_of, raised_by_tvm, script_of, well_formed
from tzerlike.tir.roundtrip import PRINTER, round_trip
from tzerlike.tir.seeds import builtin_seeds
from tzerlike.tir.tree import Tree

MAX_NODES = 600
TRIES = 12


def next_generation(func: Any, mutators: Sequence[Mutator], rng: Random, env: MutationEnv) -> Any:
    """Return a well-formed child of `func`, or `func` itself where a dozen mutators give none."""

    def child(mutator: Mutator) -> Any | None:
        try:
            made = mutator(func, rng, env)
        except Exception as error:
            if not raised_by_tvm(error):
                raise
            return None
        return made if made is not None and well_formed(module_of(made)) else None

    def text(mutator: Mutator) -> str | None:
        made = child(mutator)
        return None if made is None else dump_ir(module_of(made))

    for _ in range(TRIES):
        mutator = mutators[rng.randrange(len(mutators))]
        if mutator.name in GROUPS["schedule"]:
            saved, _ = in_child(partial(text, mutator))
            made = None if saved is None else entry_of(load_ir(saved))
        else:
            made = child(mutator)
        if made is not None:
            return made
    return func


def chain(seeds: Sequence[str], generations: int, number: int) -> str | None:
    """Run a chain and return what is wrong with its last program, at the first generation that has it, as JSON."""
    mutators = make_mutators()
    rng = rng_for(0, "chain", number)
    env = MutationEnv(max_nodes=MAX_NODES, donor=lambda: entry_of(load_ir(seeds[rng.randrange(len(seeds))])))
    line = [entry_of(load_ir(seeds[rng.randrange(len(seeds))]))]
    for _ in range(generations):
        line.append(next_generation(line[-1], mutators, rng, env))
    fault = round_trip(module_of(line[-1]))
    if fault is None:
        return None
    same = [(place, found) for place, func in enumerate(line) if (found := round_trip(module_of(func))) is not None]
    same = [(place, found) for place, found in same if (found.stage, found.cause) == (fault.stage, fault.cause)]
    generation, first = same[0]
    module = module_of(line[generation])
    script = "" if fault.stage == PRINTER else script_of(module)
    size = Tree(line[generation]).size
    return json.dumps([fault.stage, fault.cause, first.detail, generation, size, dump_ir(module), script])


def main() -> None:
    out = Path(sys.argv[1])
    chains = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    generations = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    seeds = [seed.ir for seed in builtin_seeds(cache_directory(), "llvm")]
    counts: Counter[tuple[str, str]] = Counter()
    smallest: dict[tuple[str, str], list[Any]] = {}
    deaths: list[str] = []
    for index, (text, number) in enumerate(each_in_child(range(chains), partial(chain, seeds, generations))):
        if number:
            deaths.append(f"chain {index}: {signal.Signals(number).name}")
        if text is not None:
            fault = json.loads(text)
            key = (fault[0], fault[1])
            counts[key] += 1
            if key not in smallest or fault[4] < smallest[key][4]:
                smallest[key] = fault
    good = chains - len(deaths) - sum(counts.values())
    print(f"{good} of {chains} programs come back from their text after {generations} generations", end="")
    print(f"; {len(deaths)} killed their process ({', '.join(deaths)})" if deaths else "")
    for key, count in counts.most_common():
        stage, cause, detail, generation, nodes, module, script = smallest[key]
        directory = out / f"{stage.replace(' ', '-')}-{content_hash(cause)[:12]}"
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "module.json").write_text(module)
        (directory / "module.py").write_text(script)
        repro = repro_of(stage, quotable(f"{stage}: {cause}"), program_source(Case(module), ""))
        (directory / "repro.py").write_text(repro)
        (directory / "detail.txt").write_text(f"{detail}\n")
        print(f"{count:5}  {stage}: {cause}")
        print(f"       smallest: {nodes} nodes, generation {generation}, {directory}")


if __name__ == "__main__":
    main()
