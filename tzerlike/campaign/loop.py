"""The coverage-guided loop over pairs of program and pass sequence: Algorithm 1 of the paper."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Protocol, TypeVar

from tzerlike.campaign.corpus import Corpus, Entry
from tzerlike.campaign.pairs import Pairs
from tzerlike.campaign.shard_worker import Beats
from tzerlike.campaign.state import Tally, Yield
from tzerlike.core.bandit import shares
from tzerlike.core.case import TIR, Case, Provenance
from tzerlike.core.effort import COMPILE_ONLY, Effort
from tzerlike.core.errors import Fault, contained, kept
from tzerlike.core.finding import Finding
from tzerlike.core.mutation import ILL_FORMED, Mutation
from tzerlike.core.observation import Exit, Observation, Stage, message_template
from tzerlike.core.results import Rejection
from tzerlike.core.rng import rng_for
from tzerlike.core.stored import StoredCase
from tzerlike.findings.faults.bundle import Donor, Occasion
from tzerlike.oracles import judged
from tzerlike.oracles.protocol import Judge
from tzerlike.passes.label import Label

_T = TypeVar("_T")

PASS_MUTATION = "passes"
PROGRAM_MUTATION = "program"
SEED_IMPORT = "seed"
CORPUS_IMPORT = "corpus"

IMPORT_SHARE = 0.3
"""Share of the iterations that bring in a seed while seeds remain, so that mutation need not wait for all."""

CHEAP_CODE_SHARE = 15 / 16
"""Share of the seeds whose descendants LLVM compiles at its level 0: its optimiser takes most of a build's time
and is not under test."""

CHEAP_CODE_SHARE_WITH_RESULTS = 7 / 8
"""The same when results are compared: what TVM promises LLVM about a program shows only where LLVM makes use of it.
Machine code at the full level costs twice as much and more, and of 34 findings of wrong results 31 show at level 0 as
well."""

JOINT_SHARE = 0.5
"""Share of the IR mutations that change the pass sequence along with the program. The schedule over N alone would
hardly touch the passes of a corpus of thousands: an entry has to be drawn N_max times first."""

BATCH_TEXT = 1 << 18
"""Characters of programs that one child takes in turn: it is the compiler's garbage that fills it."""

RERUN_SHARE = 1 / 2
"""The most of the last cases that may have brought something where one child takes many: those of a batch that do run
again on their own, and where they are most, a batch is dearer than as many children."""

MEMORY = 16
"""Cases by which that share is known: a mean that forgets."""

FIRST_SEEDS = 32
"""Seeds to bring in before the first mutation."""

_DRAWS = 12


class Executor(Protocol):
    """What the loop needs of `tzerlike.execution.executor.ForkExecutor`."""

    def run(self, cases: Sequence[Case], *, count: bool = True, effort: Effort | None = None) -> list[Observation]: ...


class Notes(Beats, Protocol):
    """Records what a worker is about to do, mutations too, since they may crash TVM.

    `tzerlike.processes.channel.Channel` is one.
    """

    def note_mutation(self, mutator: str, iteration: int, draw: int, parent: str) -> None: ...

    def clear_mutation(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Import:
    """A seed on its way into the corpus: with a random sequence first, `bare` if that may be what TVM refused."""

    name: str
    program: str
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Trial:
    """A case to run, and whence: an `entry` that was mutated, a seed's `arrival`, or an earlier corpus.

    Of a mutated program, `parent` is the case that the entry held then, `mutation` what gave the child, and
    `new_blocks` what that itself was the first to reach.
    """

    case: Case
    provenance: Provenance
    how: str
    entry: Entry | None = None
    arrival: Import | None = None
    parent: Case | None = None
    mutation: Mutation | None = None
    new_blocks: int = 0

    @property
    def stored(self) -> StoredCase:
        return StoredCase(self.case, self.provenance)

    @property
    def occasion(self) -> Occasion:
        """What a fault occurs on that is one of this trial."""
        parent = None if self.parent is None else StoredCase(self.parent, Provenance(self.provenance.origin))
        return Occasion(self.provenance.iteration, self.stored, self.mutation, parent)

    def is_alike(self, seen: Observation) -> bool:
        """Whether its program is known to compute what that of its entry does."""
        return self.entry is not None and bool(seen.computes) and seen.computes == self.entry.computes


@dataclass(frozen=True, slots=True)
class Step:
    """What came of one trial; `label` says why it was rejected (tzerlike.passes.label), "" where it was not."""

    trial: Trial
    observation: Observation
    findings: tuple[Finding, ...]
    inserted: bool
    label: str = ""

    @property
    def brings(self) -> bool:
        """Whether it reached something new, or did anything but compile or be refused."""
        return self.observation.new_blocks > 0 or self.observation.exit not in (Exit.OK, Exit.REJECTED)


def _raised(fault: Fault, occasion: Occasion) -> None:
    """What happens to a fault that nobody keeps."""
    raise fault


def _on_what(rejection: Rejection) -> str:
    """What kind of program an internal error is an answer to; only one on a valid program is worth a report."""
    if not rejection.well_formed:
        return "ice-on-invalid"
    return "ice-on-valid" if rejection.support else "ice-on-doubtful"


@dataclass(frozen=True, slots=True)
class Search:
    """How a worker searches: the options of the campaign as far as the loop goes by them.

    `target` is that of a Case. Where there is no coverage, the search is not `guided`, and all carried pairs that
    compile are taken. Without `feedback` coverage is counted and nothing goes by it: only what was imported is mutated.
    The pass mode `paper` is Algorithm 1 to the letter: a mutated program keeps its passes, and passes are drawn anew.
    """

    seed: int
    worker: int = 0
    n_max: int = 4
    pass_mode: str = "joint"
    mutator_choice: str = "adaptive"
    entry_choice: str = "uniform"
    target: str = "llvm"
    harness: str = TIR
    pairs_per_fork: int = 1
    cheap_code_share: float = CHEAP_CODE_SHARE
    guided: bool = True
    feedback: bool = True


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the loop calls: `notes` before it does something, `on_death` with a mutation that died and its signal,
    `on_amiss` with one in which the compiler seems to fail and how, and `on_fault` with a fault of ours."""

    notes: Notes
    on_death: Callable[[Mutation, int], None] = lambda mutation, number: None
    on_amiss: Callable[[Mutation, str], None] = lambda mutation, amiss: None
    on_fault: Callable[[Fault, Occasion], None] = _raised


class Fuzzer:
    """One worker's loop. Every draw comes from `rng_for(seed, worker, iteration, ...)`, so the same seed, TVM
    and coverage backend give the same corpus and the same findings.

    A fault of ours ends what it occurred in, which then brought nothing.

    `carried` are pairs of an earlier corpus, brought in before anything else.
    """

    def __init__(
        self,
        search: Search,
        executor: Executor,
        pairs: Pairs,
        oracles: Sequence[Judge],
        hooks: Hooks,
        pending: list[Import],
        tally: Tally | None = None,
    ) -> None:
        self.search = search
        self.executor = executor
        self.pairs = pairs
        self.oracles = oracles
        self.hooks = hooks
        self.pending = pending
        self.carried: Iterator[StoredCase] = iter(())
        self.tally = Tally() if tally is None else tally
        self.corpus = Corpus()
        self.idle = False
        self.bringing = 1.0
        """The share of the last cases that brought something."""

    @property
    def width(self) -> int:
        """Cases of the next batch, at most."""
        return self.search.pairs_per_fork if self.bringing <= RERUN_SHARE else 1

    def step(self, most: int | None = None) -> list[Step]:
        """One round, of `most` iterations: propose as many trials as a batch has, run them, learn from each.

        No batch goes beyond a multiple of the size of batches: one that starts there after a resume is the same.
        """
        number = self.tally.iterations
        whole = self.width - number % self.width
        end = number + min(whole, most or whole)
        trials: list[Trial] = []
        room = BATCH_TEXT
        while number < end and room > 0 and (len(self.corpus) or self.pending or not trials):
            trial = self._kept(partial(self.propose, number), "propose", Occasion(number))
            number += 1
            if trial is not None:
                trials.append(trial)
                room -= len(trial.case.ir)
        self.idle = not (trials or len(self.corpus) or self.pending)
        steps = self._take(trials, number)
        for step in steps:
            self.bringing += (step.brings - self.bringing) / MEMORY
        return steps

    def _take(self, trials: Sequence[Trial], iterations: int = 0) -> list[Step]:
        """Run trials and learn from each; the tally then has so many `iterations`."""
        cases = [trial.case for trial in trials]
        observations = contained(partial(self.executor.run, cases), "execute") if cases else []
        if isinstance(observations, Fault):
            observations = [Observation.of_fault(observations, Stage.LOAD)] * len(cases)
        # Only now: an iteration that is interrupted while it runs is done again after a resume.
        self.tally.iterations = iterations
        pairs = zip(trials, observations, strict=True)
        steps = [self._kept(partial(self.learn, *pair), "learn", pair[0].occasion) for pair in pairs]
        return [step for step in steps if step is not None]

    def repeat(self, occasion: Occasion) -> list[Step]:
        """Take the case that a fault occurred on once more, in the same way."""
        assert occasion.stored is not None
        case, provenance = occasion.stored.case, occasion.stored.provenance
        parent = None if occasion.parent is None else occasion.parent.case
        trial = Trial(case, provenance, provenance.mutator or SEED_IMPORT, None, None, parent, occasion.mutation)
        return self._take([trial])

    def propose(self, iteration: int) -> Trial | None:
        """Choose a pair and change its program, or its passes once N has reached N_max; None if nothing applies."""
        stored = next(self.carried, None)
        if stored is not None:
            provenance = replace(stored.provenance, worker=self.search.worker, iteration=iteration)
            return Trial(stored.case, provenance, CORPUS_IMPORT)
        rng = rng_for(self.search.seed, self.search.worker, iteration)
        if self.pending and (len(self.corpus) < FIRST_SEEDS or rng.random() < IMPORT_SHARE):
            return self._import(self.pending.pop(0), iteration, rng)
        if not len(self.corpus):
            return None
        entry = self._choose_entry(rng)
        of_passes = not self.pairs.mutators or (
            self.search.pass_mode in ("joint", "paper") and entry.n >= self.search.n_max and self._passes_pay(rng)
        )
        mutate = self._mutate_passes if of_passes else self._mutate_program
        trial = contained(partial(mutate, entry, iteration, rng), "propose")
        if not isinstance(trial, Fault):
            return trial
        entry.n = 0 if of_passes else entry.n + 1
        entry.tried += 1
        self.hooks.on_fault(trial, Occasion(iteration, parent=entry.stored))
        return None

    def learn(self, trial: Trial, seen: Observation) -> Step:
        """Judge an observation, update the pool as Algorithm 1 says, and count."""
        began = time.perf_counter()
        carried = trial.how == CORPUS_IMPORT
        # What another TVM wrote need not load here; how it fails to is nobody's bug.
        foreign = carried and seen.stage is Stage.LOAD
        for fault in seen.faults:
            self.hooks.on_fault(fault, trial.occasion)
        findings = () if foreign or seen.exit is Exit.FAULT else self._judged(trial, seen)
        self.tally.seconds["oracle"] += time.perf_counter() - began
        new = seen.exit is Exit.OK and seen.new_blocks + trial.new_blocks > 0
        reason = self._kept(partial(self._count, trial, seen, new), "count", trial.occasion) or ""
        new = new and self.search.feedback
        if new and not carried:
            trial = self._kept(partial(self._shrink, trial, seen), "shrink", trial.occasion) or trial
        entry, case, provenance = trial.entry, trial.case, trial.provenance
        made = partial(Entry, case, provenance, focused=seen.focused > 0, computes=seen.computes)
        inserted = False
        if entry is not None:
            entry.tried += 1
            entry.won += new
        if entry is None:
            if seen.exit is Exit.OK and (new or not carried or not self.search.guided):
                inserted = self.corpus.add(made())
            elif trial.arrival is not None and not (trial.arrival.bare or seen.refused_bare):
                self.pending.insert(0, replace(trial.arrival, bare=True))
        elif trial.how == PASS_MUTATION:
            entry.n = 0
            if new and case.id not in self.corpus:
                self.corpus.replace_case(entry, case, provenance)
                inserted = True
                if seen.focused:
                    self.corpus.focus_on(entry)
        elif new:
            inserted = self.corpus.add(made())
            entry.n = 0
        else:
            entry.n += 1
        return Step(trial, seen, findings, inserted, reason)

    def _judged(self, trial: Trial, seen: Observation) -> tuple[Finding, ...]:
        """What the oracles find, each on its own: one that fails keeps no other from its say."""
        judgements = (partial(judged, [oracle], trial.case, seen) for oracle in self.oracles)
        found = [self._kept(judgement, "judge", trial.occasion) for judgement in judgements]
        return tuple(finding for findings in found for finding in findings or ())

    def _kept(self, step: Callable[[], _T], doing: str, occasion: Occasion) -> _T | None:
        """Return what `step` returns; None where it fails of a fault of ours, which is passed on."""
        return kept(step, doing, lambda fault: self.hooks.on_fault(fault, occasion))

    def _shrink(self, trial: Trial, seen: Observation) -> Trial:
        """Drop the passes that brought nothing before a sequence is stored; what is left has to compile as well."""
        if seen.shortened is not None:
            smaller = replace(trial.case, passes=seen.shortened)
            if smaller != trial.case:
                self._count_shrunk(Exit.OK)
            return replace(trial, case=smaller)
        smaller = self.shortened(trial.case, seen)
        if smaller == trial.case:
            return trial
        (again,) = self.executor.run([smaller], effort=COMPILE_ONLY)
        for fault in again.faults:
            self.hooks.on_fault(fault, replace(trial, case=smaller).occasion)
        self._spend(again)
        self._count_shrunk(again.exit)
        return replace(trial, case=smaller) if again.exit is Exit.OK else trial

    def _count_shrunk(self, exit_: Exit) -> None:
        self.tally.pairs += 1
        self.tally.exits[f"shrink-{exit_.value}"] += 1

    def shortened(self, case: Case, seen: Observation) -> Case:
        """A case that compiled without those of its passes that brought nothing."""
        if 0 not in seen.pass_blocks or not self.search.feedback:
            return case
        return replace(case, passes=self.pairs.shrunk(case, seen.pass_blocks))

    def _import(self, arrival: Import, iteration: int, rng: Random) -> Trial:
        passes, config = self.pairs.fresh(rng, arrival.program)
        if arrival.bare or self.search.pass_mode == "none":
            passes, config = self.pairs.fit(Case(arrival.program, (), harness=self.search.harness), arrival.program)
        cheap = rng.random() < self.search.cheap_code_share
        target = self.pairs.cheap(self.search.target) if cheap else self.search.target
        case = Case(arrival.program, passes, config, target, rng.getrandbits(32), self.search.harness)
        provenance = Provenance(arrival.name, worker=self.search.worker, iteration=iteration)
        return Trial(case, provenance, SEED_IMPORT, arrival=arrival)

    def _mutate_program(self, entry: Entry, iteration: int, rng: Random) -> Trial | None:
        began = time.perf_counter()
        parent = entry.case
        try:
            for draw in range(_DRAWS):
                name = self._choose_mutator(rng)
                mutation = Mutation(self.search.seed, self.search.worker, iteration, draw, name, parent.id)
                self.hooks.notes.note_mutation(name, iteration, draw, parent.id)
                donors: list[Donor] = []
                donor = partial(self._donor, donors)
                mutant = contained(partial(self.pairs.mutant, mutation, parent.ir, donor), name)
                if isinstance(mutant, Fault):
                    self.tally.mutators[name].tried += 1
                    self.hooks.on_fault(mutant, Occasion(iteration, None, mutation, entry.stored, tuple(donors)))
                    break
                text, why = mutant.attempt.text, mutant.attempt.why
                if why or mutant.died_of:
                    self.tally.exits[why or "mutation-died"] += 1
                if why == ILL_FORMED or mutant.died_of:
                    self.tally.mutators[name].tried += 1
                if mutant.died_of:
                    self.hooks.on_death(mutation, mutant.died_of)
                if mutant.attempt.amiss:
                    self.hooks.on_amiss(mutation, mutant.attempt.amiss)
                if text is not None:
                    case = self._with_program(parent, text, rng)
                    provenance = self._descend(entry, name, iteration)
                    return Trial(case, provenance, name, entry, None, parent, mutation, mutant.new_blocks)
        finally:
            self.hooks.notes.clear_mutation()
            self.tally.seconds["mutate"] += time.perf_counter() - began
        entry.n += 1
        entry.tried += 1
        return None

    def _choose_entry(self, rng: Random) -> Entry:
        """Prefer what has paid and is cheap, or draw equally."""
        search = self.search
        if search.entry_choice == "uniform" or search.pass_mode == "paper" or not search.feedback:
            return self.corpus.choose(rng)
        return self.corpus.contest(rng)

    def _choose_mutator(self, rng: Random) -> str:
        """Prefer what has paid, with a floor for everyone, or draw equally."""
        names = self.pairs.mutators
        if self.search.mutator_choice == "uniform" or not self.search.feedback:
            return names[rng.randrange(len(names))]
        yields = {name: (row.tried, row.valuable) for name, row in self.tally.mutators.items()}
        return rng.choices(names, shares(names, yields))[0]

    def _passes_pay(self, rng: Random) -> bool:
        """Whether an entry that N_max mutations have not brought on gets other passes alone, and not one more mutation.

        Where passes change along with programs as well, it does as often as that pays beside mutations, with a floor.
        """
        if self.search.pass_mode != "joint" or self.search.mutator_choice == "uniform" or not self.search.feedback:
            return True
        rows = {name: row for name, row in self.tally.mutators.items() if name in self.pairs.mutators}
        of_programs = (sum(row.tried for row in rows.values()), sum(row.valuable for row in rows.values()))
        of_passes = self.tally.mutators.get(PASS_MUTATION, Yield())
        yields = {PASS_MUTATION: (of_passes.tried, of_passes.valuable), PROGRAM_MUTATION: of_programs}
        return rng.random() < len(yields) * shares([*yields], yields)[0]

    def _with_program(self, case: Case, ir: str, rng: Random) -> Case:
        """Give a case another program, and by chance another sequence; else its own, but for what is illegal now."""
        mode = self.search.pass_mode
        if mode == "random" or (mode == "joint" and rng.random() < JOINT_SHARE / 2):
            passes, config = self.pairs.fresh(rng, ir)
        elif mode == "joint" and rng.random() < JOINT_SHARE / (2 - JOINT_SHARE):
            donor = self.corpus.choose(rng).passes
            passes, config = self.pairs.mutate(case.passes, case.config, rng, donor, ir)
        else:
            passes, config = self.pairs.fit(case, ir)
        return replace(case, ir=ir, passes=passes, config=config)

    def _mutate_passes(self, entry: Entry, iteration: int, rng: Random) -> Trial:
        began = time.perf_counter()
        donor = self.corpus.choose(rng).passes
        parent = entry.case
        if self.search.pass_mode == "paper":
            passes, config = self.pairs.fresh(rng, parent.ir)
        else:
            passes, config = self.pairs.mutate(parent.passes, parent.config, rng, donor, parent.ir)
        case = replace(parent, passes=passes, config=config)
        self.tally.seconds["mutate"] += time.perf_counter() - began
        return Trial(case, self._descend(entry, PASS_MUTATION, iteration), PASS_MUTATION, entry)

    def _donor(self, drawn: list[Donor], rng: Random) -> str:
        """Draw the program of an entry for a mutation to take parts from, and note it."""
        drawn.append(Donor(len(self.corpus), self.corpus.choose(rng).case.ir))
        return drawn[-1].ir

    def _descend(self, entry: Entry, how: str, iteration: int) -> Provenance:
        parent = entry.provenance
        return Provenance(parent.origin, entry.id, how, self.search.worker, iteration, parent.generation + 1)

    def _count(self, trial: Trial, seen: Observation, new: bool) -> str:
        """Count what came of a trial; returns the label of a rejection, else ""."""
        tally = self.tally
        reason = ""
        tally.exits[seen.exit.value] += 1
        tally.pairs += 1
        valid = seen.exit is Exit.OK
        tally.valid += valid
        tally.valuable += new
        for row in (
            tally.mutators[trial.how],
            *(tally.passes[name] for name in sorted({spec.name for spec in trial.case.passes})),
        ):
            row.tried += 1
            row.valid += valid
            row.valuable += new
        if self.search.feedback:
            self.pairs.learn(tally.pass_yields())
        if seen.exit is Exit.REJECTED:
            kind = self.pairs.label(trial.case, seen)
            reason = kind.value
            tally.labels[reason] += 1
            where = " ".join(filter(None, (seen.stage, seen.pass_name)))
            tally.rejected[f"{where}: {message_template(seen.message)}"] += 1
            if kind is Label.INTERNAL_ERROR and seen.rejection is not None:
                tally.internal_errors[_on_what(seen.rejection)] += 1
        if seen.results is not None:
            tally.verdicts[f"{seen.results.verdict} {seen.results.rule}".strip()] += 1
            if seen.results.device:
                tally.kernels[seen.results.optimised.ending.value] += 1
        self._spend(seen)
        return reason

    def _spend(self, seen: Observation) -> None:
        for stage, spent in seen.seconds.items():
            self.tally.seconds[stage] += spent
