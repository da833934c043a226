"""The search for the step that brings a fault about, over steps that are looked at only when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class State(StrEnum):
    """What a look at a program came to."""

    RIGHT = "right"
    WRONG = "wrong"
    UNKNOWN = "unknown"


def turning_point(count: int, look: Callable[[int], State]) -> tuple[int, int] | None:
    """Return a place where right turns to wrong for good: the last right step before it, and the first wrong one.

    Steps are numbered from 0; -1 stands for the beginning, which is right. Steps between the two that are returned
    are UNKNOWN. None when no step is wrong, or when the last one that is known is right. With one turn it is that one;
    with several, one of them, the same each time. Of n steps that are known, about log2(n) are looked at.
    """
    wrong = last_known(count, look)
    if wrong < 0 or look(wrong) is State.RIGHT:
        return None
    right = -1
    open_ = list(range(wrong))
    while open_:
        middle = open_[len(open_) // 2]
        seen = look(middle)
        if seen is State.RIGHT:
            right = middle
        elif seen is State.WRONG:
            wrong = middle
        open_ = [step for step in open_ if right < step < wrong and step != middle]
    return right, wrong


def last_known(count: int, look: Callable[[int], State]) -> int:
    """Return the last step that is not UNKNOWN; -1 when there is none."""
    return next((step for step in reversed(range(count)) if look(step) is not State.UNKNOWN), -1)
