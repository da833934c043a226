"""Compare the coverage of variants of the fuzzer and of simpler fuzzers, on the same seeds, each on its own core.

    python scripts/ablation.py OUT [NAME | NAME=OPTIONS | NAME=@BASELINE ...] [--budget 10m] [--seeds 1 2 ...]
                               [--within src/relax]

An arm is `tzerlike fuzz --jobs 1` with OPTIONS, or a module of scripts/baselines; without any, all of ARMS run. Each
campaign is held to one core, and --at-once of them run at a time. The arms of one seed run one after another, so that
other work on the machine affects all arms. Each campaign that ends is a row of --figures, by default OUT/figures.csv;
what has a row there does not run again: an interrupted call continues where it stopped, on another machine too.

Prints a table for each figure: the median, its range, the ratio of the first arm's median to it, the p of Mann and
Whitney's two-sided test, and A12 (1: the first arm is always better). `beyond` are the blocks beyond those that
building one empty function covers; --within adds those in a directory of TVM's source, by `tzerlike coverage`.
For whole models: `joint="--harness graph" no_feedback="--harness graph --feedback none" no_passes="--harness graph
--pass-mode none" random=@random_models`.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import queue
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from threading import Lock

from comparison import mann_whitney, superiority

from tzerlike.core.storage import write_atomic

SCRIPTS = Path(__file__).resolve().parent

ARMS = {
    "joint": "",
    "paper": "--pass-mode paper --n-max 5 --mutator-choice uniform",
    "random_passes": "--pass-mode random",
    "no_passes": "--pass-mode none",
    "no_feedback": "--feedback none",
    "small_entries": "--entry-choice adaptive",
    "general": "--mutators general",
    "general_no_passes": "--mutators general --pass-mode none",
    "general_no_passes_no_feedback": "--mutators general --pass-mode none --feedback none",
    "naive": "@naive",
    "tvmfuzz": "@tvmfuzz",
    "bytes": "@byte_mutation",
}
"""The variants and baselines that are compared when no others are named."""

_FLOOR = "empty"
_FLOOR_BUDGET = "20s"
_WITHIN = "blocks within"
_MEASURED = ("blocks", "valuable", "pairs/s", _WITHIN)


@dataclass(frozen=True)
class Arm:
    name: str
    words: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Arm:
        name, equals, options = text.partition("=")
        if not equals or not name.isidentifier():
            raise argparse.ArgumentTypeError(f"{text!r} is not NAME=OPTIONS")
        return cls(name, tuple(shlex.split(options)))

    def command(self, out: Path, seed: int, budget: str, oracles: str) -> list[str]:
        common = ["--out", str(out), "--seed", str(seed), "--budget", budget]
        if self.words and self.words[0].startswith("@"):
            return [sys.executable, "-m", f"baselines.{self.words[0][1:]}", *common, *self.words[1:]]
        own = ["--jobs", "1", "--oracles", oracles, "--ui", "none", *self.words]
        return [sys.executable, "-m", "tzerlike", "fuzz", *common, *own]


class Cores:
    """The cores that campaigns may have, one each."""

    def __init__(self, count: int) -> None:
        self._free: queue.SimpleQueue[int] = queue.SimpleQueue()
        for core in sorted(os.sched_getaffinity(0))[:count]:
            self._free.put(core)

    @contextmanager
    def one(self) -> Iterator[int]:
        core = self._free.get()
        try:
            yield core
        finally:
            self._free.put(core)


class Figures:
    """A CSV file of what campaigns reached, a row each; those of other settings stay as they are.

    The columns are what a campaign depends on, the commit that it ran on, and its figures.
    """

    SETTING = ("arm", "options", "seed", "budget", "oracles", "within")
    COLUMNS = (*SETTING, "commit", *_MEASURED)

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._rows: dict[tuple[str, ...], dict[str, str]] = {}
        if path.is_file():
            with path.open(newline="", encoding="utf-8") as lines:
                for row in csv.DictReader(lines):
                    self._rows[tuple(row[name] for name in self.SETTING)] = row
        describe = ["git", "describe", "--always", "--dirty"]
        self._commit = subprocess.run(describe, check=False, capture_output=True, text=True, cwd=SCRIPTS).stdout.strip()

    def get(self, setting: tuple[str, ...]) -> dict[str, float] | None:
        row = self._rows.get(setting)
        return None if row is None else {name: float(row[name]) for name in _MEASURED}

    def add(self, setting: tuple[str, ...], measured: dict[str, float]) -> None:
        with self._lock:
            row = dict(zip(self.SETTING, setting, strict=True)) | {"commit": self._commit}
            self._rows[setting] = row | {name: f"{value:.10g}" for name, value in measured.items()}
            text = io.StringIO()
            writer = csv.DictWriter(text, self.COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self._rows.values())
            write_atomic(self.path, text.getvalue())


def run(arm: Arm, seed: int, budget: str, cores: Cores, arguments: argparse.Namespace) -> dict[str, float]:
    """Return the figures of a campaign, which runs to its end if it has not before; those of _MEASURED."""
    within = "" if arm.name == _FLOOR else arguments.within
    setting = (arm.name, shlex.join(arm.words), str(seed), budget, arguments.oracles, within)
    known = arguments.figures.get(setting)
    if known is not None:
        return known
    name = f"{arm.name}-{seed}"
    out = arguments.out / name
    with cores.one() as core:
        shutil.rmtree(out, ignore_errors=True)
        order = ["taskset", "-c", str(core), *arm.command(out, seed, budget, arguments.oracles)]
        with (arguments.out / f"{name}.log").open("w") as log:
            done = subprocess.run(order, check=False, stdout=log, stderr=log, cwd=SCRIPTS)
    if done.returncode:
        raise SystemExit(f"{out}: status {done.returncode}, see {name}.log")
    stats = json.loads((out / "stats.json").read_text(encoding="utf-8"))
    measured = {
        "blocks": stats["coverage"],
        "valuable": stats["valuable_tests"],
        "pairs/s": stats["pairs"] / max(1e-9, stats["elapsed_s"]),
        _WITHIN: blocks_within(out, within) if within else 0,
    }
    arguments.figures.add(setting, measured)
    return measured


def blocks_within(campaign: Path, directory: str) -> int:
    """How many blocks of the files below a directory of TVM's source a campaign reached."""
    order = [sys.executable, "-m", "tzerlike", "coverage", str(campaign), "--json"]
    told = json.loads(subprocess.run(order, check=True, capture_output=True, text=True, cwd=SCRIPTS).stdout)
    return next((row["covered"] for row in told["tables"]["directory"] if row["name"] == directory), 0)


def table(figure: str, values: dict[str, list[float]]) -> Iterator[str]:
    """The lines of a figure's table, in Markdown; `values` by arm, the first the one that others are compared with."""
    (first, ours), *_ = values.items()
    digits = 1 if figure == "pairs/s" else 0
    yield f"| {figure} | median | range | {first} / it | p | A12 |"
    yield "|---|---|---|---|---|---|"
    for name, theirs in values.items():
        spread = f"{min(theirs):,.{digits}f} to {max(theirs):,.{digits}f}"
        middle = median(theirs)
        compared = "| | |"
        if name != first:
            ratio = f"{median(ours) / middle:.2f}" if middle else "-"
            compared = f"{ratio} | {mann_whitney(ours, theirs):.2g} | {superiority(ours, theirs):.2f} |"
        yield f"| {name} | {middle:,.{digits}f} | {spread} | {compared}"


def run_all(arms: Sequence[Arm], arguments: argparse.Namespace) -> dict[str, list[dict[str, float]]]:
    cores = Cores(arguments.at_once)
    floor = run(Arm(_FLOOR, (f"@{_FLOOR}",)), 1, _FLOOR_BUDGET, cores, arguments)["blocks"]
    print(f"an empty function: {floor:,.0f} blocks")
    with ThreadPoolExecutor(arguments.at_once) as pool:
        # By seeds first: a break leaves whole seeds behind.
        running = {
            (arm.name, seed): pool.submit(run, arm, seed, arguments.budget, cores, arguments)
            for seed in arguments.seeds
            for arm in arms
        }
        done = {key: future.result() for key, future in running.items()}
    for key, measured in done.items():
        told = {"blocks": measured["blocks"], "beyond": measured["blocks"] - floor} | measured
        done[key] = {name: value for name, value in told.items() if name != _WITHIN or arguments.within}
    return {arm.name: [done[arm.name, seed] for seed in arguments.seeds] for arm in arms}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("arms", nargs="*", metavar="NAME=OPTIONS")
    parser.add_argument("--budget", default="10m")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(1, 11)))
    parser.add_argument("--oracles", default="crash")
    parser.add_argument("--within", default="", metavar="DIRECTORY", help="also blocks of, such as src/relax")
    parser.add_argument("--figures", type=Path, metavar="FILE", help="by default OUT/figures.csv")
    parser.add_argument("--at-once", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_intermixed_args()
    try:
        # The name of one of ARMS alone will do.
        arms = [Arm.parse(text if "=" in text else f"{text}={ARMS[text]}") for text in arguments.arms or ARMS]
    except (KeyError, argparse.ArgumentTypeError) as error:
        parser.error(f"{error}: neither NAME=OPTIONS nor one of {', '.join(ARMS)}")
    arguments.out = arguments.out.resolve()
    arguments.out.mkdir(parents=True, exist_ok=True)
    arguments.figures = Figures((arguments.figures or arguments.out / "figures.csv").resolve())
    results = run_all(arms, arguments)
    print(f"{len(arguments.seeds)} seeds, {arguments.budget} each, one core each, --oracles {arguments.oracles}")
    for figure in next(iter(results.values()))[0]:
        print()
        for line in table(figure, {name: [each[figure] for each in runs] for name, runs in results.items()}):
            print(line)


if __name__ == "__main__":
    main()
