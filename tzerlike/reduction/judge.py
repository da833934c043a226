"""What must stay while a bundle is reduced: its signature, judged as its campaign did, and a well-formed program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tzerlike import tvm_api
from tzerlike.apart import run_apart
from tzerlike.case import Case
from tzerlike.errors import TzerlikeError, UserError
from tzerlike.execute import ForkExecutor
from tzerlike.heap import LAYOUTS
from tzerlike.oracles import judged, make_oracles
from tzerlike.oracles.finding import Finding

_ALL: Mapping[str, tuple[int, ...]] = {"hang": (0,), "oom": (0,), "slow-code": (0, 0, 0)}
"""The heaps to confirm on, for kinds other than usual. What is timed is left the heap of the campaign; speed is the
one thing that noise alone could fake, so that each of several runs has to show it."""

_FEW: Mapping[str, tuple[int, ...]] = {"wrong-code": (LAYOUTS[-1],)}
_FEW_USUALLY = (LAYOUTS[0], LAYOUTS[-1])
"""The heaps that a smaller case has to show the finding on before it is taken. Wrong code is walked along its passes
each time that it shows: one heap, on which fresh memory is filled."""


class Judge:
    """Says whether a case shows the finding `signature`, on the inputs that its seed gives.

    Definedness is the oracles' to demand. `well_formed` is whether the program `start` that was found is well-formed;
    smaller ones then have to be.
    """

    def __init__(self, executor: ForkExecutor, oracles: Sequence[str], kind: str, signature: str, start: Case) -> None:
        self._executor = executor
        self._oracles = make_oracles(oracles)
        self._signature = signature
        self._start = start
        self.layouts = _ALL.get(kind, LAYOUTS)
        """The heaps that the finding is confirmed on, as a campaign does."""
        self._few = _ALL.get(kind) or _FEW.get(kind, _FEW_USUALLY)
        self.well_formed = is_well_formed(start)
        self.faults: list[str] = []
        """What went wrong in tzerlike itself with smaller cases, which were refused for that."""

    def finding(self, case: Case, layout: int = 0, inputs: str = "") -> Finding | None:
        """Run `case` once on a heap, with the inputs of an archive where one is named; the finding if it shows."""
        effort = replace(self._executor.effort, layout=layout, inputs=inputs)
        (seen,) = self._executor.run([case], count=False, effort=effort)
        found = judged(self._oracles, case, seen)
        return next((finding for finding in found if finding.signature == self._signature), None)

    def times_shown(self, case: Case) -> tuple[int, int]:
        """Return on how many of the heaps for confirmation the finding shows, and how many there are."""
        return sum(self.finding(case, layout) is not None for layout in self.layouts), len(self.layouts)

    def keeps(self, case: Case) -> bool:
        """Whether a smaller case may take the place of the one that was found."""
        try:
            first, *others = self._few
            # Few cases get past the first run. The verifiers come next: they take a process of their own, since some
            # programs kill them, and that is still less than a run.
            return (
                self.finding(case, first) is not None
                and (not self.well_formed or is_well_formed(case))
                and all(self.finding(case, layout) is not None for layout in others)
            )
        except UserError:
            raise
        except TzerlikeError as fault:
            # Of this case alone, if the one that was found still runs.
            self.finding(self._start)
            self.faults.append(str(fault).strip())
            return False


def is_well_formed(case: Case) -> bool:
    """Whether TVM's verifiers accept the program of a case, and survive it."""

    def look() -> str | None:
        return "accepted" if tvm_api.well_formed(tvm_api.load_ir(case.ir)) else None

    return run_apart(look)[0] is not None
