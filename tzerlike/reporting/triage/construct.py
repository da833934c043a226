"""What of a program a finding is about, as a message names it: without what the program chose."""

from __future__ import annotations

import re

from tzerlike.core.dtypes import DType, parse
from tzerlike.core.observation import Observation, Offence
from tzerlike.oracles.round_trip import construct_of

_BECOMES = re.compile(r"(\w+): .+ (becomes .+)")
_LITERAL = re.compile(r"\bLiteral value\b")
_MISSING = re.compile(r"has no attribute '([\w.]+)'")
_TYPED = re.compile(r" of (.*) typed (\S+)$")


def lost_construct(seen: Observation) -> str:
    """Return what does not come back from a program's text.

    A field is what it comes back as, whatever it was; a literal that does not fit is one, whichever bound it exceeds;
    a name that the parser lacks is that name, or that of a dtype.
    """
    if becomes := _BECOMES.fullmatch(seen.message.partition("\n")[0]):
        return f"{becomes[1]} {becomes[2]}"
    if _LITERAL.search(seen.message):
        return "a literal that does not fit"
    if missing := _MISSING.search(seen.message):
        return f"no {missing[1] if parse(missing[1]) is None else 'such dtype'}"
    return construct_of(seen)


def manner_of_offence(offence: Offence) -> str:
    """Return how the type of a call differs from those of its operands, from the most alike of them: `bits`."""
    typed = _TYPED.search(offence.where)
    result = parse(typed[2]) if typed else None
    operands = [operand for text in typed[1].split(", ") if (operand := parse(text))] if typed else []
    if result is None or not operands:
        return ""
    closest: list[str] = min((_differ(operand, result) for operand in operands), key=len)
    return " ".join(closest)


def _differ(one: DType, other: DType) -> list[str]:
    return [aspect for aspect in ("base", "bits", "lanes") if getattr(one, aspect) != getattr(other, aspect)]
