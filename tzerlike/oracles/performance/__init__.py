"""The performance oracle: an optimization made the program slower.

A share of the programs of a campaign is enlarged until a run takes long enough (`examiner`), and the default build
compared with those that leave out one optional optimisation each, at the same level of LLVM. Kernels are compared with
the default pipeline alone, on the device. The samples are of single runs, taken in turn
(tzerlike.execution.compare.timing); a finding takes a rank test, an effect well over the noise of these very samples,
and runs long enough to be more than the call.
"""

from __future__ import annotations

from tzerlike.core.case import Case
from tzerlike.core.errors import UserError
from tzerlike.core.finding import Finding, Signed
from tzerlike.core.observation import Exit, Observation
from tzerlike.core.results import Ending
from tzerlike.core.targets import target_options
from tzerlike.execution.compare.slowdown import slower
from tzerlike.oracles.protocol import Account, Environment, Probe

HELD = "slower_with"
"""What a bundle's environment holds: the `pass` without which the program is faster, which `attempt` at inputs, and the
`diff` of what the pass changes first, which bundles of before do not have."""


def judge_performance(case: Case, observation: Observation) -> Finding | None:
    """Return the slow-code finding of a case that is right and whose optimised build is the slower."""
    results = observation.results
    if observation.exit is not Exit.OK or results is None or results.timing is None or not _optimised(case):
        return None
    agree = results.baseline.ending is Ending.AGREES and results.optimised.ending is Ending.AGREES
    if not (results.defined and agree and slower(results.timing)):
        return None
    cause = results.guilty or ("own pipeline" if case.config.pipeline == "none" else "default pipeline")
    return Finding("slow-code", (cause,), case, observation)


def _optimised(case: Case) -> bool:
    """Whether LLVM's optimiser runs: its level is 2 unless the target says otherwise."""
    return int(target_options(case.target).get("opt-level", 2)) >= 2


def _owns(finding: Signed, seen: Observation, environment: Environment) -> bool:
    return finding.kind == "slow-code" and HELD in environment


def _check(environment: Environment) -> None:
    held = environment[HELD]
    if not (isinstance(held, dict) and isinstance(held.get("pass"), str) and isinstance(held.get("attempt"), int)):
        raise UserError(f"environment.{HELD} has no pass or no attempt")


def _account(finding: Signed, seen: Observation, environment: Environment) -> Account:
    held = environment[HELD]
    return Account(place=held["pass"], diff=str(held.get("diff", "")))


PROBE = Probe(
    "speed",
    "tzerlike.oracles.performance.examiner",
    _owns,
    _account,
    _check,
)
