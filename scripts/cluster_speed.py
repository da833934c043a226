"""Pairs and blocks of a cluster of four nodes on this machine, and of as many local workers, in turn.

    python scripts/cluster_speed.py --out DIRECTORY --seconds 60 --rounds 3

The nodes are Ray's, of one core each. Both have the same seed and options; medians at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from ray.cluster_utils import Cluster

WORKERS = 4


def campaign(out: Path, *options: str) -> tuple[int, int]:
    """Pairs and blocks of a campaign."""
    words = [sys.executable, "-m", "tzerlike", "fuzz", "--out", str(out), "--ui", "none", *options]
    subprocess.run(words, check=True)
    stats = json.loads((out / "stats.json").read_text())
    return stats["pairs"], stats["coverage"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="a new directory")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    given.out.mkdir(parents=True)
    # Ray would leave the cores to whatever else this machine does.
    os.environ.update({"RAY_worker_niceness": "0"})  # noqa: TID251
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for _ in range(WORKERS):
        cluster.add_node(num_cpus=1)
    kinds = {
        "local": ("--jobs", str(WORKERS)),
        "cluster": ("--cluster", cluster.address, "--nodes", str(WORKERS), "--jobs", "1"),
    }
    seen: dict[str, list[tuple[int, int]]] = {kind: [] for kind in kinds}
    try:
        for turn in range(given.rounds):
            for kind, options in kinds.items():
                before = os.getloadavg()[0]
                budget = ("--budget", str(given.seconds), "--seed", str(turn + 1))
                pairs, blocks = campaign(given.out / f"{kind}-{turn}", *budget, *options)
                seen[kind].append((pairs, blocks))
                load = f"{before:4.1f} to {os.getloadavg()[0]:4.1f}"
                print(f"{kind:8} {pairs:6} pairs {blocks:7} blocks, load {load}", flush=True)
    finally:
        cluster.shutdown()
    medians = {kind: [statistics.median(column) for column in zip(*rows, strict=True)] for kind, rows in seen.items()}
    pairs, blocks = (there / here for there, here in zip(medians["cluster"], medians["local"], strict=True))
    print(f"cluster to local: {pairs:.2f} of the pairs, {blocks:.3f} of the blocks")


if __name__ == "__main__":
    main()
