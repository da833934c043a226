"""Finds the built-in seeds on which planted passes show: what tests/data/planted_seeds.json holds.

    python -m tests.planted.find_seeds [PASS...]

Applies passes to seeds of at most STEPS scalar operations that the interpreter calls defined, makes the baseline
build of the result and compares it with what the interpreter expects. Small seeds come first, one of each family in
turn. A pass is done once it showed on WANTED seeds; a harmless one once it was right on PROVEN of them. Every
difference of a harmless pass is printed.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from tests.planted.rewrite import Pass
from tests.planted.table import HARMLESS, MISCOMPILES
from tzerlike.core.effort import Effort
from tzerlike.core.results import Ending
from tzerlike.execution.compare.results import Builds, compile_baseline, interpret_seeded, judge_builds
from tzerlike.processes.forked import each_in_child
from tzerlike.systems import tvm_api
from tzerlike.systems.compilation import SILENT
from tzerlike.tir import interpreter
from tzerlike.tir.seeds import Seed, builtin_seeds

STEPS = 20_000
WANTED = 8
PROVEN = 40
OUTPUT = Path(__file__).parents[1] / "data" / "planted_seeds.json"


def apply(planted: Pass, func: Any) -> Any:
    """What the pass makes of `func`; None where it does not apply or makes something ill-formed."""
    try:
        made = planted(func)
    except tvm_api.CONSTRUCTION_ERRORS:
        return None
    return made if made is not None and tvm_api.well_formed(tvm_api.module_of(made)) else None


def family(seed: str) -> str:
    """What a seed is a variant of: its name up to the second dot, without numbers."""
    return ".".join(seed.split(".")[:2]).rstrip("0123456789_")


def in_turn(seeds: Sequence[Seed]) -> list[Seed]:
    """The seeds by size, the smallest of each family first, then the second of each, and so on."""
    rank: Counter[str] = Counter()
    ranked = []
    for seed in sorted(seeds, key=lambda seed: (seed.nodes, seed.name)):
        ranked.append((rank[family(seed.name)], seed))
        rank[family(seed.name)] += 1
    return [seed for _, seed in sorted(ranked, key=lambda pair: (pair[0], pair[1].nodes))]


def endings(seed: Seed, passes: Sequence[str], table: Mapping[str, Pass]) -> Iterator[tuple[str, str]]:
    """Yield (pass, how its build ended) for those of `passes` that apply to `seed`; nothing for an undefined one."""
    func = tvm_api.entry_of(tvm_api.load_ir(seed.ir))
    effort, notes = Effort(steps=STEPS), SILENT
    cost = interpreter.prepare(func).cost
    if (cost is not None and cost > STEPS) or not interpret_seeded(func, 0, effort)[2].defined:
        return

    def work(name: str) -> str | None:
        made = apply(table[name], func)
        if made is None:
            return ""
        module = tvm_api.module_of(made)
        builds = Builds(None, lambda: compile_baseline(module, notes))
        return str(judge_builds(func, builds, 0, effort, notes).optimised)

    for name, (answer, signal) in zip(passes, each_in_child(passes, work), strict=True):
        if signal or answer:
            yield name, answer or "died"


def main() -> None:
    table = {**MISCOMPILES, **HARMLESS}
    chosen = sys.argv[1:] or list(table)
    seeds = in_turn(builtin_seeds(Path(os.path.expanduser("~")) / ".cache" / "tzerlike", "llvm"))
    counts: dict[str, Counter[str]] = {name: Counter() for name in chosen}
    found: dict[str, list[str]] = {name: [] for name in chosen}
    for seed in seeds:
        open_ = [name for name in chosen if len(found[name]) < (PROVEN if name in HARMLESS else WANTED)]
        for name, answer in endings(seed, open_, table):
            ending = answer.split(":")[0]
            counts[name][ending] += 1
            if ending == (Ending.AGREES if name in HARMLESS else Ending.DIFFERS):
                found[name].append(seed.name)
            elif name in HARMLESS:
                click.echo(f"{name} on {seed.name}: {answer[:300]}")
    stored = json.loads(OUTPUT.read_text(encoding="utf-8")) if sys.argv[1:] and OUTPUT.exists() else {}
    stored |= {name: found[name][:WANTED] for name in chosen}
    for name in chosen:
        click.echo(f"{name}: {dict(counts[name])}")
    ordered = {name: stored[name] for name in table if name in stored}
    OUTPUT.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
