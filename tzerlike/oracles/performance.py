"""The performance oracle: optimisation made the program slower.

Only where LLVM optimises one build and not the other: elsewhere a slow-down is what was asked for. The samples are of
single runs, taken in turn (tzerlike.execution.compare.timing); a finding takes a rank test, an effect well over the
noise of these very samples, and runs long enough to be more than the call.
"""

from __future__ import annotations

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Exit, Observation
from tzerlike.core.results import Ending
from tzerlike.core.targets import target_options
from tzerlike.execution.compare.slowdown import slower


def judge_performance(case: Case, observation: Observation) -> Finding | None:
    """Return the slow-code finding of a case that is right and whose optimised build is the slower."""
    results = observation.results
    if observation.exit is not Exit.OK or results is None or results.timing is None or not _optimised(case):
        return None
    agree = results.baseline.ending is Ending.AGREES and results.optimised.ending is Ending.AGREES
    if not (results.defined and agree and slower(results.timing)):
        return None
    cause = results.guilty or ("own pipeline" if case.config.pipeline == "none" else "default pipeline")
    return Finding("slow-code", (cause,), case, observation)


def _optimised(case: Case) -> bool:
    """Whether LLVM's optimiser runs: its level is 2 unless the target says otherwise."""
    return int(target_options(case.target).get("opt-level", 2)) >= 2
