"""Findings of the arithmetic harness: what errors have in common, and the tests that show wrong answers."""

from __future__ import annotations

import pytest

from tzerlike.arith.checks import CHECKS
from tzerlike.arith.finding import found_in
from tzerlike.arith.inspect import Table, run_analysis
from tzerlike.arith.model import Expr, Problem, Variable, const
from tzerlike.arith.regression import analysis_regression_test
from tzerlike.core.finding import Signed
from tzerlike.core.limits import Limits

X = Variable("x", "int32", (1, 2))
LIMITS = Limits(5.0, 1 << 30)


def truth(node: Expr) -> Expr:
    return Expr("Cast", "bool", (node,))


def found(name: str, root: Expr, *variables: Variable) -> Signed:
    problem = Problem(variables, (root,))
    finding = found_in(name, problem, run_analysis(Table.of(problem), CHECKS[name]), CHECKS[name])
    assert finding is not None
    return finding


def test_a_constant_that_cannot_be_cast_is_one_cause_whoever_casts_it() -> None:
    minus_one, zero = const(-1, "int32"), const(0, "int32")
    under_a_condition = Expr("if_then_else", "int32", (truth(minus_one), zero, zero))
    first, second = (found("rewrite_simplify", root) for root in (truth(minus_one), under_a_condition))
    assert first.signatures[8] != second.signatures[8] and first.signature == second.signature


@pytest.mark.parametrize("name", ["modular_set", "const_int_bound"])
def test_the_right_value_is_a_number_in_a_test_of_a_wrong_answer(name: str) -> None:
    """The simplifier raises where it is asked for the value of this one."""
    problem = Problem((Variable("x", "int32", (2,)),), (Expr("Cast", "int32", (truth(X.node),)),))
    outcome = run_analysis(Table.of(problem), CHECKS[name])
    text = analysis_regression_test(Signed("wrong-code", ("x",)), name, problem, outcome, LIMITS)
    assert "value = 1  # of expr, at x = 2\n" in text and "simplify(" not in text
    scope: dict[str, object] = {"__name__": "loaded"}
    exec(text, scope)
    with pytest.raises(AssertionError):
        scope[f"test_{name}_wrong_answer"]()  # type: ignore[operator]


def test_machine_code_says_what_a_vector_is() -> None:
    """The simplifier takes the quotients of a ramp that starts below zero for a ramp."""
    two = const(2, "int32")
    ramp, lanes = Expr("Ramp", "int32x2", (const(-1, "int32"), two)), Expr("Broadcast", "int32x2", (two,))
    problem = Problem((), (Expr("Div", "int32x2", (ramp, lanes)),))
    outcome = run_analysis(Table.of(problem), CHECKS["rewrite_simplify"])
    text = analysis_regression_test(Signed("wrong-code", ("x",)), "rewrite_simplify", problem, outcome, LIMITS)
    assert "value = [0, 0]  # of expr\n" in text and len(text.splitlines()) < 30
    scope: dict[str, object] = {"__name__": "loaded"}
    exec(text, scope)
    with pytest.raises(AssertionError):
        scope["test_rewrite_simplify_wrong_answer"]()  # type: ignore[operator]
