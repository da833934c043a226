"""Reductions under made-up predicates: they end, repeat, never grow and keep what they are to keep."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tzerlike.arith.enumerate import AssignmentGrid
from tzerlike.arith.generate import random_problem
from tzerlike.arith.model import Expr, Problem, Variable, const, walk, well_typed
from tzerlike.arith.reduce import made_total, reduce, size, total
from tzerlike.core.rng import rng_for

X = Expr("Var", "int32", (), "x")
Y = Expr("Var", "int32", (), "y")


def imm(value: int) -> Expr:
    return const(value, "int32")


def op(name: str, a: Expr, b: Expr) -> Expr:
    return Expr(name, a.dtype, (a, b))


def operators(problem: Problem) -> set[str]:
    return {node.op for root in problem.roots for node in walk(root)}


PREDICATES: dict[str, Callable[[Problem], bool]] = {
    "has a modulo": lambda p: "Mod" in operators(p) or "FloorMod" in operators(p),
    "takes a negative value": lambda p: bool((AssignmentGrid.of(p.variables).evaluate(p.root).values < 0).any()),
    "has a constraint": lambda p: bool(p.constraints),
    "anything": lambda p: True,
}


@pytest.mark.parametrize("name", PREDICATES)
def test_reductions_end_repeat_and_never_grow(name: str) -> None:
    wrong = PREDICATES[name]
    tried = 0
    for iteration in range(120):
        problem = random_problem(rng_for(5, iteration))
        if not wrong(problem):
            continue
        tried += 1
        smallest = reduce(problem, wrong)
        assert wrong(smallest)
        assert size(smallest) <= size(problem)
        assert reduce(problem, wrong) == smallest
        assert reduce(smallest, wrong) == smallest
        assert Problem.from_json(smallest.to_json()) == smallest
        assert all(well_typed(node) for root in (*smallest.roots, *smallest.constraints) for node in walk(root))
        if tried == 12:
            return
    raise AssertionError("too few problems fit")


def test_a_wrong_rule_comes_down_to_its_shape() -> None:
    variables = (Variable("x", "int64", tuple(range(-4, 9))), Variable("y", "int64", tuple(range(5))))
    x, y = (Expr("Var", "int64", (), name) for name in "xy")
    seven = const(7, "int64")
    root = op("Add", op("Mod", op("Sub", op("Mul", x, const(3, "int64")), y), seven), op("Max", y, seven))

    def negative_modulo(problem: Problem) -> bool:
        """A rule that is wrong for truncmod of what may be negative."""
        if not total(problem):
            return False
        grid = AssignmentGrid.of(problem.variables)
        found = [node for tree in problem.roots for node in walk(tree) if node.op == "Mod"]
        return any((grid.evaluate(node).values < 0).any() for node in found)

    smallest = reduce(Problem(variables, (root,)), negative_modulo)
    assert smallest.root == op("Mod", X, imm(2))
    assert [(v.name, v.values) for v in smallest.variables] == [("x", (-1, 0))] or smallest.variables[0].values == (-1,)


def test_a_budget_of_tries_is_kept() -> None:
    asked = 0

    def wrong(problem: Problem) -> bool:
        nonlocal asked
        asked += 1
        return False

    problem = random_problem(rng_for(5, 3))
    assert reduce(problem, wrong, tries=7) == problem
    assert asked == 7


def test_total_means_defined_wherever_the_analyzer_may_look() -> None:
    quotient = op("FloorDiv", X, Y)
    domain = (Variable("x", "int32", (0, 1)), Variable("y", "int32", (0, 1, 2)))
    nonzero = Expr("NE", "bool", (Y, imm(0)))
    assert not total(Problem(domain, (quotient,)))
    assert total(Problem(domain, (quotient,), (nonzero,)))
    assert not total(Problem(domain, (X,), (Expr("LT", "bool", (quotient, X)),)))
    assert not total(Problem(domain, (X,), (Expr("LT", "bool", (X, imm(-5))),)))
    guarded = Expr("if_then_else", "int32", (nonzero, quotient, X))
    assert total(Problem(domain, (guarded,)))
    assert not total(Problem(domain, (guarded,)), eager=True)


def test_domains_are_cut_down_to_where_all_is_defined() -> None:
    domain = (Variable("x", "int32", tuple(range(6))), Variable("y", "int32", tuple(range(-3, 4))))
    problem = Problem(domain, (op("FloorDiv", X, Y),))
    cut = made_total(problem, {"x": 2, "y": -2})
    assert cut is not None
    assert [list(v.values) for v in cut.variables] == [[0, 1, 2, 3, 4, 5], [-3, -2, -1]]
    assert made_total(problem, {"x": 2, "y": 0}) is None
    sampled = (Variable("x", "int8", (-128, -1, 0, 1, 2, 127), "nothing"),)
    x = Expr("Var", "int8", (), "x")
    cut = made_total(Problem(sampled, (op("Add", x, x),)), {"x": 1})
    assert cut is not None and cut.variables == (Variable("x", "int8", (-1, 0, 1, 2)),)


def test_values_stay_such_that_arrays_hold_them() -> None:
    """A variable in place of what goes up to the greatest int64 gets no value behind it."""
    last = (1 << 63) - 1
    x = Variable("x", "uint64", (last - 2, last - 1))
    problem = Problem((x,), (Expr("Add", "uint64", (x.node, const(1, "uint64"))),))
    candidates: list[Problem] = []
    reduce(problem, lambda candidate: bool(candidates.append(candidate)))
    assert {value for candidate in candidates for v in candidate.variables for value in v.values} >= {last - 1, last}
    assert all(AssignmentGrid.of(candidate.variables).size for candidate in candidates)
