"""One worker of an arithmetic campaign: scans ranges of iterations in children, and bundles what holds up."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Protocol

from tzerlike.arith.batch import problem_of
from tzerlike.arith.bundle import write_arith_bundle
from tzerlike.arith.case import ArithCase
from tzerlike.arith.checks import CHECKS
from tzerlike.arith.finding import found_dead, observed, outcome_from_json
from tzerlike.arith.inspect import Outcome
from tzerlike.arith.model import Problem
from tzerlike.arith.reduce import reduce_by
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.events import EventLog
from tzerlike.campaign.shard import Interrupted, Shard
from tzerlike.campaign.stats import STATE, read_state
from tzerlike.core.config import CampaignConfig
from tzerlike.core.errors import Fault
from tzerlike.core.finding import Signed
from tzerlike.core.limits import Limits
from tzerlike.core.observation import NOBODYS, Exit, Observation
from tzerlike.core.storage import Room, write_atomic
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.bundles.bundle import Confirmation
from tzerlike.findings.faults.book import FaultBook
from tzerlike.findings.faults.bundle import Occasion
from tzerlike.findings.faults.culprit import lost_worker
from tzerlike.findings.faults.limit import limited
from tzerlike.findings.known import known_filter

BATCH = 2000
"""Iterations a child: a second or so."""

SAVE_EVERY = 2.0

_CONFIRMATIONS = 2
_HANG_FACTOR = 3.0
_DEATH_TRIES = 1500
_GROUP = 40

_ALWAYS = 4
_SELDOM = 64
"""Of the suspicions that look alike, the first so many are reduced, and then one in so many: a wrong rule that fires at
every hundredth expression would otherwise take up most of the time."""


@dataclass(frozen=True, slots=True)
class Examined:
    """What a child said of one problem: the outcome and the finding in it, or how the child died."""

    seen: Observation
    finding: Signed | None
    outcome: Outcome | None


def examine_in_child(executor: ForkExecutor, check: str, problem: Problem, limits: Limits | None = None) -> Examined:
    """Put one problem to one check in a fresh child."""
    records, death = executor.call("arith-examine", {"problem": problem.to_json(), "check": check}, limits)
    if death is not None:
        return Examined(death, None if death.exit in NOBODYS else found_dead(check, death), None)
    (record,) = records
    outcome = outcome_from_json(record["outcome"])
    finding = None if record["finding"] is None else Signed(record["finding"][0], tuple(record["finding"][1:]))
    return Examined(observed(check, outcome), finding, outcome)


class Notes(Protocol):
    """Told what a worker does; `tzerlike.processes.channel.Channel` is one."""

    def beat(self, iteration: int, doing: str) -> None: ...


class ArithWorker:
    """Runs one shard until the budget, the iterations or a signal end it, and saves what it has as it goes."""

    def __init__(
        self,
        number: int,
        config: CampaignConfig,
        directory: CampaignDir,
        executor: ForkExecutor,
        elapsed_before: float,
        notes: Notes,
        culprit: Mapping[str, Any] | None = None,
        tell_pause: Callable[[str], None] = lambda why: None,
    ) -> None:
        """`notes` is told what the worker does, and `culprit` is what the one before it was ended over, if it was."""
        self.number = number
        self.notes = notes
        self.culprit = culprit
        self.config = config
        self.directory = directory
        self.executor = executor
        self.shard = Shard(number, config, executor, elapsed_before)
        self.room = Room(self._waits, tell_pause)
        self.facts = directory.read_environment()
        self.saved = 0.0
        self.iterations = 0
        self.valid = 0
        self.exits: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()
        self.tried: Counter[str] = Counter()
        self.claimed: Counter[str] = Counter()
        self.suspected: Counter[str] = Counter()
        self.hints: Counter[str] = Counter()
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.findings: Counter[str] = Counter()
        self.unconfirmed: Counter[str] = Counter()
        self.signatures: set[str] = set()
        self.environment = self.facts
        self.faults = FaultBook(directory.faults, number, config, self.environment, self.room)
        self.known = known_filter(config.known, self.facts["tvm"])
        self.last_finding = ""
        self.events = EventLog(directory.worker(number))

    def run(self) -> None:
        """Scan until it is time to stop; everything is saved on the way out, whatever the reason."""
        self.shard.stop_on_request()
        self.restore()
        if self.culprit is not None:
            self.faults.note(*lost_worker(self.culprit))
            self.iterations = max(self.iterations, int(self.culprit["iteration"]) + 1)
        self.save()
        try:
            while not self.shard.done(self.iterations):
                quota = self.shard.quota
                left = BATCH if quota is None else min(BATCH, quota - self.iterations)
                with limited():
                    self._scanned(left)
                if time.monotonic() - self.saved > SAVE_EVERY:
                    self.save()
        except Interrupted:
            pass
        finally:
            self.save()

    def _waits(self) -> bool:
        """Give a sign of life while the disk is full; returns whether it is time to stop."""
        self.notes.beat(self.iterations, "wait for room on the disk")
        return self.shard.over

    def _scanned(self, count: int) -> None:
        """Scan the next `count` iterations; where a fault of ours keeps that from ending, lead on behind the first."""
        first = self.iterations
        self.faults.keep(partial(self.scan, first, count), "scan", Occasion(first))
        if self.iterations == first:
            self.iterations = first + 1

    def repeat(self, occasion: Occasion) -> None:
        """Do again the iteration that a fault came about in; whether it does is in the book of faults."""
        self.iterations = occasion.iteration
        self._scanned(1)

    def scan(self, start: int, count: int) -> None:
        """Take the iterations from `start` on, `count` of them or up to the first at which the child dies."""
        self.notes.beat(start, "scan")
        began = time.perf_counter()
        item = {"seed": self.config.seed, "worker": self.number, "start": start, "count": count}
        records, death = self.executor.attempt("arith-scan", item)
        self.seconds["run"] += time.perf_counter() - began
        waiting: list[Mapping[str, Any]] = []
        for record in records:
            if record["record"] == "suspicion":
                waiting.append(record)
                continue
            # A chunk is booked whole, so that what is saved meanwhile can be gone on from.
            for suspicion in waiting:
                self.notes.beat(suspicion["iteration"], "suspect")
                self.faults.keep(partial(self.suspect, suspicion), "suspect", Occasion(suspicion["iteration"]))
            waiting.clear()
            self.count(record)
        self.events.add({"t": round(self.shard.elapsed(), 3), "i": start, "n": self.iterations - start})
        if death is not None:
            self.died(death, start + count)

    def count(self, summary: Mapping[str, Any]) -> None:
        """Add a chunk's counts to the tallies."""
        self.iterations += summary["iterations"]
        self.valid += summary["valid"]
        self.exits[Exit.OK.value] += summary["iterations"]
        for name in ("tried", "claimed", "suspected", "rejected"):
            getattr(self, name).update(summary[name])

    def died(self, death: Observation, stop: int) -> None:
        """Repeat what the child took with it, bundle the death, and go on behind it."""
        if death.exit in NOBODYS:
            # Somebody killed it: whether a problem has a part in that, nobody knows.
            self.iterations += 1
            self.exits[death.exit.value] += 1
            return
        iteration, check = _place(death, self.iterations, stop)
        occasion = Occasion(iteration)
        while self.iterations < iteration:
            self.scan(self.iterations, iteration - self.iterations)
        if self.iterations > iteration:
            return
        self.iterations = iteration + 1
        self.exits[death.exit.value] += 1
        began = time.perf_counter()
        if death.exit is Exit.FAULT:
            self.faults.note(death.faults[-1], occasion)
        elif check not in CHECKS:
            where = f"{death.message}, in {death.pass_name!r}"
            self.faults.note(Fault("DiedOutsideOfChecks", ("arith/batch.py scan",), where), occasion)
        elif (finding := found_dead(check, death)).signature not in self.signatures:
            self.faults.keep(partial(self._bundle_death, check, iteration, finding), "bundle", occasion)
        self.seconds["oracle"] += time.perf_counter() - began

    def _bundle_death(self, check: str, iteration: int, finding: Signed) -> None:
        problem = problem_of(self.config.seed, self.number, iteration)
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
            self.unconfirmed[finding.kind] += 1
            return
        if finding.kind == "crash":
            problem = reduce_by(problem, first_to_die, _DEATH_TRIES)
        self.report(check, problem, iteration, limits)

    def suspect(self, record: Mapping[str, Any]) -> None:
        """Reduce and report a suspicion; of those that look alike, the first few and then one in many."""
        self.hints[record["hint"]] += 1
        seen = self.hints[record["hint"]]
        if seen > _ALWAYS and seen % _SELDOM:
            return
        began = time.perf_counter()
        problem = problem_of(self.config.seed, self.number, record["iteration"])
        item = {"problem": problem.to_json(), "check": record["check"]}
        records, death = self.executor.call("arith-reduce", item, self.executor.limits.relaxed(4.0))
        if death is None and records:
            (reduced,) = records
            smallest = Problem.from_json(reduced["problem"])
            kind, *parts = reduced["finding"]
            if Signed(kind, tuple(parts)).signature not in self.signatures:
                self.report(reduced["check"], smallest, record["iteration"], self.executor.limits)
        else:
            self.unconfirmed["died in reduction" if death is not None else "not total"] += 1
        self.seconds["oracle"] += time.perf_counter() - began

    def report(self, check: str, problem: Problem, iteration: int, limits: Limits) -> None:
        """Confirm what is wrong with a problem in fresh children and bundle it, once per signature."""
        first = examine_in_child(self.executor, check, problem, limits)
        finding = first.finding
        if finding is None:
            self.unconfirmed["vanished"] += 1
            return
        if finding.signature in self.signatures or self.known.hides(finding, first.seen.message):
            return
        again = [examine_in_child(self.executor, check, problem, limits).finding for _ in range(_CONFIRMATIONS)]
        confirmation = Confirmation.of(finding, again)
        if not confirmation.same:
            self.unconfirmed[finding.kind] += 1
            return
        self.signatures.add(finding.signature)
        environment = {**self.facts, "found_after_s": round(self.shard.elapsed(), 3)}
        path = self.room.keep(
            lambda: write_arith_bundle(
                self.directory.findings,
                finding,
                ArithCase(check, problem, self.config.seed, self.number, iteration),
                first.seen,
                first.outcome,
                limits,
                confirmation,
                environment,
            )
        )
        if path is not None:
            self.findings[finding.kind] += 1
            self.last_finding = path.name
            self.events.add({"t": round(self.shard.elapsed(), 3), "i": iteration, "finding": [finding.signature]})
        self.save()

    def restore(self) -> None:
        """Take up where an earlier run of this shard stopped."""
        self.signatures = {bundle.name.rpartition("-")[2] for bundle in self.directory.bundles()}
        path = self.directory.worker_state(self.number)
        if not path.exists():
            return
        state = read_state(path)
        self.iterations = state["iterations"]
        self.valid = state["valid"]
        for name in _COUNTERS:
            getattr(self, name).update(state[name])
        self.known.seen.update(state["known"])
        self.faults.restore(state)
        self.last_finding = state["last_finding"]

    def save(self) -> None:
        """Write the shard's state whole, and flush its events; waits while the disk is full."""
        self.room.keep(self._save)
        self.saved = time.monotonic()

    def _save(self) -> None:
        self.events.flush()
        state: dict[str, Any] = {
            "worker": self.number,
            "time": time.time(),
            "elapsed": self.shard.elapsed(),
            "iterations": self.iterations,
            "pairs": self.iterations,
            "valid": self.valid,
            "valuable": 0,
            "labels": {},
            "verdicts": {},
            "internal_errors": {},
            "mutators": {},
            "passes": {},
            "checks": {
                name: [self.tried[name], self.claimed[name], self.suspected[name]] for name in sorted(self.tried)
            },
            "known": self.known.seen,
            **self.faults.to_json(self.iterations),
            "last_finding": self.last_finding,
            "problems": [],
            "coverage": 0,
            "coverage_total": 0,
            "coverage_backend": "none",
            "pending": 0,
            **{name: dict(sorted(getattr(self, name).items())) for name in _COUNTERS},
        }
        write_atomic(self.directory.worker_state(self.number), json.dumps(STATE.stamped(state)))


_COUNTERS = ("exits", "rejected", "tried", "claimed", "suspected", "hints", "seconds", "findings", "unconfirmed")


def _place(death: Observation, first: int, stop: int) -> tuple[int, str]:
    """Return the iteration and the check that a dead child had noted, "" where it was in none of them.

    Where it noted nothing that can be, the iteration is the first of those that it may have been in.
    """
    iteration, _, check = death.pass_name.partition(" ")
    if not iteration.isdecimal() or not first <= int(iteration) < stop:
        return first, ""
    return int(iteration), check
