"""Loops whose bounds are in memory that they write: what holds however often the bounds are evaluated."""

from __future__ import annotations

import numpy
import pytest

from tests.semantics.corpus import script
from tzerlike.execution.compare.memory import compare
from tzerlike.systems.tvm_api import parse_script
from tzerlike.tir.interpreter import Judgement, interpret

LOOP = script(
    'N: T.Buffer((1,), "int32"), B: T.Buffer((6,), "int32")',
    """
for i in range({bounds}):
    N[0] = {changed}
    B[i] = i + 10
""",
)


def judged(bounds: str, changed: str, first: int = 4) -> Judgement:
    func = parse_script(LOOP.format(bounds=bounds, changed=changed))
    return interpret(func, [numpy.array([first]), numpy.zeros(6, numpy.int64)])


def wrong(judgement: Judgement, got: list[int]) -> bool:
    """Whether a build that ends with `got` is wrong."""
    return compare(1, "B", "int32", numpy.array(got), judgement.expected[1], numpy.zeros(6)) is not None


@pytest.mark.parametrize("changed", ["4", "N[0]"])
def test_bounds_that_stay_are_bounds_like_any_other(changed: str) -> None:
    assert judged("N[0]", changed).expected[1].bound.tolist() == [0] * 6


def test_a_build_is_wrong_only_where_both_readings_say_so() -> None:
    shrinks = judged("N[0]", "2")
    assert shrinks.verdict == "defined"
    once, each_round = [10, 11, 12, 13, 0, 0], [10, 11, 0, 0, 0, 0]
    assert not wrong(shrinks, once) and not wrong(shrinks, each_round)
    assert wrong(shrinks, [10, 0, 12, 13, 0, 0]) and wrong(shrinks, [10, 11, 12, 13, 14, 0])


def test_the_start_of_a_loop_is_taken_once_in_either_reading() -> None:
    moves = judged("N[0], N[0] + 2", "3", 1)
    assert moves.expected[1].values.tolist() == [0, 11, 12, 0, 0, 0]
    assert wrong(moves, [0, 0, 0, 13, 14, 0])


@pytest.mark.parametrize("changed", ["9", "-1"])
def test_what_one_reading_leaves_undefined_is_unknown(changed: str) -> None:
    outcome = judged("N[0]", changed)
    assert (outcome.verdict, outcome.rule) == ("unknown", "unsupported")
