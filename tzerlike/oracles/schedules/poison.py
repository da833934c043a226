"""Where uninitialized values get to: a scheduled program run on two fillings of the memory that it reads unwritten.

That it reads such memory is no fault by itself: what is read may be overwritten, or cut off, before it counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import numpy
from numpy.typing import NDArray

from tzerlike.tir import interpreter
from tzerlike.tir.interpreter import Argument, Expected, Verdict


class Reach(StrEnum):
    """How far it gets."""

    NOWHERE = "nowhere"
    """No element of a parameter depends on it."""
    BESIDE = "beside"
    """The program breaks another rule, whatever the memory holds."""
    PADDING = "padding"
    """Only elements do that the original leaves as they are."""
    RESULTS = "results"
    """What the original computes does, or whether the program is defined."""


def reach_of_poison(
    original: Any, scheduled: Any, arguments: Sequence[Argument], expected: Mapping[int, Expected], max_steps: int
) -> Reach:
    """Return how far what nobody wrote gets in a program, where the original computes `expected`."""
    wrong = {position: numpy.zeros(numpy.shape(each.values), numpy.bool_) for position, each in expected.items()}
    runs = [interpreter.prepare(scheduled, regions=False, fill=fill).run(arguments, max_steps) for fill in (0, 1)]
    one, other = ((seen.verdict, seen.rule, seen.where) for seen in runs)
    if one == other and one[0] is not Verdict.DEFINED:
        return Reach.BESIDE
    for seen in runs:
        if seen.verdict is not Verdict.DEFINED:
            return Reach.RESULTS
        for position, each in expected.items():
            wrong[position] |= _differs(each, seen.expected[position])
    if not any(mask.any() for mask in wrong.values()):
        return Reach.NOWHERE
    untouched = _untouched(original, arguments, expected, max_steps)
    inside = all((untouched[position] | ~mask).all() for position, mask in wrong.items()) if untouched else False
    return Reach.PADDING if inside else Reach.RESULTS


def _differs(expected: Expected, got: Expected) -> NDArray[numpy.bool_]:
    ours, theirs = numpy.asarray(expected.values), numpy.asarray(got.values)
    if ours.dtype == numpy.float64:
        return numpy.asarray(numpy.abs(theirs - ours) > expected.bound + got.bound, numpy.bool_)
    return numpy.asarray(theirs != ours, numpy.bool_)


def _untouched(
    original: Any, arguments: Sequence[Argument], expected: Mapping[int, Expected], max_steps: int
) -> dict[int, NDArray[numpy.bool_]]:
    """The elements of each parameter that keep what they hold, whatever that is; {} where that cannot be told."""
    others = [_other(argument) if place in expected else argument for place, argument in enumerate(arguments)]
    seen = interpreter.prepare(original).run(others, max_steps)
    if seen.verdict is not Verdict.DEFINED:
        return {}
    return {
        position: (each.values == arguments[position]) & (seen.expected[position].values == others[position])
        for position, each in expected.items()
    }


def _other(argument: Argument) -> Any:
    """Other values in each element."""
    array = numpy.asarray(argument)
    return array + 1.0 if array.dtype.kind == "f" else ~array if array.dtype.kind == "b" else array ^ 1
