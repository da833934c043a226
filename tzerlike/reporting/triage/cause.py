"""What a finding is due to, as far as its bundle says: two signatures with equal causes are one bug.

A cause is compared by equality alone, so "has the same cause" is an equivalence, whatever is compared first, and there
are no chains of likenesses. It says

- the kind: kinds never mix, but that an error on ill-typed IR is the ill-typed IR;
- the culprit pass: what bisection found, else the pass under way when it happened; none where what failed is the
  analyzer or the folding of constants, which all passes share;
- what failed, and where (tzerlike.reporting.triage.site):
  ill-typed IR by the rule that it breaks, and of a call how its type differs from its operands';
  an internal error by the condition that did not hold (else the message without names) and the deepest telling
  function, of a node's constructor also the shared function that called it, of a constant that does not fit by who
  asked for it; a program that does not come back from its text by the construct that does not;
  a crash in a pass by its signal and the deepest telling function of TVM, or the deepest three where no instruction
  failed, as with abort(), unless it says which check did; a stack overflow by the classes that its recursion goes
  through; a hang by the innermost telling function that it never left;
  wrong code by what the pass does to the program: the rule that is broken behind it, and the kinds of statements that
  there are fewer of; of a schedule by what is wrong with the outcome;
  slow code, lack of memory, and what no more is known of, which fail nowhere in particular, by how
  the result is wrong and the kinds of nodes of the reduced program, and only where a culprit pass was found.

A finding that says less has no cause and stays with its signature.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tzerlike.core.effort import Check
from tzerlike.core.manner import manners_of
from tzerlike.core.observation import ILL_FORMED, Exit, Observation, Offence, Stage, message_template
from tzerlike.core.refused import nameless, refusal_in
from tzerlike.core.results import Ending, Results
from tzerlike.oracles.crash import manner_of_death
from tzerlike.passes.naming import short_name
from tzerlike.reporting.triage.construct import about_a_definition, lost_construct
from tzerlike.reporting.triage.site import is_shared, raised_in, recursion, refused_constant, telling
from tzerlike.systems import under_test

_MOST_FRAMES = 3

_FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
"""Signals of an instruction. Who sends another, abort() above all, does so from a helper that others use as well."""

_CODE_GENERATION = "code generation"
"""What a bisection calls it too."""

_VALUES = ("exceptional-value", "integer-overflow", "cast-range")
_ONE = {
    **dict.fromkeys(_VALUES, "value"),
    **dict.fromkeys(("out-of-bounds", "block-domain"), "an iteration too many"),
}
"""What is wrong in several ways of which the program's values or its shapes choose one."""


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
        origin = seen.origin
        return _ill_typed(origin) if origin and origin.check == Check.TYPES else _internal_error(kind, seen, named)
    if kind == "invalid-ir":
        return next(map(_ill_typed, seen.offences), None)
    if kind == "crash" and seen.exit is Exit.CRASH:
        return _crash(kind, seen, named)
    if kind == "hang" and (stuck := telling(list(filter(under_test().code.owns, seen.backtrace)))):
        return Cause(kind, "" if is_shared(stuck[0]) else named or short_name(seen.pass_name), kind, tuple(stuck[:1]))
    if kind == "wrong-code" and seen.results is not None:
        if seen.stage is Stage.MUTATE:
            outcome = seen.message.partition(":")[0]
            return Cause(kind, seen.pass_name, _ONE.get(outcome, outcome), tuple(marks))
        deed = deed or seen.results.deed
        if named and deed:
            fewer = tuple(kind[1:] for kind in deed[1:] if kind.startswith("-"))
            return Cause(kind, named, _ONE.get(deed[0], deed[0]), shape=fewer)
        if named and seen.results.blamed.ending is Ending.RAISED:
            return Cause(kind, named, failed_check(seen.results.blamed.message))
    if not (named and shape):
        return None
    how = _how_wrong(seen.results) if kind == "wrong-code" and seen.results is not None else kind
    return Cause(kind, named, how, shape=tuple(sorted(set(shape))))


def named_by(seen: Observation) -> str:
    """Return the pass that an observation names as guilty, or "".

    That a pass left ill-formed IR is beside the point where a later one fails on something else than a definition.
    """
    if seen.results is not None:
        return seen.results.guilty
    origin = seen.origin
    beside = origin is not None and origin.check == ILL_FORMED and not about_a_definition(seen.message)
    return "" if origin is None or beside else origin.pass_name


def _ill_typed(offence: Offence) -> Cause:
    how = (offence.check, offence.rule, *manners_of(offence))
    return Cause("invalid-ir", short_name(offence.pass_name), " ".join(how))


def _internal_error(kind: str, seen: Observation, named: str) -> Cause | None:
    if seen.stage is Stage.TEXT:
        return Cause(kind, seen.pass_name, lost_construct(seen))
    under_way = short_name(seen.pass_name) or (_CODE_GENERATION if seen.stage is Stage.BUILD else "")
    where = named or under_way
    if not where:
        return None
    said, site = failed_check(seen.refusal), raised_in(seen.backtrace)
    shared = bool(site) and is_shared(site[-1])
    asked, simplifying = refused_constant(seen.backtrace)
    if asked:
        said, site, shared = "a constant that does not fit", (asked,), simplifying
    return Cause(kind, "" if shared and where == under_way else where, said, site)


def failed_check(message: str) -> str:
    """Return which check failed, or what is said instead, without names: `InternalError: (it != end)`."""
    said = refusal_in(message)
    return f"{said.error and f'{said.error}: '}{said.condition or nameless(said.words)}"


def _crash(kind: str, seen: Observation, named: str) -> Cause | None:
    where = named or short_name(seen.pass_name)
    if not where or seen.stage is Stage.MUTATE:
        return None
    if seen.stack_overflow:
        cycle = recursion(seen.backtrace)
        shared = bool(cycle) and all(map(is_shared, cycle))
        return Cause(kind, "" if shared else where, "stack overflow", cycle)
    uncaught = seen.message.partition("what():")[2].strip()
    if refusal_in(uncaught).condition:
        return Cause(kind, where, f"{manner_of_death(seen)[0]} {failed_check(uncaught)}")
    code = under_test().code
    own = [frame.function for frame in filter(code.owns, seen.backtrace)]
    deepest = [name for name in own if not name.startswith(code.visitors)]
    deep = 1 if seen.signal in _FAULTS else _MOST_FRAMES
    return Cause(kind, where, manner_of_death(seen)[0], tuple(deepest[:deep])) if deepest else None


def _how_wrong(results: Results) -> str:
    ran = results.blamed
    if ran.ending is Ending.DIFFERS and ran.difference is not None:
        return ran.difference.nature
    return f"{ran.ending.value} {message_template(ran.message)}".strip()
