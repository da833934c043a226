"""A worker of an arithmetic campaign that also has claims proved: refuted ones become findings."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from tzerlike.arith.claims import Claim
from tzerlike.arith.model import Problem
from tzerlike.arith.proof.client import ProofClient
from tzerlike.arith.suspicions import SuspicionQueue
from tzerlike.arith.worker import ArithWorker
from tzerlike.findings.faults.bundle import Occasion

_PROVED = 40
"""Problems of a batch whose claims are to be proved: a second or so."""


class ProvingWorker(ArithWorker):
    """Scans as any does, and takes some problems of each batch to a prover."""

    _prover: ProofClient | None = None

    def run(self) -> None:
        try:
            super().run()
        finally:
            self._leave()

    def go_on(self) -> None:
        start = self.state.iterations
        super().go_on()
        if not self.budget.over:
            self.faults.keep(partial(self.prove, start, self.state.iterations - start), "prove", Occasion(start))

    def prove(self, start: int, count: int) -> None:
        """Have the claims about some problems from `start` on decided, and look into those that are refuted."""
        began = time.perf_counter()
        step = max(1, count // _PROVED)
        # An odd step has odd and even problems take turns: the odd ones are asked about without ranges.
        iterations = list(range(start, start + count, step | 1))
        item = {"seed": self.config.seed, "worker": self.number, "iterations": iterations}
        records, _ = self.executor.attempt("arith-claims", item)
        for record in records:
            if self.budget.over:
                break
            self.notes.beat(record["iteration"], "prove")
            self._decide(record)
        self.state.seconds["prove"] += time.perf_counter() - began

    def _decide(self, record: Mapping[str, Any]) -> None:
        problem, claim = Problem.from_json(record["problem"]), msgspec.convert(record["claim"], Claim)
        try:
            if self._prover is None:
                self._prover = ProofClient(rules=self._rules)
            answer = self._prover.decide(problem, claim)
        except RuntimeError:
            self._leave()
            raise
        self.state.proofs[answer.kind] += 1
        if answer.wrong is not None:
            tried = problem.trying(answer.wrong.assignment)
            hint = f"{record['check']} {' '.join(root.op for root in problem.roots)} refuted"
            suspicion = {**record, "problem": tried.to_json(), "hint": hint}
            self.suspect(suspicion, SuspicionQueue(self.executor, [suspicion], self.state.hints))

    @property
    def _rules(self) -> str:
        return str((self.directory.worker(self.number) / "rules.json").absolute())

    def _leave(self) -> None:
        if self._prover is not None:
            self._prover.close()
            self._prover = None

    def _save(self) -> None:
        if self._prover is not None:
            summary = self._prover.write()
            self.state.proofs.update({name: summary[name] - self.state.proofs[name] for name in summary})
        super()._save()
