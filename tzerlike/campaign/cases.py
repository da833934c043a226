"""Harnesses whose programs are those of Cases: pairs of program and pass sequence, in the loop of `Fuzzer`."""

from __future__ import annotations

import socket
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tzerlike.campaign.loop import Import
from tzerlike.campaign.pairs import Pairs
from tzerlike.campaign.shard_worker import Assignment
from tzerlike.campaign.worker import Worker
from tzerlike.core.case import Case
from tzerlike.core.config import CampaignConfig
from tzerlike.core.effort import Check, Effort
from tzerlike.core.limits import Limits
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.answer import judged_answer
from tzerlike.findings.bundles.bundle import Bundle
from tzerlike.findings.programs import Programs
from tzerlike.findings.replay import load_bundle, oracles_of
from tzerlike.findings.retrial import retrial_of
from tzerlike.oracles import effort_for
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import Job, RunContext
from tzerlike.processes.lane import Lane


class CaseHarness(Programs):
    """A `tzerlike.campaign.harness.Harness` of such programs, as far as all of them are alike."""

    jobs: Mapping[str, Job] = MappingProxyType({})

    @abstractmethod
    def pairs(self, config: CampaignConfig, executor: ForkExecutor) -> Pairs:
        """Make the pairs of a worker."""

    @abstractmethod
    def seeds(self, source: str, target: str, cache: Path) -> tuple[list[Import], list[str]]:
        """Return the seeds of `--seeds` that fit the target, and what was wrong with those left out.

        UserError where there are none.
        """

    @abstractmethod
    def run_case(
        self, case: Case, channel: Channel, around: RunContext, effort: Effort, baseline_known: bool, /
    ) -> dict[str, Any]:
        """Take a case through its stages in a child (tzerlike.processes.job.RunCase)."""

    def prepare(self, params: Mapping[str, Any]) -> tuple[int, list[str]]:
        seeds, problems = self.seeds(params["seeds"], params["target"], Path(params["cache_dir"]))
        return len(seeds), problems

    def worker(self, assignment: Assignment, lane: Lane, runner: socket.socket, cache: Path | None) -> Worker:
        config = assignment.config
        seeds, problems = ([], []) if cache is None else self.seeds(config.seeds, config.target, cache)
        limits, effort = Limits(config.timeout, config.memory_limit), effort_for(config.oracles)
        executor = ForkExecutor(lane, runner, limits, effort)
        if Check.RESULTS in effort.checks and (problem := executor.devices.problem(config.case_target)):
            problems.append(problem)
        pairs = self.pairs(config, executor)
        worker = Worker(assignment, executor, pairs, self, seeds, lane.coverage, lane.channel)
        worker.state.problems += (problem for problem in problems if problem not in worker.state.problems)
        return worker

    def judge_again(self, bundle: Path, times: int, lane: Lane, runner: socket.socket) -> Iterator[dict[str, Any]]:
        kept = load_bundle(bundle)
        assert isinstance(kept, Bundle)
        case, inputs, oracles = kept.stored.case, str(kept.path / "inputs.npz"), oracles_of(kept)
        executor = ForkExecutor(lane, runner, kept.limits, effort_for(oracles, kept.baseline))
        self.require_fit(executor, case, inputs)
        retrial = retrial_of(kept, executor, oracles, self)
        for layout in range(times):
            # What is timed is left the heap of the campaign.
            look = retrial.look(case, 0 if kept.kind == "slow-code" else layout, inputs)
            yield judged_answer(look.findings, look.seen, look.word)
