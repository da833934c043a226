"""The oracle of models that TVM should refuse: one constraint of one call is broken, and TVM has to say so.

A refusal that does not say what is wrong is a finding, and so is a call that gets a type that it cannot have. What is
judged the child has looked at (tzerlike.harnesses.graph.to_refuse).
"""

from __future__ import annotations

import re
from dataclasses import replace

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.observation import REFUSED_CLEANLY, Exit, Observation, Offence, message_template
from tzerlike.oracles.protocol import Account

_REFUSED, _ACCEPTED = "refused", "accepted"
_WORDLESS = "leads to an error that does not say what is wrong with it:"

INFERRED, NEGATIVE_EXTENT = "type inference gives", "a negative extent in "
"""How the child begins to say what is wrong with a call that is accepted (tzerlike.harnesses.graph.to_refuse)."""

_OUT_OF_BOUNDS = re.compile(r"[Ii]ndex -?\d+ out of bounds \d+|size: \d+, got index -?\d+")


def names_the_axis(broken: str, said: str) -> bool:
    """Whether an error names the axis that there is not: of a call whose type was inferred it comes too late."""
    return broken.endswith("axis") and _OUT_OF_BOUNDS.search(said) is not None


def judge_refusals(case: Case, observation: Observation) -> Finding | None:
    """Return the invalid-ir finding of a call that is not refused cleanly: the operator, and what of it is broken."""
    found = next((offence for offence in observation.offences if offence.check == REFUSED_CLEANLY), None)
    if found is None:
        return None
    refused = observation.exit is Exit.REJECTED and found.where == observation.message[: len(found.where)]
    what = message_template(observation.message) if refused else found.rule
    parts = ("model-refusals", found.pass_name, _REFUSED if refused else _ACCEPTED, what)
    return Finding("invalid-ir", parts, case, replace(observation, offences=(found,), backtrace=()))


def account_of_refusal(found: Offence) -> Account:
    name = found.pass_name
    if found.where.startswith(NEGATIVE_EXTENT):
        return Account(
            headline=f"{name} gives a result of negative extent",
            expected="No result has a negative extent: an invalid call is rejected with an error.",
            place=f"relax.op.{name}",
            actual="accepts the call, and type inference gives",
            quoted=found.where.removeprefix(NEGATIVE_EXTENT),
        )
    accepted, late = found.where.startswith(INFERRED), names_the_axis(found.rule, found.where)
    refused = "passes type inference; only a build raises:" if late else _WORDLESS
    place, _, what = found.rule.removeprefix("attribute ").rpartition(": ")
    invalid = f"an invalid {what} of {place}" if place else f"an invalid {what}"
    return Account(
        headline=f"{name} accepts {invalid}" if accepted else f"{name} does not reject {invalid} cleanly",
        expected="An invalid call is rejected with an error that says what is wrong with it.",
        place=f"relax.op.{name}",
        actual="accepts the call:" if accepted else refused,
        quoted=found.where,
    )
