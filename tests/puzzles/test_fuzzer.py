"""Algorithm 1 on fake compilers, step by step."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from random import Random
from types import MappingProxyType
from typing import Any

import pytest

from tzerlike.campaign import loop
from tzerlike.campaign.corpus import Entry
from tzerlike.campaign.loop import PASS_MUTATION, Fuzzer, Hooks, Import, Search
from tzerlike.campaign.pairs import Passes, Plan
from tzerlike.core.bandit import Yields
from tzerlike.core.case import Case, ContextConfig, PassSpec
from tzerlike.core.config import CampaignConfig
from tzerlike.core.effort import Effort
from tzerlike.core.errors import Fault
from tzerlike.core.mutation import Attempt, Mutant, Mutation
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import Rejection
from tzerlike.findings.faults.bundle import Occasion
from tzerlike.harnesses.tir.pairs import TirPairs
from tzerlike.mutators import MutationEnv
from tzerlike.mutators.attempt import Explore
from tzerlike.oracles.crash import judge_crash
from tzerlike.passes.catalog import instantiate
from tzerlike.processes.channel import Channel
from tzerlike.systems import tvm_api

OK_NEW = Observation(Exit.OK, Stage.DONE, new_blocks=5)
OK_OLD = Observation(Exit.OK, Stage.DONE)
REFUSED = Observation(Exit.REJECTED, Stage.PASSES, "ValueError: no", "a.B")
DIED = Observation(Exit.CRASH, Stage.PASSES, "SIGSEGV", "a.B", signal=11)


class Scripted:
    """Answers each case by the next observation of a script, and remembers the cases."""

    def __init__(self, *script: Observation, otherwise: Observation = OK_OLD) -> None:
        self.script = list(script)
        self.otherwise = otherwise
        self.cases: list[Case] = []
        self.schedules: list[Mutant] = []

    def run(self, cases: Sequence[Case], *, count: bool = True, effort: Effort | None = None) -> list[Observation]:
        self.cases += cases
        return [self.script.pop(0) if self.script else self.otherwise for _ in cases]

    def explore(
        self, job: str, item: Mapping[str, Any], keeps: Callable[[list[dict[str, Any]]], bool]
    ) -> tuple[list[dict[str, Any]], Observation | None, int]:
        mutant = self.schedules.pop(0) if self.schedules else Mutant(Attempt(None))
        death = Observation(Exit.CRASH, Stage.MUTATE, signal=mutant.died_of) if mutant.died_of else None
        return [asdict(mutant.attempt)], death, mutant.new_blocks


class Constant:
    """A mutator that makes a new program each time."""

    name = "constant"

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any:
        value = tvm_api.tirx.Evaluate(tvm_api.tirx.const(rng.randrange(1 << 20), "int32"))
        return tvm_api.PrimFunc([], value)


class Never:
    name = "never"

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any:
        return None


class Sequences(TirPairs):
    """Fresh sequences of one pass; mutation appends another; shrinking drops what brought nothing."""

    def __init__(self, explore: Explore, mutators: Sequence[Any]) -> None:
        super().__init__(CampaignConfig(seed=1), explore, mutators)
        self.learnt: Yields = {}

    def fresh(self, rng: Random, program: str) -> Plan:
        return (PassSpec("a.B", (("x", rng.randrange(1000)),)),), ContextConfig()

    def mutate(self, passes: Passes, config: ContextConfig, rng: Random, donor: Passes, program: str) -> Plan:
        return (*passes, PassSpec("a.C", (("x", rng.randrange(1000)),))), config

    def fit(self, case: Case, program: str) -> Plan:
        return case.passes, case.config

    def learn(self, yields: Yields) -> None:
        self.learnt = yields

    def shrunk(self, case: Case, new_blocks: tuple[int, ...]) -> Passes:
        return tuple(spec for spec, blocks in zip(case.passes, new_blocks, strict=True) if blocks)


def program(value: int) -> str:
    func = tvm_api.PrimFunc([], tvm_api.tirx.Evaluate(tvm_api.tirx.const(value, "int32")))
    return tvm_api.dump_ir(tvm_api.module_of(func))


def seed(name: str = "s") -> Import:
    return Import(name, program(0))


Make = Callable[..., Fuzzer]


@pytest.fixture
def make() -> Make:
    def build(
        executor: Scripted,
        mutator: Any = None,
        mutators: list[Any] | None = None,
        pending: list[Import] | None = None,
        root: int = 1,
        hooks: Mapping[str, Any] = MappingProxyType({}),
        **options: Any,
    ) -> Fuzzer:
        harness = Sequences(executor.explore, [mutator or Constant()] if mutators is None else mutators)
        arriving = [seed()] if pending is None else pending
        return Fuzzer(Search(root, **options), executor, harness, [judge_crash], Hooks(Channel(), **hooks), arriving)

    return build


def test_a_seed_that_compiles_enters(make: Make) -> None:
    fuzzer = make(Scripted(OK_NEW))
    (step,) = fuzzer.step()
    assert step.inserted
    assert [e.case.passes[0].name for e in fuzzer.corpus] == ["a.B"]


def test_the_source_of_sequences_learns_what_was_counted(make: Make) -> None:
    fuzzer = make(Scripted(OK_NEW, OK_OLD, OK_OLD))
    for _ in range(3):
        fuzzer.step()
    assert isinstance(fuzzer.pairs, Sequences)
    assert fuzzer.pairs.learnt["a.B"] == (3, 1)


def test_a_seed_that_its_sequence_breaks_comes_again_without(make: Make) -> None:
    fuzzer = make(Scripted(REFUSED, OK_NEW))
    assert not fuzzer.step()[0].inserted
    assert fuzzer.step()[0].inserted
    (entry,) = fuzzer.corpus
    assert entry.case.passes == ()


def test_a_seed_that_never_compiles_stays_out(make: Make) -> None:
    fuzzer = make(Scripted(REFUSED, REFUSED))
    for _ in range(4):
        fuzzer.step()
    assert len(fuzzer.corpus) == 0
    assert fuzzer.pending == []


def test_a_seed_that_is_known_to_be_refused_without_its_passes_does_not_come_again(make: Make) -> None:
    refused = replace(REFUSED, rejection=Rejection("internal-error", bare=True))
    executor = Scripted(refused, OK_NEW)
    fuzzer = make(executor)
    for _ in range(4):
        fuzzer.step()
    assert (len(executor.cases), len(fuzzer.corpus)) == (1, 0)


def test_new_coverage_inserts_the_child_and_resets_the_parent(make: Make) -> None:
    fuzzer = make(Scripted(OK_NEW, OK_OLD, OK_OLD, OK_NEW))
    for _ in range(3):
        fuzzer.step()
    parent = fuzzer.corpus.entries[0]
    assert parent.n == 2
    fuzzer.step()
    assert len(fuzzer.corpus) == 2
    assert [e.n for e in fuzzer.corpus] == [0, 0]
    child = fuzzer.corpus.entries[1]
    assert child.provenance.parent == parent.case.id


@pytest.mark.parametrize(("entry", "child", "alike"), [("a", "a", True), ("a", "b", False), ("", "", False)])
def test_a_trial_is_alike_whose_program_computes_what_its_entry_did(
    make: Make, entry: str, child: str, alike: bool
) -> None:
    fuzzer = make(Scripted(replace(OK_NEW, computes=entry), replace(OK_OLD, computes=child)))
    (arrived,), (mutated,) = fuzzer.step(), fuzzer.step()
    assert not arrived.trial.is_alike(arrived.observation)
    assert mutated.trial.is_alike(mutated.observation) == alike


def test_what_first_reached_the_focus_is_mutated_as_often_as_sixteen_others(make: Make) -> None:
    focused = replace(OK_NEW, focused=1)
    fuzzer = make(Scripted(*[OK_NEW] * 4, focused, *[OK_NEW] * 4), pending=[seed(str(n)) for n in range(9)], n_max=1000)
    for _ in range(9):
        fuzzer.step()
    assert [entry.focused for entry in fuzzer.corpus] == [False] * 4 + [True] + [False] * 4
    chosen = fuzzer.corpus.entries[4].id
    parents = [step.trial.provenance.parent for _ in range(200) for step in fuzzer.step()]
    # Sixteen in 24.
    assert 0.5 < parents.count(chosen) / len(parents) < 0.8


def _parents(fuzzer: Fuzzer, steps: int) -> list[str | None]:
    return [step.trial.provenance.parent for _ in range(steps) for step in fuzzer.step()]


@pytest.mark.parametrize(
    ("options", "prefers"),
    [
        ({"entry_choice": "adaptive"}, True),
        ({}, False),
        ({"entry_choice": "adaptive", "pass_mode": "paper"}, False),
        ({"entry_choice": "adaptive", "feedback": False}, False),
    ],
)
def test_entries_are_preferred_whose_mutations_found_something(
    make: Make, options: dict[str, Any], prefers: bool
) -> None:
    """Of nine, one has found something each time so far, and the others have been tried as often for nothing."""
    names = [str(n) for n in range(9)]
    fuzzer = make(Scripted(*[OK_NEW] * 9), pending=[seed(name) for name in names], n_max=10**6, **options)
    for _ in names:
        fuzzer.step()
    for entry in fuzzer.corpus:
        entry.tried, entry.won = 40, 40 * (entry is fuzzer.corpus.entries[3])
    share = _parents(fuzzer, 200).count(fuzzer.corpus.entries[3].id) / 200
    # One that wins each contest that it is in is drawn by 38 %, and of nine alike by 11.
    assert (0.25 < share < 0.5) if prefers else (share < 0.2)


def test_longer_sequences_are_worth_less_and_every_mutation_is_counted(make: Make) -> None:
    fuzzer = make(Scripted(OK_NEW, OK_NEW), pending=[seed("a"), seed("b")], n_max=10**6)
    for _ in range(2):
        fuzzer.step()
    first, second = fuzzer.corpus
    assert (first.tried, first.won) == (0, 0)
    wide = Entry(replace(second.case, passes=second.case.passes * 9), second.provenance)
    assert second.worth > wide.worth
    parents = _parents(fuzzer, 60)
    assert [parents.count(entry.id) for entry in (first, second)] == [first.tried, second.tried]
    assert first.won == second.won == 0


def test_a_pass_mutation_that_reaches_the_focus_makes_its_entry_focused(make: Make) -> None:
    fuzzer = make(Scripted(OK_NEW, OK_OLD, replace(OK_NEW, focused=2)), n_max=1)
    for _ in range(3):
        fuzzer.step()
    (entry,) = fuzzer.corpus
    assert entry.focused
    assert fuzzer.corpus.choose(Random(1)) is entry


def test_without_mutators_passes_are_mutated_alone(make: Make) -> None:
    fuzzer = make(Scripted(OK_NEW), mutators=[])
    hows = [step.trial.how for _ in range(5) for step in fuzzer.step()]
    assert hows[1:] == [PASS_MUTATION] * 4


def test_joint_mode_changes_the_sequence_along_with_about_half_of_the_programs(make: Make) -> None:
    executor = Scripted(OK_NEW)
    fuzzer = make(executor, n_max=1000)
    for _ in range(400):
        fuzzer.step()
    (entry,) = fuzzer.corpus
    kept = [case.passes == entry.case.passes for case in executor.cases[1:]]
    assert set(fuzzer.tally.mutators) == {"seed", "constant"}
    assert 0.35 < sum(kept) / len(kept) < 0.65


@pytest.mark.parametrize("seen", [OK_OLD, REFUSED, DIED])
def test_what_brings_nothing_counts_up_to_a_pass_mutation(make: Make, seen: Observation) -> None:
    fuzzer = make(Scripted(OK_NEW, otherwise=seen), n_max=3)
    hows = [step.trial.how for _ in range(9) for step in fuzzer.step()]
    assert hows == ["seed", *["constant"] * 3, PASS_MUTATION, *["constant"] * 3, PASS_MUTATION]
    assert len(fuzzer.corpus) == 1


def test_a_pass_mutation_that_pays_replaces_the_pair(make: Make) -> None:
    fuzzer = make(Scripted(OK_NEW, OK_OLD, OK_NEW), n_max=1)
    for _ in range(3):
        fuzzer.step()
    (entry,) = fuzzer.corpus
    assert [p.name for p in entry.case.passes] == ["a.B", "a.C"]
    assert entry.n == 0


@pytest.mark.parametrize("seen", [REFUSED, DIED])
def test_only_what_compiles_enters_the_corpus(make: Make, seen: Observation) -> None:
    fuzzer = make(Scripted(OK_NEW, otherwise=Observation(seen.exit, seen.stage, seen.message, "a.B", new_blocks=9)))
    for _ in range(20):
        fuzzer.step()
    assert len(fuzzer.corpus) == 1


def test_a_crash_is_a_finding(make: Make) -> None:
    fuzzer = make(Scripted(OK_NEW, DIED))
    fuzzer.step()
    (step,) = fuzzer.step()
    assert [f.kind for f in step.findings] == ["crash"]


def test_random_mode_gives_every_child_a_sequence_of_its_own(make: Make) -> None:
    executor = Scripted(OK_NEW)
    fuzzer = make(executor, pass_mode="random", n_max=1)
    for _ in range(10):
        fuzzer.step()
    assert len({case.passes for case in executor.cases}) > 5
    assert PASS_MUTATION not in fuzzer.tally.mutators


def test_none_mode_runs_no_passes(make: Make) -> None:
    executor = Scripted(OK_NEW)
    fuzzer = make(executor, pass_mode="none", n_max=1)
    for _ in range(10):
        fuzzer.step()
    assert {case.passes for case in executor.cases} == {()}


def test_paper_mode_changes_programs_or_passes_and_never_both(make: Make) -> None:
    executor = Scripted(OK_NEW)
    fuzzer = make(executor, pass_mode="paper", n_max=2)
    for _ in range(13):
        fuzzer.step()
    seed, *mutants = executor.cases
    of_passes = [case for case in mutants if case.passes != seed.passes]
    assert len(of_passes) == 4
    # Drawn anew: the passes of `Sequences` grow where they are mutated.
    assert {(case.ir, len(case.passes)) for case in of_passes} == {(seed.ir, 1)}
    assert all(case.ir != seed.ir for case in mutants if case not in of_passes)


def test_without_feedback_coverage_is_counted_and_only_seeds_are_mutated(make: Make) -> None:
    executor = Scripted(otherwise=OK_NEW)
    fuzzer = make(executor, feedback=False, n_max=2, pending=[seed("a"), seed("b")])
    for _ in range(30):
        fuzzer.step()
    assert fuzzer.tally.valuable == 30
    assert {entry.provenance.generation for entry in fuzzer.corpus} == {0}
    assert fuzzer.pairs.learnt == {}


def test_a_mutator_that_does_not_apply_runs_nothing(make: Make) -> None:
    executor = Scripted(OK_NEW)
    fuzzer = make(executor, mutator=Never(), n_max=3)
    for _ in range(3):
        fuzzer.step()
    assert len(executor.cases) == 1
    assert fuzzer.tally.iterations == 3


def test_the_same_seed_runs_the_same_cases_and_another_does_not(make: Make) -> None:
    ran = []
    for root in (1, 1, 2):
        executor = Scripted(OK_NEW, OK_OLD, OK_NEW, REFUSED)
        fuzzer = make(executor, root=root)
        for _ in range(12):
            fuzzer.step()
        ran.append([case.id for case in executor.cases])
    assert ran[0] == ran[1] != ran[2]


def sizes_of(fuzzer: Fuzzer, executor: Scripted, steps: int) -> list[int]:
    """The cases of so many steps."""
    sizes = []
    for _ in range(steps):
        before = len(executor.cases)
        fuzzer.step()
        sizes.append(len(executor.cases) - before)
    return sizes


def test_one_child_takes_many_where_most_bring_nothing(make: Make) -> None:
    executor = Scripted()
    fuzzer = make(executor, pairs_per_fork=4)
    sizes = sizes_of(fuzzer, executor, 40)
    assert sizes == sorted(sizes)
    assert (sizes[0], sizes[-1]) == (1, 4)
    fuzzer.step(most=2)
    assert len(executor.cases) == sum(sizes) + 2 == fuzzer.tally.iterations


@pytest.mark.parametrize("seen", [OK_NEW, DIED])
def test_where_most_bring_something_each_has_a_child(make: Make, seen: Observation) -> None:
    executor = Scripted(*[OK_OLD] * 30, otherwise=seen)
    fuzzer = make(executor, pairs_per_fork=4)
    sizes = sizes_of(fuzzer, executor, 40)
    assert 4 in sizes
    assert set(sizes[-10:]) == {1}


def test_refusals_bring_nothing(make: Make) -> None:
    executor = Scripted(OK_OLD, otherwise=REFUSED)
    assert sizes_of(make(executor, pairs_per_fork=4), executor, 40)[-1] == 4


def test_nothing_is_mutated_in_the_batch_of_the_first_seed(make: Make) -> None:
    fuzzer = make(Scripted(OK_NEW), pairs_per_fork=4)
    fuzzer.bringing = 0.0
    fuzzer.step()
    assert fuzzer.tally.iterations == 1


def test_a_batch_of_large_programs_is_small(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    executor = Scripted(OK_NEW)
    pending = [seed(str(i)) for i in range(4)]
    monkeypatch.setattr(loop, "BATCH_TEXT", len(pending[0].program) + 1)
    fuzzer = make(executor, pending=pending, pairs_per_fork=4)
    fuzzer.bringing = 0.0
    fuzzer.step()
    assert len(executor.cases) == 2


def test_counters_add_up(make: Make) -> None:
    fuzzer = make(Scripted(OK_NEW, OK_OLD, REFUSED, DIED, OK_NEW))
    for _ in range(5):
        fuzzer.step()
    tally = fuzzer.tally
    assert tally.exits == {"ok": 3, "rejected": 1, "crash": 1}
    assert (tally.valid, tally.valuable) == (3, 2)
    assert tally.rejected == {"passes a.B: ValueError: no": 1}
    row = tally.mutators["constant"]
    assert (row.tried, row.valid, row.valuable) == (4, 2, 1)


class AsksForNonsense:
    """A mutator that asks TVM for what TVM refuses."""

    name = "nonsense"

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any:
        return tvm_api.tirx.Ramp(tvm_api.tirx.const(0, "int32"), tvm_api.tirx.const(1, "int32"), -1)


class Broken:
    """A mutator with a fault in the package's own code: an unknown pass is our mistake, not TVM's."""

    name = "broken"

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any:
        return instantiate(PassSpec("no.Such"))


def test_a_program_that_tvm_will_not_build_is_no_trial(make: Make) -> None:
    fuzzer = make(Scripted(OK_NEW), mutator=AsksForNonsense())
    fuzzer.step()
    assert fuzzer.step() == []
    assert fuzzer.tally.exits["not-built"] > 0


def test_a_mutator_that_fails_ends_its_iteration_alone(make: Make) -> None:
    noted: list[tuple[Fault, Occasion]] = []
    fuzzer = make(Scripted(OK_NEW), mutator=Broken(), hooks={"on_fault": lambda *fault: noted.append(fault)})
    for _ in range(3):
        fuzzer.step()
    assert fuzzer.tally.iterations == 3
    assert [(fault.kind, fault.doing) for fault, _ in noted] == [("UserError", "broken")] * 2
    entry = next(iter(fuzzer.corpus))
    assert noted[1][1].mutation == Mutation(1, 0, 2, 0, "broken", entry.case.id)
    assert entry.n == 2, "it brought nothing"
    assert fuzzer.tally.mutators["broken"].tried == 2


def test_a_fault_that_nobody_keeps_is_raised(make: Make) -> None:
    fuzzer = make(Scripted(OK_NEW), mutator=Broken())
    fuzzer.step()
    with pytest.raises(Fault, match=r"no\.Such"):
        fuzzer.step()


def with_blocks(*blocks: int) -> Observation:
    return Observation(Exit.OK, Stage.DONE, new_blocks=9, pass_blocks=blocks)


def test_a_pass_that_brought_nothing_is_dropped_before_the_pair_is_stored(make: Make) -> None:
    executor = Scripted(with_blocks(3), OK_OLD, with_blocks(2, 0), OK_OLD)
    fuzzer = make(executor, n_max=1)
    for _ in range(3):
        fuzzer.step()
    (entry,) = fuzzer.corpus
    assert [p.name for p in entry.case.passes] == ["a.B"]
    assert executor.cases[-1] == entry.case, "the smaller pair was run before it was stored"


def test_a_sequence_that_does_not_compile_without_its_idle_passes_stays_whole(make: Make) -> None:
    executor = Scripted(with_blocks(3), OK_OLD, with_blocks(2, 0), REFUSED)
    fuzzer = make(executor, n_max=1)
    for _ in range(3):
        fuzzer.step()
    (entry,) = fuzzer.corpus
    assert [p.name for p in entry.case.passes] == ["a.B", "a.C"]


class Idle:
    """A mutator that keeps the program."""

    name = "idle"

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any:
        return func


class OnlyChangePays(Scripted):
    """New coverage for every program that was not seen before."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def run(self, cases: Sequence[Case], *, count: bool = True, effort: Effort | None = None) -> list[Observation]:
        answers = [OK_OLD if case.ir in self.seen else OK_NEW for case in cases]
        self.seen |= {case.ir for case in cases}
        return answers


@pytest.mark.parametrize(("choice", "low", "high"), [("adaptive", 0.7, 0.95), ("uniform", 0.35, 0.65)])
def test_what_pays_is_chosen_more_often_but_not_alone(make: Make, choice: str, low: float, high: float) -> None:
    fuzzer = make(OnlyChangePays(), mutators=[Constant(), Idle()], mutator_choice=choice, n_max=1000)
    for _ in range(400):
        fuzzer.step()
    tried = {name: row.tried for name, row in fuzzer.tally.mutators.items()}
    assert low <= tried["constant"] / (tried["constant"] + tried["idle"]) <= high


@pytest.mark.parametrize(("choice", "low", "high"), [("adaptive", 0.25, 0.5), ("uniform", 1, 1)])
def test_passes_alone_change_as_often_as_that_pays(make: Make, choice: str, low: float, high: float) -> None:
    fuzzer = make(OnlyChangePays(), mutator_choice=choice, n_max=0)
    for _ in range(400):
        fuzzer.step()
    tried = {name: row.tried for name, row in fuzzer.tally.mutators.items() if name != "seed"}
    assert low <= tried[PASS_MUTATION] / sum(tried.values()) <= high


class Schedules:
    """Runs compiler code, as it says, so that the executor is asked for it."""

    name = "schedule-loops"
    runs_compiler = True

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any:
        raise AssertionError("a schedule primitive ran in the worker")


def test_a_schedule_mutation_that_dies_is_told_and_the_loop_goes_on(make: Make) -> None:
    deaths: list[tuple[Mutation, int]] = []
    executor = Scripted(OK_NEW)
    executor.schedules = [Mutant(Attempt(None), died_of=signal.SIGSEGV), Mutant(Attempt(program(7)))]
    fuzzer = make(executor, mutator=Schedules(), hooks={"on_death": lambda *death: deaths.append(death)})
    fuzzer.step()
    parent = next(iter(fuzzer.corpus)).case.id
    (step,) = fuzzer.step()
    assert deaths == [(Mutation(1, 0, 1, 0, "schedule-loops", parent), signal.SIGSEGV)]
    assert fuzzer.tally.exits["mutation-died"] == 1
    assert step.trial.case.ir == program(7)
    assert step.trial.mutation == Mutation(1, 0, 1, 1, "schedule-loops", parent)


@pytest.mark.parametrize(
    ("reached", "seen", "inserted"), [(5, OK_OLD, True), (0, OK_OLD, False), (0, OK_NEW, True), (5, REFUSED, False)]
)
def test_what_a_schedule_reaches_is_a_value_of_its_child(
    make: Make, reached: int, seen: Observation, inserted: bool
) -> None:
    executor = Scripted(OK_NEW, seen)
    executor.schedules = [Mutant(Attempt(program(7)), new_blocks=reached)]
    fuzzer = make(executor, mutator=Schedules())
    fuzzer.step()
    (step,) = fuzzer.step()
    assert step.inserted is inserted
    assert fuzzer.tally.mutators["schedule-loops"].valuable == inserted
