"""What an expression means: hand-made cases, and the sieve against the judge."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tzerlike.arith.enumerate import AssignmentGrid
from tzerlike.arith.evaluate import Mode, Undefined, evaluate
from tzerlike.arith.generate import random_problem
from tzerlike.arith.model import Expr, Problem, Variable, const, lanes, limits, walk, well_typed
from tzerlike.core.errors import UserError
from tzerlike.core.rng import rng_for

BIG = 1 << 62


def binary(op: str, a: int, b: int, dtype: str = "int32") -> Expr:
    result = "bool" if op in ("EQ", "NE", "LT", "LE", "GT", "GE") else dtype
    return Expr(op, result, (const(a, dtype), const(b, dtype)))


@pytest.mark.parametrize(
    ("op", "a", "b", "value"),
    [
        ("Div", -7, 2, -3),
        ("Div", 7, -2, -3),
        ("Mod", -7, 2, -1),
        ("Mod", 7, -2, 1),
        ("FloorDiv", -7, 2, -4),
        ("FloorDiv", 7, -2, -4),
        ("FloorMod", -7, 2, 1),
        ("FloorMod", 7, -2, -1),
        ("LShift", -3, 2, -12),
        ("RShift", -3, 1, -2),
        ("BitwiseAnd", -1, 12, 12),
        ("BitwiseXor", -1, 1, -2),
        ("Min", -1, 1, -1),
        ("LE", 2, 2, 1),
        ("LT", 2, 2, 0),
    ],
)
def test_operators(op: str, a: int, b: int, value: int) -> None:
    assert evaluate(binary(op, a, b), {}) == value
    assert AssignmentGrid.of(()).evaluate(binary(op, a, b)).values.tolist() == [value]


UNDEFINED = [
    binary("Add", 127, 1, "int8"),
    binary("Sub", 1, 2, "uint8"),
    binary("Mul", 1 << 20, 1 << 20),
    binary("Mul", BIG, 4, "int64"),
    binary("Add", BIG * 2 - 1, 1, "int64"),
    binary("Div", 1, 0),
    binary("FloorMod", 1, 0),
    binary("Div", -128, -1, "int8"),
    binary("Mod", -(1 << 31), -1),
    binary("FloorMod", -2 * BIG, -1, "int64"),
    binary("LShift", 1, 32),
    binary("LShift", 1, -1),
    binary("LShift", 64, 1, "int8"),
    binary("RShift", 1, 8, "int8"),
    Expr("Cast", "int8", (const(200, "int32"),)),
    Expr("Cast", "uint32", (const(-1, "int32"),)),
    Expr("Ramp", "int8x4", (const(100, "int8"), const(10, "int8"))),
]


@pytest.mark.parametrize("node", UNDEFINED, ids=str)
def test_what_is_undefined_has_no_value(node: Expr) -> None:
    with pytest.raises(Undefined):
        evaluate(node, {})
    bad = AssignmentGrid.of(()).evaluate(node).bad
    assert bad is not None and bad.all()


@pytest.mark.parametrize("op", ["Select", "And", "Or"])
def test_operands_that_are_not_needed_count_for_the_original_and_not_for_the_answer(op: str) -> None:
    faulty = binary("EQ", 1, 1)._replace(args=(binary("Div", 1, 0), const(0, "int32")))
    decided = const(int(op != "And"), "bool")
    node = Expr(op, "bool", (decided, decided, faulty) if op == "Select" else (decided, faulty))
    with pytest.raises(Undefined):
        evaluate(node, {})
    assert evaluate(node, {}, Mode.WRAP) == evaluate(node, {}, Mode.UNBOUNDED) == decided.value


def test_a_cast_to_bool_is_whether_a_value_is_other_than_zero() -> None:
    lanes = Expr("Ramp", "int32x4", (const(-2, "int32"), const(1, "int32")))
    assert evaluate(Expr("Cast", "boolx4", (lanes,)), {}) == (1, 1, 0, 1)
    assert AssignmentGrid.of(()).evaluate(Expr("Cast", "boolx4", (lanes,))).values.ravel().tolist() == [1, 1, 0, 1]
    assert evaluate(Expr("Cast", "bool", (const(2, "int32"),)), {}, Mode.UNBOUNDED) == 1


def test_if_then_else_evaluates_the_branch_it_takes() -> None:
    x = Variable("x", "int32", (0, 1, 2))
    var = Expr("Var", "int32", (), "x")
    node = Expr("if_then_else", "int32", (Expr("NE", "bool", (var, const(0, "int32"))), binary("Div", 6, 1), var))
    node = node._replace(args=(node.args[0], Expr("Div", "int32", (const(6, "int32"), var)), var))
    column = AssignmentGrid.of((x,)).evaluate(node)
    assert column.bad is None or not column.bad.any()
    assert column.values.tolist() == [0, 6, 3] == [evaluate(node, {"x": value}) for value in x.values]


def test_modes_of_reading_an_answer() -> None:
    node = binary("Add", 127, 1, "int8")
    assert evaluate(node, {}, Mode.WRAP) == -128
    assert evaluate(node, {}, Mode.UNBOUNDED) == 128


def test_lanes() -> None:
    ramp = Expr("Ramp", "int32x4", (const(3, "int32"), const(-2, "int32")))
    two = Expr("Broadcast", "int32x4", (const(2, "int32"),))
    assert evaluate(Expr("Div", "int32x4", (ramp, two)), {}) == (1, 0, 0, -1)
    assert evaluate(Expr("FloorDiv", "int32x4", (ramp, two)), {}) == (1, 0, -1, -2)
    below = Expr("LT", "boolx4", (ramp, two))
    assert evaluate(Expr("Select", "int32x4", (below, ramp, two)), {}) == (2, 1, -1, -3)


def assignments(variables: tuple[Variable, ...]) -> list[dict[str, int]]:
    """All assignments in the order of an AssignmentGrid's columns."""
    names = [variable.name for variable in variables]
    products = itertools.product(*(variable.values for variable in variables))
    return [dict(zip(names, values, strict=True)) for values in products]


def agrees(problem: Problem, node: Expr) -> int:
    """Compare the sieve with the judge at every assignment; returns how many were defined."""
    grid = AssignmentGrid.of(problem.variables)
    column = grid.evaluate(node)
    values = np.broadcast_to(column.values, (lanes(node.dtype), grid.size))
    bad = np.broadcast_to(np.False_ if column.bad is None else column.bad, (grid.size,))
    defined = 0
    for index, assignment in enumerate(assignments(problem.variables)):
        assert assignment == grid.assignment(index)
        try:
            value = evaluate(node, assignment)
        except Undefined:
            assert bad[index], f"{problem} at {assignment}"
            continue
        assert not bad[index], f"{problem} at {assignment}"
        expected = list(value) if isinstance(value, tuple) else [value] * len(values)
        assert values[:, index].tolist() == expected, f"{problem} at {assignment}"
        assert column.low <= min(expected) <= max(expected) <= column.high
        defined += 1
    return defined


def test_the_sieve_agrees_with_the_judge_on_random_problems() -> None:
    defined = 0
    for iteration in range(250):
        problem = random_problem(rng_for(1, iteration))
        for node in (*problem.roots, *problem.constraints):
            if not any(part.dtype.startswith("uint64") for part in walk(node)):
                defined += agrees(problem, node)
    assert defined > 5000


def test_values_of_uint64_that_do_not_fit_are_left_out() -> None:
    column = AssignmentGrid.of(()).evaluate(Expr("BitwiseNot", "uint64", (const(1, "uint64"),)))
    assert column.bad is not None and column.bad.all()


def test_random_problems_are_well_formed_and_repeat() -> None:
    operators: set[str] = set()
    for iteration in range(400):
        problem = random_problem(rng_for(2, iteration))
        assert problem == random_problem(rng_for(2, iteration))
        assert Problem.from_json(problem.to_json()) == problem
        operators |= {node.op for root in problem.roots for node in walk(root)}
        for variable in problem.variables:
            low, high = limits(variable.dtype)
            assert low <= variable.values[0] <= variable.values[-1] <= high
            assert variable.bindable
        assert all(well_typed(node) for root in (*problem.roots, *problem.constraints) for node in walk(root))
    assert {"Ramp", "Broadcast", "Select", "if_then_else", "Cast", "FloorMod", "Mod", "BitwiseNot"} <= operators


@pytest.mark.parametrize(
    "damage",
    [
        {"variables": [{"name": "x y", "dtype": "int32", "values": [0], "told": "range"}]},
        {"variables": [{"name": "x", "dtype": "int8", "values": [300], "told": "range"}]},
        {"variables": [{"name": "x", "dtype": "int8", "values": [-1, 127], "told": "range"}]},
        {"roots": []},
        {"roots": [["Launch", "int32", None]]},
        {"roots": [["IntImm", "int8", 4096]]},
        {"roots": [["Add", "int32", None, ["IntImm", "int32", 1], ["IntImm", "int8", 1]]]},
        {"roots": [["LT", "int32", None, ["IntImm", "int32", 1], ["IntImm", "int32", 1]]]},
        {"roots": [["Ramp", "int32", None, ["IntImm", "int32", 1], ["IntImm", "int32", 1]]]},
        {"roots": [["Var", "int32", "y"]]},
        {"roots": "x"},
    ],
    ids=str,
)
def test_a_damaged_problem_is_a_user_error(damage: dict[str, object]) -> None:
    good = Problem((Variable("x", "int32", (0, 1)),), (Expr("Var", "int32", (), "x"),)).to_json()
    Problem.from_json(good)
    with pytest.raises(UserError, match=r"^problem\."):
        Problem.from_json(good | damage)
