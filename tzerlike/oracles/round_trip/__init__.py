"""The round-trip oracle: TVM cannot read back a program from its own TVMScript."""

from __future__ import annotations

import re
from itertools import pairwise

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding, Signed
from tzerlike.core.observation import Observation, Stage
from tzerlike.oracles.protocol import Account, Environment, Probe

ROUND_TRIP = "roundtrip"
"""The first part of such a finding."""


def judge_round_trip(case: Case, observation: Observation) -> Finding | None:
    """Return the ice-on-valid finding of a program that does not survive its text (see `examiner`).

    `pass_name` is what failed, the first line of `message` its cause.
    """
    if observation.stage is not Stage.TEXT:
        return None
    cause = observation.message.partition("\n")[0]
    parts = (ROUND_TRIP, observation.pass_name, cause)
    construct = construct_of(observation)
    marks = () if construct in cause else (construct,)
    bare = (ROUND_TRIP, observation.pass_name, construct)
    identity = (ROUND_TRIP, observation.pass_name, *become) if (become := field_changed(observation.message)) else ()
    return Finding("ice-on-valid", parts, case, observation, marks=marks, bare=bare, identity=identity)


def field_changed(message: str) -> tuple[str, ...]:
    """Return which field of a statement comes back as another, and as what it does; empty where a message says none.

    `dtype: int<n> becomes int<n>` at `body.seq[0].loop_var.ty.dtype` is `loop_var` and `dtype becomes int<n>`.
    """
    first, _, paths = message.partition("\n")
    what, field = _BECOMES.fullmatch(first), _FIELD.search(paths)
    return (field[1], f"{what[1]} {what[2]}") if what and field else ()


_BECOMES = re.compile(r"(\w+): .*?\s*(becomes\b.*)")
_FIELD = re.compile(r"(?:\.(?:body|seq|block|init|then_case|else_case)\b(?:\[\d+\])?)+\.(\w+)")

_OPERAND = re.compile(r"(?:got `|')([\w.]+)['`]")


def construct_of(seen: Observation) -> str:
    """Return what it is in the program that does not come back from its text, as far as TVM's message tells."""
    said = re.findall(r"error: .*", seen.message)[-1:]
    operands = [name.rpartition(".")[2] for line in said for name in _OPERAND.findall(line)]
    if operands:
        # A buffer of one element is printed as a variable, and no operator takes that.
        return f"{'Var' if 'Var' in operands else operands[-1]} as an operand"
    return seen.message.partition("\n")[0].partition(" variable: ")[0]


def _in_words(seen: Observation) -> str:
    """What a title says: the error of the parser, or what became of what."""
    lines = [line.strip() for line in seen.message.splitlines()[1:]]
    said = next((line.partition("error: ")[2] for line in lines if "error: " in line), "")
    if said:
        return f"TVMScript is not parsed back: {marked(seen.message) or _CONDITION.sub('', said)}"
    cause = seen.message.partition("\n")[0]
    if seen.pass_name.startswith("the printer"):
        return f"TVMScript is not printed: {_CONDITION.sub('', cause)}"
    if _SILENT in cause:
        return "TVMScript is not parsed back"
    place, _, change = cause.partition(": ")
    told = [line for line in lines if line.startswith("<root>") and len(line) < _SHORT]
    # The dtype of what gives no value is empty.
    values = [line.partition(": ")[2] or ("void" if place == "dtype" else "nothing") for line in told]
    if len(values) == _BEFORE_AND_AFTER and re.search(r" becomes\b", change):
        change = " becomes ".join(values)
    if field_changed(seen.message)[:1] == ("loop_var",):
        place = f"loop variable's {place}"
    return f"TVMScript does not round-trip: {place} {change}".rstrip()


def marked(message: str) -> str:
    """The piece of the printed program that the parser points at, if it is short: the cause, where an error is a
    symptom."""
    for line, below in pairwise(message.splitlines()):
        if re.fullmatch(r"\s*\|\s*\^+\s*", below):
            piece = line[below.index("^") : below.rindex("^") + 1].strip()
            return piece if len(piece) < _PIECE else ""
    return ""


_PIECE = 40

_CONDITION = re.compile(r"^(?:\w+: )?Check failed: .*(?: : | is false: )")
"""In front of what a check says."""

_SILENT = "one or more error diagnostics were emitted"
"""What an exception of older parsers says: the error itself is printed elsewhere."""

_SHORT = 120
_BEFORE_AND_AFTER = 2


def _owns(finding: Signed, seen: Observation, environment: Environment) -> bool:
    return finding.parts[:1] == (ROUND_TRIP,)


def _account(finding: Signed, seen: Observation, environment: Environment) -> Account:
    return Account(
        headline=_in_words(seen),
        expected="TVM prints the module as TVMScript, and parsing that gives the same module.",
        actual=_ACTUAL.get(seen.pass_name, "Parsing the text of the module does not give the module back:"),
        quoted=_before_and_after(seen.message.partition("\n")[2]) or seen.message.partition("\n")[2],
    )


_ACTUAL = {
    "the printer raises": "Printing the module as TVMScript raises:",
    "another program comes back": "Parsing the text of the module gives another module. They first differ at:",
    "the parser raises": "Parsing the text of the module raises:",
}


def _before_and_after(detail: str) -> str:
    """Where two modules differ, once, with what stands there before and after; "" for any other detail."""
    lines = [line.partition(": ") for line in detail.splitlines() if line]
    if len(lines) != _BEFORE_AND_AFTER or lines[0][0] != lines[1][0] or not lines[0][0].startswith("<root>"):
        return ""
    (place, _, before), (_, _, after) = lines
    return f"{place}\nbefore: {before or 'nothing'}\nafter:  {after or 'nothing'}"


PROBE = Probe("text", "tzerlike.oracles.round_trip.examiner", _owns, _account)
