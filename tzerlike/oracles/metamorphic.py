"""The metamorphic oracle: a schedule primitive changes what a program computes.

Primitives claim not to. The case is the program before the schedule, its observation what the compiled program after
it does, held to what the interpreter says of the program before (tzerlike.oracles.schedules).
"""

from __future__ import annotations

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Observation, Stage
from tzerlike.oracles.inconsistency import blamed, manner

OTHER_VALUES = "other values"
"""What is wrong with a program that is defined and does not compute what it did before."""


def judge_metamorphic(case: Case, observation: Observation) -> Finding | None:
    """Return the wrong-code finding of a schedule whose program gives other results.

    `pass_name` is the primitive; `message` starts with what the interpreter says of the program after it: the rule that
    it breaks, which makes what comes out chance, or OTHER_VALUES.
    """
    results = observation.results
    if observation.stage is not Stage.MUTATE or results is None or not results.blame:
        return None
    what = observation.message.partition(":")[0]
    how = manner(blamed(results)) if what == OTHER_VALUES else ()
    return Finding("wrong-code", ("schedule", observation.pass_name, what, *how), case, observation)
