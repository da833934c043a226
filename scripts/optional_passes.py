"""Which passes of the default pipeline can TVM do without?

    python scripts/optional_passes.py EVERY MUTANTS [PASS ...]

Leaves out one pass at a time (by default each in turn; a name with a blank in it is several at once, and
`tirx.disable_...` an option) and builds every EVERYth built-in seed and MUTANTS mutants of seeds at LLVM level 0. Only
programs count that the interpreter calls defined and that the whole pipeline compiles correctly. Prints the outcome of
the first programs that no longer compile and agree, and how many do. tzerlike/systems/optional.py has the results.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from reference_agreement import ENDS_THE_PROCESS, descendant
from standalone import cache_directory

from tzerlike.core.case import ContextConfig
from tzerlike.core.effort import Effort
from tzerlike.core.results import Ending
from tzerlike.core.rng import rng_for
from tzerlike.execution.compare.results import Builds, judge_builds
from tzerlike.mutators import make_mutators
from tzerlike.passes.pipeline import default_pipeline
from tzerlike.processes.forked import each_in_child
from tzerlike.systems import tvm_api
from tzerlike.systems.baseline import REFERENCE_TARGET
from tzerlike.systems.compilation import SILENT, Compilation
from tzerlike.tir import interpreter
from tzerlike.tir.allowlist import native
from tzerlike.tir.interpreter import Judgement
from tzerlike.tir.seeds import builtin_seeds

OPTIONS = ("tirx.disable_vectorize",)
EFFORT = Effort(steps=200_000)


class Remembered:
    """A program that is interpreted once for each of the inputs that it is given in turn."""

    def __init__(self, func: Any) -> None:
        self._program = interpreter.prepare(func)
        self._judged: list[Judgement] = []
        self._next = 0
        self.cost = self._program.cost

    def again(self, func: Any) -> Remembered:
        self._next = 0
        return self

    def run(self, arguments: Any, max_steps: int) -> Judgement:
        if self._next == len(self._judged):
            self._judged.append(self._program.run(arguments, max_steps))
        self._next += 1
        return self._judged[self._next - 1]


def config_without(left_out: str) -> ContextConfig:
    names = left_out.split()
    options = [(name, True) for name in names if name.startswith("tirx.disable_")]
    passes = tuple(name for name in names if not name.startswith("tirx.disable_"))
    return ContextConfig(0, (*options, ("tirx.disable_assert", True)), passes)


def programs(every: int, mutants: int) -> Iterator[tuple[str, Any]]:
    """Yield some of the seeds, then mutants of any: one to four mutations deep."""
    seeds = [s for s in builtin_seeds(cache_directory()) if s.target == "llvm" and ENDS_THE_PROCESS not in s.name]
    funcs = [tvm_api.entry_of(tvm_api.load_ir(seed.ir)) for seed in seeds]
    yield from list(zip((seed.name for seed in seeds), funcs, strict=True))[::every]
    mutators = make_mutators(["all"])

    def mutant(number: int) -> str:
        func, names = descendant(funcs, mutators, rng_for(1, "optional", number))
        return json.dumps([f"{number}+{'+'.join(names)}", tvm_api.dump_ir(tvm_api.module_of(func))])

    for text, _ in each_in_child(range(mutants), mutant):
        if text is not None:
            name, ir = json.loads(text)
            yield name, tvm_api.entry_of(tvm_api.load_ir(ir))


def endings(func: Any, ways: list[str]) -> Iterator[str]:
    """How the builds without each of `ways` end; nothing where the whole pipeline does not make what is expected."""
    module = tvm_api.module_of(func)
    known: list[Remembered] = []

    def work(left_out: str) -> str:
        if not known:
            known.append(Remembered(func))
        compilation = Compilation(REFERENCE_TARGET, config_without(left_out))
        builds = Builds(None, lambda: native.entry_point(module, compilation.build(module)))
        return str(judge_builds(func, builds, 0, EFFORT, SILENT, prepare=known[0].again).optimised)

    answers = each_in_child(["", *ways], work)
    if next(answers)[0] != Ending.AGREES:
        return
    for answer, signal in answers:
        yield f"died: of signal {signal}" if answer is None else answer


def main() -> None:
    every, mutants = map(int, sys.argv[1:3])
    pipeline = default_pipeline("llvm")
    all_of_them = dict.fromkeys(spec.name for spec in (*pipeline.passes, *pipeline.host))
    ways = sys.argv[3:] or [*all_of_them, *OPTIONS]
    counts: dict[str, Counter[str]] = {way: Counter() for way in ways}
    for name, func in programs(every, mutants):
        for way, ending in zip(ways, endings(func, ways), strict=False):
            counts[way][ending.partition(":")[0]] += 1
            if ending != Ending.AGREES and counts[way].total() - counts[way][Ending.AGREES] <= 3:
                print(f"    without {way}, {name}: {' '.join(ending.split())[:200]}", flush=True)
    for way in ways:
        print(f"{way}: {dict(counts[way])}")


if __name__ == "__main__":
    main()
