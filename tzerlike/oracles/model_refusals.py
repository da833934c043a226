"""The oracle of models that TVM should refuse: one constraint of one call is broken, and TVM has to say so.

A refusal that does not say what is wrong is a finding, and so is a call that gets a type that it cannot have. What is
judged the child has looked at (tzerlike.harnesses.graph.to_refuse).
"""

from __future__ import annotations

from dataclasses import replace

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.observation import REFUSED_CLEANLY, Exit, Observation, Offence, message_template
from tzerlike.oracles.protocol import Account

_REFUSED, _ACCEPTED = "refused", "accepted"


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
    accepted = found.where.startswith(_ACCEPTING)
    place, _, what = found.rule.removeprefix("attribute ").rpartition(": ")
    invalid = f"an invalid {what} of {place}" if place else f"an invalid {what}"
    name = found.pass_name
    return Account(
        headline=f"{name} accepts {invalid}" if accepted else f"{name} does not reject {invalid} cleanly",
        expected="An invalid call is rejected with an error that says what is wrong with it.",
        place=f"relax.op.{name}",
        actual="accepts the call:" if accepted else "leads to an error that does not say what is wrong with it:",
        quoted=found.where,
    )


_ACCEPTING = ("type inference gives", "a negative extent")
"""How the child begins to say what is wrong with a call that is accepted (tzerlike.harnesses.graph.to_refuse)."""
