"""One worker process: the fuzz loop on one shard of a campaign."""

from __future__ import annotations

import json
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tzerlike.campaign.corpora.carried import Carried
from tzerlike.campaign.corpus import Corpus, Entry
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.events import EventLog
from tzerlike.campaign.loop import (
    CHEAP_CODE_SHARE,
    CHEAP_CODE_SHARE_WITH_RESULTS,
    CORPUS_IMPORT,
    PASS_MUTATION,
    Fuzzer,
    Import,
    Notes,
    PassSource,
    Step,
    Trial,
    Yield,
)
from tzerlike.campaign.shard import Interrupted, Shard
from tzerlike.campaign.stats import STATE, read_state
from tzerlike.core.case import Case, ContextConfig, PassSpec, Provenance, print_sequence
from tzerlike.core.config import CampaignConfig
from tzerlike.core.effort import Check
from tzerlike.core.errors import Fault, StorageError, UserError, contained
from tzerlike.core.finding import Finding
from tzerlike.core.mutation import Mutation
from tzerlike.core.observation import Exit
from tzerlike.core.rng import rng_for
from tzerlike.core.storage import Room, write_atomic
from tzerlike.core.stored import StoredCase
from tzerlike.coverage import Coverage
from tzerlike.coverage.snapshot import Identity, snapshot_bytes
from tzerlike.execution.compare.evidence import evidence_for
from tzerlike.execution.cuda import memcheck
from tzerlike.execution.executor import ForkExecutor
from tzerlike.execution.rendering import rendered
from tzerlike.findings.bundles.compilation import bundle_compilation, bundle_plainly, confirmed, confirming_limits
from tzerlike.findings.bundles.mutation_crash import bundle_mutation
from tzerlike.findings.bundles.schedule import bundle_schedule, look_at
from tzerlike.findings.bundles.shorten import is_short, shortened
from tzerlike.findings.bundles.text import SHARE, bundle_text, look_at_text
from tzerlike.findings.faults.book import FaultBook
from tzerlike.findings.faults.bundle import Occasion
from tzerlike.findings.faults.culprit import lost_worker
from tzerlike.findings.faults.limit import limited
from tzerlike.findings.faults.mutation import fault_of_mutation
from tzerlike.findings.known import known_filter
from tzerlike.findings.refresh import refresh_report
from tzerlike.mutators import SCHEDULE, make_mutators
from tzerlike.oracles import judged, make_oracles
from tzerlike.passes.catalog import discover, instantiate
from tzerlike.passes.pipeline import default_pipeline
from tzerlike.passes.plan import PlannedSource
from tzerlike.passes.source import RandomSource
from tzerlike.tir.seeds.seed import Seed

SAVE_EVERY = 2.0
"""Seconds between two saves of a worker's state: a kill loses no more than that of the statistics."""

EXCHANGE_EVERY = 64
"""Iterations between two looks at what the other workers found."""

_TRIES_TO_SHORTEN = 4
"""How often an internal error that took a long sequence is looked at again, with another program."""


def _pass_source(config: CampaignConfig) -> PassSource:
    def pipeline_of(context: ContextConfig) -> tuple[PassSpec, ...]:
        return default_pipeline(config.case_target, context).passes

    return (RandomSource if config.pass_mode == "random" else PlannedSource)(discover(), pipeline_of)


def _check_passes(case: Case) -> None:
    """UserError when this TVM lacks a pass of the case, or one of its arguments."""
    for spec in case.passes:
        instantiate(spec)


def _origin_of(step: Step) -> dict[str, Any]:
    """What an event says of a case that was rejected, which is in no corpus: its label, and how to make it again.

    From the corpus entry `parent` by the mutator's draw number `draw`, or from a seed, with these passes and options.
    """
    if step.observation.exit is not Exit.REJECTED:
        return {}
    trial, case = step.trial, step.trial.case
    return {
        "label": step.label,
        "parent": trial.provenance.parent,
        "origin": trial.provenance.origin,
        "draw": None if trial.mutation is None else trial.mutation.draw,
        "passes": print_sequence(case.passes),
        "config": case.config.to_json(),
        "target": case.target,
        "input_seed": case.input_seed,
    }


@dataclass(frozen=True, slots=True)
class InHand:
    """A case with findings that are being confirmed; `tries` counts the workers that have begun to judge it again."""

    stored: StoredCase
    tries: int = 0

    def to_json(self) -> dict[str, Any]:
        return {**self.stored.to_json(), "tries": self.tries}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> InHand:
        """What a worker takes up that another one has left."""
        stored = StoredCase(Case.from_json(data["case"]), Provenance.from_json(data["provenance"]))
        return cls(stored, int(data["tries"]) + 1)


class Worker:
    """Runs one shard until the budget, the iterations or a signal end it, and saves what it has as it goes."""

    def __init__(
        self,
        number: int,
        config: CampaignConfig,
        directory: CampaignDir,
        seeds: list[Seed],
        executor: ForkExecutor,
        coverage: Coverage,
        elapsed_before: float,
        notes: Notes,
        culprit: Mapping[str, Any] | None = None,
        tell_pause: Callable[[str], None] = lambda why: None,
    ) -> None:
        self.number = number
        self.config = config
        self.directory = directory
        self.executor = executor
        self.coverage = coverage
        self.culprit = culprit
        self.shard = Shard(number, config, executor, elapsed_before)
        self.room = Room(self._waits, tell_pause)
        self.facts = directory.read_environment()
        self.saved = 0.0
        self.signatures: set[str] = set()
        self.findings: Counter[str] = Counter()
        self.unconfirmed: Counter[str] = Counter()
        self.long_orders: Counter[str] = Counter()
        self.superseded: list[str] = []
        self.seen_files: set[str] = set()
        self.problems: list[str] = []
        self.environment = {**self.facts, "oracles": list(config.oracles)}
        """What a bundle says of the campaign that it is from."""
        self.faults = FaultBook(directory.faults, number, config, self.environment, self.room)
        self.known = known_filter(config.known, self.facts["tvm"])
        self.carried: Carried | None = None
        self.carried_through = ""
        self.last_finding = ""
        self.in_hand: InHand | None = None
        self.looks_at_schedules = config.target == "llvm" and Check.SCHEDULES in executor.effort.checks
        self.notes = notes
        self.events = EventLog(directory.worker(number))
        # One order for all workers, so that each seed has one owner; shuffled, so that a short run sees all kinds.
        shuffled = list(seeds)
        rng_for(config.seed, "seed order").shuffle(shuffled)
        share = shuffled[number :: config.jobs]
        compares = Check.RESULTS in executor.effort.checks
        self.fuzzer = Fuzzer(
            seed=config.seed,
            worker=number,
            corpus=Corpus(),
            pending=[Import(seed) for seed in share],
            executor=executor,
            mutators=make_mutators(config.mutator_names),
            passes=_pass_source(config),
            oracles=make_oracles(config.oracles),
            n_max=config.n_max,
            pass_mode=config.pass_mode,
            mutator_choice=config.mutator_choice,
            target=config.case_target,
            pairs_per_fork=config.pairs_per_fork,
            cheap_code_share=CHEAP_CODE_SHARE_WITH_RESULTS if compares else CHEAP_CODE_SHARE,
            guided=coverage.total > 0,
            notes=notes,
            on_death=self.mutation_died,
            on_fault=self.faults.note,
        )

    def run(self) -> None:
        """Fuzz until it is time to stop; everything is saved on the way out, whatever the reason."""
        self.shard.stop_on_request()
        self.restore()
        if self.culprit is not None:
            self.take_over(self.culprit)
        # The first save tells the supervisor that the worker is up.
        self.save()
        try:
            if self.in_hand is not None:
                with limited():
                    self.judge_again(self.in_hand)
            while not self.shard.done(self.fuzzer.tally.iterations):
                before = time.perf_counter()
                executed = dict(self.fuzzer.tally.seconds)
                with limited():
                    self._turned()
                self._account(time.perf_counter() - before, executed)
                if time.monotonic() - self.saved > SAVE_EVERY:
                    self.save()
        except Interrupted:
            if self.in_hand is not None:
                self.in_hand = replace(self.in_hand, tries=0)
        finally:
            self.save()

    def judge_again(self, left: InHand) -> None:
        """Judge the case once more over whose findings a worker was ended; one that has ended two is set aside."""
        occasion = Occasion(left.stored.provenance.iteration, left.stored)
        if left.tries > 1:
            self.fuzzer.tally.exits["set-aside"] += 1
            self.directory.keep_aside(left.stored)
        else:
            for finding in self.faults.keep(lambda: self._judge(left.stored.case), "judge again", occasion) or ():
                self._looked(occasion, "report", partial(self.report, finding, left.stored))
        self.in_hand = None
        self.save()

    def _turned(self) -> None:
        """Take a turn that leads on whatever fails in it."""
        first = self.fuzzer.tally.iterations
        self.faults.keep(self.turn, "iteration", Occasion(first))
        if self.fuzzer.tally.iterations == first:
            self.fuzzer.tally.iterations = first + self.config.pairs_per_fork

    def turn(self) -> None:
        first = self.fuzzer.tally.iterations
        self.notes.beat(first, "exchange")
        if self.config.jobs > 1 and first % EXCHANGE_EVERY == 0:
            self.faults.keep(self.adopt_from_others, "exchange", Occasion(first))
        self.notes.beat(first, "step")
        for step in self.fuzzer.step():
            self.record(step)

    def record(self, step: Step) -> None:
        """Store what a step brought, and append its event."""
        case, seen = step.trial.case, step.observation
        stored = StoredCase(case, step.trial.provenance)
        if step.trial.how == CORPUS_IMPORT:
            self.carried_through = case.id
        if step.inserted:
            self.room.keep(lambda: self.directory.save_case(stored))
            self.seen_files.add(case.id)
            if step.trial.how == PASS_MUTATION:
                parent = step.trial.provenance.parent
                if parent is not None:
                    self.superseded.append(parent)
        if seen.exit is Exit.UNKNOWN:
            self.directory.keep_aside(stored)
        if any(found.signature not in self.signatures for found in step.findings):
            # Whatever ends this worker now, another one takes it up.
            self.in_hand = InHand(stored)
            self.save()
        looked = partial(self._looked, step.trial.occasion)
        signatures = [looked("report", partial(self.report, finding, stored)) for finding in step.findings]
        self.in_hand = None
        if self.looks_at_schedules and step.trial.how in SCHEDULE:
            signatures.append(looked("schedule", partial(self.look_at_schedule, step.trial, stored)))
        if step.inserted and self.looks_at_text(step.trial.provenance.iteration):
            signatures.append(looked("text", partial(self.look_at_text, stored)))
        self.events.add(
            {
                "t": round(self.shard.elapsed(), 3),
                "i": step.trial.provenance.iteration,
                "how": step.trial.how,
                "exit": seen.exit.value,
                "stage": seen.stage.value,
                "pass": seen.pass_name,
                "new": seen.new_blocks + step.trial.new_blocks,
                "ms": round(seen.elapsed * 1000, 2),
                "case": case.id[:16] if step.inserted else None,
                "finding": [s for s in signatures if s],
                **_origin_of(step),
            }
        )
        if self.events.due:
            self.room.keep(self.events.flush)

    def _waits(self) -> bool:
        """Give a sign of life while the disk is full; returns whether it is time to stop."""
        self.notes.beat(self.fuzzer.tally.iterations, "wait for room on the disk")
        return self.shard.over

    def _looked(self, occasion: Occasion, doing: str, look: Callable[[], str | None]) -> str | None:
        """The signature that a look at a case gives; None where it fails of a fault of ours."""
        self.notes.beat(occasion.iteration, doing)
        return self.faults.keep(look, doing, occasion)

    def repeat(self, occasion: Occasion) -> None:
        """Do again what a fault came about on; whether it does is in the book of faults."""
        if occasion.stored is not None:
            for step in self.fuzzer.repeat(occasion):
                self.record(step)
        elif occasion.mutation is not None and occasion.parent is not None:
            fault = fault_of_mutation(occasion)
            if fault is not None:
                self.faults.note(fault, occasion)

    def look_at_schedule(self, trial: Trial, stored: StoredCase) -> str | None:
        """Compare what a schedule made with the program before, and bundle a schedule that is wrong."""
        if trial.parent is None or trial.mutation is None:
            return None
        began = time.perf_counter()
        coordinates = {**trial.mutation.to_json(), "target": self.config.target}
        looked = look_at(self.executor, trial.parent, trial.case.ir, coordinates)
        self.fuzzer.tally.exits[f"schedule: {looked.word}"] += 1
        self.fuzzer.tally.seconds["schedules"] += time.perf_counter() - began
        finding = looked.finding
        if finding is None or self._reported(finding):
            return None if finding is None else finding.signature
        path = self.room.keep(
            lambda: bundle_schedule(self.directory.findings, self.executor, looked, stored, self._found_now)
        )
        return self._bundled(finding, path, "schedule")

    def looks_at_text(self, iteration: int) -> bool:
        if Check.TEXT not in self.executor.effort.checks:
            return False
        return rng_for(self.config.seed, self.number, iteration, "text").random() < SHARE

    def look_at_text(self, stored: StoredCase) -> str | None:
        """Print and parse a program, and bundle what TVM does not read back."""
        finding = look_at_text(self.executor, stored.case)
        if finding is None or self._reported(finding):
            return None if finding is None else finding.signature
        path = self.room.keep(
            lambda: bundle_text(self.directory.findings, self.executor, finding, stored, self._found_now)
        )
        return self._bundled(finding, path, "text")

    @property
    def _found_now(self) -> dict[str, Any]:
        """What the bundle of a finding says of the campaign that it is from, and when it came about there."""
        return {**self.environment, "found_after_s": round(self.shard.elapsed(), 3)}

    def _bundled(self, finding: Finding, path: Path | None, what: str) -> str | None:
        """Count a bundle that was written, or `what` did not show again."""
        if path is None:
            self.unconfirmed[what] += 1
            return None
        self.signatures.add(finding.signature)
        self.findings[finding.kind] += 1
        self.last_finding = path.name
        return finding.signature

    def report(self, finding: Finding, stored: StoredCase) -> str | None:
        """Confirm a finding and bundle it, once per signature; None when there is nothing to tell.

        An internal error is told with as few passes as it takes; one that takes many is only counted.
        """
        if self._reported(finding):
            return finding.signature
        if finding.kind != "ice-on-valid":
            return self._bundle(finding, stored)
        if finding.case.passes and self.long_orders[finding.signature] >= _TRIES_TO_SHORTEN:
            return None
        short = contained(lambda: shortened(finding, self._judge), "shorten")
        if isinstance(short, Fault):
            self.faults.note(short, Occasion(stored.provenance.iteration, stored))
            short = finding if is_short(finding.case) else None
        if short is None:
            self.long_orders[finding.signature] += 1
            self.unconfirmed["ice-on-long-order"] += 1
            return None
        if self._reported(short):
            return short.signature
        return self._bundle(short, replace(stored, case=short.case))

    def _reported(self, finding: Finding) -> bool:
        """Whether a finding has a bundle, or is known and needs none; the known are counted."""
        return finding.signature in self.signatures or self.known.hides(finding, finding.observation.message)

    def _judge(self, case: Case) -> list[Finding]:
        (seen,) = self.executor.run([case], count=False)
        return judged(self.fuzzer.oracles, case, seen.sound())

    def _bundle(self, finding: Finding, stored: StoredCase) -> str | None:
        """Run a finding again, a hang with three times the time, and write its bundle; None when it does not show."""
        limits = confirming_limits(finding.kind, self.executor.limits)
        evidence = evidence_for(finding.case, finding.observation.results)

        def shows(layout: int, inputs: str) -> bool:
            effort = replace(self.executor.effort, inputs=inputs, layout=layout)
            (seen,) = self.executor.run([finding.case], count=False, limits=limits, effort=effort)
            if seen.exit is Exit.FAULT:
                self.faults.note(seen.faults[-1], Occasion(stored.provenance.iteration, stored))
                return False
            found = judged(self.fuzzer.oracles, finding.case, seen)
            return any(other.signature == finding.signature for other in found)

        archive = self.directory.worker(self.number) / "inputs.npz"
        confirmation = self.room.keep(lambda: confirmed(finding.kind, evidence, archive, shows))
        # Speed is the one thing that noise alone could fake: each of the fresh processes has to show it.
        if confirmation.same < (confirmation.runs if finding.kind == "slow-code" else 1):
            self.unconfirmed[finding.kind] += 1
            return None
        self.signatures.add(finding.signature)
        into, what = self.directory.findings, (finding, stored, self.executor.limits, confirmation, evidence)
        bundle = partial(bundle_compilation, into, self.executor, *what, self._judge, self._found_now)
        path = contained(lambda: self.room.keep(bundle), "bundle")
        if isinstance(path, Fault):
            self.faults.note(path, Occasion(stored.provenance.iteration, stored))
            path = self.room.keep(lambda: bundle_plainly(into, *what, self._found_now))
        if path is not None:
            self.findings[finding.kind] += 1
            self.last_finding = path.name
            results = finding.observation.results
            if results is not None and results.device == "cuda" and (said := memcheck.checked(path / "repro.py")):
                self.room.keep(lambda: write_atomic(path / memcheck.REPORT, said))
                self.room.keep(lambda: refresh_report(path))
        self.save()
        return finding.signature

    def take_over(self, culprit: Mapping[str, Any]) -> None:
        """Go on behind the iteration that ended the worker before this one.

        `culprit` is a mutation with the signal that it died of: one that kills again is bundled. Or it is what
        `tzerlike.findings.faults.culprit` takes.
        """
        tally = self.fuzzer.tally
        tally.iterations = max(tally.iterations, int(culprit["iteration"]) + 1)
        if "mutator" in culprit:
            mutation = Mutation.from_json(culprit)
            occasion = Occasion(mutation.iteration, mutation=mutation)
            self.faults.keep(partial(self._bundle_mutation, mutation, int(culprit["signal"])), "bundle", occasion)
        else:
            self.faults.note(*lost_worker(culprit))

    def mutation_died(self, mutation: Mutation, number: int) -> None:
        """Bundle a mutation that killed the child it ran in; one that merely ran out of time is let go."""
        if number != signal.SIGPROF:
            occasion = Occasion(mutation.iteration, mutation=mutation)
            self.faults.keep(partial(self._bundle_mutation, mutation, number), "bundle", occasion)

    def _bundle_mutation(self, mutation: Mutation, number: int) -> None:
        try:
            path = self.room.keep(
                lambda: bundle_mutation(
                    mutation,
                    number,
                    self.directory.load_case(mutation.parent),
                    self.directory.findings,
                    self.executor.limits,
                    partial(rendered, self.executor),
                    self._found_now,
                    lambda finding: self.known.hides(finding, finding.observation.message),
                )
            )
        except StorageError:
            raise
        except UserError as error:
            self.problems.append(f"no bundle of a mutation that died: {error}")
            return
        if path is not None:
            self.findings["crash"] += 1
            self.last_finding = path.name

    def adopt_from_others(self) -> None:
        """Take over the corpus entries that other workers have saved since the last look."""
        for case_id in self.directory.corpus_ids():
            if case_id in self.seen_files:
                continue
            self.seen_files.add(case_id)
            stored = self.directory.load_case(case_id)
            if case_id not in self.fuzzer.corpus:
                self.fuzzer.corpus.add(Entry(stored.case, stored.provenance))

    def restore(self) -> None:
        """Take up where an earlier run of this shard stopped; a corpus file that is broken is set aside and named."""
        path = self.directory.worker_state(self.number)
        state = read_state(path) if path.exists() else {}
        tally = self.fuzzer.tally
        tally.iterations = state.get("iterations", 0)
        tally.pairs = state.get("pairs", 0)
        tally.valid = state.get("valid", 0)
        tally.valuable = state.get("valuable", 0)
        tally.exits.update(state.get("exits", {}))
        tally.rejected.update(state.get("rejected", {}))
        tally.labels.update(state.get("labels", {}))
        tally.verdicts.update(state.get("verdicts", {}))
        tally.internal_errors.update(state.get("internal_errors", {}))
        tally.seconds.update(state.get("seconds", {}))
        tally.mutators.update({k: Yield(*v) for k, v in state.get("mutators", {}).items()})
        tally.passes.update({k: Yield(*v) for k, v in state.get("passes", {}).items()})
        self.fuzzer.passes.learn(tally.pass_yields())
        self.findings.update(state.get("findings", {}))
        self.unconfirmed.update(state.get("unconfirmed", {}))
        self.known.seen.update(state.get("known", {}))
        self.faults.restore(state)
        self.superseded = list(state.get("superseded", []))
        self.last_finding = state.get("last_finding", "")
        if (left := state.get("in_hand")) is not None:
            self.in_hand = InHand.from_json(left)
        self.problems = list(state.get("problems", []))
        self.signatures = {bundle.name.rpartition("-")[2] for bundle in self.directory.bundles()}
        known = {case_id: n for case_id, n in state.get("entries", [])}
        gone = set(self.superseded)
        arrived: list[Entry] = []
        for case_id in dict.fromkeys([*known, *self.directory.corpus_ids()]):
            if case_id in gone:
                self.seen_files.add(case_id)
                continue
            try:
                stored = self.directory.load_case(case_id)
            except UserError as error:
                self._set_aside(case_id, error)
                continue
            self.seen_files.add(case_id)
            entry = Entry(stored.case, stored.provenance, known.get(case_id, 0))
            if case_id in known:
                self.fuzzer.corpus.add(entry)
            else:
                arrived.append(entry)
        arrived.sort(key=lambda e: (e.provenance.worker, e.provenance.iteration))
        for entry in arrived:
            self.fuzzer.corpus.add(entry)
            if entry.provenance.worker == self.number:
                # Saved after the state was: the iterations up to it are done.
                tally.iterations = max(tally.iterations, entry.provenance.iteration + 1)
        imported = {e.provenance.origin for e in self.fuzzer.corpus if e.provenance.parent is None}
        imported |= set(state.get("refused_seeds", []))
        self.carried_through = str(state.get("carried_through", ""))
        if self.config.corpus:
            directory, jobs = Path(self.config.corpus), self.config.jobs
            self.carried = Carried(
                directory, self.config.target, self.number, jobs, _check_passes, self.carried_through
            )
            self.fuzzer.carried = self.carried
        if state and self.coverage.total and not self.coverage.covered():
            self.cover_again()
        pending = [p for p in self.fuzzer.pending if p.seed.name not in imported] if state else self.fuzzer.pending
        self.fuzzer.pending[:] = pending

    def cover_again(self) -> None:
        """Run the corpus, or a worker's share of it, for what it covers: the record of that is lost."""
        for entry in self.fuzzer.corpus.entries[self.number :: self.config.jobs]:
            if self.shard.over:
                return
            self.executor.run([entry.case])

    def _set_aside(self, case_id: str, error: UserError) -> None:
        try:
            where = self.directory.set_aside(case_id)
        except FileNotFoundError:
            return
        self.problems.append(f"{error}; set aside as {where.relative_to(self.directory.root)}")

    def save(self) -> None:
        """Write the shard's state and coverage, each whole, and flush its events; waits while the disk is full."""
        self.room.keep(self._save)
        self.saved = time.monotonic()

    def _save(self) -> None:
        self.events.flush()
        tally = self.fuzzer.tally
        state: dict[str, Any] = {
            "worker": self.number,
            "time": time.time(),
            "elapsed": self.shard.elapsed(),
            "iterations": tally.iterations,
            "pairs": tally.pairs,
            "valid": tally.valid,
            "valuable": tally.valuable,
            "exits": tally.exits,
            "rejected": dict(tally.rejected.most_common(500)),
            "labels": tally.labels,
            "verdicts": tally.verdicts,
            "internal_errors": tally.internal_errors,
            "seconds": {**tally.seconds, "fork": self.executor.fork_seconds + tally.seconds["fork"]},
            "mutators": {k: [v.tried, v.valid, v.valuable] for k, v in sorted(tally.mutators.items())},
            "passes": {k: [v.tried, v.valid, v.valuable] for k, v in sorted(tally.passes.items())},
            "findings": self.findings,
            "unconfirmed": self.unconfirmed,
            "last_finding": self.last_finding,
            "known": self.known.seen,
            **self.faults.to_json(tally.iterations),
            "problems": [*self.problems, *(self.carried.problems if self.carried is not None else ())],
            "carried_through": self.carried_through,
            "coverage": self.coverage.covered(),
            "coverage_total": self.coverage.total,
            "coverage_backend": self.coverage.backend,
            "corpus": len(self.fuzzer.corpus),
            "entries": [[entry.id, entry.n] for entry in self.fuzzer.corpus],
            "superseded": self.superseded,
            "in_hand": None if self.in_hand is None else self.in_hand.to_json(),
            "pending": len(self.fuzzer.pending) + (len(self.carried) if self.carried is not None else 0),
        }
        identity = Identity(self.coverage.backend, self.facts["compiler_library"], self.coverage.total)
        bits = snapshot_bytes(identity, self.coverage.snapshot())
        write_atomic(self.directory.worker_coverage(self.number), bits)
        write_atomic(self.directory.worker_state(self.number), json.dumps(STATE.stamped(state)))

    def _account(self, spent: float, before: dict[str, float]) -> None:
        """Book what a turn spent outside its named stages as bookkeeping."""
        seconds = self.fuzzer.tally.seconds
        named = sum(
            seconds[name] - before.get(name, 0.0) for name in list(seconds) if name not in ("bookkeeping", "fork")
        )
        forked = self.executor.fork_seconds
        self.executor.fork_seconds = 0.0
        seconds["fork"] += forked
        seconds["bookkeeping"] += max(0.0, spent - named - forked)
