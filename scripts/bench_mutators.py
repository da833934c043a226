"""How good and how fast the mutators are, on the built-in seeds for llvm.

    python scripts/bench_mutators.py [NUMBER [MUTATOR...]]

Makes NUMBER mutants (default: 5,000), equally many with each mutator, each of a newly drawn seed. `made` is the share
of calls that gave one: if a mutator does not apply, it is tried again with another seed. The other shares are of the
mutants; those that are not well-formed count against them too. `defined` are those that the interpreter calls defined
on their own inputs, within STEPS operations. Times are CPU time of the calls that gave a mutant, on seeds of at most
500 nodes: each mutation is made three times and the shortest counts, since other work only ever adds to it.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from standalone import cache_directory, executor_with

from tzerlike.core.case import Case, content_hash
from tzerlike.core.effort import Effort
from tzerlike.core.observation import Exit
from tzerlike.core.rng import rng_for
from tzerlike.coverage import NoCoverage
from tzerlike.execution.compare.results import interpret_seeded
from tzerlike.execution.executor import ForkExecutor
from tzerlike.mutators import MutationEnv, Mutator, make_mutators
from tzerlike.processes.forked import each_in_child
from tzerlike.systems.baseline import REFERENCE_TARGET, baseline_config
from tzerlike.systems.tvm_api import dump_ir, entry_of, load_ir, module_of, well_formed
from tzerlike.tir.seeds import Seed, builtin_seeds

STEPS = 100_000
"""What the interpreter may spend on a mutant; one that takes more is not counted as defined."""

REPEATS = 3
TIMED_NODES = 500
LEAST_CALLS = 4
"""A mutator that gives no mutant in so many calls for each one wanted is left at that."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A child, its well-formedness, and the time that making it takes; `nodes` is the size of the parent."""

    mutator: str
    ir: str
    well_formed: bool
    milliseconds: float
    nodes: int


Judge = Callable[[Mutant], bool]
"""Whether a mutant is as wanted; asked of well-formed ones only."""


@dataclass(frozen=True, slots=True)
class Column:
    """A share that is measured, with what it is meant to be at least."""

    title: str
    target: float
    judge: Judge


def columns(executor: ForkExecutor) -> tuple[Column, ...]:
    """The shares to measure, in order: add one here."""
    return (
        Column("well-formed", 0.90, lambda mutant: True),
        Column("compiles", 0.75, partial(compiles, executor)),
        Column("defined", 0.40, defined),
    )


def compiles(executor: ForkExecutor, mutant: Mutant) -> bool:
    """Whether the baseline build takes the mutant."""
    return executor.run([Case(mutant.ir, config=baseline_config(), target=REFERENCE_TARGET)])[0].exit is Exit.OK


def defined(mutant: Mutant) -> bool:
    """Whether the mutant, run on inputs of its own, is free of undefined behaviour, and the interpreter can tell."""
    _, _, results = interpret_seeded(
        entry_of(load_ir(mutant.ir)), int(content_hash(mutant.ir)[:8], 16), Effort(steps=STEPS)
    )
    return results.defined


class Program:
    """A seed's function, loaded once in each process that wants it."""

    def __init__(self, seed: Seed) -> None:
        self.nodes = seed.nodes
        self._ir = seed.ir
        self._func: Any = None

    def func(self) -> Any:
        if self._func is None:
            self._func = entry_of(load_ir(self._ir))
        return self._func


def mutate(mutator: Mutator, programs: Sequence[Program], index: int) -> str | None:
    """Call `mutator` for the `index`-th time and return a Mutant as JSON; None where it gives none."""
    spent = []
    for _ in range(REPEATS):
        rng = rng_for(0, mutator.name, index)
        program = programs[rng.randrange(len(programs))]
        parent = program.func()
        env = MutationEnv(donor=lambda rng=rng: programs[rng.randrange(len(programs))].func())  # type: ignore[misc]
        began = time.process_time()
        child = mutator(parent, rng, env)
        spent.append(time.process_time() - began)
        if child is None:
            return None
    module = module_of(child)
    good = well_formed(module)
    return json.dumps([mutator.name, dump_ir(module) if good else "", good, min(spent) * 1e3, program.nodes])


def mutants_of(mutator: Mutator, programs: Sequence[Program], wanted: int) -> tuple[list[Mutant], int, int]:
    """Return up to `wanted` mutants, the number of calls that took, and how many of these killed their process."""
    made: list[Mutant] = []
    calls = deaths = 0
    answers = each_in_child(range(LEAST_CALLS * wanted + 100), partial(mutate, mutator, programs))
    for text, number in answers:
        calls += 1
        deaths += number != 0
        if text is not None:
            made.append(Mutant(*json.loads(text)))
        if len(made) == wanted:
            break
    return made, calls, deaths


def median_and_p95(mutants: Sequence[Mutant]) -> tuple[float, float]:
    times = [mutant.milliseconds for mutant in mutants if mutant.nodes <= TIMED_NODES]
    if len(times) < 2:
        return 0.0, 0.0
    return statistics.median(times), statistics.quantiles(times, n=20)[-1]


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    programs = [Program(seed) for seed in builtin_seeds(cache_directory(), "llvm")]
    measured = columns(executor_with(NoCoverage()))
    for program in programs:
        program.func()

    mutators = make_mutators(sys.argv[2:] or ["all"])
    print(f"mutators, {number} mutants of the built-in seeds for llvm")
    print(f"  {'':20} {'made':>6}" + "".join(f" {column.title:>11}" for column in measured) + "   median      p95")
    total = 0
    sums = [0] * len(measured)
    slowest = [0.0, 0.0]
    for place, mutator in enumerate(mutators):
        wanted = number * (place + 1) // len(mutators) - number * place // len(mutators)
        mutants, calls, deaths = mutants_of(mutator, programs, wanted)
        good = [sum(mutant.well_formed and column.judge(mutant) for mutant in mutants) for column in measured]
        median, p95 = median_and_p95(mutants)
        shares = "".join(f" {count / max(1, len(mutants)):11.1%}" for count in good)
        killed = f"   {deaths} calls killed their process" if deaths else ""
        made = len(mutants) / max(1, calls)
        print(f"  {mutator.name:20} {made:6.0%}{shares} {median:5.1f} ms {p95:5.1f} ms{killed}", flush=True)
        total += len(mutants)
        sums = [old + new for old, new in zip(sums, good, strict=True)]
        slowest = [max(old, new) for old, new in zip(slowest, (median, p95), strict=True)]
    shares = "".join(f" {count / max(1, total):11.1%}" for count in sums)
    print(f"  {f'all {total}, slowest':20} {'':6}{shares} {slowest[0]:5.1f} ms {slowest[1]:5.1f} ms")
    print(f"  {'wanted':20} {'':6}" + "".join(f" {f'>= {c.target:.0%}':>11}" for c in measured) + "  <= 4 ms <= 15 ms")


if __name__ == "__main__":
    main()
