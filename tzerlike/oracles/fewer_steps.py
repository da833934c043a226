"""Schedules with fewer steps: a call is removed with the calls that take its results, and unused look-ups with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tzerlike.core.shrink import spans


@dataclass(frozen=True, slots=True)
class HeldStep:
    """`takes` are the places of the earlier steps whose results it is given; one that `only_looks` changes nothing."""

    takes: frozenset[int]
    only_looks: bool


def fewer_steps(steps: Sequence[HeldStep]) -> Iterator[list[int]]:
    """Yield the places of some of the steps, always with the last, which is the one that goes wrong.

    First come all but those that only look and of which nobody takes a result, and what the last one takes alone; then
    what leaves out many of those that do something, and then few.
    """
    last = len(steps) - 1
    everything = _looked_for(steps, range(last + 1))
    offered = {tuple(range(last + 1))}
    doing = [place for place in everything[:-1] if not steps[place].only_looks]
    gone = [
        set[int](),
        set(doing) - _taken(steps, last),
        *(set(doing[start:stop]) for start, stop in spans(len(doing))),
    ]
    for first in gone:
        left = [place for place in everything if place not in _following(steps, first)]
        kept = _looked_for(steps, left)
        if last in left and tuple(kept) not in offered:
            offered.add(tuple(kept))
            yield kept


def _looked_for(steps: Sequence[HeldStep], places: Sequence[int]) -> list[int]:
    """Those of the steps that do something, the last one, and those that look on behalf of one of these."""
    kept: list[int] = []
    taken: set[int] = set()
    for place in reversed(places):
        if not steps[place].only_looks or place in taken or place == len(steps) - 1:
            kept.append(place)
            taken |= steps[place].takes
    return kept[::-1]


def _taken(steps: Sequence[HeldStep], last: int) -> set[int]:
    """What a step takes, and what that takes in its turn."""
    taken = {last}
    for place in range(last, -1, -1):
        if place in taken:
            taken |= steps[place].takes
    return taken


def _following(steps: Sequence[HeldStep], gone: set[int]) -> set[int]:
    """Those that go, and whoever takes their results."""
    gone = set(gone)
    for place, step in enumerate(steps):
        if step.takes & gone:
            gone.add(place)
    return gone
