"""The verdict on a claim: proved, refuted at an assignment where it was executed, or unknown."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import z3

from tzerlike.arith.claims import Claim, Counterexample, judge_claim
from tzerlike.arith.evaluate import Mode
from tzerlike.arith.model import Problem
from tzerlike.arith.proof.formula import Formula, IntTerm, condition

_RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


@dataclass(frozen=True, slots=True)
class ProofVerdict:
    """What became of a claim. `wrong` is what a refutation came to when it was executed; `why` is of an unknown one."""

    kind: Literal["proved", "refuted", "unknown"]
    wrong: Counterexample | None = None
    why: str = ""
    seconds: float = 0.0


def prove(problem: Problem, claim: Claim, limit: float) -> ProofVerdict:
    """Decide whether a claim holds wherever it counts, over the whole domain of each variable, within `limit` seconds.

    A claim counts as `judge_claim` has it. It holds in unbounded integers, or else by wrap-around at every node.
    """
    clock = _Clock(limit)
    if claim.right.dtype != claim.left.dtype and claim.relation == "==" and not claim.modulus:
        return ProofVerdict("unknown", why="another dtype", seconds=clock.spent)
    formula = Formula({variable.name: variable for variable in problem.variables})
    counted = _counted(formula, problem, claim)
    solver = z3.Solver()
    solver.add(*counted, *formula.facts)
    facts = len(formula.facts)
    for mode in (Mode.UNBOUNDED, Mode.WRAP):
        violated = _violated(formula, claim, mode)
        solver.add(violated, *formula.facts[facts:])
        facts = len(formula.facts)
        if not clock.left:
            break
        solver.set("timeout", clock.left)
        answer = solver.check()
        if answer == z3.unsat:
            return ProofVerdict("proved", seconds=clock.spent)
        if answer != z3.sat:
            return ProofVerdict("unknown", why=str(solver.reason_unknown()), seconds=clock.spent)
        wrong = judge_claim(problem, claim, _assignment(solver.model(), formula, problem))
        if wrong is not None:
            return ProofVerdict("refuted", wrong, seconds=clock.spent)
    return ProofVerdict("unknown", why="not confirmed", seconds=clock.spent)


def overflows(problem: Problem, claim: Claim, limit: float) -> bool | None:
    """Whether what is claimed is undefined, by overflow say, where the original is defined; None where unknown."""
    formula = Formula({variable.name: variable for variable in problem.variables})
    counted = _counted(formula, problem, claim)
    fine = [lane.fine for lane in formula.lanes_of(claim.right, Mode.STRICT)]
    solver = z3.Solver()
    solver.set("timeout", int(1000 * limit))
    solver.add(*counted, z3.Not(z3.And(*map(condition, fine))), *formula.facts)
    answer = solver.check()
    return True if answer == z3.sat else False if answer == z3.unsat else None


class _Clock:
    def __init__(self, limit: float) -> None:
        self.began, self.limit = time.perf_counter(), limit

    @property
    def spent(self) -> float:
        return time.perf_counter() - self.began

    @property
    def left(self) -> int:
        """Milliseconds, none below 0."""
        return max(0, int(1000 * (self.limit - self.spent)))


def _counted(formula: Formula, problem: Problem, claim: Claim) -> list[Any]:
    """Where the claim counts, as conditions."""
    conditions = []
    for constraint in problem.constraints:
        held = formula.truth(constraint, Mode.STRICT)
        conditions += [held.fine, held.term]
    for original in dict.fromkeys((*problem.roots, claim.left)):
        conditions += [lane.fine for lane in formula.lanes_of(original, Mode.STRICT)]
    for given in claim.given:
        left = formula.lanes_of(given.left, Mode.STRICT)
        right = formula.lanes_of(given.right, Mode.UNBOUNDED)
        conditions += [lane.fine for lane in (*left, *right)]
        conditions += [_related(given, a, b, formula) for a, b in zip(left, right, strict=True)]
    for variable in problem.variables:
        formula.lanes_of(variable.node, Mode.STRICT)
    return [condition(each) for each in conditions if each is not True]


def _violated(formula: Formula, claim: Claim, mode: Mode) -> Any:
    left, right = formula.lanes_of(claim.left, Mode.STRICT), formula.lanes_of(claim.right, mode)
    count = max(len(left), len(right))
    pairs = list(zip(left * (count // len(left)), right * (count // len(right)), strict=True))
    holds = z3.And(*(_related(claim, a, b, formula) for a, b in pairs))
    fine = z3.And(*(condition(lane.fine) for lane in right))
    # A bound that has no value at some place bounds nothing there.
    return z3.Not(z3.And(fine, holds)) if claim.relation == "==" else z3.And(fine, z3.Not(holds))


def _related(claim: Claim, a: IntTerm, b: IntTerm, formula: Formula) -> Any:
    x, y = a.term, b.term
    if z3.is_bool(x) != z3.is_bool(y) or (z3.is_bool(x) and claim.relation not in ("==", "!=")):
        x, y = (z3.If(each, 1, 0) if z3.is_bool(each) else each for each in (x, y))
    if claim.modulus:
        return (x - y) % claim.modulus == 0
    return _RELATIONS[claim.relation](x, y)


def _assignment(model: Any, formula: Formula, problem: Problem) -> dict[str, int]:
    """The values of the variables; what the model leaves open is the least."""
    found = {name: model.eval(term, model_completion=True).as_long() for name, term in formula.unknowns.items()}
    return {variable.name: found[variable.name] for variable in problem.variables}
