"""Findings of a worker are confirmed, shortened if necessary, and bundled once per signature."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tzerlike.campaign.budget import Interrupted
from tzerlike.campaign.claims import Claims
from tzerlike.campaign.reducing import Reductions
from tzerlike.campaign.shard_worker import Assignment, Beats, ShardWorker
from tzerlike.campaign.state import Kept
from tzerlike.core.case import Case
from tzerlike.core.effort import Effort
from tzerlike.core.errors import Fault, StorageError, UserError, contained
from tzerlike.core.finding import FIRST_TIER, SCHEME, SECOND_TIER, Finding
from tzerlike.core.mutation import Mutation
from tzerlike.core.observation import Exit, Observation
from tzerlike.core.storage import write_atomic
from tzerlike.core.stored import StoredCase
from tzerlike.execution.compare.evidence import Evidence, evidence_for
from tzerlike.execution.cuda import memcheck
from tzerlike.execution.executor import ForkExecutor
from tzerlike.execution.witness import heard, objection_fault, testimony
from tzerlike.findings.bundles.bundle import read_record
from tzerlike.findings.bundles.compilation import bundle_compilation, bundle_plainly, confirmed, confirming_limits
from tzerlike.findings.bundles.mutation_crash import bundle_mutation
from tzerlike.findings.bundles.shorten import SHORT_KINDS, is_short, shortened
from tzerlike.findings.defining import DEFINING_SHARE, defined_finding, what_failed
from tzerlike.findings.faults.bundle import Occasion
from tzerlike.findings.faults.limit import limited
from tzerlike.findings.growth import endless
from tzerlike.findings.likeness import same_failure
from tzerlike.findings.programs import JudgeCase, Programs
from tzerlike.findings.refresh import refresh_report
from tzerlike.findings.rescue import without_misuse
from tzerlike.findings.sufficing import sufficing
from tzerlike.findings.tiers import tiered
from tzerlike.oracles import judged
from tzerlike.oracles.inconsistency import excused
from tzerlike.oracles.protocol import Judge
from tzerlike.tir.witness.verdict import Deposition, WitnessWord

_TRIES_TO_SHORTEN = 4
"""How often an internal error that took a long sequence is looked at again, with another program."""

_SLOW = 3
"""How often a compilation of a signature may turn out to be slow before no other one is looked at."""

_SLOW_COMPILE = "slow-compile"

_PAIRS_PER_HANG = 4096
"""Cases of a campaign, at least, for each compilation that is looked at whether it ever ends: a minute, for a thousand
cases. Another waits until it shows again."""

_EXAMINED, _POSTPONED = "hang: examined", "hang: postponed"

_TRIES_TO_CARRY = 4
"""How often wrong code behind misused passes is looked for without them, by what it would be called."""

_WRONG_CODE = "inconsistency"
"""The oracle of wrong code."""

_OBJECTIONS = 4
"""How many findings of a signature the witness is asked about that objects to each."""


class ConfirmingWorker(ShardWorker):
    """A worker whose findings are cases; one that is in hand when it ends is taken up by the next worker."""

    def __init__(
        self,
        assignment: Assignment,
        executor: ForkExecutor,
        notes: Beats,
        oracles: Sequence[Judge],
        programs: Programs,
    ) -> None:
        super().__init__(assignment, executor, notes, oracles=list(assignment.config.oracles))
        self.oracles = oracles
        self.programs = programs
        self.former: set[tuple[int, str]] = set()
        """Schemes and signatures of bundles of before."""
        self.long_orders: Counter[str] = Counter()
        self.objections: Counter[str] = Counter()
        self.slow: Counter[str] = Counter()
        self.carried_over: Counter[str] = Counter()
        how = (self.executor, programs, assignment.config.oracles, self.room.keep, self._bundle_tiered)
        self.reductions = Reductions(self.state, self.directory.findings, *how)
        alive = lambda: self.notes.beat(self.state.iterations, "report")  # noqa: E731
        self.claims = Claims(self.directory.root, self.number, alive, self.room.keep)
        self.executor.settled = self._settled
        self.doubts: set[tuple[str, ...]] = set()
        self.defining = 0

    def restore(self) -> None:
        super().restore()
        self.claims.forget()
        for path in self.directory.bundles():
            with suppress(UserError):
                record = read_record(path)
                if record.scheme < SCHEME:
                    self.former.add((record.scheme, record.signature))
        if self.state.in_hand is not None:
            self.state.in_hand.tries += 1

    def work(self) -> None:
        try:
            while (left := self._left()) is not None:
                with limited():
                    self.judge_again(left)
            super().work()
        except Interrupted:
            if self.state.in_hand is not None:
                self.state.in_hand.tries = 0
            raise
        finally:
            self.reductions.rest()

    def reduce_some(self, *, to_the_end: bool = False) -> None:
        """Go on with the reductions, as far as they may take time; or `to_the_end`, with those of the first tier."""
        began, occasion = time.perf_counter(), Occasion(max(0, self.state.iterations - 1))
        self.notes.beat(occasion.iteration, "reduce")
        self.faults.keep(partial(self.reductions.go_on, to_the_end=to_the_end), "reduce", occasion)
        self.state.seconds["reduce"] += time.perf_counter() - began

    def judge_again(self, left: Kept) -> None:
        """Judge the case once more over whose findings a worker was ended; one that has ended two is set aside."""
        stored = left.stored
        occasion = Occasion(stored.provenance.iteration, stored)
        if left.tries > 1:
            self.state.exits["set-aside"] += 1
            self.room.keep(partial(self.directory.keep_aside, stored))
        else:
            for finding in self.faults.keep(lambda: self._judge(stored.case), "judge again", occasion) or ():
                self._looked(occasion, "report", partial(self._as_ours, finding, partial(self.report, finding, stored)))
        self.state.in_hand = None
        self.save()

    def _left(self) -> Kept | None:
        """The case over whose findings a worker was ended, or one behind it, which is in hand from now on."""
        if self.state.in_hand is None and self.state.to_confirm:
            self.state.in_hand = self.state.to_confirm.pop(0)
            self.save()
        return self.state.in_hand

    def confirm(self, findings: Sequence[Finding], stored: StoredCase, occasion: Occasion) -> list[str | None]:
        """Report the findings of a case; returns the signature of each that has a bundle, or needs none."""
        if not all(map(self._done_with, findings)):
            # Whatever ends this worker now, another one takes it up.
            self.state.in_hand = Kept.of(stored)
            self.save()
        with self.confirming():
            signatures = [
                self._looked(occasion, "report", partial(self._as_ours, found, partial(self.report, found, stored)))
                for found in findings
            ]
        self.state.in_hand = None
        return signatures

    @contextmanager
    def confirming(self) -> Iterator[None]:
        """Book the time of what is done within as that of confirming and bundling."""
        began, forks = time.perf_counter(), self.executor.overhead["fork"]
        try:
            yield
        finally:
            forked = self.executor.overhead["fork"] - forks
            self.state.seconds["confirm"] += time.perf_counter() - began - forked

    def behind_misuse(self, case: Case, seen: Observation, occasion: Occasion) -> list[Finding]:
        """What shows otherwise of a case whose own wrong code is excused, since passes were misused."""
        suspicion = excused(case, seen) if _WRONG_CODE in self.config.oracles else None
        if suspicion is None or self.carried_over[suspicion.signature] >= _TRIES_TO_CARRY:
            return []
        self.carried_over[suspicion.signature] += 1
        look = partial(without_misuse, suspicion, self.executor, self.programs, self._judge)
        found = self.faults.keep(look, "carry", occasion)
        return [] if found is None else [found]

    def _looked(self, occasion: Occasion, doing: str, look: Callable[[], str | None]) -> str | None:
        """The signature that a look at a case gives; None where it fails of a fault of ours."""
        self.notes.beat(occasion.iteration, doing)
        return self.faults.keep(look, doing, occasion)

    def _as_ours(self, finding: Finding, report: Callable[[], str | None]) -> str | None:
        """Report a finding, unless another worker is confirming one of its signature."""
        if self.shard.total == 1 or self._done_with(finding):
            return report()
        with self.claims.held(finding.signature) as ours:
            if ours:
                return report()
        self.state.duplicates[finding.kind] += 1
        return finding.signature

    def report(self, finding: Finding, stored: StoredCase) -> str | None:
        """Confirm a finding and bundle it, once per signature; None when there is nothing to tell.

        An internal error, or a pass that leaves invalid IR, is reported with as few passes as it takes; what takes many
        is only counted.
        """
        if self._has_bundle(finding):
            self.reductions.seen_again(finding, stored)
        if self._reported(finding):
            return finding.signature
        if finding.kind not in SHORT_KINDS:
            return self._bundle_tiered(finding, stored)
        if self._too_long(finding):
            return None
        judge = self._judge_as(finding)
        short = contained(lambda: shortened(finding, judge, lambda: self._carried(finding, stored)), "shorten")
        if isinstance(short, Fault):
            self.faults.note(short, Occasion(stored.provenance.iteration, stored))
            short = finding if is_short(finding.case) else None
        if short is None:
            self.long_orders[finding.signature] += 1
            self.state.unconfirmed["ice-on-long-order"] += 1
            return None
        if self._reported(short):
            return short.signature
        return self._bundle_tiered(short, stored)

    def _bundle_tiered(self, finding: Finding, stored: StoredCase) -> str | None:
        """Bundle a finding with its tier, on the plain program that shows it where there is one."""
        best, tier = self._tiered(finding, stored)
        if best.signature == finding.signature:
            return self._bundle(replace(best, apart=finding.apart), replace(stored, case=best.case), tier)
        told = best.signature if self._reported(best) else self._bundle(best, replace(stored, case=best.case), tier)
        if told is None:
            return self._bundle(finding, stored, SECOND_TIER)
        self.signatures.add(finding.signature)
        return told

    def _carried(self, finding: Finding, stored: StoredCase) -> Finding | None:
        best, tier = self._tiered(finding, stored)
        return best if tier == FIRST_TIER else None

    def _tiered(self, finding: Finding, stored: StoredCase) -> tuple[Finding, int]:
        judge = self._judge_as(finding)
        found = contained(lambda: tiered(finding, self.executor, self.programs, judge, same_failure), "tier")
        if isinstance(found, Fault):
            self.faults.note(found, Occasion(stored.provenance.iteration, stored))
            return finding, 0
        return found

    def define(self, case: Case, seen: Observation, stored: StoredCase) -> str | None:
        """Look for a smaller case that fails as this one did and counts as valid, once for each error, with a share of
        the campaign's runs; report what it shows."""
        what = what_failed(seen)
        if what in self.doubts or self.defining > self.state.pairs * DEFINING_SHARE:
            return None
        self.doubts.add(what)
        # What takes this worker with it does so again: the next one sets the case aside.
        self.state.in_hand = Kept.of(stored, tries=1)
        self.save()
        told = None
        try:
            found, tried = defined_finding(case, seen, self.executor, self.programs, self.oracles)
            self.defining += tried
            self.state.exits[f"doubtful: {'nothing smaller' if found is None else 'defined'}"] += 1
            if found is not None:
                smaller = replace(stored, case=found.case)
                self.state.in_hand = Kept.of(smaller)
                told = self._as_ours(found, partial(self.report, found, smaller))
        except Exception:
            self.state.in_hand = None
            raise
        self.state.in_hand = None
        return told

    def _reported(self, finding: Finding) -> bool:
        """Whether a finding has a bundle, maybe of before, or is known and needs none; the known are counted."""
        former = any(one in self.former for one in enumerate(finding.signatures, 1))
        return former or self._has_bundle(finding) or self._known(finding)

    def _has_bundle(self, finding: Finding) -> bool:
        """Whether a finding has a bundle; the first that turns out to have one of another worker's is counted."""
        if finding.signature in self.signatures:
            return True
        if finding.signature not in self.directory.bundled():
            return False
        self._is_duplicate(finding)
        return True

    def _done_with(self, finding: Finding) -> bool:
        return self._too_long(finding) or self._has_bundle(finding)

    def _too_long(self, finding: Finding) -> bool:
        """Whether a finding is of those that took many passes each time that they were looked at."""
        return bool(finding.case.passes) and self.long_orders[finding.signature] >= _TRIES_TO_SHORTEN

    def _settled(self, case: Case, seen: Observation) -> bool:
        """Whether all that is found in an observation has a bundle, or was looked at often enough."""
        return all(
            finding.signature in self.signatures or self._too_long(finding)
            for finding in judged(self.oracles, case, seen)
        )

    def _is_duplicate(self, finding: Finding) -> None:
        self.state.duplicates[finding.kind] += 1
        self.signatures.add(finding.signature)

    def _known(self, finding: Finding) -> bool:
        return self.known.hides(finding, finding.observation.message)

    def _bundled(self, finding: Finding, path: Path | None, what: str) -> str | None:
        """Count a bundle that was written, or `what` did not show again, or was bundled meanwhile."""
        self._count_bundle(finding.kind, path)
        if path is None and self._has_bundle(finding):
            return finding.signature
        if path is None:
            self.state.unconfirmed[what] += 1
            return None
        self.reductions.found(path, finding, read_record(path).tier)
        self.signatures.add(finding.signature)
        return finding.signature

    def _judge(self, case: Case, effort: Effort | None = None) -> list[Finding]:
        (seen,) = self.executor.run([case], count=False, effort=effort)
        return judged(self.oracles, case, seen.sound())

    def _judge_as(self, finding: Finding) -> JudgeCase:
        """Judges cases by what it takes to see a finding."""
        return partial(self._judge, effort=sufficing(self.executor.effort, finding.observation))

    def _bundle(self, finding: Finding, stored: StoredCase, tier: int) -> str | None:
        """Run a finding again, a hang with three times the time once it is one, and write its bundle.

        None when it does not show, or the witness objects.
        """
        if finding.kind == "hang":
            found = self._endless(finding, stored)
            if found is None:
                return None
            finding = found
        limits = confirming_limits(finding, self.executor.limits)
        evidence = evidence_for(finding.case, finding.observation.results)

        def shows(layout: int, inputs: str) -> bool:
            effort = replace(sufficing(self.executor.effort, finding.observation), inputs=inputs, layout=layout)
            (seen,) = self.executor.run([finding.case], count=False, limits=limits, effort=effort)
            if seen.exit is Exit.FAULT:
                self.faults.note(seen.faults[-1], Occasion(stored.provenance.iteration, stored))
                return False
            found = judged(self.oracles, finding.case, seen)
            return any(other.signature == finding.signature for other in found)

        archive = self.directory.worker(self.number) / "inputs.npz"
        confirmation = self.room.keep(lambda: confirmed(finding.kind, evidence, archive, shows))
        # Speed is the one thing that noise alone could fake: each of the fresh processes has to show it.
        if confirmation.same < (confirmation.runs if finding.kind == "slow-code" else 1):
            self.state.unconfirmed[finding.kind] += 1
            return None
        confirmation = confirmation.with_tier(tier, self._heard(finding, evidence, stored))
        if confirmation.withheld:
            return None
        if not finding.apart and self._has_bundle(finding):
            return finding.signature
        into, what = self.directory.findings, (finding, stored, self.executor.limits, confirmation, evidence)
        bundle = partial(bundle_compilation, into, self.executor, self.programs, *what, self._judge, self._found_now)
        path = contained(lambda: self.room.keep(bundle), "bundle")
        if isinstance(path, Fault):
            self.faults.note(path, Occasion(stored.provenance.iteration, stored))
            path = self.room.keep(lambda: bundle_plainly(into, *what, self._found_now))
        self._count_bundle(finding.kind, path)
        if path is None:
            self._is_duplicate(finding)
        else:
            self.signatures.add(finding.signature)
            results = finding.observation.results
            if results is not None and results.device == "cuda" and (said := memcheck.checked(path / "repro.py")):
                self.room.keep(lambda: write_atomic(path / memcheck.SANITIZER_REPORT, said))
                self.room.keep(lambda: refresh_report(path))
            if not finding.apart:
                self.reductions.found(path, finding, tier)
        self.save()
        return finding.signature

    def _endless(self, finding: Finding, stored: StoredCase) -> Finding | None:
        """The finding with the evidence that a compilation is without end; None where it is merely slow, counted."""
        if self.slow[finding.signature] >= _SLOW:
            self.state.unconfirmed[_SLOW_COMPILE] += 1
            return None
        if self.state.exits[_EXAMINED] * _PAIRS_PER_HANG > self.state.pairs:
            self.state.exits[_POSTPONED] += 1
            return None
        self.state.exits[_EXAMINED] += 1
        look = partial(endless, finding, self.executor, self.programs, self.oracles)
        found = contained(look, "hang")
        if isinstance(found, Fault):
            self.faults.note(found, Occasion(stored.provenance.iteration, stored))
            return None
        if found is None:
            self.slow[finding.signature] += 1
            self.state.unconfirmed[_SLOW_COMPILE] += 1
        return found

    def _heard(self, finding: Finding, evidence: Evidence, stored: StoredCase) -> Deposition | None:
        """What the witness says of wrong code, counted; where it objects, one of our two readings is at fault.

        A signature that it keeps objecting to is looked at no more.
        """
        occasion = Occasion(stored.provenance.iteration, stored)
        said = contained(lambda: heard(finding, evidence), "ask the witness")
        if isinstance(said, Fault):
            self.faults.note(said, occasion)
            said = Deposition(WitnessWord.CANNOT_SAY, "the witness failed")
        if said is not None:
            self.state.witness[said.word.value] += 1
            if said.word is WitnessWord.OBJECTS:
                self.faults.note(objection_fault(finding, said), occasion)
                self.objections[finding.signature] += 1
                if self.objections[finding.signature] >= _OBJECTIONS:
                    self.signatures.add(finding.signature)
        return said

    def hear_again(self, fault: Fault, occasion: Occasion) -> None:
        """Ask the witness once more about the case that it objected to, whatever the builds do.

        Whether it still does is in the book of faults; UserError where it cannot say.
        """
        assert occasion.stored is not None
        case = occasion.stored.case
        (seen,) = self.executor.run([case], count=False)
        for failed in seen.faults:
            self.faults.note(failed, occasion)
        if seen.results is None or not seen.results.defined:
            return
        said = testimony(case, evidence_for(case, seen.results))
        if said.word is WitnessWord.CANNOT_SAY:
            raise UserError(f"the witness cannot say: {said.reason}")
        if said.word is WitnessWord.OBJECTS:
            self.faults.note(fault, occasion)

    def take_over(self, culprit: Mapping[str, Any]) -> None:
        """Bundle the mutation that killed the worker before this one, if it kills again; or note what else ended it."""
        if "mutator" in culprit:
            self._keep_mutation(Mutation.from_json(culprit), int(culprit["signal"]))
        else:
            super().take_over(culprit)

    def mutation_died(self, mutation: Mutation, number: int) -> None:
        """Bundle a mutation that killed the child it ran in; one that merely ran out of time is let go."""
        if number != signal.SIGPROF:
            self._keep_mutation(mutation, number)

    def _keep_mutation(self, mutation: Mutation, number: int) -> None:
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
                    self.executor,
                    self.programs,
                    self._found_now,
                    lambda finding: self._known(finding) or self._has_bundle(finding),
                )
            )
        except StorageError:
            raise
        except UserError as error:
            self.state.problems.append(f"no bundle of a mutation that died: {error}")
            return
        self._count_bundle("crash", path)
        if path is not None:
            record = read_record(path)
            self.reductions.found(path, record.signed, record.tier)
