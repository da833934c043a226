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
_PATH = re.compile(r"(\w+)\.ty\.(\w+): ")
_WORD = re.compile(r"[a-z]+")
_DEFINITION = re.compile(r"defin|cannot find variable", re.IGNORECASE)


def lost_construct(seen: Observation) -> str:
    """Return what does not come back from a program's text.

    A field is what it comes back as, whatever it was, and where it is a part of a type, whose type that is; a literal
    that does not fit is one, whichever bound it exceeds; a name that the parser lacks is that name, or that of a dtype.
    """
    first, _, paths = seen.message.partition("\n")
    if becomes := _BECOMES.fullmatch(first):
        typed = _PATH.search(paths)
        return f"{typed[1]}: {typed[2]}" if typed and typed[2] == becomes[1] else f"{becomes[1]} {becomes[2]}"
    if _LITERAL.search(seen.message):
        return "a literal that does not fit"
    if missing := _MISSING.search(seen.message):
        return f"no {missing[1] if parse(missing[1]) is None else 'such dtype'}"
    return construct_of(seen)


def manner_of_offence(offence: Offence) -> str:
    """Return in what way IR is ill-typed: the words about it, without dtypes, numbers, and names of nodes.

    Of a call that is how its type differs from those of its operands, from the most alike of them: `bits`.
    """
    typed = _TYPED.search(offence.where)
    if typed is None:
        words = offence.where.replace(",", "").split()
        return " ".join(word for word in words if _WORD.fullmatch(word) and parse(word) is None)
    result = parse(typed[2])
    operands = [operand for text in typed[1].split(", ") if (operand := parse(text))]
    if result is None or not operands:
        return ""
    closest: list[str] = min((_differ(operand, result) for operand in operands), key=len)
    return " ".join(closest)


def about_a_definition(message: str) -> bool:
    """Whether a step failed for want of the definition of a variable or of a buffer, as it may on ill-formed IR."""
    return _DEFINITION.search(message) is not None


def _differ(one: DType, other: DType) -> list[str]:
    return [aspect for aspect in ("base", "bits", "lanes") if getattr(one, aspect) != getattr(other, aspect)]
