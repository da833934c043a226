"""The effect of a pass on the facts of a program, as one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tzerlike.passes.facts import Fact, Facts

NONE: Final[Facts] = frozenset()


@dataclass(frozen=True, slots=True)
class Rule:
    """What a pass does with the facts.

    It wants all of `needs`, none of `forbids`, and not all at once of any of `clashes`. It adds and removes the others.
    Where one of `waived_by` holds, nothing is forbidden.
    """

    needs: Facts = NONE
    forbids: Facts = NONE
    adds: Facts = NONE
    removes: Facts = NONE
    clashes: tuple[Facts, ...] = ()
    waived_by: Facts = NONE
    source: str = ""

    def violation(self, facts: Facts) -> tuple[Fact, bool] | None:
        """Return the first fact that stands in the way, and whether it is wanted (True) or forbidden (False)."""
        if not self.needs <= facts:
            return min(self.needs - facts), True
        if not self.waived_by.isdisjoint(facts):
            return None
        if not self.forbids.isdisjoint(facts):
            return min(self.forbids & facts), False
        return next(((min(clash), False) for clash in self.clashes if clash <= facts), None)

    def apply(self, facts: Facts) -> Facts:
        """Return what holds after the pass."""
        return (facts - self.removes) | self.adds
