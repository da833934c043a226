"""Kill, stop and interrupt campaigns at random moments, and report what was lost.

    torment.py kills [--each 20] [--gap 3] [--stops 0]     one campaign; SIGKILL and SIGSTOP to each kind of process
    torment.py signals [--each 20] [--parallel 2]          many campaigns; each is asked to stop once, from 150 ms on

Prints a table of figures; exits 1 if a required property does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import psutil

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
KINDS = ("zygote", "runner", "child", "worker")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("kills", "signals"))
    parser.add_argument("--each", type=int, default=20, help="Of each kind, or of each signal and addressee.")
    parser.add_argument("--stops", type=int, default=0, help="SIGSTOPs of each kind.")
    parser.add_argument("--gap", type=float, default=3.0, help="Mean seconds between two kills.")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--parallel", type=int, default=2, help="Campaigns at a time.")
    parser.add_argument("--longest", type=float, default=15.0, help="Seconds from the start to the latest signal.")
    parser.add_argument("--harness", default="tir")
    parser.add_argument("--oracles", default="", help="crash and those of wrong code where none are named")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not options.oracles:
        options.oracles = "crash,model-results" if options.harness == "graph" else "crash,inconsistency"
    # Started by nohup, it would hand the campaigns an ignored SIGHUP, and they are right to keep to that.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with tempfile.TemporaryDirectory(prefix="torment-") as directory:
        wrong = (kills if options.what == "kills" else signals)(options, Path(directory))
    for line in wrong:
        print("WRONG:", line)
    sys.exit(1 if wrong else 0)


def start(root: Path, *options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tzerlike", "fuzz", "--ui", "plain", "--out", root, *options]
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*map(str, command)], start_new_session=True, **pipe)  # type: ignore[call-overload]


@dataclass
class Tree:
    """The processes of a campaign by kind, as far as they can be told from outside."""

    supervisor: int
    seen: set[psutil.Process] = field(default_factory=set)

    def of(self, kind: str) -> list[psutil.Process]:
        try:
            zygotes = [
                p for p in psutil.Process(self.supervisor).children() if "tzerlike.processes.zygote" in p.cmdline()
            ]
            forks = [process for zygote in zygotes for process in zygote.children()]
            runners = [process for process in forks if any(_leads(child) for child in process.children())]
            found = {
                "zygote": zygotes,
                "runner": runners,
                "child": [child for runner in runners for child in runner.children()],
                "worker": [process for process in forks if process not in runners],
            }
        except psutil.Error:
            return []
        for processes in found.values():
            self.seen.update(processes)
        return found[kind]

    def left(self) -> list[psutil.Process]:
        """Those of all processes seen that still run."""
        return [p for p in self.seen if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


def _leads(process: psutil.Process) -> bool:
    """Whether a process leads a group of its own, as the children of runners do."""
    try:
        return os.getpgid(process.pid) == process.pid
    except ProcessLookupError:
        return False


def kills(options: argparse.Namespace, directory: Path) -> list[str]:
    """One campaign under attack."""
    rng = random.Random(options.seed)
    plan = [(kind, signal.SIGKILL) for kind in KINDS for _ in range(options.each)]
    plan += [(kind, signal.SIGSTOP) for kind in KINDS for _ in range(options.stops)]
    rng.shuffle(plan)
    budget = 60 + 2.5 * options.gap * len(plan) + 15 * options.stops * len(KINDS)
    root = directory / "c"
    settings = ("--budget", f"{budget:.0f}s", "--jobs", options.jobs, "--oracles", options.oracles, "--seed", 7)
    process = start(root, "--harness", options.harness, *settings)
    tree = Tree(process.pid)
    wait_for(lambda: len(files(root)) > 3, 300)
    began = time.monotonic()
    hits: Counter[tuple[str, str]] = Counter()
    lost: list[float] = []
    before: set[str] = set()
    fewer = 0
    for kind, number in plan:
        time.sleep(rng.uniform(0, 2 * options.gap))
        if process.poll() is not None:
            break
        before |= files(root)
        done = iterations(root)
        lost.append(unsaved_seconds(root))
        if not hit(tree, kind, number, rng):
            continue
        hits[kind, number.name] += 1
        if number is signal.SIGSTOP:
            time.sleep(10)
        time.sleep(0.2)
        fewer += iterations(root) < done
    out, err = process.communicate(timeout=budget + 300)
    took = time.monotonic() - began
    time.sleep(1)
    wrong = []
    for kind, number in dict.fromkeys(plan):
        print(f"{number.name} of a {kind}: {hits[kind, number.name]}")
    stats = json.loads((root / "stats.json").read_text())
    print(f"budget {budget:.0f} s, from the first entries on it ran {took:.0f} s; status {process.returncode}")
    print(
        f"finished work that was in no saved state when a process was hit: at most {max(lost):.1f} s, "
        f"median {median(lost):.1f} s"
    )
    print(f"{stats['iterations']} iterations, corpus {stats['corpus']}, findings {sum(stats['findings'].values())}")
    print(f"restarts {stats['restarts']}, exits {stats['exits']}, faults {stats.get('faults')}")
    if max(lost) > 5:
        wrong.append("more than 5 s of statistics")
    if hits.total() < len(plan):
        wrong.append("the budget was over before all had been hit")
    if process.returncode != 0:
        wrong.append(f"status {process.returncode}: {err[-2000:]}")
    if took > budget + 60:
        wrong.append(f"ran {took:.0f} s")
    if "internal error" in err or "Traceback" in err:
        wrong.append(err[-2000:])
    if fewer:
        wrong.append(f"{fewer} times a saved state went back")
    if gone := before - files(root):
        kept = shutil.copytree(root, Path(tempfile.mkdtemp(prefix="torment-kept-")) / "c")
        wrong.append(f"{len(gone)} files gone: {sorted(gone)[:5]}; {stats['problems']}; kept in {kept}")
    if tree.left():
        wrong.append(f"still running: {tree.left()}")
    print("\n".join(line for line in out.splitlines() if "restarted" in line or "again" in line or "ended" in line))
    return wrong


def hit(tree: Tree, kind: str, number: signal.Signals, rng: random.Random) -> bool:
    """Send a signal to a process of that kind; whether there was one in the end. They come and go."""
    while victims := until(lambda: tree.of(kind), 30):
        try:
            rng.choice(victims).send_signal(number)
        except psutil.NoSuchProcess:
            continue
        return True
    return False


def signals(options: argparse.Namespace, directory: Path) -> list[str]:
    """Many campaigns, each stopped by a signal."""
    rng = random.Random(options.seed)
    plan = [
        (
            number,
            group,
            0.15 * (options.longest / 0.15) ** rng.random(),
            directory / f"{number.name}-{group}-{index}",
            options.harness,
        )
        for number in SIGNALS
        for group in (True, False)
        for index in range(options.each)
    ]
    with ThreadPoolExecutor(options.parallel) as pool:
        reports = list(pool.map(lambda case: stopped(*case), plan))
    wrong = []
    for number in SIGNALS:
        for group in (True, False):
            some = [r for (n, g, *_), r in zip(plan, reports, strict=True) if (n, g) == (number, group)]
            moments = [moment for n, g, moment, *_ in plan if (n, g) == (number, group)]
            status = Counter(r.status for r in some)
            to = "the group" if group else "the supervisor"
            print(
                f"{number.name} to {to}, after {min(moments):.2f} to {max(moments):.1f} s: status {dict(status)}, "
                f"gone within {max(r.took for r in some):.1f} s, campaigns begun {sum(r.begun for r in some)}"
            )
            wrong += [f"{number.name} to {to}: {line}" for r in some for line in r.wrong]
    return wrong


@dataclass
class Stopped:
    status: int
    took: float
    begun: bool
    wrong: list[str]


def stopped(number: signal.Signals, group: bool, moment: float, root: Path, harness: str) -> Stopped:
    process = start(root, "--harness", harness, "--budget", "10m", "--jobs", 1, "--seed", 7, "--oracles", "crash")
    tree = Tree(process.pid)
    time.sleep(moment)
    for kind in KINDS:
        tree.of(kind)
    (os.killpg if group else os.kill)(process.pid, number)
    began = time.monotonic()
    try:
        _, err = process.communicate(timeout=90)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return Stopped(-99, 90.0, root.exists(), [f"after {moment:.2f} s: does not end"])
    took = time.monotonic() - began
    time.sleep(0.3)
    wrong = []
    # Python itself takes a moment until it runs the first line of ours; what dies by then had nothing to save.
    early = process.returncode == -number and not root.exists()
    if process.returncode != 128 + number and not early:
        wrong.append(f"status {process.returncode} after {moment:.2f} s: {err[-500:]}")
    if "internal error" in err or "Traceback" in err:
        wrong.append(f"after {moment:.2f} s: {err[-500:]}")
    if tree.left():
        wrong.append(f"after {moment:.2f} s still running: {tree.left()}")
    wrong += [f"after {moment:.2f} s: {line}" for line in unsaved(root)]
    return Stopped(process.returncode, took, root.exists(), wrong)


def unsaved(root: Path) -> list[str]:
    """What of a campaign that was stopped is not in its saved states."""
    corpus = {path.stem for path in root.glob("corpus/[!.]*.json")}
    saved: set[str] = set()
    for path in root.glob("workers/*/state.json"):
        state = json.loads(path.read_text())
        saved |= {case for case, _ in state["entries"]} | set(state["superseded"])
    torn = [str(path) for path in root.rglob(".tmp-*")]
    return [f"not in a state: {sorted(corpus - saved)}"] * bool(corpus - saved) + [f"torn: {torn}"] * bool(torn)


def files(root: Path) -> set[str]:
    """Corpus entries and findings."""
    return {
        str(path.relative_to(root)) for glob in ("corpus/[!.]*.json", "findings/[a-z]*") for path in root.glob(glob)
    }


def unsaved_seconds(root: Path) -> float:
    """How many seconds of finished iterations of a worker no saved state has: what its last event is younger by.

    Events are held back for a second at most.
    """
    ages = [0.0]
    for path in root.glob("workers/*/state.json"):
        ages.append(path.with_name("events.jsonl").stat().st_mtime - path.stat().st_mtime + 1.0)
    return max(ages)


def iterations(root: Path) -> int:
    return sum(json.loads(path.read_text())["iterations"] for path in root.glob("workers/*/state.json"))


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def until(look: Callable[[], list[psutil.Process]], seconds: float) -> list[psutil.Process]:
    """What `look` finds once it finds something; [] after so many seconds."""
    deadline = time.monotonic() + seconds
    while not (found := look()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def wait_for(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            sys.exit("the campaign does not begin")
        time.sleep(0.1)


if __name__ == "__main__":
    main()
