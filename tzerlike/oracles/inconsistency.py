"""The inconsistency oracle: a build of a defined program computes something else than the program.

Only programs that the interpreter calls defined on their inputs count, and passes that ran on what their
preconditions allow: one that does not say no to the rest is not wrong for that. A signature holds which build is
wrong, the pass it is due to as far as that is known, what that does to the program, or else the class of dtype, and in
what way the result is wrong: none of these vary with the shape of the program.
"""

from __future__ import annotations

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.observation import LEFTOVER, Observation, Stage, message_template
from tzerlike.core.results import BASELINE, Ending, Ran
from tzerlike.core.targets import kind_of_target
from tzerlike.passes.facts import Fact, facts_of
from tzerlike.passes.preconditions import OF_DEVICE_MEMORY, legal
from tzerlike.systems import under_test

_BY_FORCE = "tirx.ForceNarrowIndexToInt32"

_INTEGERS, _FLOAT = ("bool", "uint", "int"), "float"
"""Classes of dtypes, in words."""

BY_CHANCE = frozenset({"value", "unwritten", "nan", "infinity"})
"""Ways to be wrong that inputs may turn into one another."""


def judge_inconsistency(case: Case, observation: Observation) -> Finding | None:
    """Return the wrong-code finding of an observation whose results blame a build."""
    return None if _is_excused(case, observation) else _wrong_code(case, observation)


def excused(case: Case, observation: Observation) -> Finding | None:
    """Return the finding that wrong code would be if passes had not been misused: another program may show it too."""
    return _wrong_code(case, observation) if _is_excused(case, observation) else None


def _is_excused(case: Case, observation: Observation) -> bool:
    results = observation.results
    if results is None or results.blame != "optimised":
        return False
    return bool(results.misused) or misused(case) or _acts_on_hints(case) or _narrows_what_is_widened(case)


def _wrong_code(case: Case, observation: Observation) -> Finding | None:
    results = observation.results
    if results is None or not results.blame or observation.stage is Stage.MUTATE:
        return None
    # The other build of one that dies is run since scheme 7: no signature has a part of how that ended.
    fatal = results.baseline.ending is Ending.DIED
    blame, blamed = (BASELINE, results.baseline) if fatal else (results.blame, results.blamed)
    where, how = (blame, *((results.guilty,) if results.guilty else ())), manner(blamed)
    # What a pass has left says whose work was not done; the signature had no part of it when that was not noted.
    deed = () if results.deed[:1] == (LEFTOVER,) else results.deed
    bare = (*where, *(without_dtype(how) if deed else how))
    by_chance = blamed.difference is not None and blamed.difference.nature in BY_CHANCE
    effect = (*where, *(results.deed or (how[0], "value"))) if results.guilty and by_chance else ()
    return Finding("wrong-code", (*where, *how), case, observation, marks=deed, bare=bare, effect=effect)


def misused(case: Case) -> bool:
    """Whether a pass of the case's own was given what its preconditions exclude."""
    whole = case.config.pipeline != "default"
    return bool(case.passes) and legal(case.passes, facts_of(case.ir), to_code=whole) is not None


def _acts_on_hints(case: Case) -> bool:
    """Whether a pass before the default pipeline, or one that an option adds to it, takes a hint at its word that asks
    for what the target has not got. Until then a hint means nothing."""
    if case.config.pipeline != "default":
        return False
    hints, own = set(), _own_passes(case)
    if ("tirx.use_async_copy", True) in case.config.options or "s_tir.LowerAsyncDMA" in own:
        hints.add(Fact.ASYNC)
    if own & OF_DEVICE_MEMORY and kind_of_target(case.target) == "llvm":
        hints.add(Fact.DEVICE_MEMORY)
    return bool(hints) and not hints.isdisjoint(facts_of(case.ir))


def _narrows_what_is_widened(case: Case) -> bool:
    """Whether a pass of the case's own narrows 64-bit integers by force, which is for indices that fit (its
    documentation), and something else is widened to them, which need not."""
    return _BY_FORCE in _own_passes(case) and Fact.WIDENED in facts_of(case.ir)


def _own_passes(case: Case) -> set[str]:
    return {under_test().name_in_tvm(spec.name) for spec in case.passes}


def manner(ran: Ran) -> tuple[str, ...]:
    """Return in what way a result is wrong, without what depends on the program."""
    if ran.difference is not None:
        return (_dtype_class(ran.difference.dtype), ran.difference.nature)
    return (ran.ending.value, message_template(ran.message))


def without_dtype(how: tuple[str, ...]) -> tuple[str, ...]:
    """Return in what way a result is wrong, whatever its dtype."""
    return how[1:] if how[:1] and how[0] in (*_INTEGERS, _FLOAT) else how


def _dtype_class(dtype: str) -> str:
    return next((name for name in _INTEGERS if dtype.startswith(name)), _FLOAT)
