"""The cost of judging equal programs: CPU time per pair, with different sets of oracles.

    python scripts/equal_pairs.py CAMPAIGN [--pairs 640] [--rounds 2] [--oracles crash] [--oracles crash,roundtrip]

The pairs are those that CAMPAIGN would try next: mutants of its corpus, proposed once. Each set of oracles then judges
all of them, in batches as in a campaign, alternating with the others. Nothing is confirmed, reduced or written, since
these are costs of a finding, and the same signature costs once. There is no coverage; one pair in 25 counts as new, as
after an hour. CPU time is that of the worker, its runner and all children; stages within a case are measured in
wall-clock time, so on a busy machine they are only useful as shares.
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import socket
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from tzerlike.campaign.corpus import Entry
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.loop import Fuzzer, Hooks, Search, Trial
from tzerlike.campaign.state import read_pool, read_state
from tzerlike.cli.roles import JOBS, run_case
from tzerlike.core.case import Case, content_hash
from tzerlike.core.config import CampaignConfig
from tzerlike.core.effort import COMPILE_ONLY, Check
from tzerlike.core.errors import UserError
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation
from tzerlike.core.rng import rng_for
from tzerlike.coverage import NoCoverage
from tzerlike.execution.executor import ForkExecutor
from tzerlike.execution.warm_up import warm_up
from tzerlike.findings.defining import CANDIDATES, DEFINING_SHARE, defined_finding, doubtful, what_failed
from tzerlike.harnesses.tir.harness import HARNESS
from tzerlike.oracles import ORACLES, effort_for, judged, make_oracles, probes_for
from tzerlike.oracles.examiner import Made, ask_for, examiner_of
from tzerlike.oracles.protocol import Probe
from tzerlike.processes.caller import whole_environment, zygote_environment
from tzerlike.processes.channel import Channel
from tzerlike.processes.lane import Lane
from tzerlike.processes.runner import serve_runner

BATCH = 16
ONE_IN_NEW = 25
"""Of how many pairs one brings coverage: of the 54,391 iterations of an hour 4 % did."""

ALL = tuple(name for name, oracle in ORACLES.items() if oracle.harness in ("", "tir"))
TICK = os.sysconf("SC_CLK_TCK")


class Judging:
    """A worker with a runner of its own."""

    def __init__(self, oracles: Sequence[str], lane: Lane) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            # As in a zygote.
            gc.disable()
            ours.close()
            serve_runner(lane, theirs)
        theirs.close()
        effort = effort_for(oracles) if oracles else COMPILE_ONLY
        self.executor = ForkExecutor(lane, ours, Limits(), effort)
        self.judges, self.probes = make_oracles(oracles), probes_for(oracles)
        self.signatures: set[str] = set()
        self.executor.settled = lambda case, seen: all(f.signature in self.signatures for f in self._found(case, seen))
        self.costs: defaultdict[str, float] = defaultdict(float)
        self.stages: defaultdict[str, float] = defaultdict(float)
        self.words: Counter[str] = Counter()

    def _found(self, case: Case, seen: Observation) -> list[Finding]:
        return judged(self.judges, case, seen)

    def spent(self) -> float:
        """Seconds of processor time of all of these processes that have ended, and of this one."""
        for _ in range(2):
            # The runner reaps a child once the next one has its order.
            self.executor.call("nothing", {})
            time.sleep(0.05)
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return time.process_time() + sum(map(int, fields[11:15])) / TICK

    def timed(self, name: str, step: Callable[[], None]) -> None:
        before = self.spent()
        step()
        self.costs[name] += self.spent() - before

    def judge(self, trials: Sequence[Trial]) -> None:
        observations: list[Observation] = []

        def run() -> None:
            for start in range(0, len(trials), BATCH):
                batch = [trial.case for trial in trials[start : start + BATCH]]
                for case, seen in zip(batch, self.executor.run(batch), strict=True):
                    observations.append(seen)
                    self.signatures |= {finding.signature for finding in self._found(case, seen)}
                    self._add(seen.seconds)
                    self.words[seen.exit.value] += 1

        if Check.RESULTS in self.executor.effort.checks:
            self._learn_of(trials)
        self.timed("cases", run)
        self._add(self.executor.overhead)
        for probe in self.probes:
            self.timed(probe.label, partial(self._examine, probe, trials, observations))
        if Check.REJECTIONS in self.executor.effort.checks:
            self.timed("define", partial(self._define, trials, observations))

    def _add(self, seconds: Mapping[str, float]) -> None:
        for stage, spent in seconds.items():
            self.stages[stage] += spent

    def _learn_of(self, trials: Sequence[Trial]) -> None:
        """What a campaign knows of the entries from when they came into its corpus."""
        for trial in trials:
            known = trial.mutation is None or not trial.mutation.mutator.startswith("schedule")
            if not known and trial.parent is not None and trial.entry is not None and not trial.entry.computes:
                trial.entry.computes = self.executor.run([trial.parent], count=False)[0].computes

    def _examine(self, probe: Probe, trials: Sequence[Trial], observations: Sequence[Observation]) -> None:
        examiner = examiner_of(probe)
        ask = ask_for(probe, self.executor.call)
        for number, (trial, seen) in enumerate(zip(trials, observations, strict=True)):
            new = seen.exit is Exit.OK and number % ONE_IN_NEW == 0
            rng = partial(rng_for, 0, 0, number)
            made = Made(trial.case, new, trial.parent, trial.mutation, rng, trial.is_alike(seen))
            if examiner.wants(made):
                look = examiner.look(ask, made)
                self.words[f"{probe.label}: {look.word or len(look.findings)}"] += 1

    def _define(self, trials: Sequence[Trial], observations: Sequence[Observation]) -> None:
        doubts: set[tuple[str, ...]] = set()
        tried = 0
        for number, (trial, seen) in enumerate(zip(trials, observations, strict=True)):
            if doubtful(seen) and what_failed(seen) not in doubts and tried <= number * DEFINING_SHARE:
                doubts.add(what_failed(seen))
                tried += defined_finding(trial.case, seen, self.executor, HARNESS, self.judges)[1]
        self.words["define: tried"] += tried
        assert tried <= len(trials) * DEFINING_SHARE + CANDIDATES

    def close(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def proposed(directory: CampaignDir, count: int, lane: Lane) -> list[Trial]:
    """What the campaign would try next."""
    config = CampaignConfig.from_toml(directory.config)
    judging = Judging((), lane)
    search = Search(
        config.seed, 0, config.n_max, config.pass_mode, config.mutator_choice, HARNESS.entry_choice, config.case_target
    )
    try:
        tally, pool = read_state(directory.worker_state(0)), read_pool(directory.worker_pool(0))
    except UserError as error:
        sys.exit(str(error))
    pairs = HARNESS.pairs(config, judging.executor)
    pairs.learn(tally.pass_yields())
    fuzzer = Fuzzer(search, judging.executor, pairs, (), Hooks(lane.channel), [], tally=tally)
    rows = zip(pool.entries, pool.yields, strict=True)
    known = {case_id: (n, tried, won) for (case_id, n), (tried, won) in rows}
    for case_id in directory.corpus_ids():
        stored, (n, tried, won) = directory.load_case(case_id), known.get(case_id, (0, 0, 0))
        fuzzer.corpus.add(Entry(stored.case, stored.provenance, n, tried=tried, won=won))
    trials: list[Trial] = []
    number = tally.iterations
    before = judging.spent()
    while len(trials) < count:
        trial = fuzzer.propose(number)
        trials += [] if trial is None else [trial]
        number += 1
    spent = judging.spent() - before
    judging.close()
    digest = content_hash(" ".join(trial.case.id for trial in trials))[:12]
    print(f"{count} pairs ({digest}), {1e3 * spent / count:.1f} ms of processor time to propose one", flush=True)
    return trials


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("campaign", type=Path)
    parser.add_argument("--pairs", type=int, default=640)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--oracles", action="append", default=[])
    asked = parser.parse_args()
    if sys.flags.hash_randomization:
        # What a zygote has; a child of a process with threads may hang.
        os.execve(sys.executable, [sys.executable, *sys.argv], whole_environment() | zygote_environment())
    prelude = warm_up(Channel())
    lane = Lane.prepare(0, NoCoverage(), run_case, {**JOBS, "nothing": lambda item, channel, seconds: None}, prelude)
    gc.collect()
    gc.freeze()
    trials = proposed(CampaignDir(asked.campaign.resolve()), asked.pairs, lane)
    sets = [tuple(names.split(",")) for names in asked.oracles] or [("crash",), ALL]
    costs: dict[tuple[str, ...], list[float]] = {names: [] for names in sets}
    for turn in range(asked.rounds):
        for names in sets[:: 1 if turn % 2 == 0 else -1]:
            judging = Judging(names, lane)
            judging.judge(trials)
            judging.close()
            a_pair = 1e3 / len(trials)
            costs[names].append(sum(judging.costs.values()) * a_pair)
            parts = ", ".join(f"{name} {spent * a_pair:.1f}" for name, spent in judging.costs.items())
            print(f"{len(names)} oracles: {costs[names][-1]:.1f} ms a pair: {parts}")
            print("  by the clock:", ", ".join(f"{n} {s * a_pair:.1f}" for n, s in judging.stages.items()))
            print("  ", dict(judging.words.most_common()), flush=True)
    first = min(costs[sets[0]])
    for names, each in costs.items():
        whole = ", ".join(f"{cost:.1f}" for cost in each)
        print(f"{','.join(names)}: {whole} ms a pair; {min(each) / first:.2f} times the first")


if __name__ == "__main__":
    main()
