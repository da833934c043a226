"""Which output of a model is looked into, where several may be wrong."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from tzerlike.core.results import Difference, Ending, Ran, Results
from tzerlike.graph.reference import ExpectedOutput
from tzerlike.harnesses.graph.blame import _of_what_is_wrong
from tzerlike.harnesses.graph.building import Run


def run(*counts: bool) -> Run:
    expected = [ExpectedOutput(np.zeros(1), np.zeros(1), one) for one in counts]
    return Run(cast(Any, None), (), expected)


def counting(place: int | None) -> list[list[bool]]:
    """Which outputs of two runs count where that output of all is wrong."""
    wrong = None
    if place is not None:
        wrong = Difference(place, "output0", "float32", (0,), "0", "0", "1", 1, 1, "value")
    results = Results("defined", optimised=Ran(Ending.DIFFERS, "", wrong))
    focused = _of_what_is_wrong([run(True, False, True), run(True, True)], results)
    return [[one.counts for one in each.expected] for each in focused]


def test_the_output_that_is_reported_is_judged_alone() -> None:
    assert counting(2) == [[False, False, True], [False, False]]
    assert counting(4) == [[False, False, False], [False, True]]


def test_of_a_build_that_dies_all_are() -> None:
    assert counting(None) == [[True, False, True], [True, True]]
