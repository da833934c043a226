"""What a finding is due to, as far as its bundle says: two signatures with equal causes are one bug.

A cause is compared by equality alone, so "has the same cause" is an equivalence, whatever is compared first, and there
are no chains of likenesses. It says

- the kind: kinds never mix;
- the culprit pass: what bisection found, else the pass under way when it happened;
- what failed, and where:
  an internal error by the condition that did not hold (else the message's template) and the functions from the one
  that raised out to the first that is a class's own: below it lie helpers that every pass shares;
  a crash in a pass by its signal and the deepest telling function of TVM, or the deepest three where no instruction
  failed, as with abort(), unless it says which check did; a stack overflow by the classes that its recursion goes
  through;
  wrong or slow code, a hang and lack of memory, which fail nowhere in particular, by how the result is
  wrong and the kinds of nodes of the reduced program, and only where a culprit pass was found.

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
from tzerlike.core.results import Ending, Results
from tzerlike.oracles.crash import manner_of_death
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
        return f"{self.guilty}: {self.failure}{where}"

    def to_json(self) -> dict[str, Any]:
        return {
            "guilty": self.guilty,
            "failure": self.failure,
            "site": list(self.site),
            "shape": list(self.shape),
        }


def cause_of(kind: str, seen: Observation, guilty: str = "", shape: Sequence[str] = ()) -> Cause | None:
    """Return the cause of a finding, or None where its bundle does not tell.

    `guilty` is the pass that a bisection found, short or with its namespace, or what it found instead (that has a
    blank in it), or ""; `shape` is the reduced program's.
    """
    named = guilty if " " in guilty else guilty.rpartition(".")[2]
    if kind == "ice-on-valid":
        return _internal_error(kind, seen, named)
    if kind == "crash" and seen.exit is Exit.CRASH:
        return _crash(kind, seen, named)
    if not (named and shape):
        return None
    how = _how_wrong(seen.results) if kind == "wrong-code" and seen.results is not None else kind
    return Cause(kind, named, how, shape=tuple(sorted(set(shape))))


def _internal_error(kind: str, seen: Observation, named: str) -> Cause | None:
    site = _raised_in([function_name(frame.function) for frame in seen.backtrace])
    where = named or seen.pass_name.rpartition(".")[2] or (_CODE_GENERATION if seen.stage is Stage.BUILD else "")
    return Cause(kind, where, failed_check(seen.refusal), site) if where and site else None


_CHECK = re.compile(r"(?P<error>\w+: )?Check failed: (?P<rest>.*)", re.DOTALL)
_OWN_WORD = re.compile(r"(?<![\w.])[a-z]\w*(?:\.\w+)+(?![\w(.])")
"""A dotted name in what follows a condition, like llvm.ctpop: TVM's own word. The others name a program's variables."""


def failed_check(message: str) -> str:
    """Return which check failed, without what varies with the program: `InternalError: (f) llvm.ctpop`."""
    first = next((line.strip() for line in message.splitlines() if line.strip()), "")
    found = _CHECK.match(first)
    template = message_template(first, width=1000)
    if found is None:
        return template
    rest = template.partition("Check failed: ")[2]
    condition, separator, detail = rest.partition(" is false:")
    if not separator:
        condition, _, detail = rest.partition(" : ")
        condition = condition.partition(" (<n> vs. ")[0]
    words = sorted(set(_OWN_WORD.findall(detail)))
    return " ".join((f"{found['error'] or ''}{condition}", *words))


def _raised_in(functions: Sequence[str]) -> tuple[str, ...]:
    """The functions from the one that raised out to the first method of a class; the first few where there is none."""
    telling = list(dict.fromkeys(name for name in functions if not name.startswith(under_test().code.visitors)))
    many = next((index + 1 for index, name in enumerate(telling) if _is_method(name)), _MOST_FRAMES)
    return tuple(telling[:many])


def _is_method(name: str) -> bool:
    """Whether a qualified name is that of a class's function: neither free nor a constructor."""
    owner, _, own = name.rpartition("::")
    owner = owner.rpartition("::")[2]
    return owner[:1].isupper() and owner != own and re.fullmatch(r"[\w:~]+", name) is not None


def _crash(kind: str, seen: Observation, named: str) -> Cause | None:
    where = named or seen.pass_name.rpartition(".")[2]
    if not where or seen.stage is Stage.MUTATE:
        return None
    code = under_test().code
    own = [frame.function for frame in filter(code.owns, seen.backtrace)]
    telling = [name for name in own if not name.startswith(code.visitors)]
    if seen.stack_overflow:
        cycle = tuple(sorted({_owner(name) for name, count in Counter(telling).items() if count > 1}))
        return Cause(kind, where, "stack overflow", cycle) if cycle else None
    uncaught = seen.message.partition("what():")[2].strip()
    if _CHECK.match(uncaught):
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
