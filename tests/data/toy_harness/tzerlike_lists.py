"""A harness in one file: programs are lists of integers as JSON, and the compiler is a Python function with a bug."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from tzerlike.campaign.cases import CaseHarness
from tzerlike.campaign.loop import Import
from tzerlike.campaign.pairs import DrawProgram, Passes, Plan
from tzerlike.core.bandit import Yields
from tzerlike.core.case import Case, ContextConfig, PassSpec
from tzerlike.core.config import CampaignConfig
from tzerlike.core.effort import Effort
from tzerlike.core.errors import Fault, UserError
from tzerlike.core.finding import Finding
from tzerlike.core.harness import HarnessRow
from tzerlike.core.limits import Limits
from tzerlike.core.mutation import Attempt, Mutant, Mutation
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.shrink import Attempt as Smaller
from tzerlike.core.shrink import spans
from tzerlike.execution.compare.evidence import Evidence
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.bundles.bundle import Texts
from tzerlike.findings.faults.bundle import Occasion
from tzerlike.findings.programs import JudgeCase
from tzerlike.findings.repro import replaying
from tzerlike.passes.label import Label
from tzerlike.plugins import Plugin
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import RunContext

Numbers = list[int]

PASSES: dict[str, Callable[[Numbers], Numbers]] = {
    "toy.Sort": sorted,
    "toy.Double": lambda numbers: [2 * number for number in numbers],
    "toy.Unique": lambda numbers: list(dict.fromkeys(numbers)),
    "toy.DropNegative": lambda numbers: [number for number in numbers if number >= 0],
}


def dies(name: str, ran: list[str], numbers: Numbers) -> bool:
    """The bug: a list of more than four is sorted that was doubled and is unique."""
    return name == "toy.Sort" and {"toy.Double", "toy.Unique"} <= set(ran) and len(numbers) > 4


def append(numbers: Numbers, rng: Random, donor: Callable[[], Numbers]) -> Numbers:
    return [*numbers, rng.randrange(-50, 50)]


def splice(numbers: Numbers, rng: Random, donor: Callable[[], Numbers]) -> Numbers:
    return numbers[: rng.randrange(len(numbers) + 1)] + donor()


CHANGES = {"append": append, "splice": splice}


class ListPairs:
    """Lists, and sequences of those passes."""

    mutators = tuple(CHANGES)

    def mutant(self, mutation: Mutation, program: str, donor: DrawProgram) -> Mutant:
        rng = mutation.rng
        child = CHANGES[mutation.mutator](json.loads(program), rng, lambda: json.loads(donor(rng)))
        return Mutant(Attempt(json.dumps(child) if len(child) < 12 else None))

    def repeated(self, occasion: Occasion) -> Fault | None:
        return None

    def admit(self, case: Case) -> None:
        check(case)

    def cheap(self, target: str) -> str:
        return target

    def fresh(self, rng: Random, program: str) -> Plan:
        return tuple(PassSpec(rng.choice(list(PASSES))) for _ in range(rng.randrange(1, 4))), ContextConfig()

    def mutate(self, passes: Passes, config: ContextConfig, rng: Random, donor: Passes, program: str) -> Plan:
        return (*passes[-3:], *self.fresh(rng, program)[0]), config

    def fit(self, case: Case, program: str) -> Plan:
        return case.passes, case.config

    def shrunk(self, case: Case, new_blocks: tuple[int, ...]) -> Passes:
        return case.passes

    def learn(self, yields: Yields) -> None:
        self.learnt = yields

    def label(self, case: Case, seen: Observation) -> Label:
        return Label.DOCUMENTED_REFUSAL


def check(case: Case) -> None:
    """UserError unless every pass is one of those."""
    for spec in case.passes:
        if spec.name not in PASSES:
            raise UserError(f"case.passes: no pass {spec.name!r}")


@dataclass(frozen=True, order=True)
class Size:
    passes: int
    length: int
    text: str

    @property
    def numbers(self) -> dict[str, int]:
        return {"passes": self.passes, "numbers": self.length}


def shorter_lists(case: Case) -> Iterator[Smaller[Case]]:
    numbers = json.loads(case.ir)
    for start, stop in spans(len(numbers)):
        yield lambda kept=numbers[:start] + numbers[stop:]: replace(case, ir=json.dumps(kept))
    for index in range(len(numbers)):
        yield lambda kept=[*numbers[:index], index, *numbers[index + 1 :]]: replace(case, ir=json.dumps(kept))


def fewer_passes(case: Case) -> Iterator[Smaller[Case]]:
    for start, stop in spans(len(case.passes)):
        yield lambda kept=case.passes[:start] + case.passes[stop:]: replace(case, passes=kept)


class ListHarness(CaseHarness):
    reducers = {"fewer-passes": fewer_passes, "shorter-lists": shorter_lists}  # noqa: RUF012

    def pairs(self, config: CampaignConfig, executor: ForkExecutor) -> ListPairs:
        return ListPairs()

    def seeds(self, source: str, target: str, cache: Path) -> tuple[list[Import], list[str]]:
        return [Import(f"s{n}", json.dumps(list(range(n)))) for n in range(1, 7)], []

    def run_case(
        self, case: Case, channel: Channel, around: RunContext, effort: Effort, baseline_known: bool, /
    ) -> dict[str, Any]:
        channel.enter_stage(Stage.PASSES)
        numbers, ran = json.loads(case.ir), list[str]()
        for spec in case.passes:
            channel.note_pass(spec.name)
            if not numbers:
                return {"exit": Exit.REJECTED.value, "message": "ValueError: empty"}
            if dies(spec.name, ran, numbers):
                os.kill(os.getpid(), signal.SIGSEGV)
            numbers = PASSES[spec.name](numbers)
            ran.append(spec.name)
        channel.enter_stage(Stage.DONE)
        return {"exit": Exit.OK.value}

    def size(self, case: Case) -> Size:
        return Size(len(case.passes), len(json.loads(case.ir)), case.ir)

    def texts(
        self, executor: ForkExecutor, finding: Finding, limits: Limits, evidence: Evidence, judge: JudgeCase
    ) -> Texts:
        return Texts(f"numbers = {finding.case.ir}\n", replaying(finding.title))


HARNESS = ListHarness()

plugin = Plugin(harnesses={"lists": HarnessRow("lists", "List", f"{__name__}:HARNESS", check=f"{__name__}:check")})
