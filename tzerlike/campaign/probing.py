"""A worker that looks at what compilations do not show: probes examine the cases that they want."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import repeat

from tzerlike.campaign.budget import Interrupted
from tzerlike.campaign.confirming import ConfirmingWorker
from tzerlike.campaign.shard_worker import Assignment, Beats
from tzerlike.campaign.state import Kept
from tzerlike.core.errors import Fault, contained
from tzerlike.core.mutation import Mutation
from tzerlike.core.observation import message_template
from tzerlike.core.rng import rng_for
from tzerlike.core.stored import StoredCase
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.bundles.examined import bundle_examined
from tzerlike.findings.faults.bundle import Occasion
from tzerlike.findings.programs import Programs
from tzerlike.oracles import make_oracles, probes_for
from tzerlike.oracles.examiner import Look, Made, RulingOut, ask_for, examiner_of, ruling_out
from tzerlike.oracles.primitives import PROBE
from tzerlike.oracles.protocol import Probe

TOGETHER = 8
"""Cases that a probe looks at in one child, where that costs less: half of what a child takes for one program is to
start."""

_LOOKS = 4
"""How many mutations are looked at again of those in which the compiler says the same."""


class ProbingWorker(ConfirmingWorker):
    """A worker whose cases the probes of its campaign's oracles look at."""

    def __init__(self, assignment: Assignment, executor: ForkExecutor, notes: Beats, programs: Programs) -> None:
        oracles = assignment.config.oracles
        super().__init__(assignment, executor, notes, make_oracles(oracles), programs)
        self.probes = probes_for(oracles)
        self.amiss: Counter[str] = Counter()

    def work(self) -> None:
        super().work()
        self.examine_together()

    def examine(self, probe: Probe, made: Made, stored: StoredCase) -> str | None:
        """Have a probe look at a case that it wants, now or with others, and bundle what that finds."""
        examiner, ask = examiner_of(probe), ask_for(probe, self.executor.call)
        if not examiner.wants(made):
            return None
        if ruling_out(probe, ask) is not None:
            self.state.to_examine.setdefault(probe.label, []).append(Kept.of(stored))
            return None
        began = time.perf_counter()
        look = examiner.look(ask, made)
        if look.word:
            self.state.exits[f"{probe.label}: {look.word}"] += 1
            self.state.seconds[f"{probe.label}s"] += time.perf_counter() - began
        return self._bundle_look(probe, look, stored)

    def examine_together(self, at_least: int = 1) -> list[str | None]:
        """Look at the cases that wait for a probe, where so many do; return the signatures of what that finds."""
        signatures: list[str | None] = []
        for probe in self.probes:
            clean = ruling_out(probe, ask_for(probe, self.executor.call))
            waiting = self.state.to_examine.get(probe.label, [])
            if clean is None or len(waiting) < at_least:
                continue
            # Before the first look: what ends this worker would end the next one too.
            del self.state.to_examine[probe.label]
            try:
                signatures += self._examined(probe, clean, [one.stored for one in waiting])
            except Interrupted:
                self.state.to_examine[probe.label] = waiting
                raise
        return signatures

    def _examined(self, probe: Probe, clean: RulingOut, kept: Sequence[StoredCase]) -> list[str | None]:
        iteration, faults = kept[-1].provenance.iteration, sum(self.state.faults.values())
        self.notes.beat(iteration, probe.label)
        told = contained(lambda: clean([stored.case for stored in kept]), probe.label)
        signatures = []
        for stored, ruled_out in zip(kept, repeat(False) if isinstance(told, Fault) else told, strict=False):
            if not ruled_out:
                occasion, look = Occasion(stored.provenance.iteration, stored), partial(self._look, probe, stored)
                signatures.append(self._looked(occasion, probe.label, look))
        if isinstance(told, Fault) and faults == sum(self.state.faults.values()):
            # It is of none of them alone.
            self.faults.note(told, Occasion(iteration))
        return signatures

    def _look(self, probe: Probe, stored: StoredCase) -> str | None:
        look = examiner_of(probe).look_again(ask_for(probe, self.executor.call), stored.case, {})
        return self._bundle_look(probe, look, stored)

    def _bundle_look(self, probe: Probe, look: Look, stored: StoredCase) -> str | None:
        if not look.findings:
            return None
        (finding,) = look.findings
        if self._reported(finding):
            return finding.signature
        how = (self.executor, self.programs, probe, look, stored, self._found_now)
        bundle = partial(self.room.keep, partial(bundle_examined, self.directory.findings, *how))
        with self.confirming():
            return self._as_ours(finding, lambda: self._bundled(finding, bundle(), probe.label))

    def mutation_amiss(self, mutation: Mutation, amiss: str) -> None:
        """Look at a mutation in which the compiler seems to have failed: of those that say the same at a few."""
        probe = next((probe for probe in self.probes if probe is PROBE), None)
        said = f"{mutation.mutator}: {message_template(amiss)}"
        if probe is None or self.amiss[said] >= _LOOKS:
            return
        self.amiss[said] += 1
        occasion = Occasion(mutation.iteration, mutation=mutation)

        def look() -> str | None:
            stored = self.directory.load_case(mutation.parent)
            rng = partial(rng_for, self.config.seed, self.number, mutation.iteration)
            made = Made(stored.case, False, stored.case, mutation, rng)
            return self.examine(probe, made, StoredCase(stored.case, mutation.descent(stored.provenance)))

        self.faults.keep(look, probe.label, occasion)
