"""Run one campaign many times under different conditions, and show where the runs first differ.

    python scripts/determinism.py [--runs 20] [--iterations 400] [--oracles LIST] [--harness NAME] [--tvm NAME]
        [--parallel 2]

Each run has another working directory, puts its campaign there, and has another HOME, PATH, locale and TMPDIR; every
other run is held to two cores; the first and each fourth after it start with an empty cache. The script compares the
events of each iteration except for times (what a case was the first to reach, how it ended, whether it was kept,
findings), the corpus and the bundles. The cache of a `--tvm` is the one under --cache, and warm.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tzerlike.campaign.events import event_lines

ORACLES = "crash,inconsistency,internal-error,performance,roundtrip,metamorphic"
COMMAND = Path(sys.executable).with_name("tzerlike")
LOCALES = ("C", "C.UTF-8", "POSIX", "en_US.UTF-8", "")
_UNTIMED = ("i", "how", "exit", "stage", "pass", "new", "case", "finding")


def conditions(number: int, scratch: Path) -> tuple[Path, dict[str, str]]:
    """Return the working directory and the environment of run `number`; every fifth one is alike but for the caches."""
    kind = number % 5
    directory, home, temporary = (scratch / f"{what}{'-long' * (3 * kind)}" for what in ("cwd", "home", "tmp"))
    for path in (directory, home, temporary):
        path.mkdir(exist_ok=True)
    for name in range(7 * kind):
        (directory / f"file-{name}").touch()
    cache = scratch / (f"cold-{number}" if number % 4 == 0 else "warm")
    environment = {
        "HOME": str(home),
        "PATH": os.pathsep.join([*(str(directory / str(n)) for n in range(kind)), "/usr/bin", "/bin"]),
        "XDG_CACHE_HOME": str(cache),
        **({"TMPDIR": str(temporary)} if kind % 2 else {}),
        **({"LC_ALL": LOCALES[kind]} if LOCALES[kind] else {"LANG": "C.UTF-8"}),
        **{f"UNRELATED_{n}": "x" * 50 * n for n in range(kind)},
    }
    return directory, environment


def run(number: int, options: argparse.Namespace, scratch: Path) -> Path:
    """Run campaign `number` and return its directory."""
    directory, environment = conditions(number, scratch)
    cores = sorted(os.sched_getaffinity(0))
    two = ",".join(map(str, cores[:2]))
    held = ["taskset", "-c", two] if number % 2 else []
    out = directory / f"out-{number}"
    command = [*held, str(COMMAND), "fuzz", "--seed", str(options.seed), "--iterations", str(options.iterations)]
    command += ["--jobs", "1", "--budget", "60m", "--harness", options.harness, "--out", str(out)]
    command += ["--oracles", options.oracles] if options.oracles else []
    if options.tvm:
        command += ["--tvm", options.tvm]
        environment["XDG_CACHE_HOME"] = str(options.cache)
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"run {number}: status {done.returncode}\n{done.stderr[-2000:]}")
    return out


def events(out: Path) -> list[dict[str, Any]]:
    found = map(json.loads, event_lines(out / "workers" / "0"))
    return [{name: event[name] for name in _UNTIMED} for event in found if "i" in event]


def outcome(out: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids of the corpus and the names of the bundles."""
    corpus = sorted(path.stem for path in (out / "corpus").glob("*.json"))
    return tuple(corpus), tuple(sorted(path.name for path in (out / "findings").glob("[!.]*")))


def first_difference(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> str:
    for before, after in zip(one, other, strict=False):
        if before != after:
            changed = [
                f"{name} {before[name]!r} for {after[name]!r}" for name in _UNTIMED if before[name] != after[name]
            ]
            return f"iteration {before['i']} ({before['how']}): {'; '.join(changed)}"
    return "none" if len(one) == len(other) else f"{len(one)} events for {len(other)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--iterations", type=int, default=400)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--harness", default="tir")
    parser.add_argument("--oracles", default="", help="those of programs that give the same twice, or of the harness")
    parser.add_argument("--tvm", default="")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache", help="the XDG_CACHE_HOME with --tvm")
    parser.add_argument("--parallel", type=int, default=2, help="runs at a time, for noise")
    parser.add_argument("--keep", type=Path, help="a directory to keep the campaigns in")
    options = parser.parse_args()
    if not options.oracles and options.harness == "tir":
        options.oracles = ORACLES
    scratch = options.keep or Path(tempfile.mkdtemp(prefix="determinism-"))
    scratch.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(options.parallel) as pool:
        outs = list(pool.map(lambda number: run(number, options, scratch), range(options.runs)))
    reference = events(outs[0])
    kinds: Counter[Any] = Counter()
    for number, out in enumerate(outs):
        kinds[outcome(out)] += 1
        corpus, findings = outcome(out)
        difference = first_difference(reference, events(out))
        print(
            f"run {number}: {len(corpus)} entries, {len(findings)} findings; first difference from run 0: {difference}"
        )
    print(f"{max(kinds.values())} of {options.runs} runs with the same corpus and findings; {len(kinds)} outcomes")
    if options.keep is None:
        shutil.rmtree(scratch)
    sys.exit(0 if len(kinds) == 1 else 1)


if __name__ == "__main__":
    main()
