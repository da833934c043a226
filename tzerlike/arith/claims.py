"""Claims: what an analysis says about an expression, and where that is false.

A claim relates an original expression to what the analysis returned. The sieve marks the assignments at which NumPy
sees it violated; the judge, in Python integers, decides, and what it does not confirm does not exist.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tzerlike.arith.enumerate import AssignmentGrid, Column, Mask, flat
from tzerlike.arith.evaluate import ExprValue, Mode, Undefined, evaluate
from tzerlike.arith.model import Expr, Problem

_JUDGED = 64
"""Suspicious assignments of one claim that the judge looks at."""

_FALSE = {
    "==": np.not_equal,
    "!=": np.equal,
    "<": np.greater_equal,
    "<=": np.greater,
    ">": np.less_equal,
    ">=": np.less,
}
"""Where a relation does not hold."""

_RELATIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Claim:
    """`left relation right` holds at every assignment that counts and at which all of `given` hold.

    `left` is an original expression and evaluated strictly, `right` is what the analysis returned. With a
    `modulus` the relation is congruence: `left - right` is a multiple of it.
    """

    left: Expr
    relation: str
    right: Expr
    given: tuple[Claim, ...] = ()
    modulus: int = 0

    def __str__(self) -> str:
        tail = f" (mod {self.modulus})" if self.modulus else ""
        given = f" where {' and '.join(map(str, self.given))}" if self.given else ""
        return f"{self.left} {self.relation} {self.right}{tail}{given}"


@dataclass(frozen=True, slots=True)
class Counterexample:
    """An assignment at which a claim is false: the value of the original expression, and what was claimed of it.

    `answer` is the operator of what TVM answered.
    """

    assignment: Mapping[str, int]
    claim: str
    expected: str
    got: str
    answer: str = ""


def refute(problem: Problem, grid: AssignmentGrid, counted: Mask, claims: Sequence[Claim]) -> Counterexample | None:
    """Return the first assignment, claim by claim, at which a claim is false; None where there is none."""
    for claim in claims:
        if claim.right.dtype != claim.left.dtype and claim.relation == "==" and not claim.modulus:
            return _wrong_dtype(grid, counted, claim)
        for index in _suspicious(grid, counted, claim)[:_JUDGED]:
            found = judge_claim(problem, claim, grid.assignment(int(index)))
            if found is not None:
                return found
    return None


def _wrong_dtype(grid: AssignmentGrid, counted: Mask, claim: Claim) -> Counterexample | None:
    """An expression of another dtype is no replacement, whatever its value."""
    places = np.flatnonzero(counted)
    if not places.size:
        return None
    expected, got = f"an expression of {claim.left.dtype}", f"one of {claim.right.dtype}"
    return Counterexample(grid.assignment(int(places[0])), str(claim), expected, got, claim.right.op)


def judge_claim(problem: Problem, claim: Claim, assignment: Mapping[str, int]) -> Counterexample | None:
    """Return the counterexample if the claim is false at this assignment, beyond doubt."""
    try:
        for root in problem.roots:
            evaluate(root, assignment)
        if not all(evaluate(constraint, assignment) for constraint in problem.constraints):
            return None
        if not all(_holds(given, assignment, mode) for given in claim.given for mode in _INDULGENT):
            return None
        expected = evaluate(claim.left, assignment)
    except Undefined:
        return None
    got: list[str] = []
    for mode in _INDULGENT:
        try:
            value = evaluate(claim.right, assignment, mode)
        except Undefined as error:
            if claim.relation != "==":
                # A bound that has no value at some place bounds nothing there.
                return None
            got.append(f"undefined ({error})")
            continue
        if _related(claim, expected, value):
            return None
        got.append(_written(claim, value))
    return Counterexample(dict(assignment), str(claim), str(expected), " or ".join(dict.fromkeys(got)), claim.right.op)


_INDULGENT = (Mode.WRAP, Mode.UNBOUNDED)


def _holds(claim: Claim, assignment: Mapping[str, int], mode: Mode) -> bool:
    return _related(claim, evaluate(claim.left, assignment), evaluate(claim.right, assignment, mode))


def _related(claim: Claim, left: ExprValue, right: ExprValue) -> bool:
    if claim.modulus:
        assert isinstance(left, int) and isinstance(right, int)
        return (left - right) % claim.modulus == 0
    if isinstance(left, tuple) or isinstance(right, tuple):
        return _lanes_of(left, right) == _lanes_of(right, left)
    return bool(_RELATIONS[claim.relation](left, right))


def _lanes_of(value: ExprValue, other: ExprValue) -> tuple[int, ...]:
    if isinstance(value, tuple):
        return value
    assert isinstance(other, tuple)
    return (value,) * len(other)


def _written(claim: Claim, value: ExprValue) -> str:
    if claim.modulus:
        return f"{value} modulo {claim.modulus}"
    return str(value) if claim.relation == "==" else f"{claim.relation} {value}"


def _suspicious(grid: AssignmentGrid, counted: Mask, claim: Claim) -> NDArray[np.intp]:
    """The assignments at which a claim may be false; last, since most of them are harmless, where what is claimed is
    undefined."""
    left, right = grid.evaluate(claim.left), grid.evaluate(claim.right)
    if right.bad is None and _plain(claim, left, right):
        return _NOWHERE
    wrong = _violated(claim, left, right)
    if not np.count_nonzero(wrong):
        return _NOWHERE
    wrong, undefined = wrong & counted, right.bad
    for given in claim.given:
        right = grid.evaluate(given.right)
        fits = ~_violated(given, grid.evaluate(given.left), right)
        wrong &= fits if right.bad is None else fits | right.bad
    places = np.flatnonzero(wrong)
    return places if undefined is None else places[np.argsort((undefined & wrong)[places], kind="stable")]


_NOWHERE = np.zeros(0, np.intp)


def _plain(claim: Claim, left: Column, right: Column) -> bool:
    """Whether a bound holds already by the bounds of the columns."""
    return (claim.relation == ">=" and left.low >= right.high) or (claim.relation == "<=" and left.high <= right.low)


def _violated(claim: Claim, left: Column, right: Column) -> Mask:
    if claim.modulus:
        # A modulus of 2**63 does not fit an int64, nor do differences of its bounds.
        kind = object if max(claim.modulus, left.high - right.low, right.high - left.low) >= 1 << 62 else np.int64
        wrong = ((left.values.astype(kind) - right.values.astype(kind)) % claim.modulus != 0).astype(np.bool_)
    else:
        wrong = _FALSE[claim.relation](left.values, right.values)
    return flat(wrong) if right.bad is None else flat(wrong) | right.bad
