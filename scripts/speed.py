"""The cost of a pair with several versions of tzerlike, or sets of options, alternating on one core.

    python scripts/speed.py NAME=COMMAND... [--iterations 1000] [--rounds 3] [--core 0] [-- OPTIONS OF FUZZ]

A COMMAND runs `tzerlike`, optionally with options: `old=/elsewhere/.venv/bin/tzerlike`,
`alone="tzerlike --pairs-per-fork 1"`. Each round runs all of them with the same seed. Costs are the CPU time of the
whole process tree, minus that of a campaign of one iteration, so that a busy machine changes them little; stages are
measured in wall-clock time, and so only useful as shares.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

from processor import processor_time, take_in_orphans


def campaign(
    words: list[str], options: list[str], core: int, seed: int, iterations: int, cache: Path
) -> tuple[Any, float]:
    """Run one with a cache of its own; returns its statistics and its processor time."""
    command, *own = words
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "campaign"
        order = ["env", f"XDG_CACHE_HOME={cache}", "taskset", "-c", str(core), command, "fuzz"]
        order += ["--jobs", "1", "--budget", "1d", "--ui", "none"]
        order += ["--seed", str(seed), "--iterations", str(iterations), "--out", str(out), *options, *own]
        spent = processor_time(order)
        return json.loads((out / "stats.json").read_text(encoding="utf-8")), spent


def main() -> None:
    arguments, options = sys.argv[1:], []
    if "--" in arguments:
        place = arguments.index("--")
        arguments, options = arguments[:place], arguments[place + 1 :]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commands", nargs="+", metavar="NAME=COMMAND")
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--core", type=int, default=0)
    asked = parser.parse_args(arguments)
    take_in_orphans()
    commands = {name: shlex.split(words) for name, _, words in (text.partition("=") for text in asked.commands)}
    costs: dict[str, list[float]] = {name: [] for name in commands}
    stages: dict[str, Counter[str]] = {name: Counter() for name in commands}
    with tempfile.TemporaryDirectory() as caches:
        for name, words in commands.items():
            # Makes seeds and lists of blocks, which each version keeps under the same names.
            campaign(words, options, asked.core, 1, 1, Path(caches) / name)
        for seed in range(1, asked.rounds + 1):
            for name, words in commands.items():
                run = (words, options, asked.core, seed)
                first, start = campaign(*run, 1, Path(caches) / name)
                stats, spent = campaign(*run, asked.iterations, Path(caches) / name)
                costs[name].append(1e3 * (spent - start) / (stats["pairs"] - first["pairs"]))
                stages[name].update(stats["stage_seconds"])
                done = f"{stats['pairs']} pairs, {stats['coverage']:,} blocks, {costs[name][-1]:.1f} ms"
                print(f"{name}, seed {seed}: {done}", flush=True)
    first_name = next(iter(commands))
    for name, each in costs.items():
        whole = sum(stages[name].values())
        shares = ", ".join(
            f"{stage} {part / whole:.1%}" for stage, part in stages[name].items() if part / whole > 0.002
        )
        times = f"{median(costs[first_name]) / median(each):.2f} times the pairs of {first_name}"
        print(f"{name}: {median(each):.1f} ms a pair ({min(each):.1f} to {max(each):.1f}), {times}; {shares}")


if __name__ == "__main__":
    main()
