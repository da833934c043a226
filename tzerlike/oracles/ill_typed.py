"""The oracle of types: a pass makes ill-typed IR of a program that is well-formed and well-typed.

Types are those that TVM's own constructors give (tzerlike.tir.typecheck). Passes run on what their preconditions allow.
"""

from __future__ import annotations

from dataclasses import replace

from tzerlike.core.case import Case
from tzerlike.core.effort import Check
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Observation, Offence
from tzerlike.oracles.inconsistency import misused
from tzerlike.oracles.protocol import Account
from tzerlike.passes.naming import short_name


def judge_ill_typed(case: Case, observation: Observation) -> Finding | None:
    """Return the invalid-ir finding of the first pass that left ill-typed IR: its name and the rule."""
    found = next((offence for offence in observation.offences if offence.check == Check.TYPES), None)
    if found is None or misused(case):
        return None
    parts = ("ill-typed", short_name(found.pass_name), found.rule)
    return Finding("invalid-ir", parts, case, replace(observation, offences=(found,), backtrace=()))


def account_of_ill_typed(found: Offence) -> Account:
    return Account(
        headline=f"{found.pass_name} leaves ill-typed IR: {found.where}",
        expected="In what a pass leaves of a well-typed program, the types of each node and of its parts go together.",
        place=found.pass_name,
        actual="leaves IR in which they do not, by the rule in front of the colon:",
        quoted=f"{found.rule}: {found.where}",
    )
