"""The performance oracle: optimisation made the program slower.

Only where LLVM optimises one build and not the other: elsewhere a slow-down is what was asked for. The samples are of
single runs, taken in turn (tzerlike.compare.timing); a finding takes a rank test, an effect well over the noise of
these very samples, and runs long enough to be more than the call.
"""

from __future__ import annotations

from statistics import median

from tzerlike.case import Case
from tzerlike.observation import Exit, Observation
from tzerlike.oracles.finding import Finding
from tzerlike.oracles.ranks import chance_of_greater
from tzerlike.outcome import Ending, Timing
from tzerlike.targets import target_options

CHANCE = 1e-6
"""The rank test's p-value at most."""

SLOWER = 1.5
"""Ratio of the medians at least, after the noise floor has been taken off."""

LEAST_SECONDS = 20e-6
"""Median run of the optimised build at least."""


def judge_performance(case: Case, observation: Observation) -> Finding | None:
    """Return the slow-code finding of a case that is right and whose optimised build is the slower."""
    results = observation.results
    if observation.exit is not Exit.OK or results is None or results.timing is None or not _optimised(case):
        return None
    agree = results.reference.ending is Ending.AGREES and results.optimised.ending is Ending.AGREES
    if not (results.defined and agree and slower(results.timing)):
        return None
    cause = results.guilty or ("own pipeline" if case.config.pipeline == "none" else "default pipeline")
    return Finding("slow-code", (cause,), case, observation)


def slower(timing: Timing) -> bool:
    """Whether the optimised build is slower beyond noise."""
    if not timing.reference or not timing.optimised:
        return False
    first, second = median(timing.reference), median(timing.optimised)
    long_enough = second >= LEAST_SECONDS
    much = second >= SLOWER * timing.floor * first
    return long_enough and much and chance_of_greater(timing.reference, timing.optimised) <= CHANCE


def _optimised(case: Case) -> bool:
    """Whether LLVM's optimiser runs: its level is 2 unless the target says otherwise."""
    return int(target_options(case.target).get("opt-level", 2)) >= 2
