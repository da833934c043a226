"""Campaigns with different options on the same seeds, and how much each of them covers.

    python scripts/ablation.py OUT all='--mutators all' starter='--mutators starter' general='--mutators general'

Runs `tzerlike fuzz --jobs 1` for each NAME=OPTIONS and each seed, as many at a time as there are cores, so that all
have a core each; those of one seed one after another, so that what the machine does meanwhile falls on all of them.
Prints the blocks of each, medians with their range, and the first configuration against the others. A campaign that
OUT holds already is not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Configuration:
    name: str
    options: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Configuration:
        name, equals, options = text.partition("=")
        if not equals or not name.isidentifier():
            raise argparse.ArgumentTypeError(f"{text!r} is not NAME=OPTIONS")
        return cls(name, tuple(shlex.split(options)))


def run(configuration: Configuration, seed: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Run one campaign to its end and return its stats.json."""
    out: Path = arguments.out / f"{configuration.name}-{seed}"
    if not (out / "stats.json").is_file():
        order = [sys.executable, "-m", "tzerlike", "fuzz", "--out", str(out), "--seed", str(seed), "--jobs", "1"]
        order += ["--budget", arguments.budget, "--oracles", arguments.oracles, "--ui", "none", *configuration.options]
        status = subprocess.run(order, check=False, stdout=subprocess.DEVNULL).returncode
        if status != 0:
            raise SystemExit(f"{out}: tzerlike fuzz ended with status {status}")
    stats: dict[str, Any] = json.loads((out / "stats.json").read_text(encoding="utf-8"))
    return stats


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("configurations", nargs="+", type=Configuration.parse, metavar="NAME=OPTIONS")
    parser.add_argument("--budget", default="5m")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--oracles", default="crash")
    parser.add_argument("--at-once", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_intermixed_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(arguments.at_once) as pool:
        running = {
            (configuration.name, seed): pool.submit(run, configuration, seed, arguments)
            for seed in arguments.seeds
            for configuration in arguments.configurations
        }
        stats = {key: future.result() for key, future in running.items()}
    first = arguments.configurations[0].name
    for configuration in arguments.configurations:
        name = configuration.name
        blocks = [stats[name, seed]["coverage"] for seed in arguments.seeds]
        iterations = median(stats[name, seed]["iterations"] for seed in arguments.seeds)
        print(f"{name:12} blocks {' '.join(f'{each:,}' for each in blocks)}")
        print(
            f"{'':12} median {median(blocks):,.0f} ({min(blocks):,} to {max(blocks):,}), {iterations:,.0f} iterations"
        )
        if name != first:
            more = [
                stats[first, seed]["coverage"] / each - 1 for seed, each in zip(arguments.seeds, blocks, strict=True)
            ]
            ratio = median(stats[first, seed]["coverage"] for seed in arguments.seeds) / median(blocks) - 1
            by_seed = " ".join(f"{100 * each:+.1f}" for each in more)
            print(f"{'':12} {first} covers {100 * ratio:+.1f} % more by medians, {by_seed} % by seed")


if __name__ == "__main__":
    main()
