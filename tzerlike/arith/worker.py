"""One worker of an arithmetic campaign: scans ranges of iterations in children, and bundles confirmed findings."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import msgspec

from tzerlike.arith.batch import problem_of
from tzerlike.arith.bundle import write_arith_bundle
from tzerlike.arith.case import ArithCase
from tzerlike.arith.checks import CHECKS
from tzerlike.arith.finding import found_dead, observed
from tzerlike.arith.inspect import AnalysisOutcome
from tzerlike.arith.model import Problem
from tzerlike.arith.reduce import reduce_by
from tzerlike.arith.suspicions import Suspicion, SuspicionQueue
from tzerlike.arith.tier import tier_of_problem
from tzerlike.campaign.shard_worker import ShardWorker
from tzerlike.campaign.state import Yield
from tzerlike.core.errors import Fault
from tzerlike.core.finding import FIRST_TIER, Signed
from tzerlike.core.limits import Limits
from tzerlike.core.observation import NOBODYS, Exit, Observation
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.bundles.bundle import Confirmation, read_record
from tzerlike.findings.faults.bundle import Occasion

BATCH = 2000
"""Iterations a child: a second or so."""

_CONFIRMATIONS = 2
_HANG_FACTOR = 3.0
_DEATH_TRIES = 1500
_GROUP = 40


@dataclass(frozen=True, slots=True)
class Examined:
    """What a child said of one problem: the outcome and the finding in it, or how the child died."""

    seen: Observation
    finding: Signed | None
    outcome: AnalysisOutcome | None


def examine_in_child(executor: ForkExecutor, check: str, problem: Problem, limits: Limits | None = None) -> Examined:
    """Put one problem to one check in a fresh child."""
    records, death = executor.call("arith-examine", {"problem": problem.to_json(), "check": check}, limits)
    if death is not None:
        return Examined(death, None if death.exit in NOBODYS else found_dead(check, death), None)
    (record,) = records
    outcome = msgspec.convert(record["outcome"], AnalysisOutcome)
    return Examined(observed(check, outcome), msgspec.convert(record["finding"], Signed | None), outcome)


class ArithWorker(ShardWorker):
    """Scans ranges of iterations in children, and bundles what holds up."""

    def go_on(self) -> None:
        first, quota = self.state.iterations, self.budget.quota
        count = BATCH if quota is None else min(BATCH, quota - first)
        # Where a fault of ours keeps that from ending, it leads on behind the first.
        self.contain(partial(self.scan, first, count), "scan")

    def repeat(self, occasion: Occasion) -> None:
        self.state.iterations = occasion.iteration
        self.contain(partial(self.scan, occasion.iteration, 1), "scan")

    def scan(self, start: int, count: int) -> None:
        """Take the iterations from `start` on, `count` of them or up to the first at which the child dies."""
        self.notes.beat(start, "scan")
        began = time.perf_counter()
        item = {"seed": self.config.seed, "worker": self.number, "start": start, "count": count}
        records, death = self.executor.attempt("arith-scan", item)
        self.state.seconds["run"] += time.perf_counter() - began
        suspicions = [record for record in records if record["record"] == "suspicion"]
        queue = SuspicionQueue(self.executor, suspicions, self.state.hints)
        waiting: list[Suspicion] = []
        for record in records:
            if record["record"] == "suspicion":
                waiting.append(record)
                continue
            # A chunk is booked whole, so that what is saved meanwhile can be gone on from.
            for suspicion in waiting:
                self.notes.beat(suspicion["iteration"], "suspect")
                self.faults.keep(partial(self.suspect, suspicion, queue), "suspect", Occasion(suspicion["iteration"]))
            waiting.clear()
            self.count(record)
        self.events.add({"t": round(self.budget.elapsed(), 3), "i": start, "n": self.state.iterations - start})
        if death is not None:
            self.died(death, start + count)

    def count(self, summary: Mapping[str, Any]) -> None:
        """Add a chunk's counts to the tallies."""
        self.state.iterations += summary["iterations"]
        self.state.valid += summary["valid"]
        self.state.exits[Exit.OK.value] += summary["iterations"]
        for name in ("tried", "claimed", "suspected", "rejected"):
            getattr(self.state, name).update(summary[name])

    def died(self, death: Observation, stop: int) -> None:
        """Repeat what the child took with it, bundle the death, and go on behind it."""
        if death.exit in NOBODYS:
            # Somebody killed it: whether a problem has a part in that, nobody knows.
            self.state.iterations += 1
            self.state.exits[death.exit.value] += 1
            return
        iteration, check = _place(death, self.state.iterations, stop)
        occasion = Occasion(iteration)
        while self.state.iterations < iteration:
            self.scan(self.state.iterations, iteration - self.state.iterations)
        if self.state.iterations > iteration:
            return
        self.state.iterations = iteration + 1
        self.state.exits[death.exit.value] += 1
        began = time.perf_counter()
        if death.exit is Exit.FAULT:
            self.faults.note(death.faults[-1], occasion)
        elif check not in CHECKS:
            where = f"{death.message}, in {death.pass_name!r}"
            self.faults.note(Fault("DiedOutsideOfChecks", ("arith/batch.py scan",), where), occasion)
        else:
            self.faults.keep(partial(self._bundle_death, check, iteration, death), "bundle", occasion)
        self.state.seconds["oracle"] += time.perf_counter() - began

    def _bundle_death(self, check: str, iteration: int, death: Observation) -> None:
        finding = found_dead(check, death)
        problem = problem_of(self.config.seed, self.number, iteration)
        if not self.is_new(finding, tier_of_problem(check, problem)):
            return
        limits = self.executor.limits.relaxed(_HANG_FACTOR) if finding.kind == "hang" else self.executor.limits

        def first_to_die(candidates: Iterator[Problem]) -> Problem | None:
            fitting = (candidate for candidate in candidates if CHECKS[check].applies(candidate))
            while group := list(islice(fitting, _GROUP)):
                while group:
                    item = {"check": check, "problems": [candidate.to_json() for candidate in group]}
                    survived, death = self.executor.call("arith-examine-in-turn", item, limits)
                    if death is None:
                        break
                    if found_dead(check, death).signature == finding.signature:
                        return group[len(survived)]
                    del group[: len(survived) + 1]
            return None

        if first_to_die(iter([problem])) is None:
            self.state.unconfirmed[finding.kind] += 1
            return
        if finding.kind == "crash":
            problem = reduce_by(problem, first_to_die, _DEATH_TRIES)
        self.report(check, problem, iteration, limits)

    def suspect(self, suspicion: Suspicion, queue: SuspicionQueue) -> None:
        """Report what a suspicion comes down to, if it is its turn."""
        self.state.hints[suspicion["hint"]] += 1
        if not queue.due(suspicion):
            return
        began = time.perf_counter()
        found, death = queue.of(suspicion)
        if found is not None:
            smallest = Problem.from_json(found["problem"])
            tier = tier_of_problem(found["check"], smallest)
            if self.is_new(msgspec.convert(found["finding"], Signed), tier):
                self.report(found["check"], smallest, suspicion["iteration"], self.executor.limits)
        else:
            self.state.unconfirmed["died in reduction" if death is not None else "not total"] += 1
        self.state.seconds["oracle"] += time.perf_counter() - began

    def is_new(self, finding: Signed, tier: int) -> bool:
        """Whether there is no bundle with this signature, or only such as are further from users."""
        signature = finding.signature
        return signature not in self.signatures or (tier == FIRST_TIER and tier not in self.tiers_of(signature))

    def tiers_of(self, signature: str) -> list[int]:
        """Return the tiers of the bundles with a signature, also those of other workers."""
        bundles = (path for path in self.directory.bundles() if path.name.endswith(f"-{signature}"))
        return [read_record(path).tier for path in bundles]

    def report(self, check: str, problem: Problem, iteration: int, limits: Limits) -> None:
        """Confirm what is wrong with a problem in fresh children and bundle it, once per signature, and where users may
        meet it."""
        first = examine_in_child(self.executor, check, problem, limits)
        finding = first.finding
        if finding is None:
            self.state.unconfirmed["vanished"] += 1
            return
        tier = tier_of_problem(check, problem)
        if not self.is_new(finding, tier) or self.known.hides(finding, first.seen.message):
            return
        again = [examine_in_child(self.executor, check, problem, limits).finding for _ in range(_CONFIRMATIONS)]
        confirmation = Confirmation.of(finding, again)
        if not confirmation.same:
            self.state.unconfirmed[finding.kind] += 1
            return
        self.signatures.add(finding.signature)
        others = self.tiers_of(finding.signature)
        if tier == FIRST_TIER and others and tier not in others:
            finding = replace(finding, apart=(f"tier {tier}",))
        path = self.room.keep(
            lambda: write_arith_bundle(
                self.directory.findings,
                finding,
                ArithCase(check, problem, self.config.seed, self.number, iteration),
                first.seen,
                first.outcome,
                limits,
                confirmation.with_tier(tier, None),
                self._found_now,
            )
        )
        self._count_bundle(finding.kind, path)
        if path is not None:
            self.events.add({"t": round(self.budget.elapsed(), 3), "i": iteration, "finding": [finding.signature]})
        self.save()

    def _save(self) -> None:
        state = self.state
        state.pairs = state.iterations
        state.checks = {
            name: Yield(state.tried[name], state.claimed[name], state.suspected[name]) for name in sorted(state.tried)
        }
        super()._save()


def _place(death: Observation, first: int, stop: int) -> tuple[int, str]:
    """Return the iteration and the check that a dead child had noted, "" where it was in none of them.

    Where it noted nothing that can be, the iteration is the first of those that it may have been in.
    """
    iteration, _, check = death.pass_name.partition(" ")
    if not iteration.isdecimal() or not first <= int(iteration) < stop:
        return first, ""
    return int(iteration), check
