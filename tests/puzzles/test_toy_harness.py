"""A harness of another kind in the loop: programs are lists of integers, the compiler is a Python function."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random

import pytest

from tzerlike.campaign.harness import DrawProgram, Passes, Plan
from tzerlike.campaign.loop import Fuzzer, Hooks, Import, Search, Step
from tzerlike.core.bandit import Yields
from tzerlike.core.case import Case, ContextConfig, PassSpec
from tzerlike.core.errors import UserError
from tzerlike.core.mutation import Attempt, Mutant, Mutation
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.oracles.crash import judge_crash
from tzerlike.passes.label import Label
from tzerlike.processes.channel import Channel

Numbers = list[int]

PASSES: dict[str, Callable[[Numbers], Numbers]] = {
    "toy.Sort": sorted,
    "toy.Double": lambda numbers: [2 * number for number in numbers],
    "toy.Unique": lambda numbers: list(dict.fromkeys(numbers)),
    "toy.DropNegative": lambda numbers: [number for number in numbers if number >= 0],
}


def append(numbers: Numbers, rng: Random, donor: Callable[[], Numbers]) -> Numbers:
    return [*numbers, rng.randrange(-50, 50)]


def splice(numbers: Numbers, rng: Random, donor: Callable[[], Numbers]) -> Numbers:
    return numbers[: rng.randrange(len(numbers) + 1)] + donor()


CHANGES = {"append": append, "splice": splice}


class ListHarness:
    """Lists of integers, as JSON."""

    mutators = ("append", "splice")

    def mutant(self, mutation: Mutation, program: str, donor: DrawProgram) -> Mutant:
        rng = mutation.rng
        child = CHANGES[mutation.mutator](json.loads(program), rng, lambda: json.loads(donor(rng)))
        return Mutant(Attempt(json.dumps(child) if len(child) < 12 else None))

    def admit(self, case: Case) -> None:
        if not all(spec.name in PASSES for spec in case.passes):
            raise UserError("no such pass")

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


class ListCompiler:
    """Runs passes; it refuses what is empty, and dies where a long list is sorted that was doubled and is unique."""

    def __init__(self) -> None:
        self.covered: set[tuple[str, int, int]] = set()

    def run(self, cases: Sequence[Case], *, count: bool = True) -> list[Observation]:
        return [self.observed(case) for case in cases]

    def observed(self, case: Case) -> Observation:
        numbers: Numbers = json.loads(case.ir)
        reached: set[tuple[str, int, int]] = set()
        ran: list[str] = []
        for spec in case.passes:
            if not numbers:
                return Observation(Exit.REJECTED, Stage.PASSES, "ValueError: empty", spec.name)
            if spec.name == "toy.Sort" and {"toy.Double", "toy.Unique"} <= set(ran) and len(numbers) > 6:
                return Observation(Exit.CRASH, Stage.PASSES, "SIGSEGV", spec.name, signal=11)
            numbers = PASSES[spec.name](numbers)
            ran.append(spec.name)
            reached.add((spec.name, len(numbers), len(ran)))
        new, self.covered = len(reached - self.covered), self.covered | reached
        return Observation(Exit.OK, Stage.DONE, new_blocks=new)


def fuzz(root: int, iterations: int, **options: str) -> tuple[Fuzzer, list[Step]]:
    seeds = [Import(f"s{n}", json.dumps(list(range(n)))) for n in range(1, 4)]
    fuzzer = Fuzzer(Search(root, **options), ListCompiler(), ListHarness(), [judge_crash], Hooks(Channel()), seeds)  # type: ignore[arg-type]
    return fuzzer, [step for _ in range(iterations) for step in fuzzer.step()]


@pytest.mark.parametrize("root", [1, 2, 3])
def test_the_planted_bug_is_found_and_the_corpus_grows_towards_it(root: int) -> None:
    fuzzer, steps = fuzz(root, 1500)
    found = [finding for step in steps for finding in step.findings]
    assert {(finding.kind, finding.observation.pass_name) for finding in found} == {("crash", "toy.Sort")}
    assert max(len(json.loads(entry.case.ir)) for entry in fuzzer.corpus) > 6
    assert all(step.label == "documented-refusal" for step in steps if step.observation.exit is Exit.REJECTED)
    assert set(fuzzer.tally.mutators) == {"seed", "append", "splice", "passes"}
    assert fuzzer.tally.valuable == sum(step.inserted for step in steps)


def test_the_same_seed_gives_the_same_pairs() -> None:
    runs = [[step.trial.case.id for step in fuzz(root, 300)[1]] for root in (5, 5, 6)]
    assert runs[0] == runs[1] != runs[2]


def test_where_no_pass_runs_nothing_is_new_and_seeds_alone_enter() -> None:
    fuzzer, _ = fuzz(1, 300, pass_mode="none")
    assert all(entry.case.passes == () for entry in fuzzer.corpus)
    assert len(fuzzer.corpus) == 3
