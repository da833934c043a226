"""The inconsistency oracle: a build of a defined program does not compute what the program says.

Only programs that the reference interpreter calls defined on their inputs count. A signature holds which build is
wrong, the pass it is due to as far as that is known, the class of dtype and in what way the result is wrong: none of
these vary with the shape of the program.
"""

from __future__ import annotations

from tzerlike.case import Case
from tzerlike.observation import Observation, Stage, message_template
from tzerlike.oracles.finding import Finding
from tzerlike.outcome import Ran, Results


def judge_inconsistency(case: Case, observation: Observation) -> Finding | None:
    """Return the wrong-code finding of an observation whose results blame a build."""
    results = observation.results
    if results is None or not results.blame or observation.stage is Stage.MUTATE:
        return None
    parts = (results.blame, *((results.guilty,) if results.guilty else ()), *manner(blamed(results)))
    return Finding("wrong-code", parts, case, observation)


def blamed(results: Results) -> Ran:
    """Return how the build ended that is to blame."""
    return results.reference if results.blame == "reference" else results.optimised


def manner(ran: Ran) -> tuple[str, ...]:
    """Return in what way a result is wrong, without what depends on the program."""
    if ran.difference is not None:
        return (_dtype_class(ran.difference.dtype), ran.difference.nature)
    return (ran.ending.value, message_template(ran.message))


def _dtype_class(dtype: str) -> str:
    for name in ("bool", "uint", "int"):
        if dtype.startswith(name):
            return name
    return "float"
