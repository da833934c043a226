"""One worker process: the fuzz loop on one shard of a campaign."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from tzerlike.campaign.budget import Interrupted
from tzerlike.campaign.corpora.carried import Carried
from tzerlike.campaign.corpus import Entry
from tzerlike.campaign.loop import (
    CHEAP_CODE_SHARE,
    CHEAP_CODE_SHARE_WITH_RESULTS,
    CORPUS_IMPORT,
    PASS_MUTATION,
    Fuzzer,
    Hooks,
    Import,
    Notes,
    Search,
    Step,
)
from tzerlike.campaign.pairs import Pairs
from tzerlike.campaign.probing import TOGETHER, ProbingWorker
from tzerlike.campaign.shard_worker import Assignment
from tzerlike.campaign.state import Kept, WorkerPool, read_pool, write_pool
from tzerlike.campaign.transport import SharedDirectory, Transport
from tzerlike.core.case import print_sequence
from tzerlike.core.effort import Check
from tzerlike.core.errors import UserError
from tzerlike.core.observation import Exit
from tzerlike.core.rng import rng_for
from tzerlike.core.storage import write_atomic
from tzerlike.core.stored import StoredCase
from tzerlike.coverage import Coverage
from tzerlike.coverage.focus import read_focus
from tzerlike.coverage.snapshot import Identity, read_snapshot, snapshot_bytes
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.defining import doubtful
from tzerlike.findings.faults.bundle import Occasion
from tzerlike.findings.programs import Programs
from tzerlike.oracles.examiner import Made

EXCHANGE_EVERY = 64
"""Iterations between two looks at what the other workers found."""

_IDLE = 0.02
"""Seconds to wait between two rounds without anything to mutate: other workers may find something."""

POOL_EVERY = 30.0
"""Seconds between two saves of the pool: after a kill its newest entries are found among the files of the corpus."""

ADOPTED_AT_ONCE = 16
"""The most that one look takes over: reading an entry takes a millisecond, and while seeds come in, many iterations of
every other worker bring one. The rest comes with the next looks."""


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


class Worker(ProbingWorker):
    """Fuzzes pairs of program and pass sequence, as tzerlike.campaign.loop does."""

    def __init__(
        self,
        assignment: Assignment,
        executor: ForkExecutor,
        pairs: Pairs,
        programs: Programs,
        seeds: Sequence[Import],
        coverage: Coverage,
        notes: Notes,
        transport: Transport | None = None,
    ) -> None:
        config = assignment.config
        super().__init__(assignment, executor, notes, programs)
        self.coverage = coverage
        self.transport = transport or SharedDirectory(self.directory)
        if self.directory.focus.exists():
            executor.in_focus = read_focus(self.directory.focus).of(coverage.libraries)
        self.carried: Carried | None = None
        self.exchange_at = 0
        self.pool_due = 0.0
        self.adopted: dict[Path, int] = {}
        self.arriving: Iterator[StoredCase] = iter(())
        # One order for all workers, so that each seed has one owner; shuffled, so that a short run sees all kinds.
        shuffled = list(seeds)
        rng_for(config.seed, "seed order").shuffle(shuffled)
        compares = Check.RESULTS in executor.effort.checks
        self.fuzzer = Fuzzer(
            Search(
                seed=config.seed,
                worker=self.number,
                n_max=config.n_max,
                pass_mode=config.pass_mode,
                feedback=config.feedback == "coverage",
                mutator_choice=config.mutator_choice,
                entry_choice=programs.entry_choice if config.entry_choice == "auto" else config.entry_choice,
                target=config.case_target,
                harness=config.harness,
                pairs_per_fork=config.pairs_per_fork,
                cheap_code_share=CHEAP_CODE_SHARE_WITH_RESULTS if compares else CHEAP_CODE_SHARE,
                guided=coverage.total > 0,
            ),
            executor,
            pairs,
            self.oracles,
            Hooks(notes, self.mutation_died, self.mutation_amiss, self.faults.note),
            list(self.shard.of(shuffled)),
            tally=self.state,
        )

        executor.shortened = self.fuzzer.shortened

    def go_on(self) -> None:
        if self.budget.nearly_over and self.reductions.urgent:
            self.reduce_some(to_the_end=True)
            return
        before = time.perf_counter()
        executed = dict(self.state.seconds)
        self.contain(self.turn, "iteration", self.fuzzer.width)
        self._account(time.perf_counter() - before, executed)
        self.reduce_some()

    def turn(self) -> None:
        first = self.state.iterations
        self.notes.beat(first, "exchange")
        if self.shard.total > 1 and first >= self.exchange_at:
            self.exchange_at = first - first % EXCHANGE_EVERY + EXCHANGE_EVERY
            self.faults.keep(self.adopt_from_others, "exchange", Occasion(first))
        self.notes.beat(first, "step")
        commits = self.executor.commits
        with self.budget.held(lambda: self.executor.commits > commits):
            steps = self.fuzzer.step(self.budget.left(first))
            inserted = [step.trial.stored for step in steps if step.inserted]
            self.room.keep(partial(self.directory.save_cases, inserted))
        self.state.idle = self.fuzzer.idle
        if self.state.idle:
            time.sleep(_IDLE)
        self.state.to_confirm = [Kept.of(step.trial.stored) for step in steps if step.findings]
        for step in steps:
            if step.findings:
                del self.state.to_confirm[0]
            self.faults.keep(partial(self.record, step), "record", step.trial.occasion)

    def record(self, step: Step) -> None:
        """Store what a step brought, and append its event."""
        case, seen = step.trial.case, step.observation
        stored = step.trial.stored
        if step.trial.how == CORPUS_IMPORT:
            self.state.carried_through = case.id
        if step.inserted:
            self.room.keep(lambda: self.directory.save_case(stored))
            self.transport.send(stored)
            parent = step.trial.provenance.parent
            if step.trial.how == PASS_MUTATION and parent is not None:
                self.state.superseded.append(parent)
        if seen.exit is Exit.UNKNOWN:
            self.room.keep(partial(self.directory.keep_aside, stored))
        with self.confirming():
            found = step.findings or self.behind_misuse(case, seen, step.trial.occasion)
        signatures = self.confirm(found, stored, step.trial.occasion)
        looked = partial(self._looked, step.trial.occasion)
        if Check.REJECTIONS in self.executor.effort.checks and doubtful(seen):
            with self.confirming():
                signatures.append(looked("define", partial(self.define, case, seen, stored)))
        rng = partial(rng_for, self.config.seed, self.number, step.trial.provenance.iteration)
        made = Made(case, step.inserted, step.trial.parent, step.trial.mutation, rng, step.trial.is_alike(seen))
        signatures += [looked(probe.label, partial(self.examine, probe, made, stored)) for probe in self.probes]
        signatures += self.examine_together(TOGETHER)
        self.events.add(
            {
                "t": round(self.budget.elapsed(), 3),
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

    def repeat(self, occasion: Occasion) -> None:
        """Do again what a fault occurred on; whether it does is in the book of faults."""
        if occasion.stored is not None:
            for step in self.fuzzer.repeat(occasion):
                self.record(step)
        elif occasion.mutation is not None and occasion.parent is not None:
            fault = self.fuzzer.pairs.repeated(occasion)
            if fault is not None:
                self.faults.note(fault, occasion)

    def adopt_from_others(self) -> None:
        """Take over some of the corpus entries that other workers have sent, those first that the last look left."""
        if self.shard.slot == 0:
            self.adopt_coverage()
        left = ADOPTED_AT_ONCE
        for source in (self.arriving, self.transport.received()):
            self.arriving = source
            for stored in islice(source, left):
                left -= 1
                if stored.case.id not in self.fuzzer.corpus:
                    self.room.keep(partial(self.directory.save_case, stored))
                    self.fuzzer.corpus.add(Entry(stored.case, stored.provenance))
            if not left:
                return

    def adopt_coverage(self) -> None:
        """Count what other machines have covered, as far as they have saved it since the last look."""
        others = self.shard.of_other_machines(self.directory.worker_numbers())
        for path in (self.directory.merged_coverage, *map(self.directory.worker_coverage, others)):
            if path.exists() and (saved := path.stat().st_mtime_ns) != self.adopted.get(path):
                self.adopted[path] = saved
                self.coverage.restore(read_snapshot(path).bits_of(self.identity, path))

    @property
    def identity(self) -> Identity:
        return Identity(self.coverage.backend, self.environment["compiler_library"], self.coverage.total)

    def restore(self) -> None:
        """Take up where an earlier run of this shard stopped; a corpus file that is broken is set aside and named."""
        super().restore()
        self.fuzzer.bringing = self.state.bringing
        if self.fuzzer.search.feedback:
            self.fuzzer.pairs.learn(self.state.pass_yields())
        self._restore_corpus()
        if self.config.corpus:
            directory, through = Path(self.config.corpus), self.state.carried_through
            self.carried = Carried(directory, self.shard, self.fuzzer.pairs.admit, through)
            self.fuzzer.carried = self.carried
        if not self.resumes:
            return
        if self.coverage.total and not self.directory.worker_coverage(self.number).exists():
            self.cover_again()
        imported = {e.provenance.origin for e in self.fuzzer.corpus if e.provenance.parent is None}
        self.fuzzer.pending[:] = [p for p in self.fuzzer.pending if p.name not in imported]

    def _restore_corpus(self) -> None:
        """Fill the corpus in the order that it had, and then in that in which others, or a lost save, left more."""
        pool = self._saved_pool()
        known, focused = dict(pool.entries), set(pool.focused)
        counts = dict(zip(known, pool.yields, strict=False))
        arrived: list[Entry] = []
        case_ids = dict.fromkeys([*known, *self.directory.corpus_ids()])
        self.transport.skip(case_ids)
        gone = set(self.state.superseded)
        for case_id in (case_id for case_id in case_ids if case_id not in gone):
            try:
                stored = self.directory.load_case(case_id)
            except UserError as error:
                self._set_aside(case_id, error)
                continue
            tried, won = counts.get(case_id, (0, 0))
            n, in_focus = known.get(case_id, 0), case_id in focused
            entry = Entry(stored.case, stored.provenance, n, tried=tried, won=won, focused=in_focus)
            if case_id in known:
                self.fuzzer.corpus.add(entry)
            else:
                arrived.append(entry)
        arrived.sort(key=lambda e: (e.provenance.worker, e.provenance.iteration))
        for entry in arrived:
            self.fuzzer.corpus.add(entry)
            if entry.provenance.worker == self.number:
                # Saved after the state was: the iterations up to it are done.
                self.state.iterations = max(self.state.iterations, entry.provenance.iteration + 1)

    def _saved_pool(self) -> WorkerPool:
        pool, before = self.directory.worker_pool(self.number), self.directory.worker_state(self.number)
        return read_pool(pool if pool.exists() else before) if self.resumes else WorkerPool()

    def cover_again(self) -> None:
        """Run the corpus, or a worker's share of it, for what it covers: the record of that is lost."""
        with suppress(Interrupted):
            for entry in self.shard.of(self.fuzzer.corpus.entries):
                if self.budget.over:
                    return
                self.notes.beat(self.state.iterations, "cover again")
                self.executor.run([entry.case])

    def _set_aside(self, case_id: str, error: UserError) -> None:
        try:
            where = self.directory.set_aside(case_id)
        except FileNotFoundError:
            return
        self.state.problems.append(f"{error}; set aside as {where.relative_to(self.directory.root)}")

    def _save(self) -> None:
        state, coverage, corpus = self.state, self.coverage, self.fuzzer.corpus
        self._book_overhead()
        state.coverage, state.coverage_total, state.coverage_backend = (
            coverage.covered(),
            coverage.total,
            coverage.backend,
        )
        state.corpus = len(corpus)
        state.bringing = self.fuzzer.bringing
        state.pending = len(self.fuzzer.pending)
        if self.carried is not None:
            state.pending += len(self.carried)
            state.problems = list(dict.fromkeys([*state.problems, *self.carried.problems]))
        bits = coverage.snapshot()
        if len(coverage.libraries) > 1:
            state.libraries = {each.path.name: (each.counted(bits), len(each.addresses)) for each in coverage.libraries}
        write_atomic(self.directory.worker_coverage(self.number), snapshot_bytes(self.identity, bits))
        if time.monotonic() >= self.pool_due or self.budget.done(state.iterations):
            self.pool_due = time.monotonic() + POOL_EVERY
            write_pool(
                self.directory.worker_pool(self.number),
                WorkerPool(
                    [(entry.id, entry.n) for entry in corpus],
                    [(entry.tried, entry.won) for entry in corpus],
                    [entry.id for entry in corpus if entry.focused],
                ),
            )
        super()._save()

    def _book_overhead(self) -> None:
        for name, spent in self.executor.overhead.items():
            self.state.seconds[name] += spent
        self.executor.overhead.clear()

    def _account(self, spent: float, before: dict[str, float]) -> None:
        """Book what a turn spent outside its named stages as bookkeeping."""
        self._book_overhead()
        seconds = self.state.seconds
        named = sum(seconds[name] - before.get(name, 0.0) for name in seconds if name != "bookkeeping")
        seconds["bookkeeping"] += max(0.0, spent - named)
