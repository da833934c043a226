"""The proof oracle: a solver proves or refutes the claims of the arithmetic analyzer (tzerlike.arith.proof).

The worker of that harness asks the solver itself: nothing is to be seen in what a child did.
"""

from __future__ import annotations

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Observation


def judge_proof(case: Case, observation: Observation) -> Finding | None:
    return None
