"""What a cluster's campaign loses: four Ray nodes on this machine, one of which is killed again and again.

    python scripts/cluster_kills.py --out DIRECTORY --kills 10

Before that, one node is cut off for a minute, the coordinator is killed, and so is the command itself, which is
resumed. Each time the script prints how long the shard took to continue elsewhere, and what would be lost with the
machine's disk: the age, at the time of the kill, of its oldest case or bundle that the campaign lacks a second later.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import psutil
from ray.cluster_utils import Cluster

from tzerlike.campaign.directory import CampaignDir, finding_in_name, signature_in_name
from tzerlike.campaign.state import read_state

NODES = 4
LAUNCHER = "tzerlike.campaign.cluster.launcher"
CUT_OFF = 60.0


class Trial:
    """A campaign on a cluster, and what can happen to it."""

    def __init__(self, out: Path, seed: int) -> None:
        self.out = out
        self.rng = Random(seed)
        self.directory = CampaignDir(out / "campaign")
        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        self.nodes: list[Any] = []
        for _ in range(NODES):
            self.add()
        self.command = self.start("--nodes", str(NODES), "--jobs", "1", "--seed", str(seed), "--budget", "3h")

    def add(self) -> None:
        """Have another node; on a busy machine Ray gives up now and then."""
        for _ in range(10):
            with contextlib.suppress(Exception):
                self.nodes.append(self.cluster.add_node(num_cpus=1))
                return
        raise TimeoutError

    def start(self, *options: str) -> subprocess.Popen[bytes]:
        words = [
            "fuzz",
            "--cluster",
            self.cluster.address,
            "--out",
            str(self.directory.root),
            "--ui",
            "plain",
            *options,
        ]
        log = (self.out / "log").open("ab")
        return subprocess.Popen([sys.executable, "-m", "tzerlike", *words], stdout=log, stderr=log)

    def mirrors(self, part: int) -> list[Path]:
        return sorted(self.out.glob(f"tzerlike-{part + 1}-*"), key=lambda path: path.stat().st_ctime)

    def at_work(self, part: int, but: Collection[Path] = ()) -> bool:
        """Whether a machine has done an iteration of the part, in another mirror than these."""
        for mirror in self.mirrors(part):
            state = CampaignDir(mirror).worker_state(part)
            with contextlib.suppress(OSError):
                if mirror not in but and state.exists() and read_state(state).iterations > self.known(part):
                    return True
        return False

    def known(self, part: int) -> int:
        """The iterations of a part that the campaign knows of."""
        path = self.directory.worker_state(part)
        return read_state(path).iterations if path.exists() else 0

    def all_at_work(self) -> bool:
        return all(self.known(part) > 0 for part in range(NODES)) and len(self.idle()) == 0

    def idle(self) -> list[int]:
        """The parts of which no process is at work."""
        idle = []
        for part in range(NODES):
            try:
                self.launcher(part)
            except LookupError:
                idle.append(part)
        return idle

    def node_of(self, part: int) -> Any:
        """The node that has a part."""
        process = self.launcher(part)
        above = {process.pid, *(one.pid for one in process.parents())}
        return next(node for node in self.nodes if raylet(node) in above)

    def launcher(self, part: int) -> psutil.Process:
        for one in psutil.process_iter(["cmdline"]):
            words = one.info["cmdline"] or []
            if LAUNCHER in words and words[-1] == f"{part + 1}/{NODES}" and str(self.out) in words[-2]:
                return one
        raise LookupError(part)

    def lost(self, brought: Mapping[str, float], at: float) -> str:
        """What the campaign lacks of what a machine had brought by a moment."""
        have = set(self.directory.corpus_ids()) | set(map(signature_in_name, self.directory.bundles()))
        ages = [at - when for name, when in brought.items() if name not in have and when < at]
        return f"{len(ages)} lost of {len(brought)}, the oldest {max(ages, default=0.0):.1f} s old"

    def kill_a_node(self) -> str:
        part = self.rng.randrange(NODES)
        node = self.node_of(part)
        before = set(self.mirrors(part))
        mirror = self.mirrors(part)[-1]
        self.add()
        time.sleep(self.rng.uniform(0, 20))
        at = time.time()
        for one in tree(raylet(node)):
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        there = brought(mirror)
        time.sleep(1)
        unsent = self.lost(there, at)
        self.nodes.remove(node)
        self.cluster.remove_node(node, allow_graceful=False)
        until(lambda: bool(set(self.mirrors(part)) - before))
        joined = time.time() - at
        until(lambda: self.at_work(part, before))
        works = time.time() - at
        return f"part {part + 1}: joined after {joined:5.1f} s, at work after {works:5.1f} s; {unsent}"

    def cut_off_a_node(self) -> str:
        part = self.rng.randrange(NODES)
        node = self.node_of(part)
        before = set(self.mirrors(part))
        mirror = self.mirrors(part)[-1]
        self.add()
        fuzzing = {one.pid for one in tree(self.launcher(part).pid)}
        carrying = [one for one in tree(raylet(node)) if one.pid not in fuzzing]
        at = time.time()
        for one in carrying:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.suspend()
        until(lambda: self.at_work(part, before))
        works = time.time() - at
        time.sleep(max(0.0, CUT_OFF - works))
        back, there = time.time(), brought(mirror)
        for one in carrying:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.resume()
        with contextlib.suppress(psutil.TimeoutExpired):
            psutil.Process(raylet(node)).wait(60)
        self.nodes.remove(node)
        with contextlib.suppress(Exception):
            self.cluster.remove_node(node, allow_graceful=False)
        alone = self.lost(there, back)
        # The machine takes part again, as whoever looks after it would have it do.
        self.add()
        with contextlib.suppress(TimeoutError):
            until(lambda: not mirror.exists(), 120)
        home = time.time() - back
        lost = self.lost(there, back)
        return (
            f"part {part + 1}: at work elsewhere after {works:5.1f} s; when back {alone}; "
            f"sent {home:5.1f} s later: {lost}; idle {self.idle()}"
        )

    def kill_the_coordinator(self) -> str:
        at = time.time()
        actor = next(one for one in psutil.process_iter(["cmdline"]) if self._coordinates(one))
        actor.kill()
        until(lambda: self.directory.stats.stat().st_mtime > at + 1)
        books = time.time() - at
        heard = [self.directory.node(part) for part in range(NODES)]
        until(lambda: all(path.stat().st_mtime > at + 1 for path in heard))
        return f"books kept again after {books:5.1f} s, all parts heard after {time.time() - at:5.1f} s"

    def kill_the_command(self) -> str:
        before = [self.known(part) for part in range(NODES)]
        cases, bundles = set(self.directory.corpus_ids()), {path.name for path in self.directory.bundles()}
        old = {path for part in range(NODES) for path in self.mirrors(part)}
        self.command.kill()
        self.command.wait()
        at = time.time()
        self.command = self.start("--resume")
        until(lambda: all(self.at_work(part, old) for part in range(NODES)))
        works = time.time() - at
        kept = cases <= set(self.directory.corpus_ids()) and bundles <= {path.name for path in self.directory.bundles()}
        forward = all(self.known(part) >= count for part, count in enumerate(before))
        return f"all parts at work after {works:5.1f} s; everything kept: {kept and forward}"

    def end(self) -> str:
        self.command.send_signal(signal.SIGINT)
        status = self.command.wait(180)
        twice = [one for one, n in Counter(map(finding_in_name, self.directory.bundles())).items() if n > 1]
        states = [self.known(part) for part in range(NODES)]
        self.cluster.shutdown()
        size = len(self.directory.corpus_ids())
        return f"status {status}; {sum(states)} iterations, {size} cases, bundled twice: {twice or 'nothing'}"

    def _coordinates(self, process: psutil.Process) -> bool:
        if "CoordinatorActor" not in " ".join(process.info["cmdline"] or ()):
            return False
        held = str(self.directory.root / ".coordinator")
        return any(file.path == held for file in process.open_files())


def brought(mirror: Path) -> dict[str, float]:
    """When each case and bundle of a mirror was written."""
    there = CampaignDir(mirror)
    paths = {path.stem: path for path in there.corpus.glob("*.json")}
    paths |= {signature_in_name(path): path for path in there.bundles()}
    return {name: path.stat().st_mtime for name, path in paths.items()}


def raylet(node: Any) -> int:
    return int(node.all_processes["raylet"][0].process.pid)


def tree(pid: int) -> Iterator[psutil.Process]:
    """A process and all below it, as they are at this moment."""
    root = psutil.Process(pid)
    return iter([root, *root.children(recursive=True)])


def until(condition: Callable[[], bool], seconds: float = 900) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="a new directory, with a short path")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--others", action=argparse.BooleanOptionalAction, default=True, help="what comes before them")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    given.out.mkdir(parents=True)
    # Mirrors lie where the nodes' temporary files do; and this machine may have other things to do as well, to which
    # Ray would leave its cores.
    os.environ.update({"TMPDIR": str(given.out.resolve()), "RAY_worker_niceness": "0"})  # noqa: TID251
    trial = Trial(given.out.resolve(), given.seed)
    steps = [("node killed", trial.kill_a_node)] * given.kills
    if given.others:
        others = [("node cut off", trial.cut_off_a_node), ("coordinator killed", trial.kill_the_coordinator)]
        steps = [*others, ("command killed", trial.kill_the_command), *steps]
    try:
        until(trial.all_at_work, 600)
        for what, happen in steps:
            print(f"load {os.getloadavg()[0]:4.1f}  {what:18} {happen()}", flush=True)
            until(trial.all_at_work)
        print(trial.end(), flush=True)
    finally:
        with contextlib.suppress(Exception):
            trial.command.kill()
        trial.cluster.shutdown()


if __name__ == "__main__":
    main()
