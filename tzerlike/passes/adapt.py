"""Pass choice that learns which passes pay, by counting alone, so that equal campaigns choose alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tzerlike.passes.info import Catalog

Yields = dict[str, tuple[int, int]]
"""Pass name -> (cases that ran it, those of them that were worth keeping)."""

FLOOR: Final = 0.3
"""The share of draws that is dealt out equally, whatever was learnt."""

_PRIOR: Final = 8
"""How many cases of average yield a pass is credited with at the start."""


def weights_of(catalog: Catalog, yields: Mapping[str, tuple[int, int]]) -> tuple[float, ...]:
    """Return the share of draws of each pass of `catalog`; the shares add up to 1.

    A pass's yield is its rate of valuable cases, drawn towards the average rate while it is little tried.
    Shares are FLOOR / n, plus a part of 1 - FLOOR in proportion to the yield. Counts of passes
    that are not in the catalogue are ignored.
    """
    counts = [yields.get(info.name, (0, 0)) for info in catalog]
    tried = sum(count[0] for count in counts)
    won = sum(count[1] for count in counts)
    average = (won + 1) / (tried + 2)
    rates = [(count[1] + _PRIOR * average) / (count[0] + _PRIOR) for count in counts]
    total = sum(rates)
    return tuple(FLOOR / len(catalog) + (1 - FLOOR) * rate / total for rate in rates)
