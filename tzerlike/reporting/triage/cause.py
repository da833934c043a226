"""What a finding is due to, as far as its bundle says: two signatures with equal causes are one bug.

A cause is compared by equality alone, so "has the same cause" is an equivalence, whatever is compared first, and there
are no chains of likenesses. It says

- the kind: kinds never mix;
- the culprit pass: what bisection found, else the pass under way when it happened; none where what failed is the
  analyzer or the folding of constants, which all passes share;
- what failed, and where:
  an internal error by the condition that did not hold (else the message without names) and the deepest telling
  function, of a node's constructor also the shared function that called it; a program that does not come back from its
  text by the construct that does not;
  a crash in a pass by its signal and the deepest telling function of TVM, or the deepest three where no instruction
  failed, as with abort(), unless it says which check did; a stack overflow by the classes that its recursion goes
  through;
  wrong code by what the pass does to the program: the rule that is broken behind it, and the kinds of statements that
  there are fewer of; of a schedule by what is wrong with the outcome;
  slow code, a hang, lack of memory, and wrong code of which no more is known, which fail nowhere in particular, by how
  the result is wrong and the kinds of nodes of the reduced program, and only where a culprit pass was found.

A finding that says less has no cause and stays with its signature.
"""

from __future__ import annotations

import re
import signal
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tzerlike.core.frames import function_name
from tzerlike.core.observation import Exit, Observation, Stage, message_template
from tzerlike.core.refused import nameless, refusal_in
from tzerlike.core.results import Ending, Results
from tzerlike.oracles.crash import manner_of_death
from tzerlike.oracles.round_trip import construct_of
from tzerlike.passes.naming import short_name
from tzerlike.systems import under_test

_MOST_FRAMES = 3

_FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
"""Signals of an instruction. Who sends another, abort() above all, does so from a helper that others use as well."""

_CODE_GENERATION = "code generation"
"""What a bisection calls it too."""


@dataclass(frozen=True, slots=True)
class Cause:
    """`failure` and `site` are words as the module says; `shape` the kinds of nodes, where they count."""

    kind: str
    guilty: str
    failure: str
    site: tuple[str, ...] = ()
    shape: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = f" in {' < '.join(self.site)}" if self.site else ""
        return f"{self.guilty and f'{self.guilty}: '}{self.failure}{where}"

    def to_json(self) -> dict[str, Any]:
        return {
            "guilty": self.guilty,
            "failure": self.failure,
            "site": list(self.site),
            "shape": list(self.shape),
        }


def cause_of(
    kind: str,
    seen: Observation,
    guilty: str = "",
    shape: Sequence[str] = (),
    deed: Sequence[str] = (),
    marks: Sequence[str] = (),
) -> Cause | None:
    """Return the cause of a finding, or None where its bundle does not tell.

    `guilty` is the pass that a bisection found, short or with its namespace, or what it found instead (that has a
    blank in it), or "", and `deed` what that pass does; `shape` is the reduced program's; `marks` are the finding's.
    """
    named = guilty if " " in guilty else short_name(guilty)
    if kind == "ice-on-valid":
        return _internal_error(kind, seen, named)
    if kind == "invalid-ir":
        return next((Cause(kind, short_name(o.pass_name), f"{o.check} {o.rule}") for o in seen.offences), None)
    if kind == "crash" and seen.exit is Exit.CRASH:
        return _crash(kind, seen, named)
    if kind == "wrong-code" and seen.results is not None:
        if seen.stage is Stage.MUTATE:
            return Cause(kind, seen.pass_name, seen.message.partition(":")[0], tuple(marks))
        deed = deed or seen.results.deed
        if named and deed:
            return Cause(kind, named, deed[0], shape=tuple(kind[1:] for kind in deed[1:] if kind.startswith("-")))
        if named and seen.results.blamed.ending is Ending.RAISED:
            return Cause(kind, named, failed_check(seen.results.blamed.message))
    if not (named and shape):
        return None
    how = _how_wrong(seen.results) if kind == "wrong-code" and seen.results is not None else kind
    return Cause(kind, named, how, shape=tuple(sorted(set(shape))))


def _internal_error(kind: str, seen: Observation, named: str) -> Cause | None:
    if seen.stage is Stage.TEXT:
        return Cause(kind, seen.pass_name, construct_of(seen))
    under_way = short_name(seen.pass_name) or (_CODE_GENERATION if seen.stage is Stage.BUILD else "")
    site = _raised_in([function_name(frame.function) for frame in seen.backtrace])
    where = named or under_way
    if not where:
        return None
    if site and _shared(site[-1]) and where == under_way:
        where = ""
    return Cause(kind, where, failed_check(seen.refusal), site)


def failed_check(message: str) -> str:
    """Return which check failed, or what is said instead, without names: `InternalError: (it != end)`."""
    said = refusal_in(message)
    return f"{said.error and f'{said.error}: '}{said.condition or nameless(said.words)}"


def _raised_in(functions: Sequence[str]) -> tuple[str, ...]:
    """The deepest telling function; a node's constructor together with the shared function that it was called from."""
    telling = list(dict.fromkeys(name for name in functions if not name.startswith(under_test().code.visitors)))
    many = 2 if telling[1:] and _is_constructor(telling[0]) and _shared(telling[1]) else 1
    return tuple(telling[:many])


def _shared(function: str) -> bool:
    """Whether all passes use a function, and not to make a node of theirs."""
    return re.match(under_test().code.shared, function) is not None and not _is_constructor(function)


def _is_constructor(name: str) -> bool:
    owner, _, own = name.rpartition("::")
    return owner.rpartition("::")[2] == own


def _is_method(name: str) -> bool:
    """Whether a qualified name is that of a class's function: neither free nor a constructor."""
    owner = name.rpartition("::")[0].rpartition("::")[2]
    return owner[:1].isupper() and not _is_constructor(name) and re.fullmatch(r"[\w:~]+", name) is not None


def _crash(kind: str, seen: Observation, named: str) -> Cause | None:
    where = named or short_name(seen.pass_name)
    if not where or seen.stage is Stage.MUTATE:
        return None
    code = under_test().code
    own = [frame.function for frame in filter(code.owns, seen.backtrace)]
    telling = [name for name in own if not name.startswith(code.visitors)]
    if seen.stack_overflow:
        cycle = tuple(sorted({_owner(name) for name, count in Counter(telling).items() if count > 1}))
        return Cause(kind, where, "stack overflow", cycle) if cycle else None
    uncaught = seen.message.partition("what():")[2].strip()
    if refusal_in(uncaught).condition:
        return Cause(kind, where, f"{manner_of_death(seen)[0]} {failed_check(uncaught)}")
    deep = 1 if seen.signal in _FAULTS else _MOST_FRAMES
    return Cause(kind, where, manner_of_death(seen)[0], tuple(telling[:deep])) if telling else None


def _owner(function: str) -> str:
    """The class of a method: a recursion goes through its overloads as the program has it."""
    name = function_name(function)
    return name.rpartition("::")[0] if _is_method(name) else name


def _how_wrong(results: Results) -> str:
    ran = results.blamed
    if ran.ending is Ending.DIFFERS and ran.difference is not None:
        return ran.difference.nature
    return f"{ran.ending.value} {message_template(ran.message)}".strip()
