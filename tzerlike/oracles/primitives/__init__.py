"""The oracle of schedule primitives: one fails with something other than a ScheduleError, or leaves ill-typed IR.

A ScheduleError is how a primitive says no. What it says no to, it leaves as it was; what it takes, well-formed and
well-typed before, is so afterwards.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tzerlike.core.case import Case
from tzerlike.core.errors import UserError
from tzerlike.core.finding import Finding, Signed
from tzerlike.core.manner import manners_of
from tzerlike.core.mutation import Mutation
from tzerlike.core.observation import Exit, Observation, Stage, message_template
from tzerlike.core.refused import refusal_in
from tzerlike.oracles.ill_typed import expected_of, wrong_at, wrong_in_words
from tzerlike.oracles.internal_error import of_error
from tzerlike.oracles.protocol import Account, Environment, Probe
from tzerlike.passes.naming import short_name

HELD, CALLS = "mutation", "calls"
"""What a bundle's environment holds: the coordinates of the mutation that made the calls, and these, which are made
again where they can be, in place of the mutation."""

DUE = "refusal_due"
"""And why the primitive would have had to refuse the last call, as a sentence; "" where nothing is known that speaks
against it. Bundles of before do not say."""


_ADDRESSES = re.compile(r" \(0x[0-9a-f]+ vs\. 0x[0-9a-f]+\)")
"""What a check of pointers says, which is of no use to a reader."""


def judge_primitives(case: Case, observation: Observation) -> Finding | None:
    """Return the finding of a primitive, `pass_name`, that raised, or left an offence."""
    if observation.stage is not Stage.MUTATE:
        return None
    if observation.exit is Exit.REJECTED:
        # What is said behind a condition quotes the program.
        said = refusal_in(observation.message).condition or message_template(observation.message)
        return of_error(case, observation, ("schedule", short_name(observation.pass_name)), said)
    for offence in observation.offences:
        parts = ("schedule", short_name(observation.pass_name), offence.rule)
        return Finding("invalid-ir", parts, case, observation, finer=manners_of(offence))
    return None


def _owns(finding: Signed, seen: Observation, environment: Environment) -> bool:
    return seen.stage is Stage.MUTATE and seen.exit is not Exit.CRASH and HELD in environment


def _account(finding: Signed, seen: Observation, environment: Environment) -> Account:
    calls = environment.get(CALLS)
    lines = list(map(str, calls)) if isinstance(calls, list) else []
    shown = Account(place=seen.pass_name, quoted="\n".join(lines), language="python", lines=60)
    if seen.exit is Exit.REJECTED:
        said = _ADDRESSES.sub("", seen.message.partition("\n")[0])
        raised = " ".join(said.split()).rstrip(" :")
        due, error = str(environment.get(DUE, "")), refusal_in(seen.message).error or "another error"
        return replace(
            shown,
            headline=f"{seen.pass_name}: {error}, not ScheduleError" if due else "",
            expected=f"A `ScheduleError`: {due}." if due else "The primitive works or raises a `ScheduleError`.",
            actual=f"raises `{raised}` in the last of these calls:",
        )
    (offence,) = seen.offences
    return replace(
        shown,
        headline=f"{seen.pass_name} leaves ill-typed IR: {wrong_in_words(offence.where)}",
        expected=expected_of(offence.rule, "a schedule primitive"),
        actual=f"leaves ill-typed IR, {wrong_at(offence)}, in the last of these calls:",
    )


def _check(environment: Environment) -> None:
    try:
        Mutation.from_json(environment.get(HELD, {}))
    except UserError as error:
        raise UserError(f"environment.{error}") from error


PROBE = Probe(
    "primitive",
    "tzerlike.oracles.primitives.examiner",
    _owns,
    _account,
    _check,
    excluded=lambda environment: bool(environment.get(DUE)),
)
