"""The search for the step that causes a fault, over steps that are examined only on demand."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class Correctness(StrEnum):
    """What a look at a program came to."""

    RIGHT = "right"
    WRONG = "wrong"
    UNKNOWN = "unknown"


def turning_point(count: int, look: Callable[[int], Correctness]) -> tuple[int, int] | None:
    """Return where right turns to wrong for good: the last step that is right, and the first wrong one behind it.

    Steps are numbered from 0; -1 stands for the beginning, which is right. Steps between the two that are returned
    are UNKNOWN. None when nothing behind the last right step is wrong. Steps are looked at from the end, none before
    the last right one: a step that is wrong and mended later, as by a promise that nobody relies on, is not the one.
    """
    wrong: int | None = None
    for step in reversed(range(-1, count)):
        state = Correctness.RIGHT if step < 0 else look(step)
        if state is Correctness.RIGHT:
            return None if wrong is None else (step, wrong)
        if state is Correctness.WRONG:
            wrong = step
    return None


def last_known(count: int, look: Callable[[int], Correctness]) -> int:
    """Return the last step that is not UNKNOWN; -1 when there is none."""
    return next((step for step in reversed(range(count)) if look(step) is not Correctness.UNKNOWN), -1)
