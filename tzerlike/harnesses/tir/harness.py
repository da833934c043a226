"""Tensor IR as a harness."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tzerlike.campaign.cases import CaseHarness
from tzerlike.campaign.loop import Import
from tzerlike.core.case import Case
from tzerlike.core.config import CampaignConfig
from tzerlike.core.effort import COMPILE_ONLY, Effort
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.results import Results
from tzerlike.execution import fitness, origin, plainness, rejection, rendering, stages
from tzerlike.execution.compare.evidence import Evidence
from tzerlike.execution.compare.results import interpret_seeded
from tzerlike.execution.diagnosis import job
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.bundles.bundle import Texts
from tzerlike.findings.programs import ACCEPTING, JudgeCase
from tzerlike.harnesses import proof
from tzerlike.harnesses.tir import texts
from tzerlike.harnesses.tir.pairs import TirPairs
from tzerlike.mutators import attempt, make_mutators
from tzerlike.oracles.examiner import Look
from tzerlike.passes.naming import short_name
from tzerlike.processes.channel import Channel
from tzerlike.processes.forked import each_in_child, in_child
from tzerlike.processes.job import ALONE, Job, RunContext
from tzerlike.systems import tvm_api
from tzerlike.tir.extents import halved
from tzerlike.tir.order import Size, rough_size_of, size_of
from tzerlike.tir.reducers.catalogue import REDUCERS
from tzerlike.tir.seeds import seeds_for
from tzerlike.tir.typecheck import is_well_typed

_SEEDS = 4
"""Seeds of inputs, that of the case first, which programs are interpreted under."""


class TirHarness(CaseHarness):
    """The harness of tensor IR."""

    jobs: Mapping[str, Job] = MappingProxyType(
        {**attempt.JOBS, **job.JOBS, **fitness.JOBS, **origin.JOBS, **plainness.JOBS, **proof.JOBS}
        | {**rejection.JOBS, **rendering.JOBS}
    )
    reducers = REDUCERS

    def prepare(self, params: Mapping[str, Any]) -> tuple[int, list[str]]:
        make_mutators(params["mutators"])
        return super().prepare(params)

    def pairs(self, config: CampaignConfig, executor: ForkExecutor) -> TirPairs:
        return TirPairs(config, executor.explore)

    def seeds(self, source: str, target: str, cache: Path) -> tuple[list[Import], list[str]]:
        found, problems = seeds_for(source, target, cache)
        return [Import(seed.name, seed.ir) for seed in found], problems

    def run_case(
        self,
        case: Case,
        channel: Channel,
        around: RunContext = ALONE,
        effort: Effort = COMPILE_ONLY,
        baseline_known: bool = False,
        /,
    ) -> dict[str, Any]:
        return stages.run_case(case, channel, around, effort, baseline_known)

    def size(self, case: Case) -> Size:
        return size_of(case)

    def rough_size(self, case: Case) -> Size:
        return rough_size_of(case)

    def plain(self, executor: ForkExecutor, case: Case, *, printed: bool) -> bool:
        return plainness.plain_program(executor, case, printed=printed)

    def shipped(self, case: Case) -> bool:
        usual = self.usual(case)
        return (case.passes, case.config) == (usual.passes, usual.config)

    def usual(self, case: Case) -> Case:
        return plainness.plain_case(case)

    def carried(self, executor: ForkExecutor, finding: Finding) -> Iterator[Case]:
        """The program itself, and with the options that it may ask for; then what it is before the guilty pass of the
        sequence, or behind all of it, and before a pass that was misused.

        Where one has something odd about its form, what it is without that; and where one is for threads, all of that
        for a device.
        """
        case, results = finding.case, finding.observation.results or Results("")
        guilty = _places(case, finding.observation.culprit or results.guilty) or [len(case.passes)]
        counts = dict.fromkeys([*guilty, *_places(case, results.misused)])
        programs = chain(
            [self.usual(case)],
            (plainness.program_hinted(executor, case) for _ in range(1)),
            (plainness.program_after(executor, case, n) for n in counts if n),
        )
        for other in filter(None, programs):
            yield from self._plainly(executor, other)
            for_device = plainness.case_of_device(other)
            if for_device is not None:
                yield from self._plainly(executor, for_device)

    def _plainly(self, executor: ForkExecutor, case: Case) -> Iterator[Case]:
        """The case if its program is plain, else with what is odd about it mended."""
        if self.plain(executor, case, printed=True):
            yield case
            return
        for better in self.mended(executor, case):
            if self.plain(executor, better, printed=True):
                yield better

    def mended(self, executor: ForkExecutor, case: Case) -> Iterator[Case]:
        return iter(plainness.mended_programs(executor, case))

    def smaller(self, case: Case) -> Iterator[Case]:
        return (replace(case, ir=ir) for ir in halved(case.ir))

    def accepted(self, case: Case, asked: frozenset[str] = ACCEPTING) -> frozenset[str]:
        def verifiers() -> str:
            module = tvm_api.load_ir(case.ir)
            typed = is_well_typed(tvm_api.entry_of(module))
            return " ".join(["types"] * typed + ["form"] * tvm_api.well_formed(module))

        def reader() -> str:
            return "text" * rendering.render_module(case.ir).faithful

        def meaning() -> str:
            func = tvm_api.entry_of(tvm_api.load_ir(case.ir))
            own, *others = (interpret_seeded(func, case.input_seed + more, Effort())[2] for more in range(_SEEDS))
            # An index that data or sizes give and a smaller buffer does not have is in bounds for some inputs only.
            any_inputs = all(results.defined and results.attempts == 1 for results in (own, *others))
            return " ".join(["meaning"] * own.defined + ["inputs"] * any_inputs)

        # One may die of a program that the others take. The interpreter takes longest, for loops that run long.
        judges = (verifiers, reader, meaning) if "meaning" in asked else (verifiers, reader)
        words = (word or "" for word, _ in each_in_child(judges, lambda ask: ask()))
        return frozenset(" ".join(words).split())

    def odd(self, case: Case) -> frozenset[str]:
        forms, _ = in_child(lambda: "\n".join(plainness.odd_forms(case)))
        return frozenset((forms or "").splitlines())

    def require_fit(self, executor: ForkExecutor, case: Case, inputs: str = "") -> None:
        fitness.require_fit(executor.call, case, inputs)

    def texts(
        self, executor: ForkExecutor, finding: Finding, limits: Limits, evidence: Evidence, judge: JudgeCase
    ) -> Texts:
        return texts.texts(executor, finding, limits, evidence, judge)

    def texts_of_look(self, executor: ForkExecutor, finding: Finding, look: Look) -> Texts:
        return texts.texts_of_look(executor, finding, look)

    def texts_of_calls(self, executor: ForkExecutor, finding: Finding, place: str, calls: Sequence[str]) -> Texts:
        return texts.texts_of_calls(executor, finding, place, calls)


def _places(case: Case, name: str) -> list[int]:
    """Where a pass stands in the sequence of a case."""
    return [index for index, spec in enumerate(case.passes) if short_name(spec.name) == short_name(name)]


HARNESS = TirHarness()
