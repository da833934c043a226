"""`make bench`: the cost of a pair and where the time goes, the cost of coverage, and the gain from batches.

All times are CPU time, for campaigns that of the whole process tree, so that a busy machine changes them little; only
the shares of stages are wall-clock time. Compare ratios, not the figures of two machines.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from processor import processor_time, take_in_orphans
from standalone import cache_directory, executor_with

from tzerlike.core.case import Case, ContextConfig
from tzerlike.core.effort import Effort
from tzerlike.core.limits import Limits
from tzerlike.coverage import NoCoverage, open_coverage
from tzerlike.execution.executor import ForkExecutor
from tzerlike.execution.stages import run_case
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import RunContext
from tzerlike.tir.seeds import builtin_seeds

ITERATIONS = 1200
BATCHES = (1, 4, 16)
CASES = 40
REPEATS = 5
READS = 10_000


def campaign(pairs_per_fork: int, iterations: int) -> tuple[dict[str, Any], float]:
    """Run a campaign of the built-in seeds with the crash oracle alone; returns its statistics and processor time."""
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
        spent = processor_time([sys.executable, "-m", "tzerlike", "fuzz", *arguments])
        return json.loads((out / "stats.json").read_text()), spent


def speed() -> None:
    take_in_orphans()
    print(f"campaign on the built-in seeds, --oracles crash --jobs 1, {ITERATIONS} iterations")
    campaign(1, 1)  # makes seeds and blocks, which are cached
    first, start = campaign(1, 1)
    print(f"  start and end: {start:.2f} s")
    print("  pairs per fork   ms a pair   pairs/s   inside TVM   stage shares")
    for batch in BATCHES:
        stats, spent = campaign(batch, ITERATIONS)
        each = (spent - start) / (stats["pairs"] - first["pairs"])
        seconds = stats["stage_seconds"]
        whole = sum(seconds.values())
        inside = sum(seconds[stage] for stage in ("load", "passes", "build")) / whole
        shares = "  ".join(f"{stage} {part / whole:.1%}" for stage, part in seconds.items() if part / whole >= 0.001)
        print(f"  {batch:14}   {1e3 * each:9.2f}   {1 / each:7.1f}   {inside:10.1%}   {shares}")


def timed_case(case: Case, channel: Channel, around: RunContext, effort: Effort, known: bool) -> dict[str, Any]:
    """`run_case`; the message of a case that compiles is the processor time that it took."""
    began = time.process_time()
    record = run_case(case, channel, around, effort, known)
    return {"message": str(time.process_time() - began)} | record


def seconds_inside(executor: ForkExecutor, case: Case) -> float:
    return float(executor.run([case])[0].message)


def coverage_cost(cases: Sequence[Case], cache_dir: Path) -> None:
    """Compare the same cases with and without coverage, in turn."""
    from tzerlike.systems.tvm_api import SYSTEM, compiler_libraries

    began = time.process_time()
    coverage = open_coverage("breakpoint", compiler_libraries(), 1, cache_dir, SYSTEM.code.sources)
    print(f"coverage: {coverage.total:,} blocks, ready in {time.process_time() - began:.2f} s")
    limits = Limits(30.0, 4 << 30)
    traced, blind = (executor_with(backend, limits, timed_case) for backend in (coverage, NoCoverage()))
    per_block = []
    for case in cases[:10]:
        seconds_inside(blind, case)
        coverage.reset()
        first = traced.run([case])[0]
        plain = statistics.median(seconds_inside(blind, case) for _ in range(REPEATS))
        per_block.append((float(first.message) - plain) / max(1, first.new_blocks) * 1e6)
    print(f"  a new block: {statistics.median(per_block):.2f} us (median of {len(per_block)} cases)")
    for case in cases:
        seconds_inside(traced, case)
    ratios = []
    for _ in range(REPEATS):
        for case in cases:
            ratios.append(seconds_inside(traced, case) / seconds_inside(blind, case))
    print(f"  repeats: {statistics.median(ratios) - 1:+.2%} (median of {len(ratios)} pairs)")
    began = time.process_time()
    for _ in range(READS):
        coverage.new(0)
    print(f"  a reading after a pass: {(time.process_time() - began) / READS * 1e3:.4f} ms (at most 0.2 wanted)")


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
