"""Model oracles that run only if named: a pass changes the types of inputs or outputs, a module does not survive its
text, machine code computes something else than bytecode.

What is judged the child has looked at (tzerlike.harnesses.graph.offences).
"""

from __future__ import annotations

from dataclasses import replace

from tzerlike.core.case import Case
from tzerlike.core.effort import Check
from tzerlike.core.finding import Finding
from tzerlike.core.observation import ILL_FORMED, READS_BACK, Observation, Offence
from tzerlike.graph.steps import COMPILED, READ_BACK
from tzerlike.oracles.models import wrong_results
from tzerlike.oracles.protocol import Account
from tzerlike.passes.naming import short_name


def judge_signatures(case: Case, observation: Observation) -> Finding | None:
    """Return the invalid-ir finding of the first pass after which `main` has another type, in a module that is still
    well-formed: what is worse is a finding of its own."""
    found = _breach("model-types", Check.SIGNATURES, case, observation)
    if found is None:
        return None
    (offence,) = found.observation.offences
    ill_formed = {one.pass_name for one in observation.offences if one.check == ILL_FORMED}
    return None if offence.pass_name in ill_formed else found


def judge_texts(case: Case, observation: Observation) -> Finding | None:
    """Return the invalid-ir finding of a module that is not read as it was: the step, and the construct."""
    found = _breach("model-text", READS_BACK, case, observation)
    if found is None:
        return None
    (offence,) = found.observation.offences
    return replace(found, finer=(offence.where,))


def judge_modes(case: Case, observation: Observation) -> Finding | None:
    """Return the wrong-code finding of a model that only machine code computes otherwise."""
    results = observation.results
    guilty = results is not None and results.guilty == COMPILED.name
    return wrong_results(case, observation) if guilty else None


def _breach(oracle: str, check: str, case: Case, observation: Observation) -> Finding | None:
    found = next((offence for offence in observation.offences if offence.check == check), None)
    if found is None:
        return None
    seen = replace(observation, offences=(found,), backtrace=())
    return Finding("invalid-ir", (oracle, short_name(found.pass_name)), case, seen)


def account_of_signature(found: Offence) -> Account:
    return Account(
        headline=f"{short_name(found.pass_name)} changes the signature of main",
        expected="A pass does not change the types of the parameters and the result of `main`.",
        place=found.pass_name,
        actual="changes it.",
    )


def account_of_text(found: Offence) -> Account:
    what = found.where.split()[0] if "." in found.where else "a module"
    return Account(
        headline=f"{READ_BACK[short_name(found.pass_name)]} round trip changes {what}",
        expected="A module that is written with its metadata is read back unchanged.",
        actual="The module that is read is not structurally equal to the original; the first difference is",
        quoted=found.where,
    )
