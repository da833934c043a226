"""The ill-typed oracle: a pass makes ill-typed IR of a well-formed and well-typed program.

Types are those that TVM's own constructors give (tzerlike.tir.typecheck). Passes run on what their preconditions allow.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tzerlike.core.case import Case
from tzerlike.core.effort import Check
from tzerlike.core.finding import Finding
from tzerlike.core.manner import manners_of
from tzerlike.core.observation import Observation, Offence
from tzerlike.oracles.inconsistency import misused
from tzerlike.oracles.protocol import Account
from tzerlike.passes.naming import short_name

_SIZES = "buffer"
"""The rule of the sizes of buffers."""

_MANY_LANES = re.compile(r"\b\d{5,} lanes")
"""Vectors that no buffer of an ordinary program has room for."""

_EXPECTED = {
    "strides": "A buffer has as many strides as dimensions, or none: `Buffer.offset_of` requires that.",
    "buffer": "The extents, strides and offset of a buffer are scalar integers, and no extent is negative.",
    "axis": "The value bound to a block axis has the dtype of the axis: passes substitute one for the other.",
}
"""What no constructor of TVM's holds a program to, by rule."""


_VECTOR = "an if_then_else on a"

_IN_WORDS = (
    (r"^1 strides ", "1 stride "),
    (r"^a buffer laid out by (\S+)$", r"a buffer with an extent, stride or offset of \1"),
    (r"^([\w.]+) of nothing typed (\S+)$", r"\1() -> \2"),
    (r"^(?:prim|tirx)\.if_then_else of (\w+x\d+), .*$", rf"{_VECTOR} \1"),
    (r"^([a-z][\w.]*\.\w+) of (.+) typed (\S+)$", r"\1(\2) -> \3"),
    (r" typed (\S+)$", r" that has dtype \1"),
)
"""What observations say of what is ill-typed, and how a report says it."""


def expected_of(rule: str, maker: str) -> str:
    """What a report expects of what a `maker`, such as "a pass", leaves."""
    usual = (
        f"After {maker}, a well-typed program is still well-typed: the dtype of each node fits those of its operands."
    )
    return _EXPECTED.get(rule, usual)


def wrong_in_words(where: str) -> str:
    """What is ill-typed, for a reader: of the axes of a block, the first whose value is of another type."""
    for stored, told in _IN_WORDS:
        where = re.sub(stored, told, where)
    axes = re.fullmatch(r"axes of (.*) for (.*)", where)
    pairs = zip(axes[1].split(", "), axes[2].split(", "), strict=False) if axes else ()
    return next((f"{given} for an axis of {axis}" for axis, given in pairs if given != axis), where)


def wrong_at(found: Offence) -> str:
    """What is ill-typed, and where, as far as that is known."""
    return wrong_in_words(found.where) + (f" ({found.place})" if found.place else "")


def judge_ill_typed(case: Case, observation: Observation) -> Finding | None:
    """Return the invalid-ir finding of the first pass that left ill-typed IR: its name, the rule, and in what way."""
    found = next((offence for offence in observation.offences if offence.check == Check.TYPES), None)
    if found is None or misused(case):
        return None
    if (found.rule == _SIZES or _MANY_LANES.search(found.where)) and _may_stray(observation):
        return None
    parts = ("ill-typed", short_name(found.pass_name), found.rule)
    seen = replace(observation, offences=(found,), backtrace=())
    return Finding("invalid-ir", parts, case, seen, finer=manners_of(found))


def _may_stray(observation: Observation) -> bool:
    """Whether the program was run, and is not known to be defined: what it accesses out of bounds is part of how large
    passes make its buffers."""
    results, rejection = observation.results, observation.rejection
    return (results is not None and not results.defined) or (rejection is not None and not rejection.support)


_SCALAR = "The condition of `if_then_else` is a scalar: code generation refuses others."


def account_of_ill_typed(found: Offence) -> Account:
    wrong = wrong_in_words(found.where)
    return Account(
        headline=f"{short_name(found.pass_name)} leaves ill-typed IR: {wrong}",
        expected=_SCALAR if _VECTOR in wrong else expected_of(found.rule, "a pass"),
        place=found.pass_name,
        actual="leaves ill-typed IR:",
        quoted=wrong_at(found),
    )
