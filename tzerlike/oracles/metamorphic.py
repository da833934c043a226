"""The metamorphic oracle: a schedule primitive changes what a program computes.

Primitives claim not to. The case is the program before the schedule, its observation what the compiled program after
it does, held to what the interpreter says of the program before (tzerlike.oracles.schedules).
"""

from __future__ import annotations

import re
from dataclasses import replace

from tzerlike.core.case import Case
from tzerlike.core.errors import UserError
from tzerlike.core.finding import Finding, Signed
from tzerlike.core.observation import Observation, Stage
from tzerlike.oracles.inconsistency import BY_CHANCE, manner, without_dtype
from tzerlike.oracles.protocol import Account, Environment, Probe
from tzerlike.tir.allowlist.stored import require_graph

OTHER_VALUES = "other values"
"""What is wrong with a program that is defined and does not compute what it did before."""

LIES = "block-region"
"""The rule that a program breaks whose blocks do not declare what they access. Passes trust that, whatever the program
computes when none does: no build has to bear it out."""

PADDING = "padding"
"""What is wrong with a program that gives garbage to elements that the original leaves as they are, and no others."""

UNINITIALISED = "uninitialised"
"""The rule that a program breaks which reads what nobody wrote."""

HELD = "schedule"
"""What a bundle's environment holds: a dictionary of the `trace` to apply and its `calls` to read, and DIFF."""

DIFF = "diff"
"""What the last of the calls changes, as a unified diff of TVMScript; there is none in old bundles."""


_MADE = {
    OTHER_VALUES: "computes something else",
    PADDING: "reads uninitialized memory and writes it to elements that the original leaves unchanged",
    UNINITIALISED: "reads uninitialized memory",
    "out-of-bounds": "accesses memory out of bounds",
    "block-domain": "executes a block outside its domain",
    "negative-extent": "has a negative extent",
    "alias": "accesses one buffer through another",
}
"""What a primitive does, by what is wrong with the outcome."""

_TITLED = {
    PADDING: "writes garbage to unchanged elements",
    UNINITIALISED: "makes a program read uninitialized memory",
    "out-of-bounds": "makes a program access memory out of bounds",
    "block-domain": "makes a block run outside its domain",
}
"""The same as a title says it."""

SLIPPED = {
    "writer": "{} is read, and nothing writes it any more",
    "order": "{} is read before anything writes it",
    "guard": "{} is accessed without the condition that guarded it",
    "iterations": "{} is executed fewer times",
    "beginning": "{} is initialized more than once",
}
"""What a primitive did to a buffer or a block, by the word for it (tzerlike.tir.slips)."""

_STATEMENT = re.compile(r":? (\w+\[[^;]*\] = [^;]+)")
"""A statement that the interpreter stopped at."""

_OUTSIDE = re.compile(r"^ (\S+)(?: for (\S+))? in the block (\w+): block \3\b")
"""What the interpreter says of a block outside of its domain; bundles of before do not name the axis."""

_ROOM = 69
"""Characters of a title behind its labels."""

_CALLS = 60
"""Lines of calls that a report shows."""

_CHANCE = ", so what it computes is undefined"


def judge_metamorphic(
    case: Case, observation: Observation, marks: tuple[str, ...] = (), slips: tuple[str, ...] = ()
) -> Finding | None:
    """Return the wrong-code finding of a schedule whose program gives other results.

    `pass_name` is the primitive; `message` starts with what the interpreter says of the program after it: the rule that
    it breaks, which makes what comes out chance, or OTHER_VALUES. `marks` and `slips` are the finding's.
    """
    results = observation.results
    what = observation.message.partition(":")[0]
    if observation.stage is not Stage.MUTATE or results is None or not (results.blame or what == LIES):
        return None
    how = manner(results.blamed) if what == OTHER_VALUES else ()
    where, bare = ("schedule", observation.pass_name, what), without_dtype(how)
    root = (*where, *marks, *(slips or ("value",))) if set(bare[:1]) & BY_CHANCE else ()
    finding = Finding("wrong-code", (*where, *how), case, observation, bare=(*where, *bare))
    return replace(finding, marks=marks, slips=slips, root=root)


def _owns(finding: Signed, seen: Observation, environment: Environment) -> bool:
    return HELD in environment


def _account(finding: Signed, seen: Observation, environment: Environment) -> Account:
    held = environment[HELD]
    calls = held.get("calls") if isinstance(held, dict) else None
    said = next((line.strip() for line in seen.message.splitlines() if line.strip()), "")
    rule, _, where = said.partition(":")
    where = _OUTSIDE.sub(_of_axis, where)
    where = _STATEMENT.sub(_quoted, _rounded(where)).strip(" ;")
    made = _MADE.get(rule, f"breaks the rule {rule}")
    name = f"Schedule.{method_of(seen.pass_name)}"
    told = Account(
        expected="The schedule primitive preserves what the program computes, or raises a `ScheduleError`.",
        place=name,
        actual=f"makes a program that {made}{_CHANCE * (rule != OTHER_VALUES)}{where and f': {where}'}.",
        headline=_slip_in_title(name, where)
        if rule == OTHER_VALUES
        else f"{name} {_TITLED.get(rule, f'makes a program that {made}')}",
        quoted="\n".join(map(str, calls)) if isinstance(calls, list) else "",
        language="python",
        lines=_CALLS,
        diff=str(held.get(DIFF, "")) if isinstance(held, dict) else "",
    )
    return _of_lies(told, where) if rule == LIES else told


def _of_axis(said: re.Match[str]) -> str:
    point, axis, block = said.groups()
    return f" {f'the axis {axis}' if axis else 'an axis'} of the block {block} takes the value {point}"


def _quoted(stated: re.Match[str]) -> str:
    """A statement as code, or nothing where it is too long to be in a sentence."""
    colon = ":" * stated[0].startswith(":")
    return "" if "..." in stated[1] else f"{colon} `{stated[1]}`"


def _slip_in_title(name: str, where: str) -> str:
    """What a primitive did to a buffer or a block, where that is known and short: more than that a value is wrong."""
    said = where.rpartition("; ")[2]
    known = any(said.endswith(words.removeprefix("{}")) for words in SLIPPED.values())
    text = f"{name}: {said}"
    return text if known and len(text) <= _ROOM else ""


def _of_lies(told: Account, where: str) -> Account:
    """What is told of blocks that do not declare what they access."""
    what = re.match("reads|writes", where)
    too_little = "leaves a block that declares too little"
    whole = what is not None and not where.startswith(f"{what[0]} element ")
    return replace(
        told,
        expected="Each block still declares what it reads and writes, or the primitive raises a `ScheduleError`.",
        actual=f"leaves a block that {where}." if what else f"{too_little}: {where}.",
        headline=f"{told.place} {f'leaves a block with undeclared {what[0]}' if what and whole else too_little}",
    )


def method_of(kind: str) -> str:
    """Return the method of Schedule behind a kind of instruction: `cache_write` of CacheWrite."""
    return {"ReIndex": "reindex", "RFactor": "rfactor"}.get(kind) or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).lower()


def _rounded(where: str) -> str:
    """A place without digits that tell nothing: a bound of zero, and what is behind seven digits of a number."""
    where = re.sub(r" ± (\S+)", lambda off: "" if float(off[1]) == 0 else f" ± {float(off[1]):.2g}", where)
    short = re.sub(r"-?\d+\.\d{7,}(?:e[-+]\d+)?", lambda number: f"{float(number[0]):.7g}", where)
    got = re.search(r" is (\S+), not (\S+)", short)
    return where if got is not None and got[1] == got[2] else short.replace(" (1 of 1 elements)", "")


def _check(environment: Environment) -> None:
    schedule = environment[HELD]
    if not isinstance(schedule, dict) or not isinstance(schedule.get("trace"), str):
        raise UserError("environment.schedule has no trace")
    require_graph(schedule["trace"], "environment.schedule.trace")


PROBE = Probe(
    "schedule",
    "tzerlike.oracles.schedules.examiner",
    _owns,
    _account,
    _check,
)
