"""A harness of another kind in the loop: programs are lists of integers, the compiler is a Python function."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from tests.data.toy_harness.tzerlike_lists import PASSES, ListPairs, Numbers, dies
from tzerlike.campaign.loop import Fuzzer, Hooks, Import, Search, Step
from tzerlike.core.case import Case
from tzerlike.core.effort import Effort
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.oracles.crash import judge_crash
from tzerlike.processes.channel import Channel


class ListCompiler:
    """Runs passes in this process; it refuses what is empty, and covers what lengths a pass makes, and when."""

    def __init__(self) -> None:
        self.covered: set[tuple[str, int, int]] = set()

    def run(self, cases: Sequence[Case], *, count: bool = True, effort: Effort | None = None) -> list[Observation]:
        return [self.observed(case) for case in cases]

    def observed(self, case: Case) -> Observation:
        numbers: Numbers = json.loads(case.ir)
        reached: set[tuple[str, int, int]] = set()
        ran: list[str] = []
        for spec in case.passes:
            if not numbers:
                return Observation(Exit.REJECTED, Stage.PASSES, "ValueError: empty", spec.name)
            if dies(spec.name, ran, numbers):
                return Observation(Exit.CRASH, Stage.PASSES, "SIGSEGV", spec.name, signal=11)
            numbers = PASSES[spec.name](numbers)
            ran.append(spec.name)
            reached.add((spec.name, len(numbers), len(ran)))
        new, self.covered = len(reached - self.covered), self.covered | reached
        return Observation(Exit.OK, Stage.DONE, new_blocks=new)


def fuzz(root: int, iterations: int, **options: str) -> tuple[Fuzzer, list[Step]]:
    seeds = [Import(f"s{n}", json.dumps(list(range(n)))) for n in range(1, 4)]
    fuzzer = Fuzzer(Search(root, **options), ListCompiler(), ListPairs(), [judge_crash], Hooks(Channel()), seeds)  # type: ignore[arg-type]
    return fuzzer, [step for _ in range(iterations) for step in fuzzer.step()]


@pytest.mark.parametrize("root", [1, 2, 3])
def test_the_planted_bug_is_found_and_the_corpus_grows_towards_it(root: int) -> None:
    fuzzer, steps = fuzz(root, 1500)
    found = [finding for step in steps for finding in step.findings]
    assert {(finding.kind, finding.observation.pass_name) for finding in found} == {("crash", "toy.Sort")}
    assert max(len(json.loads(entry.case.ir)) for entry in fuzzer.corpus) > 4
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
