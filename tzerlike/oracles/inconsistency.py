"""The inconsistency oracle: a build of a defined program does not compute what the program says.

Only programs that the interpreter calls defined on their inputs count, and passes that ran on what their
preconditions allow: one that does not say no to the rest is not wrong for that. A signature holds which build is
wrong, the pass it is due to as far as that is known, the class of dtype and in what way the result is wrong: none of
these vary with the shape of the program.
"""

from __future__ import annotations

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Observation, Stage, message_template
from tzerlike.core.results import Ran
from tzerlike.passes.facts import facts_of
from tzerlike.passes.preconditions import legal


def judge_inconsistency(case: Case, observation: Observation) -> Finding | None:
    """Return the wrong-code finding of an observation whose results blame a build."""
    results = observation.results
    if results is None or not results.blame or observation.stage is Stage.MUTATE:
        return None
    if results.blame == "optimised" and _misused(case):
        return None
    parts = (results.blame, *((results.guilty,) if results.guilty else ()), *manner(results.blamed))
    return Finding("wrong-code", parts, case, observation)


def _misused(case: Case) -> bool:
    """Whether a pass of the case's own was given what its preconditions exclude."""
    if not case.passes:
        return False
    whole = case.config.pipeline == "none"
    return legal(case.passes, facts_of(case.ir), to_code=whole) is not None


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
