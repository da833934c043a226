"""Runs a baseline in the same way as a campaign: cases in confined children, blocks counted, statistics in the same
files.

    PYTHONPATH=scripts python -m baselines.NAME --out DIR [--seed 1] [--budget 10m]

stats.json has the figures that scripts/ablation.py compares, under the names that `tzerlike fuzz` gives them, and
coverage.csv has the curve. Nothing is judged or kept.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Protocol

from standalone import cache_directory, executor_with

from tzerlike.campaign.directory import ENVIRONMENT, CampaignDir
from tzerlike.campaign.loop import MEMORY, RERUN_SHARE
from tzerlike.cli.roles import environment
from tzerlike.core.case import Case
from tzerlike.core.config import CampaignConfig, parse_duration
from tzerlike.core.effort import Effort
from tzerlike.core.observation import Exit, Observation
from tzerlike.core.rng import rng_for
from tzerlike.core.storage import write_atomic, write_json
from tzerlike.coverage import Coverage, open_coverage
from tzerlike.coverage.snapshot import Identity, snapshot_bytes
from tzerlike.execution.executor import ForkExecutor
from tzerlike.execution.stages import run_case
from tzerlike.execution.warm_up import warm_up
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import RunCase, RunContext
from tzerlike.systems.tvm_api import SYSTEM, compiler_libraries
from tzerlike.tir.seeds import builtin_seeds

_ROUND = 16
"""Cases between two looks at the clock; one child takes them in turn once few of them bring something."""

_CURVE_EVERY = 5.0
_REFUSED = "refused: "


class Baseline(Protocol):
    """A fuzzer: makes cases, and hears what came of each."""

    def propose(self, rng: Random) -> Case: ...

    def learn(self, case: Case, new_blocks: int) -> None: ...


class Undirected:
    """What does not go by coverage."""

    def learn(self, case: Case, new_blocks: int) -> None:
        pass


def counting_refusals(case: Case, channel: Channel, around: RunContext, effort: Effort, known: bool) -> dict[str, Any]:
    """`run_case` for a fuzzer to which all inputs are alike: what a refused one reaches counts as well."""
    record = run_case(case, channel, around, effort, known)
    if record["exit"] != Exit.REJECTED.value:
        return record
    return {"exit": Exit.OK.value, "message": _REFUSED + str(record["message"])}


def programs() -> list[str]:
    """The built-in seeds for LLVM, which a campaign starts from."""
    return [seed.ir for seed in builtin_seeds(cache_directory(), "llvm")]


def main(make: Callable[[], Baseline], run: RunCase = run_case) -> None:
    """The command line of a baseline; `make` is called once TVM has been warmed up."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", default="10m")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True)
    coverage = open_coverage("auto", compiler_libraries(), 1, cache_directory(), SYSTEM.code.sources)
    warm_up(Channel())
    executor = executor_with(coverage, run=run)
    baseline = make()
    measure = Measure(arguments.out, coverage.covered, coverage.total)
    measure.run(baseline, executor, arguments.seed, parse_duration(arguments.budget))
    _keep(coverage, CampaignDir(arguments.out), arguments.seed)


def _keep(coverage: Coverage, directory: CampaignDir, seed: int) -> None:
    """Lay down what was reached where `tzerlike coverage` looks for it."""
    facts = environment(coverage, randomised=True)
    write_json(directory.environment, ENVIRONMENT.stamped(facts))
    write_atomic(directory.config, CampaignConfig(seed).to_toml())
    identity = Identity(coverage.backend, facts["compiler_library"], coverage.total)
    directory.worker(0).mkdir(parents=True)
    write_atomic(directory.worker_coverage(0), snapshot_bytes(identity, coverage.snapshot()))


class Measure:
    """Runs a baseline, and writes its figures every few seconds."""

    def __init__(self, out: Path, covered: Callable[[], int], total: int) -> None:
        self._out, self._covered, self._total = out, covered, total
        self._exits: Counter[str] = Counter()
        self._valuable = 0
        self._iterations = 0
        self._began = time.monotonic()
        self._drawn = 0.0

    def run(self, baseline: Baseline, executor: ForkExecutor, seed: int, budget: float) -> None:
        bringing = 1.0
        while (elapsed := time.monotonic() - self._began) < budget:
            wide = _ROUND if bringing <= RERUN_SHARE else 1
            first = self._iterations
            cases = [baseline.propose(rng_for(seed, number)) for number in range(first, first + wide)]
            self._iterations += wide
            for case, seen in zip(cases, executor.run(cases), strict=True):
                baseline.learn(case, seen.new_blocks)
                bringing += ((seen.new_blocks > 0) - bringing) / MEMORY
                self._count(seen)
            if elapsed - self._drawn > _CURVE_EVERY:
                self._write(elapsed)
        self._write(time.monotonic() - self._began)

    def _count(self, seen: Observation) -> None:
        valid = seen.exit is Exit.OK and not seen.message.startswith(_REFUSED)
        self._exits["ok" if valid else Exit.REJECTED.value if seen.exit is Exit.OK else seen.exit.value] += 1
        self._valuable += valid and seen.new_blocks > 0

    def _write(self, elapsed: float) -> None:
        self._drawn = elapsed
        with (self._out / "coverage.csv").open("a") as curve:
            curve.write(f"{elapsed:.1f},{self._covered()}\n")
        stats = {
            "elapsed_s": round(elapsed, 3),
            "iterations": self._iterations,
            "pairs": self._iterations,
            "valid_rate": self._exits["ok"] / max(1, self._iterations),
            "coverage": self._covered(),
            "coverage_total": self._total,
            "valuable_tests": self._valuable,
            "exits": dict(self._exits),
        }
        (self._out / "stats.json").write_text(json.dumps(stats, indent=1))
