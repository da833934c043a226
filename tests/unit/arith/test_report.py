"""Reports of arithmetic findings: titles that fit, in the words of TVM's own functions."""

from __future__ import annotations

import pytest

from tzerlike.arith.case import ArithCase
from tzerlike.arith.claims import Counterexample
from tzerlike.arith.inspect import AnalysisOutcome
from tzerlike.arith.model import Expr, Problem, Variable, const
from tzerlike.arith.regression import analysis_regression_test
from tzerlike.arith.report import arith_report
from tzerlike.core.finding import Signed
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation, Stage

X = Variable("x", "int32", (0, 1, 2))


def quotient(depth: int = 1) -> Expr:
    inner = X.node if depth == 1 else quotient(depth - 1)
    return Expr("FloorDiv", "int32", (inner, const(2147483646, "int32")))


def told(kind: str, check: str, root: Expr, wrong: Counterexample | None = None, tier: int = 2) -> str:
    case = ArithCase(check, Problem((X,), (root,), ()), 1, 0, 1)
    seen = Observation(Exit.OK, Stage.DONE, "InternalError: no")
    outcome = AnalysisOutcome(True, wrong) if wrong else None
    return arith_report(Signed(kind, ("x",)), case, seen, outcome, 2, 2, {}, "def test_x(): pass\n", tier)


@pytest.mark.parametrize(
    ("claim", "got", "words"),
    [
        ("(x // 2) >= 1", ">= 1", "claims `(x // 2) >= 1`, but at `x = 1` the value is `0`."),
        ("x == (x - 1)", "0", "claims `x == (x - 1)`. This gives `0` at `x = 1`, where the value is `0`."),
    ],
)
def test_what_an_answer_comes_to_is_said_where_it_is_no_number(claim: str, got: str, words: str) -> None:
    assert words in told("wrong-code", "int_set", quotient(), Counterexample({"x": 1}, claim, "0", got))


def test_operators_that_truncate_are_spelled_out_and_truth_is_a_word() -> None:
    truth = Expr("IntImm", "bool", (), 1)
    text = told("crash", "int_set", Expr("Select", "int32", (truth, Expr("Mod", "int32", (X.node, X.node)), X.node)))
    assert text.startswith("# [Bug][Arith] int_set crashes on Select(True, truncmod(x, x), x)\n")


def test_what_takes_long_is_not_said_to_have_no_end() -> None:
    """The alarm of its test comes when the analysis was still running, on any machine that is no faster."""
    case = ArithCase("rewrite_simplify", Problem((X,), (X.node,), ()), 1, 0, 1)
    seen = Observation(Exit.TIMEOUT, Stage.DONE, "", elapsed=15.7)
    text = arith_report(Signed("hang", ("x",)), case, seen, None, 2, 2, {}, "def test_x(): pass\n", 2)
    assert text.startswith("# [Bug][Arith] rewrite_simplify takes over 15 s on x\n")
    assert "returns an answer in a reasonable time:" in text and "is still running after 16 s of CPU time" in text
    test = analysis_regression_test(Signed("hang", ("x",)), case.check, case.problem, None, Limits(15.0))
    assert "signal.alarm(15)" in test


def test_a_number_in_all_lanes_is_told_as_the_number() -> None:
    two = const(2, "int32")
    ramp, lanes = Expr("Ramp", "int32x2", (X.node, two)), Expr("Broadcast", "int32x2", (two,))
    text = told("wrong-code", "rewrite_simplify", Expr("Div", "int32x2", (ramp, lanes)), OFF)
    assert "truncdiv(Ramp(x, 2, 2), 2)" in text.partition("\n")[0]


def test_a_long_test_comes_after_what_it_asks() -> None:
    helper = "def value_of(expr):\n" + "    expr += 1\n" * 60
    body = "    x = 1\n    result = analyzer.simplify(\n        x,\n    )\n    assert (\n        result == x\n    )\n"
    test = f"import tvm\nimport tvm.testing\n\n\n{helper}\n\ndef test_x():\n{body}\n\nif __name__: ...\n"
    case, seen = ArithCase("simplify", Problem((X,), (X.node,), ()), 1, 0, 1), Observation(Exit.OK, Stage.DONE, "")
    text = arith_report(Signed("wrong-code", ("x",)), case, seen, AnalysisOutcome(True, OFF), 2, 2, {}, test)
    head, _, rest = text.partition("### Expected behavior")
    assert "```python\nimport tvm\n\nx = 1\nresult = analyzer.simplify(\n    x,\n)\nprint(result)\n```" in head
    assert "Save this as `test_regression.py`" in rest and "def value_of" in rest


def test_a_failure_says_why_where_the_title_has_room() -> None:
    assert told("ice-on-valid", "simplify", X.node).startswith("# [Bug][Arith] simplify fails on x: no\n")
    long = Expr("FloorDiv", "int64", (X.node, const(2147483646000, "int64")))
    assert "all extensions fails on x // 2147483646000\n" in told("ice-on-valid", "rewrite_simplify_extended", long)


def test_a_failure_on_what_no_title_holds_says_what_failed() -> None:
    assert told("ice-on-valid", "simplify", quotient(5)).startswith("# [Bug][Arith] simplify fails: no\n")
    assert told("crash", "simplify", quotient(5)).startswith(
        "# [Bug][Arith] simplify crashes on an expression with //\n"
    )


def test_the_value_of_a_condition_is_a_truth() -> None:
    less = Expr("LT", "bool", (X.node, const(2, "int32")))
    text = told("wrong-code", "can_prove", less, Counterexample({"x": 2}, "(x < 2) == True", "0", "1"))
    assert "At `x = 2` the value of the expression is False." in text and "gives True, not False, for x < 2" in text


def test_the_last_words_of_a_process_are_its_signal_and_what_failed() -> None:
    case = ArithCase("simplify", Problem((X,), (X.node,), ()), 1, 0, 1)
    for message, words in (
        ("SIGABRT   what():  Check failed: a == b :", "SIGABRT: Check failed: a == b"),
        ("", "no message"),
    ):
        seen = Observation(Exit.CRASH, Stage.DONE, message)
        assert f"```\n{words}\n```" in arith_report(Signed("crash", ("x",)), case, seen, None, 2, 2, {}, "")


OFF = Counterexample({"x": 1}, "(x // 2147483646) == -1", "0", "-1")


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("kind", ["crash", "hang", "ice-on-valid", "oom", "wrong-code"])
def test_a_title_fits_and_names_the_function(kind: str, depth: int) -> None:
    text = told(kind, "rewrite_simplify_extended", quotient(depth), OFF if kind == "wrong-code" else None)
    title = text.partition("\n")[0].removeprefix("# ")
    assert len(title) <= 80, title
    assert title.startswith("[Bug][Arith] rewrite_simplify with all extensions")
    assert not title.endswith("...")
    assert text.index("def test_x") < text.index("### Expected behavior"), "the test comes first, as in all reports"


def test_wrong_answers_are_told_with_the_value_and_the_counterexample() -> None:
    text = told("wrong-code", "simplify", quotient(), OFF)
    assert text.startswith("# [Bug][Arith] simplify gives -1, not 0, for x // 2147483646 at x = 1\n")
    assert "claims `(x // 2147483646) == -1`, but at `x = 1` the value is `0`." in text
    assert "At `x = 1` the value of the expression is 0. Nothing overflows" in text


@pytest.mark.parametrize(
    ("depth", "result", "words"),
    [
        (2, "0", "rewrite_simplify turns (x // 2147483646) // 2147483646 into 0"),
        (2, "(x // -11797903)", "rewrite_simplify: (x // 2147483646) // 2147483646 -> x // -11797903"),
        (2, "((x // 3) + (x // 1025))", "rewrite_simplify is wrong about (x // 2147483646) // 2147483646"),
    ],
)
def test_a_title_says_what_an_expression_becomes_where_it_has_room(depth: int, result: str, words: str) -> None:
    wrong = Counterexample({"x": 1}, f"{quotient(depth)} == {result}", "0", "-1")
    assert told("wrong-code", "rewrite_simplify", quotient(depth), wrong).startswith(f"# [Bug][Arith] {words}\n")


def test_without_variables_no_place_is_told() -> None:
    text = told("wrong-code", "can_prove_symbolic", const(1, "int32"), Counterexample({}, "1 == 2", "1", "2"))
    assert text.startswith("# [Bug][Arith] can_prove with SYMBOLIC_BOUND gives 2, not 1, for 1\n")
    assert "The value of the expression is 1. Nothing overflows" in text


@pytest.mark.parametrize("tier", [1, 2])
def test_no_word_of_ours_is_in_a_report(tier: int) -> None:
    text = told("hang", "iter_map_surjective", quotient(), tier=tier)
    assert "Tier" not in text
    assert "iter_map_surjective" not in text
    assert "iter_map_simplify (Surjective)" in text
