"""What must stay while a bundle is reduced: its signature, judged as its campaign did, and a well-formed program."""

from __future__ import annotations

from collections.abc import Sequence

from tzerlike import tvm_api
from tzerlike.apart import run_apart
from tzerlike.case import Case
from tzerlike.errors import TzerlikeError, UserError
from tzerlike.execute import ForkExecutor
from tzerlike.oracles import judged, make_oracles
from tzerlike.oracles.finding import Finding

TIMES_OF_SPEED = 3
"""Runs that slow code has to show in: speed is the one thing that noise alone could fake."""


class Judge:
    """Says whether a case shows the finding `signature`, on the inputs that its seed gives.

    Definedness is the oracles' to demand. `well_formed` is whether the program that was found is well-formed; smaller
    ones then have to be.
    """

    def __init__(self, executor: ForkExecutor, oracles: Sequence[str], kind: str, signature: str, start: Case) -> None:
        self._executor = executor
        self._oracles = make_oracles(oracles)
        self._signature = signature
        self._start = start
        self._times = TIMES_OF_SPEED if kind == "slow-code" else 1
        self.well_formed = is_well_formed(start)
        self.faults: list[str] = []
        """What went wrong in tzerlike itself with smaller cases, which were refused for that."""

    def finding(self, case: Case) -> Finding | None:
        """Run `case` once and return the finding if it shows."""
        (seen,) = self._executor.run([case], count=False)
        found = judged(self._oracles, case, seen)
        return next((finding for finding in found if finding.signature == self._signature), None)

    def keeps(self, case: Case) -> bool:
        """Whether a smaller case may take the place of the one that was found."""
        try:
            shows = all(self.finding(case) is not None for _ in range(self._times))
        except UserError:
            raise
        except TzerlikeError as fault:
            # Of this case alone, if the one that was found still runs.
            self.finding(self._start)
            self.faults.append(str(fault).strip())
            return False
        # Asked last: few cases get here, and it takes a process of its own, since some programs kill the verifiers.
        return shows and (not self.well_formed or is_well_formed(case))


def is_well_formed(case: Case) -> bool:
    """Whether TVM's verifiers accept the program of a case, and survive it."""

    def look() -> str | None:
        return "accepted" if tvm_api.well_formed(tvm_api.load_ir(case.ir)) else None

    return run_apart(look)[0] is not None
