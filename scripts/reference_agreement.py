"""Does the interpreter agree with TVM's baseline build?

    python scripts/reference_agreement.py [MUTANTS [SEED [DIRECTORY]]]

Interprets every built-in seed and MUTANTS mutants of them (default: 10,000) that are defined on their inputs, makes the
baseline build of each and compares every element: integers exactly, floats within the computed bound. A mutant is one
to four random mutators deep. Prints the shares of verdicts, also by the last mutator, and every disagreement; DIRECTORY
receives the program of each as JSON. Exits 1 if there is one.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from typing import Any

from standalone import cache_directory

from tzerlike.core.effort import THOROUGH_STEPS, Effort
from tzerlike.core.results import Ending, Results
from tzerlike.core.rng import rng_for
from tzerlike.execution.compare.results import Builds, compile_baseline, judge_builds
from tzerlike.mutators import MutationEnv, make_mutators
from tzerlike.processes.forked import each_in_child
from tzerlike.systems import tvm_api
from tzerlike.systems.compilation import SILENT
from tzerlike.tir.seeds import builtin_seeds

BATCH = 200
DEEPEST = 4
MAX_NODES = 1000
ENDS_THE_PROCESS = "batch_to_space"
"""TVM's own code for this operator ends the process when it runs."""


def judged(func: Any, input_seed: int, steps: int) -> Results:
    """Interpret `func`, and run its baseline build where it is defined."""
    module = tvm_api.module_of(func)
    builds = Builds(lambda: compile_baseline(module, SILENT), lambda: compile_baseline(module, SILENT))
    return judge_builds(func, builds, input_seed, Effort(steps=steps), SILENT)


def descendant(programs: list[Any], mutators: Any, rng: Random) -> tuple[Any, list[str]]:
    """A random program after one to four mutations that apply, with the mutators' names."""
    func, names = rng.choice(programs), []
    for _ in range(rng.randint(1, DEEPEST)):
        mutator = rng.choice(mutators)
        env = MutationEnv(target="llvm", max_nodes=MAX_NODES, donor=lambda: rng.choice(programs))
        try:
            child = mutator(func, rng, env)
        except Exception as error:
            if not tvm_api.raised_by_tvm(error):
                raise
            continue
        if child is not None and tvm_api.well_formed(tvm_api.module_of(child)):
            func = child
            names.append(mutator.name)
    return func, names


def main() -> None:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    root = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    directory = Path(sys.argv[3]) if len(sys.argv) > 3 else None
    seeds = [s for s in builtin_seeds(cache_directory()) if s.target == "llvm" and ENDS_THE_PROCESS not in s.name]
    programs = [tvm_api.entry_of(tvm_api.load_ir(seed.ir)) for seed in seeds]
    mutators = make_mutators(["all"])

    def seed_work(number: int) -> str:
        results = judged(programs[number], number, THOROUGH_STEPS)
        return json.dumps({"how": seeds[number].name, "results": results.to_json()})

    def mutant_work(number: int) -> str:
        rng = rng_for(root, "agreement", number)
        func, names = descendant(programs, mutators, rng)
        results = judged(func, rng.getrandbits(32), 200_000)
        answer = {"how": "+".join(names), "results": results.to_json()}
        if names and disagrees(results):
            answer["ir"] = tvm_api.dump_ir(tvm_api.module_of(func))
        return json.dumps(answer)

    broken = survey("seeds", range(len(programs)), seed_work, len(programs), directory)
    broken += survey("mutants", range(10 * wanted), mutant_work, wanted, directory)
    sys.exit(1 if broken else 0)


def disagrees(results: Results) -> bool:
    return results.defined and results.baseline.ending not in (Ending.AGREES, Ending.REFUSED, Ending.NOT_RUN)


def survey(what: str, numbers: range, work: Any, wanted: int, directory: Path | None) -> int:
    """Work through `numbers` until `wanted` are defined; print the shares and return the number of disagreements."""
    began = time.monotonic()
    verdicts: Counter[str] = Counter()
    rules: Counter[str] = Counter()
    endings: Counter[str] = Counter()
    last: defaultdict[str, Counter[str]] = defaultdict(Counter)
    steps = broken = 0
    for start in range(0, len(numbers), BATCH):
        if verdicts["defined"] >= wanted:
            break
        batch = numbers[start : start + BATCH]
        for number, (text, death) in zip(batch, each_in_child(batch, work), strict=True):
            if text is None:
                verdicts[f"died of signal {death}"] += 1
                continue
            answer = json.loads(text)
            results = Results.from_json(answer["results"])
            if not answer["how"]:
                continue
            verdicts[results.verdict] += 1
            last[answer["how"].rpartition("+")[2]][results.verdict] += 1
            steps += results.steps
            if results.rule:
                rules[results.rule] += 1
            if results.defined:
                endings[results.baseline.ending.value] += 1
            if disagrees(results):
                broken += 1
                print(f"  disagreement {number} ({answer['how']}): {results.baseline}", flush=True)
                if directory is not None and "ir" in answer:
                    directory.mkdir(parents=True, exist_ok=True)
                    (directory / f"{number}.json").write_text(json.dumps(answer))
    total = sum(verdicts.values())
    print(f"{what}: {total} programs in {time.monotonic() - began:.0f} s, {broken} disagreements")
    print("  verdicts   " + "  ".join(f"{name} {count / total:.1%}" for name, count in verdicts.most_common()))
    print("  rules      " + "  ".join(f"{name} {count}" for name, count in rules.most_common()))
    print("  the build  " + "  ".join(f"{name} {count}" for name, count in endings.most_common()))
    if what == "mutants":
        for name, row in sorted(last.items()):
            print(f"  {name:20} {sum(row.values()):6} {row['defined'] / sum(row.values()):6.1%} defined")
    sys.stdout.flush()
    return broken


if __name__ == "__main__":
    main()
