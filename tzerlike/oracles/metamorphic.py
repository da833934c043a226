"""The metamorphic oracle: a schedule primitive changes what a program computes.

Primitives claim not to. The case is the program before the schedule, its observation what the compiled program after
it does, held to what the reference interpreter says of the program before (tzerlike.metamorphic).
"""

from __future__ import annotations

from tzerlike.case import Case
from tzerlike.observation import Observation, Stage
from tzerlike.oracles.finding import Finding
from tzerlike.oracles.inconsistency import blamed, manner


def judge_metamorphic(case: Case, observation: Observation) -> Finding | None:
    """Return the wrong-code finding of a schedule whose program gives other results; `pass_name` is the primitive."""
    results = observation.results
    if observation.stage is not Stage.MUTATE or results is None or not results.blame:
        return None
    return Finding("wrong-code", ("schedule", observation.pass_name, *manner(blamed(results))), case, observation)
