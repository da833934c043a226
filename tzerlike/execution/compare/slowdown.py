"""Is the optimised build slower, beyond noise?"""

from __future__ import annotations

from statistics import median

from tzerlike.core.observation import Observation
from tzerlike.core.results import Timing
from tzerlike.execution.compare.ranks import chance_of_greater

CHANCE = 1e-6
"""The rank test's p-value at most."""

SLOWER = 1.5
"""Ratio of the medians at least, after the noise floor has been taken off."""

LEAST_SECONDS = 50e-6
"""Median run of the optimised build at least."""


_LASTING = 2.0
"""How many times longer than at least the median run takes of a program that is to stay slow on other machines."""


def lasts(seen: Observation) -> bool:
    """Whether the runs of what was timed, if anything was, are long enough to be so elsewhere."""
    timing = None if seen.results is None else seen.results.timing
    return timing is None or median(timing.optimised) >= _LASTING * LEAST_SECONDS


def slower(timing: Timing) -> bool:
    """Whether the optimised build is slower beyond noise."""
    if not timing.baseline or not timing.optimised:
        return False
    first, second = median(timing.baseline), median(timing.optimised)
    long_enough = second >= LEAST_SECONDS
    much = second >= SLOWER * timing.floor * first
    return long_enough and much and chance_of_greater(timing.baseline, timing.optimised) <= CHANCE
