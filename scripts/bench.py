"""`make bench`: what a pair costs and where the time goes, what coverage costs, what batches gain.

Figures are medians over repeats within one run; compare ratios, not the figures of two machines.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from standalone import cache_directory, executor_with

from tzerlike.core.case import Case, ContextConfig
from tzerlike.core.limits import Limits
from tzerlike.coverage import NoCoverage, open_coverage
from tzerlike.execution.executor import ForkExecutor
from tzerlike.tir.seeds import builtin_seeds

ITERATIONS = 1200
BATCHES = (1, 4, 16)
CASES = 40
REPEATS = 5
READS = 10_000


def campaign(pairs_per_fork: int, iterations: int) -> dict[str, Any]:
    """Run a campaign of the built-in seeds with the crash oracle alone and return its statistics."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "campaign"
        options = {
            "--iterations": iterations,
            "--seed": 1,
            "--jobs": 1,
            "--oracles": "crash",
            "--pairs-per-fork": pairs_per_fork,
            "--out": out,
            "--ui": "none",
        }
        arguments = [str(word) for option in options.items() for word in option]
        subprocess.run([sys.executable, "-m", "tzerlike", "fuzz", *arguments], check=True)
        stats: dict[str, Any] = json.loads((out / "stats.json").read_text())
        return stats


def speed() -> None:
    print(f"campaign on the built-in seeds, --oracles crash --jobs 1, {ITERATIONS} iterations")
    print("  pairs per fork   pairs/s   inside TVM   stage shares")
    for batch in BATCHES:
        stats = campaign(batch, ITERATIONS)
        seconds = stats["stage_seconds"]
        wall = stats["elapsed_s"]
        inside = sum(seconds[stage] for stage in ("load", "passes", "build")) / wall
        pairs = stats["pairs"] / wall
        shares = "  ".join(f"{stage} {spent / wall:.1%}" for stage, spent in seconds.items() if spent / wall >= 0.001)
        print(f"  {batch:14}   {pairs:7.1f}   {inside:10.1%}   {shares}")


def seconds_inside(executor: ForkExecutor, case: Case) -> float:
    return executor.run([case])[0].elapsed


def coverage_cost(cases: Sequence[Case], cache_dir: Path) -> None:
    """Compare the same cases with and without coverage, in turn."""
    from tzerlike.systems.tvm_api import compiler_library

    began = time.perf_counter()
    coverage = open_coverage("breakpoint", compiler_library(), slots=1, cache_dir=cache_dir)
    print(f"coverage: {coverage.total:,} blocks, ready in {time.perf_counter() - began:.2f} s")
    limits = Limits(30.0, 4 << 30)
    traced, blind = executor_with(coverage, limits), executor_with(NoCoverage(), limits)
    per_block = []
    for case in cases[:10]:
        seconds_inside(blind, case)
        coverage.reset()
        first = traced.run([case])[0]
        plain = statistics.median(seconds_inside(blind, case) for _ in range(REPEATS))
        per_block.append((first.elapsed - plain) / max(1, first.new_blocks) * 1e6)
    print(f"  a new block: {statistics.median(per_block):.2f} us (median of {len(per_block)} cases)")
    for case in cases:
        seconds_inside(traced, case)
    ratios = []
    for _ in range(REPEATS):
        for case in cases:
            ratios.append(seconds_inside(traced, case) / seconds_inside(blind, case))
    print(f"  repeats: {statistics.median(ratios) - 1:+.2%} (median of {len(ratios)} pairs)")
    began = time.perf_counter()
    for _ in range(READS):
        coverage.new(0)
    print(f"  a reading after a pass: {(time.perf_counter() - began) / READS * 1e3:.4f} ms (at most 0.2 wanted)")


def main() -> None:
    cache_dir = cache_directory()
    seeds = [seed for seed in builtin_seeds(cache_dir) if seed.target == "llvm"]
    step = max(1, len(seeds) // CASES)
    config = ContextConfig(options=(("tirx.disable_assert", True),))
    cases = [Case(seed.ir, config=config) for seed in seeds[::step]][:CASES]
    coverage_cost(cases, cache_dir)
    speed()


if __name__ == "__main__":
    main()
