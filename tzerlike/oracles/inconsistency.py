"""The inconsistency oracle: a build of a defined program does not compute what the program says.

Only programs that the reference interpreter calls defined on their inputs count. A signature holds which build is
wrong, the pass it is due to as far as that is known, the class of dtype and in what way the result is wrong: none of
these vary with the shape of the program.
"""

from __future__ import annotations

from tzerlike.case import Case
from tzerlike.observation import Observation, message_template
from tzerlike.oracles.finding import Finding
from tzerlike.outcome import Ran


def judge_inconsistency(case: Case, observation: Observation) -> Finding | None:
    """Return the wrong-code finding of an observation whose results blame a build."""
    results = observation.results
    if results is None or not results.blame:
        return None
    ran = results.reference if results.blame == "reference" else results.optimised
    parts = (results.blame, *((results.guilty,) if results.guilty else ()), *_manner(ran))
    return Finding("wrong-code", parts, case, observation)


def _manner(ran: Ran) -> tuple[str, ...]:
    if ran.difference is not None:
        return (_dtype_class(ran.difference.dtype), ran.difference.nature)
    return (ran.ending.value, message_template(ran.message))


def _dtype_class(dtype: str) -> str:
    for name in ("bool", "uint", "int"):
        if dtype.startswith(name):
            return name
    return "float"
