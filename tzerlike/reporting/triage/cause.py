"""The cause of a finding, as far as its bundle shows it: two signatures with equal causes are one bug.

A cause is compared by equality alone, so "has the same cause" is an equivalence, whatever is compared first, and there
are no chains of likenesses. It says

- the kind: kinds never mix, but that an error on ill-typed IR is the ill-typed IR, that what a pass left which it is
  there to remove may fail later or give other values, and that a null pointer may be found out by a check or followed;
- the culprit pass: what bisection found, else the pass under way when it happened; none where what failed is the
  analyzer or the folding of constants, which all passes share; of two passes that are one implementation always the
  first; of two schedule primitives that are each other's mirror image always the first, where what failed is none of
  the function of its own that each has;
- what failed, and where (tzerlike.reporting.triage.site):
  ill-typed IR by the rule that it breaks, and of a call how its type differs from its operands';
  an internal error by the condition that did not hold (else the message without names) and the deepest telling
  function, of a node's constructor also the shared function that called it, of a constant that does not fit by who
  asked for it; a program that does not come back from its text by the construct that does not;
  what a pass left that it is there to remove, by the kind of node that holds it, be it found out by a later pass, by a
  verifier, or where the pass makes that node of parts that no longer fit;
  a null pointer in a schedule primitive by the function;
  a crash in a pass by its signal and the deepest telling function of TVM, or the deepest three where no instruction
  failed, as with abort(), unless it says which check did; a stack overflow by the classes that its recursion goes
  through; a hang by the innermost telling function that it never left;
  wrong code by what the pass does to the program: the rule that is broken behind it, and the kinds of statements that
  there are fewer of; of a schedule by what the primitive did, or else by what is wrong with the outcome;
  the gradient of an operator, or what it calls for that, by how the result is wrong, where an error is another shape;
  slow code, lack of memory, and what no more is known of, which fail nowhere in particular, by how
  the result is wrong and the kinds of nodes of the reduced program but for casts, which are its types, and only where
  a culprit pass was found.

A finding that says less has no cause and stays with its signature.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tzerlike.core.dtypes import parse
from tzerlike.core.effort import Check
from tzerlike.core.manner import manners_of
from tzerlike.core.observation import ILL_FORMED, LEFTOVER, Exit, Frame, Observation, Offence, Stage, message_template
from tzerlike.core.refused import about_a_definition, failed_check, refusal_in
from tzerlike.core.results import GRADIENT_OF, Ending, Results
from tzerlike.oracles.crash import manner_of_death
from tzerlike.passes.naming import short_name
from tzerlike.reporting.triage.construct import lost_construct
from tzerlike.reporting.triage.site import is_shared, made_in, raised_in, recursion, refused_constant, telling
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

_BY_EXPRESSIONS = ("value", "an iteration too many")
"""What a pass does that has made expressions into others and left all statements: an index that is wrong may be inside
of its buffer or not."""

_IN = " in "
"""Before the kind of node that holds what was left; bundles of before do not say it."""

_LEAVING = (LEFTOVER, ILL_FORMED)
"""What was left may keep a program from being well-formed."""

_PRIMITIVE = "Schedule."
"""What the name of a schedule primitive begins with; one that makes loops of another width leaves many nodes so."""

_TWINS = {"FP8ComputeLegalize": "BF16ComputeLegalize", "FP8StorageLegalize": "BF16StorageLegalize"}
"""Passes that are what another one is, for another dtype (TVM: src/tirx/transform/unsupported_dtype_legalize.cc)."""

_LEGALISERS = frozenset((*_TWINS, *_TWINS.values()))

_GRADIENTS = {
    f"{GRADIENT_OF}{forward}": f"{forward.removeprefix('nn.')}_backward"
    for forward in ("nn.avg_pool2d", "nn.max_pool2d", "nn.nll_loss", "take")
}
"""Gradients that are one call of an operator, which is there for that (TVM: python/tvm/relax/op/_op_gradient.py)."""

_TYPES_ALONE = {"prim.Cast"}
"""Kinds of nodes that a program has for the sake of its types."""

_MIRRORED = {"cache_write": "cache_read", "reverse_compute_at": "compute_at"}
"""Primitives that do what another one does, for the other end of a buffer; they share what they call."""

_SHAPE = "shape"

_NO_NULL = re.compile(r"\(?([\w>.()-]+ != nullptr( && )?)+\)?")
"""A check that nothing is a null pointer."""


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
    slips: Sequence[str] = (),
) -> Cause | None:
    """Return the cause of a finding, or None where its bundle does not tell.

    `guilty` is the pass that a bisection found, short or with its namespace, or what it found instead (that has a
    blank in it), or "", and `deed` what that pass does; `shape` is the reduced program's; `marks` and `slips` are
    those of the finding.
    """
    cause = _told(kind, seen, guilty, shape, deed, marks, slips)
    return None if cause is None else replace(cause, guilty=_TWINS.get(cause.guilty, cause.guilty))


def _told(
    kind: str,
    seen: Observation,
    guilty: str,
    shape: Sequence[str],
    deed: Sequence[str],
    marks: Sequence[str],
    slips: Sequence[str],
) -> Cause | None:
    named = short_name(guilty)
    origin = seen.origin
    if kind in ("ice-on-valid", "crash") and origin and origin.check in _LEAVING and _IN in origin.rule:
        return _left(origin.pass_name, origin.rule)
    if kind == "ice-on-valid" and origin and origin.pass_name.startswith(GRADIENT_OF):
        return _unfit_gradient(origin.pass_name)
    if kind == "ice-on-valid":
        return _ill_typed(origin) if origin and origin.check == Check.TYPES else _internal_error(kind, seen, named)
    if kind == "invalid-ir":
        return next(map(_ill_typed, seen.offences), None)
    if kind == "crash" and seen.exit is Exit.CRASH:
        return _crash_of_a_primitive(seen, marks) if seen.stage is Stage.MUTATE else _crash(kind, seen, named)
    if kind == "hang" and (stuck := telling(list(filter(under_test().code.owns, seen.backtrace)))):
        return Cause(kind, "" if is_shared(stuck[0]) else named or short_name(seen.pass_name), kind, tuple(stuck[:1]))
    if kind == "wrong-code" and seen.results is not None:
        if seen.stage is Stage.MUTATE:
            outcome = seen.message.partition(":")[0]
            if slips:
                return Cause(kind, seen.pass_name, " ".join(slips))
            return Cause(kind, seen.pass_name, _ONE.get(outcome, outcome), tuple(marks))
        deed = deed or seen.results.deed
        if named and tuple(deed[:1]) == (LEFTOVER,):
            return _left(named, " ".join(deed[1:]))
        if named and deed:
            fewer = tuple(kind[1:] for kind in deed[1:] if kind.startswith("-"))
            failure = _ONE.get(deed[0], deed[0])
            by_expressions = failure in _BY_EXPRESSIONS and not fewer
            return Cause(kind, named, "an expression" if by_expressions else failure, shape=fewer)
        if named and seen.results.blamed.ending is Ending.RAISED:
            return Cause(kind, named, failed_check(seen.results.blamed.message))
    how = _how_wrong(seen.results) if kind == "wrong-code" and seen.results is not None else kind
    if kind == "wrong-code" and (named.startswith(GRADIENT_OF) or named in _GRADIENTS.values()):
        return _unfit_gradient(named) if how == _SHAPE else Cause(kind, _GRADIENTS.get(named, named), how)
    if not (named and shape):
        return None
    return Cause(kind, named, how, shape=tuple(sorted(set(shape) - _TYPES_ALONE)))


def named_by(seen: Observation) -> str:
    """Return the pass that an observation names as guilty, or "".

    That a pass left ill-formed IR is beside the point where a later one fails on something else than a definition.
    """
    if seen.results is not None:
        return seen.results.guilty
    origin = seen.origin
    beside = origin is not None and origin.check == ILL_FORMED and not about_a_definition(seen.message)
    return "" if origin is None or beside else origin.pass_name


def _unfit_gradient(guilty: str) -> Cause:
    """A gradient of another shape than what it is by comes out, or something fails on it, which may be the rule."""
    return Cause("wrong-code", _GRADIENTS.get(guilty, guilty), _SHAPE)


def _ill_typed(offence: Offence) -> Cause:
    how = (offence.check, offence.rule, *manners_of(offence))
    if offence.pass_name.startswith(_PRIMITIVE) and _of_two_widths(offence.where):
        how = (offence.check, "integers of two widths")
    return Cause("invalid-ir", short_name(offence.pass_name), " ".join(how))


def _left(pass_name: str, rule: str) -> Cause:
    return Cause("invalid-ir", short_name(pass_name), f"{LEFTOVER} in {rule.rpartition(_IN)[2]}")


def _of_two_widths(where: str) -> bool:
    """Whether a node is said to have integers of 32 and of 64 bits for parts, be it an axis or an operation."""
    return {"int32", "int64"} == {dtype.scalar for word in where.split() if (dtype := parse(word))}


def _internal_error(kind: str, seen: Observation, named: str) -> Cause | None:
    if seen.stage is Stage.TEXT:
        return Cause(kind, seen.pass_name, lost_construct(seen))
    under_way = short_name(seen.pass_name) or (_CODE_GENERATION if seen.stage is Stage.BUILD else "")
    where = named or under_way
    if not where:
        return None
    said, site = failed_check(seen.refusal), raised_in(seen.backtrace)
    if where in _LEGALISERS and (made := made_in(site)):
        return _left(where, made)
    shared = bool(site) and is_shared(site[-1])
    asked, simplifying = refused_constant(seen.backtrace)
    if asked:
        said, site, shared = "a constant that does not fit", (asked,), simplifying
    if seen.stage is Stage.MUTATE:
        if site and _NO_NULL.fullmatch(refusal_in(seen.refusal).condition):
            return _null_pointer(where, site)
        if not (site and _is_its_own(site[0], where)):
            where = _MIRRORED.get(where, where)
    return Cause(kind, "" if shared and where == under_way else where, said, site)


def _is_its_own(function: str, primitive: str) -> bool:
    """Whether a function is the one that does what a primitive is called for: ComputeAt of compute_at."""
    return function.rpartition("::")[2].lower() == primitive.replace("_", "")


def _null_pointer(primitive: str, site: tuple[str, ...]) -> Cause:
    return Cause("crash", primitive, "a null pointer", site)


def _crash_of_a_primitive(seen: Observation, marks: Sequence[str]) -> Cause | None:
    """What kills a process while it makes a program leaves no frames but the `marks` of its finding."""
    primitive = seen.message.rpartition(f" in {_PRIMITIVE}")[2]
    site = raised_in([Frame(function, "") for function in marks])
    named = signal.Signals(seen.signal) is signal.SIGSEGV and primitive and site
    return _null_pointer(primitive, site) if named else None


def _crash(kind: str, seen: Observation, named: str) -> Cause | None:
    where = named or short_name(seen.pass_name)
    if not where:
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
