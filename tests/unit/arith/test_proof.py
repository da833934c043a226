"""Proofs against enumeration: what is proved holds at every assignment, what is refuted was executed."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tzerlike.arith.claims import Claim, judge_claim, refute
from tzerlike.arith.enumerate import AssignmentGrid
from tzerlike.arith.generate import random_problem
from tzerlike.arith.model import Expr, Problem, Variable, const
from tzerlike.arith.proof.client import ProofClient
from tzerlike.core.rng import rng_for

pytestmark = pytest.mark.skipif(importlib.util.find_spec("z3") is None, reason="needs z3-solver")


@pytest.fixture(scope="module")
def prover(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProofClient]:
    with ProofClient(str(tmp_path_factory.mktemp("rules") / "rules.json"), limit=5.0) as client:
        yield client


X, Y = (Variable(name, "int32", (0,), "nothing") for name in "xy")
UPTO9 = Variable("x", "int32", tuple(range(10)))


def of(op: str, *args: Expr | int, dtype: str = "int32") -> Expr:
    return Expr(op, dtype, tuple(const(arg, "int32") if isinstance(arg, int) else arg for arg in args))


def equal(left: Expr, right: Expr) -> Claim:
    return Claim(left, "==", right)


x, y = X.node, Y.node

TRUE = {
    "x * 4 // 2": (X, of("FloorDiv", of("Mul", x, 4), 2), of("Mul", x, 2)),
    "(x + 4) %% 4": (X, of("FloorMod", of("Add", x, 4), 4), of("FloorMod", x, 4)),
    "x / 3 * 3 + x % 3": (X, of("Add", of("Mul", of("Div", x, 3), 3), of("Mod", x, 3)), x),
    "x // -3 * -3": (X, of("Sub", x, of("Mul", of("FloorDiv", x, -3), -3)), of("FloorMod", x, -3)),
    "x & 7": (X, of("BitwiseAnd", x, 7), of("FloorMod", x, 8)),
    "x & -8": (X, of("BitwiseAnd", x, -8), of("Mul", of("FloorDiv", x, 8), 8)),
    "x >> 3": (X, of("RShift", x, 3), of("FloorDiv", x, 8)),
    "~x": (X, of("BitwiseNot", x), of("Sub", -1, x)),
    "overflow of what it becomes": (
        X,
        of("LT", of("Sub", x, 1), 5, dtype="bool"),
        of("LT", x, 6, dtype="bool"),
    ),
    "a range": (UPTO9, of("Div", x, 4), of("FloorDiv", x, 4)),
}

FALSE = {
    "x / 4": (X, of("Div", x, 4), of("FloorDiv", x, 4)),
    "x % 4": (X, of("Mod", x, 4), of("FloorMod", x, 4)),
    "x * 3 // 2": (UPTO9, of("FloorDiv", of("Mul", x, 3), 2), x),
    "x >> 3": (X, of("RShift", x, 3), of("Div", x, 8)),
    "a divisor that may be 0": (UPTO9, x, of("FloorDiv", of("Mul", x, x), x)),
    "the last of a range": (UPTO9, of("Min", x, 8), x),
    "x ^ 1": (UPTO9, of("BitwiseXor", x, 1), of("Add", x, 1)),
}


@pytest.mark.parametrize("name", TRUE)
def test_what_is_true_of_all_integers_is_proved(prover: ProofClient, name: str) -> None:
    variable, left, right = TRUE[name]
    assert prover.decide(Problem((variable,), (left,)), equal(left, right)).kind == "proved"


def test_what_overflows_wherever_it_is_evaluated_is_wrong_nowhere(prover: ProofClient) -> None:
    """No value is left in its dtype, and a product still asks for the values of its factors."""
    beyond = of("Add", Variable("x", "int32", (1, 2, 3)).node, 2147483647)
    variables = (Variable("x", "int32", (1, 2, 3)), Y)
    product = of("Mul", beyond, y)
    assert prover.decide(Problem(variables, (product,)), equal(product, y)).kind != "refuted"
    assert prover.decide(Problem((X,), (x,)), equal(x, x)).kind == "proved"


@pytest.mark.parametrize("name", FALSE)
def test_what_is_false_somewhere_is_refuted_there(prover: ProofClient, name: str) -> None:
    variable, left, right = FALSE[name]
    problem, claim = Problem((variable,), (left,)), equal(left, right)
    verdict = prover.decide(problem, claim)
    assert verdict.kind == "refuted" and verdict.wrong is not None
    assert judge_claim(problem, claim, verdict.wrong.assignment) is not None


def test_enumeration_sees_what_was_refuted_once_it_tries_that_assignment(prover: ProofClient) -> None:
    left = of("Div", x, 4)
    problem, claim = Problem((X,), (left,)), equal(left, of("FloorDiv", x, 4))

    def seen(tried: Problem) -> bool:
        grid = AssignmentGrid.of(tried.variables)
        return refute(tried, grid, grid.defined(tried), [claim]) is not None

    wrong = prover.decide(problem, claim).wrong
    assert wrong is not None
    assert not seen(problem) and seen(problem.trying(wrong.assignment))


def test_a_constraint_is_what_a_proof_may_need(prover: ProofClient) -> None:
    left, right = of("Min", x, y), x
    problem = Problem((X, Y), (left,))
    assert prover.decide(problem, equal(left, right)).kind == "refuted"
    known = Problem((X, Y), (left,), (of("LE", x, y, dtype="bool"),))
    assert prover.decide(known, equal(left, right)).kind == "proved"


def test_bounds_and_modular_sets_are_claims_too(prover: ProofClient) -> None:
    left = of("Mul", x, 6)
    problem = Problem((UPTO9,), (left,))
    assert prover.decide(problem, Claim(left, "<=", const(54, "int64"))).kind == "proved"
    assert prover.decide(problem, Claim(left, "<=", const(53, "int64"))).kind == "refuted"
    assert prover.decide(problem, Claim(left, "==", const(0, "int64"), modulus=3)).kind == "proved"
    assert prover.decide(problem, Claim(left, "==", const(0, "int64"), modulus=4)).kind == "refuted"


def test_an_overflow_of_the_rewritten_side_alone_is_said(tmp_path: Path) -> None:
    left = of("LT", of("Sub", x, 1), y, dtype="bool")
    problem = Problem((X, Y), (left,))
    with ProofClient(str(tmp_path / "rules.json"), limit=5.0) as prover:
        prover.decide(problem, equal(left, of("LT", x, of("Add", y, 1), dtype="bool")))
        prover.decide(problem, equal(left, of("GT", y, of("Sub", x, 1), dtype="bool")))
        assert prover.write()["rules"] == 2
    rules = json.loads((tmp_path / "rules.json").read_text())["rules"]
    assert {rule["rule"].partition(" -> ")[2][:3]: rule["overflow"] for rule in rules} == {
        "(x0": True,
        "(x1": False,
    }


def test_random_equations_are_judged_as_enumeration_does(prover: ProofClient) -> None:
    """Of expressions drawn in pairs, and of each with itself: most are false, the rest true."""
    compared = {"proved": 0, "refuted": 0}
    for number in range(400):
        problem = random_problem(rng_for(8, "proof", number))
        if any(variable.told == "nothing" for variable in problem.variables):
            continue
        grid = AssignmentGrid.of(problem.variables)
        counted = grid.defined(problem)
        right = problem.roots[-1] if number % 2 else problem.root
        claim = equal(problem.root, right)
        verdict = prover.decide(problem, claim)
        if verdict.kind != "unknown":
            compared[verdict.kind] += 1
            wrong = refute(problem, grid, counted, [claim])
            assert (wrong is None) == (verdict.kind == "proved"), f"{problem} | {claim}"
    assert min(compared.values()) > 5


def test_a_proved_rewrite_is_lifted_and_decides_its_like(tmp_path: Path) -> None:
    def rewritten(constant: int, inside: Expr) -> tuple[Problem, Claim]:
        left = of("Mul", of("Sub", of("Add", inside, constant), constant), y)
        return Problem((X, Y), (left,)), equal(left, of("Mul", inside, y))

    with ProofClient(str(tmp_path / "rules.json"), limit=5.0) as prover:
        assert prover.decide(*rewritten(6, x)).how == "general"
        other = prover.decide(*rewritten(40, of("Max", x, y)))
        assert (other.kind, other.how) == ("proved", "rule")
        prover.write()
    with ProofClient(str(tmp_path / "rules.json")) as resumed:
        assert resumed.decide(*rewritten(50, y)).how == "rule"


def test_a_rule_keeps_the_conditions_that_its_proof_needs(tmp_path: Path) -> None:
    def extreme(constant: int, least: int) -> tuple[Problem, Claim]:
        left = of("Max", of("Min", x, constant), least)
        return Problem((X,), (left,)), equal(left, const(least, "int32"))

    with ProofClient(str(tmp_path / "rules.json"), limit=5.0) as prover:
        assert prover.decide(*extreme(3, 7)).kind == "proved"
        assert prover.decide(*extreme(30, 70)).how == "rule"
        assert prover.decide(*extreme(7, 3)).kind == "refuted"
        prover.write()
    (rule,) = json.loads((tmp_path / "rules.json").read_text())["rules"]
    assert rule["conditions"] == ["(c0 < c1)"]


def test_the_prover_lives_without_tvm() -> None:
    code = "import sys, tzerlike.arith.proof.server, tzerlike.arith.proof.client; print({'tvm'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "set()\n"
