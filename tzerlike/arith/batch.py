"""What a forked child does for the arithmetic harness: the jobs of an executor.

A child may die in any of them. It notes the iteration and the check before it asks, and lays down what it has as it
goes.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import cache, lru_cache, partial
from typing import Any

import msgspec

from tzerlike.arith.basis import questions
from tzerlike.arith.checks import CHECKS, CONSTRAINTS, SIMPLIFIERS, Analysis
from tzerlike.arith.enumerate import AssignmentGrid
from tzerlike.arith.finding import found_in
from tzerlike.arith.generate import random_family
from tzerlike.arith.inspect import AnalysisOutcome, Table, answer, posed, rewritten, run_analysis
from tzerlike.arith.model import Problem, Variable, walk
from tzerlike.arith.observed import PROVABLE, observed_claims
from tzerlike.arith.reduce import made_eager, made_total, reduce, total
from tzerlike.arith.tier import is_plain
from tzerlike.core.observation import Stage
from tzerlike.core.rng import rng_for
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import Job

Checks = Mapping[str, Analysis]

CHUNK = 50
"""Iterations between two summaries: a death costs the repetition of at most so many."""


FAMILY = 4
"""Iterations in a row whose problems have the same variables and constraints."""


def problem_of(seed: int, worker: int, iteration: int) -> Problem:
    """Return the problem of an iteration; no TVM is needed for it."""
    return _family_of(seed, worker, iteration // FAMILY)[iteration % FAMILY]


@lru_cache(maxsize=1)
def _family_of(seed: int, worker: int, number: int) -> tuple[Problem, ...]:
    return random_family(rng_for(seed, worker, "arith", number), FAMILY)


@lru_cache(maxsize=1)
def _grid_of(variables: tuple[Variable, ...]) -> AssignmentGrid:
    return AssignmentGrid.of(variables)


def scan(item: Mapping[str, Any], channel: Channel, seconds: float, checks: Checks = CHECKS) -> None:
    """Put the problems of a range of iterations to every check.

    Lays down a record per suspicion (an analysis that is wrong somewhere, or raises where it should not) and one
    per CHUNK with the counts.
    """
    channel.enter_stage(Stage.ANALYZE)
    start, count = item["start"], item["count"]
    tally = _Tally()
    for iteration in range(start, start + count):
        signal.setitimer(signal.ITIMER_PROF, seconds)
        channel.note_pass(f"{iteration} ")
        problem = problem_of(item["seed"], item["worker"], iteration)
        table = Table.of(problem, _grid_of(problem.variables))
        tally.iterations += 1
        if table.defined:
            tally.valid += 1
            _scan_one(table, iteration, channel, checks, tally)
        if tally.iterations == CHUNK:
            channel.add_result(tally.to_json())
            tally = _Tally()
    signal.setitimer(signal.ITIMER_PROF, 0)
    channel.add_result(tally.to_json())


class _Tally:
    def __init__(self) -> None:
        self.iterations = 0
        self.valid = 0
        self.tried: Counter[str] = Counter()
        self.claimed: Counter[str] = Counter()
        self.suspected: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()

    def to_json(self) -> dict[str, Any]:
        return {"record": "summary", **self.__dict__}


def _scan_one(table: Table, iteration: int, channel: Channel, checks: Checks, tally: _Tally) -> None:
    def book(name: str, outcome: AnalysisOutcome) -> None:
        tally.tried[name] += 1
        tally.claimed[name] += outcome.claimed
        if outcome.error:
            tally.rejected[f"{name}: {outcome.error_parts[0]}"] += 1
        if outcome.wrong is not None or outcome.refused:
            tally.suspected[name] += 1
            hint = _hint(table, name, checks[name], outcome)
            suspicion = {"iteration": iteration, "check": name, "hint": hint, "problem": table.problem.to_json()}
            channel.add_result({"record": "suspicion", **suspicion})

    with ExitStack() as scope:
        channel.note_pass(f"{iteration} {CONSTRAINTS}")
        question = posed(table, scope)
        for name, check in checks.items():
            if isinstance(question, AnalysisOutcome):
                book(CONSTRAINTS, question)
                return
            if iteration % check.every == 0 and check.applies(table.problem):
                channel.note_pass(f"{iteration} {name}")
                outcome = answer(table, question, check)
                book(name, outcome)
                if outcome.refused:
                    # An analyzer that raised may have lost track of its constraints, and TVM dies when they end: that
                    # is this check's doing, and no later one asks that analyzer.
                    scope.close()
                    question = posed(table, scope)


def _hint(table: Table, name: str, check: Analysis, outcome: AnalysisOutcome) -> str:
    """A cheap guess at what the finding will be: the check, and the operators at the top of a smallest faulty part."""
    if outcome.refused:
        return " ".join((name, *outcome.error_parts))
    problem = table.problem
    if len(problem.roots) == 1:
        for node in reversed(list(walk(problem.root))):
            part = replace(problem, roots=(node,))
            if node.args and check.applies(part) and run_analysis(Table.of(part, table.grid), check).wrong is not None:
                plain = " plain" if is_plain(part) else ""
                return f"{name} {node.dtype} {node.op} {' '.join(arg.op for arg in node.args)}{plain}"
    return f"{name} {' '.join(root.op for root in problem.roots)}"


def reduce_each(item: Mapping[str, Any], channel: Channel, seconds: float, checks: Checks = CHECKS) -> None:
    """Reduce suspicions in turn with fresh analyzers and lay down a record of each, with the finding if it holds up.

    It does not where a fresh analyzer gives another answer, or where nothing is wrong on a total part of the problem.
    """
    channel.enter_stage(Stage.ANALYZE)
    for suspicion in item["suspicions"]:
        channel.note_pass(suspicion["check"])
        signal.setitimer(signal.ITIMER_PROF, 4 * seconds)
        found = minimal(Problem.from_json(suspicion["problem"]), suspicion["check"], checks)
        record: dict[str, Any] = {"record": "reduced", "found": None}
        if found is not None:
            name, smallest = found
            finding = found_in(name, smallest, run_analysis(Table.of(smallest), checks[name]), checks[name])
            assert finding is not None
            record["found"] = {"check": name, "problem": smallest.to_json(), "finding": asdict(finding)}
        channel.add_result(record)
    signal.setitimer(signal.ITIMER_PROF, 0)


def minimal(problem: Problem, name: str, checks: Checks) -> tuple[str, Problem] | None:
    """Return the reduced problem, and the most basic analysis that is wrong on it; None where nothing is wrong."""
    check = checks[name]
    table = Table.of(problem)
    first = run_analysis(table, check)
    if first.wrong is not None:
        assignment = dict(first.wrong.assignment)
    elif first.refused and table.defined:
        assignment = table.grid.assignment(int(table.counted.argmax()))
    else:
        return None
    boxed = made_total(problem, assignment)
    alike = _alike(check, first)
    if boxed is None or not alike(boxed):
        return None
    kept = is_plain(boxed)
    smallest = reduce(boxed, lambda smaller: (not kept or is_plain(smaller)) and alike(smaller))
    for basic, question in _below(smallest, name, checks):
        if basic in checks and checks[basic].applies(question):
            outcome = run_analysis(Table.of(question), checks[basic])
            if outcome.wrong is not None if first.wrong is not None else outcome.condition == first.condition:
                found = minimal(question, basic, checks)
                if found is not None:
                    return found
    return name, smallest


def _below(problem: Problem, name: str, checks: Checks) -> Iterator[tuple[str, Problem]]:
    """The more basic analyses with the questions that may lie below this one, the problem itself first."""
    check = checks[name]
    simplifiers = [each for each in (*check.made_of, name) if each in checks and each in (*SIMPLIFIERS, "simplify")]
    rewrites = tuple(partial(rewritten, checks[each]) for each in simplifiers)
    for question in questions(problem, unaware=check.unaware, rewrites=rewrites):
        fewer = len(question.constraints) < len(problem.constraints)
        for basic in (CONSTRAINTS, *check.made_of):
            # Where taking the constraints fails, it fails whoever is to be asked under them.
            if basic != name and (fewer or name != CONSTRAINTS):
                yield basic, question
        if fewer:
            yield name, question


def _alike(check: Analysis, first: AnalysisOutcome) -> Callable[[Problem], bool]:
    """Whether the check goes wrong on a problem in the same way as it did first, and the problem is total."""

    # A third of what a reduction asks it has asked before.
    @cache
    def alike(problem: Problem) -> bool:
        if not check.applies(problem):
            return False
        table = Table.of(problem)
        if not table.grid.total(made_eager(problem) if first.wrong is None else problem):
            return False
        outcome = run_analysis(table, check)
        if first.wrong is not None:
            return outcome.wrong is not None
        return outcome.refused and outcome.error_parts == first.error_parts

    return alike


def examine_one(item: Mapping[str, Any], channel: Channel, seconds: float, checks: Checks = CHECKS) -> None:
    """Put one problem to one check and lay down the outcome."""
    channel.enter_stage(Stage.ANALYZE)
    channel.note_pass(item["check"])
    signal.setitimer(signal.ITIMER_PROF, seconds)
    problem = Problem.from_json(item["problem"])
    check = checks[item["check"]]
    outcome = run_analysis(Table.of(problem), check) if check.applies(problem) else AnalysisOutcome()
    serious = outcome.wrong is not None or total(problem, eager=True)
    finding = found_in(item["check"], problem, outcome, check) if serious else None
    signal.setitimer(signal.ITIMER_PROF, 0)
    found = None if finding is None else asdict(finding)
    channel.add_result({"record": "examined", "outcome": asdict(outcome), "finding": found})


def examine_in_turn(item: Mapping[str, Any], channel: Channel, seconds: float, checks: Checks = CHECKS) -> None:
    """Put several problems to one check in turn, and lay down a record for each that the process survives."""
    channel.enter_stage(Stage.ANALYZE)
    channel.note_pass(item["check"])
    for data in item["problems"]:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        run_analysis(Table.of(Problem.from_json(data)), checks[item["check"]])
        channel.add_result({"record": "survived"})
    signal.setitimer(signal.ITIMER_PROF, 0)


def lay_down_claims(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    """Lay down what is claimed of the problems of some iterations; of odd ones without the ranges of variables."""
    channel.enter_stage(Stage.ANALYZE)
    for iteration in item["iterations"]:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        channel.note_pass(f"{iteration} ")
        problem = problem_of(item["seed"], item["worker"], iteration)
        if iteration % 2:
            problem = replace(problem, variables=tuple(replace(v, told="nothing") for v in problem.variables))
        for name, claim in observed_claims(problem, {name: CHECKS[name] for name in PROVABLE}):
            told = {"problem": problem.to_json(), "claim": msgspec.to_builtins(claim)}
            channel.add_result({"record": "claim", "iteration": iteration, "check": name, **told})
    signal.setitimer(signal.ITIMER_PROF, 0)


JOBS: Mapping[str, Job] = {
    "arith-scan": scan,
    "arith-claims": lay_down_claims,
    "arith-reduce": reduce_each,
    "arith-examine": examine_one,
    "arith-examine-in-turn": examine_in_turn,
}
"""The jobs that the runner's children can do for this harness."""
