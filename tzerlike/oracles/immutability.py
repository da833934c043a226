"""The immutability oracle: a pass changes its input module.

IR is immutable by TVM's own rule: a pass copies what others hold, and who calls it may go on with what he had.
"""

from __future__ import annotations

from dataclasses import replace

from tzerlike.core.case import Case
from tzerlike.core.effort import Check
from tzerlike.core.finding import Finding
from tzerlike.core.observation import CHANGED_SOMEHOW, Observation, Offence
from tzerlike.oracles.protocol import Account
from tzerlike.passes.naming import short_name


def judge_immutability(case: Case, observation: Observation) -> list[Finding]:
    """Return an invalid-ir finding of each pass that changed its input."""
    return [
        Finding(
            "invalid-ir",
            ("immutability", short_name(found.pass_name)),
            case,
            replace(observation, offences=(found,), backtrace=()),
        )
        for found in observation.offences
        if found.check == Check.IMMUTABILITY
    ]


_CHANGED = {CHANGED_SOMEHOW: "the structural hash of the input module is not the same after the pass"}


def account_of_changed_input(found: Offence) -> Account:
    return Account(
        headline=f"{short_name(found.pass_name)} modifies its input module in place",
        expected="A pass returns a new module, and does not modify its input while there are other references to it.",
        place=found.pass_name,
        actual=f"modifies its input in place: {_CHANGED.get(found.where or CHANGED_SOMEHOW, found.where)}.",
    )
