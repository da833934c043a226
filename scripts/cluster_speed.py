"""Pairs, blocks and CPU time of a cluster of four nodes on this machine, and of as many local workers, alternating.

    python scripts/cluster_speed.py --out DIRECTORY --seconds 600 --rounds 3
    python scripts/cluster_speed.py --out DIRECTORY --iterations 600 --rounds 3

The nodes are Ray's, of one core each. Both have the same seed and options; medians are printed at the end. CPU time
shows the cost of a cluster on a machine with other work; that of the cluster includes the command and all processes of
its nodes, working or idle.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import statistics
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
from ray.cluster_utils import Cluster

WORKERS = 4
LOOK_EVERY = 2.0
"""Seconds; ten looks a second took 15 % of a core from the cluster that they measured."""


class Nodes:
    """The processor time of everything below this process but the commands that it starts.

    A raylet does not wait for its children, so their time is nobody's once they have ended: each process of a raylet
    counts with what it and all below it had when last seen.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[int, float], float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def seconds(self) -> float:
        self._take()
        return sum(self._seen.values())

    def end(self) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(LOOK_EVERY):
            self._take()

    def _take(self) -> None:
        below: dict[int, list[psutil.Process]] = defaultdict(list)
        for one in psutil.process_iter(["ppid", "name", "cpu_times", "cmdline"]):
            below[one.info["ppid"]].append(one)

        def total(process: psutil.Process) -> float:
            took = process.info["cpu_times"]
            own = took.user + took.system + took.children_user + took.children_system
            return float(own + sum(map(total, below[process.pid])))

        for one in below[os.getpid()]:
            if "-m tzerlike fuzz" in " ".join(one.info["cmdline"] or ()):
                continue
            for process in below.pop(one.pid, []) if "raylet" in one.info["name"] else ():
                self._note(process, total(process))
            self._note(one, total(one))

    def _note(self, process: psutil.Process, seconds: float) -> None:
        with contextlib.suppress(psutil.Error):
            key = process.pid, process.create_time()
            self._seen[key] = max(seconds, self._seen.get(key, 0.0))


def campaign(out: Path, *options: str) -> tuple[int, int]:
    """Pairs and blocks of a campaign."""
    words = [sys.executable, "-m", "tzerlike", "fuzz", "--out", str(out), "--ui", "none", *options]
    subprocess.run(words, check=True)
    stats = json.loads((out / "stats.json").read_text())
    return stats["pairs"], stats["coverage"]


@contextlib.contextmanager
def cluster() -> Iterator[str]:
    """Within, four nodes; yields their address."""
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        for _ in range(WORKERS):
            nodes.add_node(num_cpus=1)
        yield nodes.address
    finally:
        nodes.shutdown()


def of_commands() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def local(out: Path, *options: str) -> tuple[int, int, float]:
    before = of_commands()
    pairs, blocks = campaign(out, "--jobs", str(WORKERS), *options)
    return pairs, blocks, of_commands() - before


def on_nodes(out: Path, *options: str) -> tuple[int, int, float]:
    with cluster() as address:
        nodes = Nodes()
        try:
            before = of_commands() + nodes.seconds()
            pairs, blocks = campaign(out, "--cluster", address, "--nodes", str(WORKERS), "--jobs", "1", *options)
            return pairs, blocks, of_commands() + nodes.seconds() - before
        finally:
            nodes.end()


KINDS: dict[str, Callable[..., tuple[int, int, float]]] = {"local": local, "cluster": on_nodes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="a new directory")
    until = parser.add_mutually_exclusive_group()
    until.add_argument("--seconds", type=int, default=60)
    until.add_argument("--iterations", type=int, default=0, help="in place of a time")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    given.out.mkdir(parents=True)
    # Ray would leave the cores to whatever else this machine does.
    os.environ.update({"RAY_worker_niceness": "0"})  # noqa: TID251
    end = ("--budget", "3h", "--iterations", str(given.iterations)) if given.iterations else ()
    end = end or ("--budget", str(given.seconds))
    seen: dict[str, list[tuple[float, ...]]] = {kind: [] for kind in KINDS}
    for turn in range(given.rounds):
        for kind, run in KINDS.items():
            before = os.getloadavg()[0]
            pairs, blocks, took = run(given.out / f"{kind}-{turn}", *end, "--seed", str(turn + 1))
            seen[kind].append((pairs, blocks, 1000 * took / pairs))
            load = f"{before:4.1f} to {os.getloadavg()[0]:4.1f}"
            print(
                f"{kind:8} {pairs:6} pairs {blocks:7} blocks, {took:7.1f} s of processor time, "
                f"{1000 * took / pairs:6.1f} ms a pair, load {load}",
                flush=True,
            )
    medians = {kind: [statistics.median(column) for column in zip(*rows, strict=True)] for kind, rows in seen.items()}
    pairs, blocks, cost = (there / here for there, here in zip(medians["cluster"], medians["local"], strict=True))
    print(f"cluster to local: {pairs:.2f} of the pairs, {blocks:.3f} of the blocks, {cost:.2f} of the time of a pair")


if __name__ == "__main__":
    main()
