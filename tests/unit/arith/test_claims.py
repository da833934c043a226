"""Claims against values: what is false is found, and nothing else."""

from __future__ import annotations

from tzerlike.arith.claims import Claim, Counterexample, refute
from tzerlike.arith.enumerate import AssignmentGrid
from tzerlike.arith.model import Expr, Problem, Variable, boolean, const

X = Expr("Var", "int32", (), "x")
Y = Expr("Var", "int32", (), "y")


def imm(value: int) -> Expr:
    return const(value, "int32")


def op(name: str, a: Expr, b: Expr) -> Expr:
    return Expr(name, "bool" if name in ("LT", "EQ", "NE") else a.dtype, (a, b))


def refuted(root: Expr, *claims: Claim, constraints: tuple[Expr, ...] = ()) -> Counterexample | None:
    variables = (Variable("x", "int32", tuple(range(-3, 4))), Variable("y", "int32", tuple(range(3))))
    problem = Problem(variables, (root,), constraints)
    grid = AssignmentGrid.of(variables)
    return refute(problem, grid, grid.defined(problem), claims)


def test_a_wrong_rewrite_is_found_with_its_values() -> None:
    root = op("Div", X, imm(2))
    wrong = refuted(root, Claim(root, "==", op("FloorDiv", X, imm(2))))
    assert wrong is not None
    assert (wrong.assignment["x"], wrong.expected, wrong.got) == (-3, "-1", "-2")


def test_a_right_rewrite_is_not() -> None:
    root = op("Add", op("Mul", op("FloorDiv", X, imm(2)), imm(2)), op("FloorMod", X, imm(2)))
    assert refuted(root, Claim(root, "==", X)) is None


def test_what_the_constraints_exclude_does_not_count() -> None:
    root = op("Div", X, imm(2))
    claim = Claim(root, "==", op("FloorDiv", X, imm(2)))
    assert refuted(root, claim, constraints=(op("LT", imm(-1), X),)) is None
    assert refuted(root, claim, constraints=(op("LT", imm(-3), X),)) is not None


def test_where_the_original_is_undefined_nothing_counts() -> None:
    root = op("Div", X, op("Sub", Y, Y))
    assert refuted(root, Claim(root, "==", imm(7))) is None


def test_an_answer_that_overflows_on_the_way_is_right_if_its_value_is() -> None:
    least = -(1 << 31)
    shifted = op("Sub", op("Add", X, imm(least)), imm(least))
    assert refuted(X, Claim(X, "==", shifted)) is None
    assert refuted(X, Claim(X, "==", op("Add", op("Sub", shifted, imm(least)), imm(least + 1)))) is not None


def test_an_answer_that_divides_by_zero_is_wrong() -> None:
    wrong = refuted(X, Claim(X, "==", op("Div", op("Mul", X, Y), Y)))
    assert wrong is not None and "division by zero" in wrong.got and wrong.assignment["y"] == 0


def test_an_answer_of_another_dtype_is_wrong() -> None:
    wrong = refuted(X, Claim(X, "==", Expr("Cast", "int64", (X,))))
    assert wrong is not None and "int64" in wrong.got


def test_bounds() -> None:
    root = op("Mod", X, imm(2))
    assert refuted(root, Claim(root, ">=", const(-1, "int64")), Claim(root, "<=", const(1, "int64"))) is None
    wrong = refuted(root, Claim(root, "<=", const(1, "int64")), Claim(root, ">=", const(0, "int64")))
    assert wrong is not None and wrong.expected == "-1" and wrong.got == ">= 0"


def test_congruence() -> None:
    root = op("Add", op("Mul", X, imm(4)), imm(1))
    assert refuted(root, Claim(root, "==", const(1, "int64"), modulus=4)) is None
    assert refuted(root, Claim(root, "==", const(5, "int64"), modulus=1 << 63)) is not None
    assert refuted(root, Claim(root, "==", const(1, "int64"), modulus=8)) is not None


def test_a_claim_under_a_condition_is_judged_where_the_condition_holds() -> None:
    root = op("LT", X, imm(2))
    below = Claim(X, "<=", imm(1))
    assert refuted(root, Claim(root, "==", boolean(True), (below,))) is None
    assert refuted(root, Claim(root, "==", boolean(True), (Claim(X, "<=", imm(2)),))) is not None


def test_lanes_are_compared_one_by_one() -> None:
    ramp = Expr("Ramp", "int32x2", (X, imm(1)))
    assert (
        refuted(ramp, Claim(ramp, "==", Expr("Add", "int32x2", (ramp, Expr("Broadcast", "int32x2", (imm(0),))))))
        is None
    )
    wrong = refuted(ramp, Claim(ramp, "==", Expr("Broadcast", "int32x2", (X,))))
    assert wrong is not None and (wrong.expected, wrong.got) == ("(-3, -2)", "(-3, -3)")
