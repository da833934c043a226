"""The construct of a program that a finding is about, as a message names it, without the parts that programs choose."""

from __future__ import annotations

import re

from tzerlike.core.dtypes import parse
from tzerlike.core.observation import Observation
from tzerlike.oracles.round_trip import construct_of, field_changed

_BECOMES = re.compile(r"(\w+): .+ (becomes .+)")
_LITERAL = re.compile(r"\bLiteral value\b")
_MISSING = re.compile(r"has no attribute '([\w.]+)'")
_PATH = re.compile(r"(\w+)\.ty\.(\w+): ")
_VARIABLE = re.compile(r"from type `ir\.Var`")


def lost_construct(seen: Observation) -> str:
    """Return what does not come back from a program's text.

    A field is what it comes back as, whatever it was, and where it is a part of a type, whose type that is; a literal
    that does not fit is one, whichever bound it exceeds; a name that the parser lacks is that name, or that of a dtype;
    a buffer of one element, which is printed as a variable, is one wherever it stands.
    """
    first, _, paths = seen.message.partition("\n")
    if becomes := _BECOMES.fullmatch(first):
        typed = _PATH.search(paths)
        if typed and typed[2] == becomes[1]:
            return f"{typed[1]}: {typed[2]}"
        return " ".join(field_changed(seen.message)) or f"{becomes[1]} {becomes[2]}"
    if _LITERAL.search(seen.message):
        return "a literal that does not fit"
    if missing := _MISSING.search(seen.message):
        return f"no {missing[1] if parse(missing[1]) is None else 'such dtype'}"
    return "Var as an operand" if _VARIABLE.search(seen.message) else construct_of(seen)
