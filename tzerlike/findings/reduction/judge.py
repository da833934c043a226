"""What must stay the same while a bundle is reduced: its signature, judged as in its campaign, and well-formedness."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from tzerlike.core.case import Case
from tzerlike.core.errors import TzerlikeError, UserError
from tzerlike.core.finding import FIRST_TIER, Finding
from tzerlike.execution.compare.slowdown import lasts
from tzerlike.findings.bundles.bundle import Bundle
from tzerlike.findings.programs import Programs
from tzerlike.findings.retrial import Retrial
from tzerlike.tir.odd.program import REPEATS


class FindingJudge:
    """Says whether a case shows the finding of a bundle, on the inputs that its seed gives.

    Definedness is the oracles' to demand. What was found in the first tier stays there. What accepts the program that
    was found, TVM's verifiers, the checker of types, the parser of its text, the interpreter that finds it defined, has
    to accept smaller ones, and they have no odd form that it has not.
    """

    def __init__(self, retrial: Retrial, bundle: Bundle, programs: Programs) -> None:
        self.retrial = retrial
        self._bundle = bundle
        self._start = bundle.stored.case
        self._programs = programs
        self.faults: list[str] = []
        """What went wrong in tzerlike itself with smaller cases, which were refused for that."""

    @cached_property
    def first_tier(self) -> bool:
        """Whether the case that was found is in the first tier: by the rules of today too, which may be stricter."""
        found = self.finding(self._start) if self._bundle.tier == FIRST_TIER else None
        return found is not None and self.retrial.tier(found) == FIRST_TIER

    @cached_property
    def _accepted(self) -> frozenset[str]:
        return self._programs.accepted(self._start)

    @cached_property
    def _odd(self) -> frozenset[str]:
        # What takes all memory, or all time, does so whatever its loops compute.
        return self._programs.odd(self._start) | ({REPEATS} if self._bundle.kind in ("oom", "hang") else set())

    def finding(self, case: Case, layout: int = 0) -> Finding | None:
        """Look at `case` once on a heap; the finding if it shows."""
        found = self.retrial.look(case, layout).findings
        return next((finding for finding in found if self._bundle.shown_by(finding.signatures)), None)

    def times_shown(self, case: Case) -> tuple[int, int]:
        """Return on how many of the heaps for confirmation the finding shows, and how many there are."""
        layouts = self.retrial.layouts
        return sum(self.finding(case, layout) is not None for layout in layouts), len(layouts)

    @property
    def may_keep(self) -> Callable[[Sequence[Case]], Sequence[bool]] | None:
        """Says of the first of some smaller cases whether they may take the place of the one that was found; None where
        that costs no less than `keeps`."""
        clean = self.retrial.clean
        return None if clean is None else lambda cases: [not one for one in clean(cases)]

    def keeps(self, case: Case) -> bool:
        """Whether a smaller case may take the place of the one that was found."""
        try:
            first, *others = self.retrial.few
            # Few cases get past the first run. The verifiers come next: they take a process of their own, since some
            # programs kill them, and that is still less than a run.
            return (
                (found := self.finding(case, first)) is not None
                and lasts(found.observation)
                and self._accepted <= self._programs.accepted(case, self._accepted)
                and self._programs.odd(case) <= self._odd
                and (not self.first_tier or self.retrial.tier(found) == FIRST_TIER)
                and all(self.finding(case, layout) is not None for layout in others)
            )
        except UserError:
            raise
        except TzerlikeError as fault:
            # Of this case alone, if the one that was found still runs.
            self.finding(self._start)
            self.faults.append(str(fault).strip())
            return False
