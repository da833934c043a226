"""The arithmetic analyzer as a harness (tzerlike.campaign.harness)."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tzerlike.arith import batch
from tzerlike.arith.case import read_arith_case
from tzerlike.arith.checks import CHECKS
from tzerlike.arith.proof.client import PROOF, require_solver
from tzerlike.arith.proving import ProvingWorker
from tzerlike.arith.worker import ArithWorker, examine_in_child
from tzerlike.campaign.shard_worker import Assignment
from tzerlike.core.errors import UserError
from tzerlike.core.limits import Limits
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.answer import judged_answer
from tzerlike.findings.bundles.bundle import read_record
from tzerlike.processes.job import no_cases
from tzerlike.processes.lane import Lane


class ArithHarness:
    """Its programs are problems, which its worker makes and puts to TVM itself."""

    jobs = batch.JOBS
    run_case = staticmethod(no_cases)

    def prepare(self, params: Mapping[str, Any]) -> tuple[int, list[str]]:
        if PROOF in params["oracles"]:
            require_solver()
        return 0, []

    def worker(self, assignment: Assignment, lane: Lane, runner: socket.socket, cache: Path | None) -> ArithWorker:
        limits = Limits(assignment.config.timeout, assignment.config.memory_limit)
        kind = ProvingWorker if PROOF in assignment.config.oracles else ArithWorker
        return kind(assignment, ForkExecutor(lane, runner, limits), lane.channel)

    def judge_again(self, bundle: Path, times: int, lane: Lane, runner: socket.socket) -> Iterator[dict[str, Any]]:
        case, limits = read_arith_case(bundle / "case.json"), read_record(bundle).limits
        if case.check not in CHECKS:
            raise UserError(f"{bundle / 'case.json'}: no check {case.check!r}; there are {', '.join(CHECKS)}")
        executor = ForkExecutor(lane, runner, limits)
        for _ in range(times):
            examined = examine_in_child(executor, case.check, case.problem)
            yield judged_answer([] if examined.finding is None else [examined.finding], examined.seen)


HARNESS = ArithHarness()
