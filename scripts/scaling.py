"""Compare the workers of one campaign with as many campaigns of one worker, each held to a core, alternating.

    python scripts/scaling.py [--jobs 4] [--rounds 5] [--iterations 300] [-- OPTIONS OF FUZZ]

`together` is `tzerlike fuzz --jobs N`. `apart` are N simultaneous campaigns, of which the k-th takes the seeds, the
random draws and the iterations of worker k: the same cases, except for the exchange between workers. With `-- --corpus
DIR` the cases are those of a corpus, the same in both. A worker's rate is its pairs divided by the seconds that it ran;
starting TVM does not count. The CPU time of a pair is that of all processes, minus that of campaigns of one iteration
per worker: a busy machine changes it little. The memory is the private memory (USS) of a worker or its runner.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil
from processor import take_in_orphans

from tzerlike.campaign import supervisor
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.shard import Part, Shard
from tzerlike.campaign.state import WorkerState, read_state
from tzerlike.cli.main import main as tzerlike

_LOOK_EVERY = 2.0


def alone(number: int, total: int, order: Sequence[str]) -> None:
    """Be a campaign of one worker that does what worker `number` of `total` does."""

    class One(Part):
        numbers = property(lambda self: range(number, number + 1))  # type: ignore[assignment]
        shards = property(lambda self: (Shard(0, total, first=number),))  # type: ignore[assignment]

    supervisor.Part = One  # type: ignore[misc]
    sys.argv = ["tzerlike", *order]
    tzerlike()


def own_memory(process: psutil.Popen) -> Iterator[float]:
    """Yield the megabytes that no other process has of each worker and each runner, without the case it has at work."""
    with contextlib.suppress(psutil.Error):
        for zygote in process.children():
            for post in zygote.children():
                yield post.memory_full_info().uss / 1e6


def finish(orders: Sequence[Sequence[str]], own: list[float]) -> float:
    """Run campaigns at once; returns the processor time of all of their processes, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    processes = [psutil.Popen(order, stdout=subprocess.DEVNULL) for order in orders]
    while any(process.poll() is None for process in processes):
        time.sleep(_LOOK_EVERY)
        own += [size for process in processes for size in own_memory(process)]
    if any(process.returncode for process in processes):
        raise SystemExit("a campaign failed")
    # What outlived its parent came to this process, which has to wait for it: else its time is nobody's.
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rate(states: Sequence[WorkerState]) -> float:
    """Pairs a second of all workers."""
    return sum(state.pairs / state.elapsed for state in states)


@dataclass(frozen=True)
class Plan:
    """Commands that run at once, and where the states of their workers lie then."""

    orders: list[list[str]]
    states: list[Path]


def together(out: Path, jobs: int, common: Sequence[str]) -> Plan:
    place = CampaignDir(out / "together")
    order = [sys.executable, "-m", "tzerlike", "fuzz", "--jobs", str(jobs), "--out", str(place.root), *common]
    return Plan([order], [place.worker_state(k) for k in range(jobs)])


def apart(out: Path, cores: Sequence[int], common: Sequence[str]) -> Plan:
    orders, states = [], []
    for k, core in enumerate(cores):
        place = CampaignDir(out / f"apart-{k}")
        script = ["taskset", "-c", str(core), sys.executable, __file__, "alone", str(k), str(len(cores))]
        orders.append([*script, "--", "fuzz", "--jobs", "1", "--out", str(place.root), *common])
        states.append(place.worker_state(k))
    return Plan(orders, states)


def plans(directory: Path, cores: Sequence[int], common: Sequence[str]) -> dict[str, Plan]:
    return {"together": together(directory, len(cores), common), "apart": apart(directory, cores, common)}


def main() -> None:
    arguments, options = sys.argv[1:], []
    if "--" in arguments:
        place = arguments.index("--")
        arguments, options = arguments[:place], arguments[place + 1 :]
    if arguments[:1] == ["alone"]:
        alone(int(arguments[1]), int(arguments[2]), options)
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=300, help="of each worker")
    asked = parser.parse_args(arguments)
    cores = sorted(os.sched_getaffinity(0))[: asked.jobs]
    take_in_orphans()
    ratios: list[float] = []
    costs: dict[str, list[float]] = {"together": [], "apart": []}
    stages: dict[str, Counter[str]] = {"together": Counter(), "apart": Counter()}
    own: list[float] = []
    starts: dict[str, float] = {}
    for seed in (0, 0, *range(1, asked.rounds + 1)):
        # The first round fills the cache of seeds, the second is for what a start costs.
        iterations = asked.jobs * (asked.iterations if seed else 1)
        common = ["--ui", "none", "--seed", str(seed), *options, "--budget", "1d", "--iterations", str(iterations)]
        with tempfile.TemporaryDirectory() as directory:
            load = os.getloadavg()[0]
            run = plans(Path(directory), cores, common)
            # Which goes first changes from round to round: the machine may get slower or faster meanwhile.
            spent = {name: finish(run[name].orders, own) for name in sorted(run, reverse=bool(seed % 2))}
            states = {name: [read_state(path) for path in plan.states] for name, plan in run.items()}
        if not seed:
            starts = spent
            continue
        rates = {name: rate(each) for name, each in states.items()}
        pairs = {name: sum(state.pairs for state in each) for name, each in states.items()}
        ratios.append(rates["together"] / rates["apart"])
        for name, each in costs.items():
            for state in states[name]:
                stages[name].update(state.seconds)
            each.append(1e3 * (spent[name] - starts[name]) / pairs[name])
        said = [f"{name} {pairs[name]} pairs, {rates[name]:.1f} a second, {costs[name][-1]:.1f} ms" for name in costs]
        print(f"seed {seed}, load {load:.1f}: {'; '.join(said)}; {ratios[-1]:.1%} of the pairs a second", flush=True)
    spread = f"{min(ratios):.1%} to {max(ratios):.1%}"
    print(f"--jobs {asked.jobs}: {median(ratios):.1%} of the pairs a second of as many alone ({spread})")
    cheaper = [ours / theirs for ours, theirs in zip(costs["together"], costs["apart"], strict=True)]
    print(f"processor time a pair: {median(cheaper):.1%} of theirs ({min(cheaper):.1%} to {max(cheaper):.1%})")
    for name, each in stages.items():
        whole = sum(each.values())
        shares = (f"{stage} {part / whole:.1%}" for stage, part in each.most_common() if part / whole > 0.01)
        print(f"{name}: {', '.join(shares)}")
    print(f"memory of their own: {median(own):.0f} MB, at most {max(own):.0f} MB")


if __name__ == "__main__":
    main()
