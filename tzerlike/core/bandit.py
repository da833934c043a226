"""Choices that learn from counts alone, so that equal campaigns choose alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

Yields = dict[str, tuple[int, int]]
"""Name -> (cases that it had a part in, those of them that were worth keeping)."""

FLOOR: Final = 0.3
"""The share of draws that is dealt out equally, whatever was learnt."""

_PRIOR: Final = 8
"""How many cases of average yield a name is credited with at the start."""


def shares(names: Sequence[str], yields: Mapping[str, tuple[int, int]]) -> tuple[float, ...]:
    """Return the share of draws of each of `names`; the shares add up to 1.

    A name's yield is its rate of valuable cases, drawn towards the average rate while it is little tried. Shares are
    FLOOR / n, plus a part of 1 - FLOOR in proportion to the yield. Counts of other names are ignored.
    """
    counts = [yields.get(name, (0, 0)) for name in names]
    tried = sum(count[0] for count in counts)
    won = sum(count[1] for count in counts)
    average = (won + 1) / (tried + 2)
    rates = [(count[1] + _PRIOR * average) / (count[0] + _PRIOR) for count in counts]
    total = sum(rates)
    return tuple(FLOOR / len(names) + (1 - FLOOR) * rate / total for rate in rates)
