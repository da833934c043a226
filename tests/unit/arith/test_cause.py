"""Which wrong answers have one cause, and which have two."""

from __future__ import annotations

import pytest

from tzerlike.arith.cause import Again, cause_of_answer
from tzerlike.arith.claims import Counterexample
from tzerlike.arith.model import Expr, Problem, Variable, const

DTYPES = ("int8", "uint8", "int32", "int64")


def var(dtype: str = "int32", name: str = "x") -> Expr:
    return Expr("Var", dtype, (), name)


def made(op: str, a: Expr | int, b: Expr | int, dtype: str = "") -> Expr:
    node = next(each for each in (a, b) if isinstance(each, Expr))
    args = tuple(const(each, node.dtype) if isinstance(each, int) else each for each in (a, b))
    return Expr(op, dtype or node.dtype, args)


def of(root: Expr, *values: int) -> Problem:
    names = {node.value: node.dtype for node in _leaves(root)}
    return Problem(tuple(Variable(str(n), d, values or (0, 1)) for n, d in names.items()), (root,))


def _leaves(node: Expr) -> list[Expr]:
    return [node] if node.op == "Var" else [leaf for arg in node.args for leaf in _leaves(arg)]


def wrong(answer: str = "IntImm", got: str = "1") -> Counterexample:
    return Counterexample({"x": 0}, "", "0", got, answer)


def wraps(problem: Problem) -> Counterexample | None:
    """An analysis that is right as soon as there is room."""
    return None if problem.root.args[0].dtype.startswith("int64") else wrong()


def never_right(problem: Problem) -> Counterexample | None:
    return wrong()


def cause(check: str, root: Expr, *values: int, ask: Again = never_right, **seen: str) -> tuple[str, ...]:
    return cause_of_answer(check, of(root, *values), wrong(**seen), ask)


def test_interval_arithmetic_that_wraps_is_one_cause() -> None:
    roots = [made("Sub", var("uint8"), var("uint8")), made("Add", made("Mod", var("int8"), 124), 5)]
    roots += [made("Mul", made("Sub", var(dtype), var(dtype)), 92) for dtype in ("int8", "uint8")]
    roots += [made("Add", made("Sub", var("int64"), var("int64")), (1 << 63) - 2)]
    found = {cause("int_set", root, ask=wraps) for root in roots}
    assert len(found) == 1 and "overflow" in found.pop()
    assert cause("int_set_relaxed", roots[0], ask=wraps) == cause("int_set", roots[0], ask=wraps)


def test_a_bound_that_room_does_not_mend_goes_by_its_operator() -> None:
    found = [cause("int_set", made("Mod", var(dtype), 2), -1, 0) for dtype in ("int8", "int32", "int64")]
    assert len(set(found)) == 1
    assert found[0] != cause("int_set", made("FloorMod", var(), 2), -1, 0)
    assert found[0] != cause("int_set", made("Mod", var("int8"), 2), -1, 0, ask=wraps)


def test_a_rule_goes_by_what_it_applies_to() -> None:
    big = (1 << 31) - 10
    twice = made("FloorDiv", made("FloorDiv", var(), 2), big)
    shifted = made("FloorDiv", made("Add", made("FloorDiv", var(), 2), big), 14)
    order = [made("LT", made("Sub", var(), -big), 9, "bool"), made("LE", 3, made("Add", var(), big), "bool")]
    assert len({cause("rewrite_simplify", root, ask=wraps) for root in order}) == 1
    found = {cause("rewrite_simplify", root, ask=wraps) for root in (twice, shifted, *order)}
    assert len(found) == 3
    lane = Expr("Broadcast", "int32x4", (twice.args[0],))
    vector = Expr("FloorDiv", "int32x4", (lane, Expr("Broadcast", "int32x4", (twice.args[1],))))
    assert cause("rewrite_simplify", vector, ask=wraps) == cause("rewrite_simplify", twice, ask=wraps)


def test_what_may_be_around_the_place_says_nothing() -> None:
    mod = made("Mod", var(), 2)
    order = made("LT", mod, made("Mul", var(name="y"), 2), "bool")
    more = made("LE", made("Add", var(name="y"), 1), made("Sub", made("Sub", mod, var(name="y")), 1), "bool")
    assert cause("canonical_simplify", order, -1, 0) == cause("canonical_simplify", more, -1, 0)
    floor = made("LT", made("FloorMod", var(), 2), made("Mul", var(name="y"), 2), "bool")
    assert cause("canonical_simplify", floor, -1, 0) != cause("canonical_simplify", order, -1, 0)


def test_negative_divisors_are_a_cause_of_their_own() -> None:
    plain = cause("iter_map_simplify", made("FloorDiv", var(), 2), 1, 2)
    negative = cause("iter_map_simplify", made("FloorDiv", var(), -2), 1, 2)
    # To an analysis of iterators a negative factor is a negative divisor.
    turned = cause("normalize_to_iter_sum", made("FloorDiv", made("Mul", var(), -1), 2), 1, 2)
    assert plain != negative == turned
    nothing = made("Add", made("Sub", var(), var()), var(name="y"))
    assert cause("normalize_to_iter_sum", made("FloorDiv", nothing, 2), 1, 2) == plain
    undefined = cause("iter_map_simplify", made("FloorDiv", var(), -2), 1, 2, got="undefined (division by zero)")
    assert undefined not in (plain, negative)


def test_truncation_by_a_negative_number_is_truncation() -> None:
    found = [cause("rewrite_simplify", made("Div", var(), divisor), 1, 2) for divisor in (2, -2)]
    assert found[0] == found[1]


def test_a_left_shift_is_a_product() -> None:
    roots = [made("NE", made(op, var("int64"), 31), 0, "bool") for op in ("LShift", "Mul")]
    assert len({cause("rewrite_simplify", root) for root in roots}) == 1


@pytest.mark.parametrize("answer", ["LT", "IntImm", "EQ"])
def test_an_equality_of_a_product_goes_by_what_becomes_of_it(answer: str) -> None:
    root = made("NE", made("Mul", var(), -(1 << 31)), var(), "bool")
    same = made("EQ", var(), made("Mul", var(), 3 - (1 << 31)), "bool")
    here = cause("rewrite_simplify", root, ask=wraps, answer=answer)
    assert here == cause("rewrite_simplify", same, ask=wraps, answer=answer)
    others = {"LT", "IntImm", "EQ"} - {answer}
    assert here not in {cause("rewrite_simplify", root, ask=wraps, answer=other) for other in others}
