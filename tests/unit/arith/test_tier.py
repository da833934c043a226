"""Which arithmetic findings a user of TVM may meet."""

from __future__ import annotations

import pytest

from tzerlike.arith.model import Expr, Problem, Variable, boolean, const
from tzerlike.arith.tier import tier_of_problem

X = Variable("x", "int32", (-1, 0, 1))


def made(op: str, *args: Expr | int, dtype: str = "int32") -> Expr:
    return Expr(op, dtype, tuple(const(arg, "int32") if isinstance(arg, int) else arg for arg in args))


def of(root: Expr, *variables: Variable, given: tuple[Expr, ...] = ()) -> Problem:
    return Problem(variables or (X,), (root,), given)


MOD = made("Mod", X.node, 2)
BYTE = Variable("x", "int8", (0, 1))
LIMIT = (1 << 31) - 1
RAMP = Expr("Ramp", "int32x4", (X.node, const(2, "int32")))
LANES = RAMP._replace(args=(const(2, "int32"), const(-1, "int32")))
TWOS = Expr("Broadcast", "int32x4", (const(2, "int32"),))

PLAIN = {
    "an index": of(MOD),
    "a guarded one": of(MOD, given=(made("LT", X.node, 1, dtype="bool"),)),
    "a stepped one": of(MOD, Variable("x", "int32", (0, 2, 4), "steps")),
    "a vector": of(Expr("Div", "int32x4", (RAMP, TWOS))),
    "of two widths": of(made("Add", Expr("Cast", "int64", (X.node,)), Expr("Cast", "int64", (MOD,)), dtype="int64")),
    "the lanes of a loop": Problem((), (Expr("Div", "int32x4", (LANES, TWOS)),)),
    "a shift": of(made("LShift", X.node, 3)),
    "a negation": of(made("Mod", made("Sub", 0, X.node), 2)),
}

FAR = {
    "a narrow dtype": of(Expr("Mod", "int8", (BYTE.node, const(2, "int8"))), BYTE),
    "a narrow dtype inside": of(made("Add", X.node, Expr("Cast", "int32", (Expr("Cast", "uint8", (X.node,)),)))),
    "a constant at the edge": of(made("Add", MOD, LIMIT)),
    "a range at the edge": of(MOD, Variable("x", "int32", (LIMIT - 1, LIMIT))),
    "an unbound variable": of(MOD, Variable("x", "int32", (-LIMIT, 0, 1), "nothing")),
    "no variable": Problem((), (made("Mod", -1, 2),)),
    "a variable that nothing uses": of(made("Min", TWOS, TWOS)),
    "constants alone below": of(made("Add", X.node, made("LShift", 0, 0))),
    "a product that is nothing": of(made("Mod", made("Mul", X.node, 0), 2)),
    "a factor of one": of(made("Mod", made("Mul", 1, X.node), 2)),
    "a shift by nothing": of(made("Min", made("LShift", X.node, 0), 2)),
    "a choice that is made": of(made("Select", boolean(False), X.node, MOD)),
    "a truth that is known": of(made("Or", made("LT", X.node, 1, dtype="bool"), boolean(False), dtype="bool")),
    "a negative divisor": of(made("FloorDiv", X.node, -2)),
    "a divisor that may be negative": of(made("Add", 1, made("FloorDiv", 7, Expr("Min", "int32", (X.node, MOD))))),
    "a constraint that says nothing": of(MOD, given=(boolean(True),)),
    "a shift by what may be negative": of(made("RShift", X.node, MOD)),
}  # fmt: skip


@pytest.mark.parametrize("name", PLAIN)
def test_an_expression_of_a_program_is_of_the_first_tier(name: str) -> None:
    assert tier_of_problem("int_set", PLAIN[name]) == 1


@pytest.mark.parametrize("name", FAR)
def test_what_no_program_has_is_of_the_second(name: str) -> None:
    assert tier_of_problem("int_set", FAR[name]) == 2


def test_what_no_pass_asks_for_is_of_the_second() -> None:
    for check in ("rewrite_simplify_extended", "iter_map_simplify", "normalize_to_iter_sum"):
        assert tier_of_problem(check, PLAIN["an index"]) == 2
