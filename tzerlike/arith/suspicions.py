"""The suspicions of a scan on their way to findings: selected, and reduced several to a child.

A child of its own would cost a suspicion as much as its reduction does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from tzerlike.core.observation import Observation
from tzerlike.execution.executor import ForkExecutor

_ALWAYS = 4
_SELDOM = 64
"""Of the suspicions that look alike, the first so many are reduced, and then one in so many: a wrong rule that fires at
every hundredth expression would otherwise take up most of the time."""

_IN_VAIN = 8
_SPARSEST = 16
"""After each so many reductions of a check in a row that brought nothing new, half as many of those are done, down to
one in so many: one wrong rule makes hundreds of suspicions that do not look alike. Of 1,121 reductions within 250,000
expressions that leaves 489, with 36 of the 38 findings."""

_TOGETHER = 16
"""Suspicions a child."""

_PATIENCE = 4.0

Suspicion = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Turns:
    """Which suspicions are reduced: by how many looked alike, by `hints`, and what became of others of a check.

    `offered` is how many of each check came up for a reduction, `in_vain` how many of the last were done for nothing;
    all are Counters.
    """

    hints: dict[str, int]
    offered: dict[str, int]
    in_vain: dict[str, int]

    def take(self, suspicion: Suspicion) -> bool:
        """Count a suspicion, the next in order; returns whether it is to be reduced."""
        hint, check = suspicion["hint"], suspicion["check"]
        self.hints[hint] += 1
        if self.hints[hint] > _ALWAYS and self.hints[hint] % _SELDOM:
            return False
        self.offered[check] += 1
        return self.offered[check] % min(1 << self.in_vain[check] // _IN_VAIN, _SPARSEST) == 0

    def learn(self, suspicion: Suspicion, new: bool) -> None:
        """Hear whether the reduction of a suspicion brought something new."""
        self.in_vain[suspicion["check"]] = 0 if new else self.in_vain[suspicion["check"]] + 1


class SuspicionQueue:
    """What becomes of some suspicions, in their order."""

    def __init__(self, executor: ForkExecutor, suspicions: Iterable[Suspicion], turns: Turns) -> None:
        self._executor = executor
        self._turns = turns
        self._coming = deque(suspicions)
        self._made: dict[tuple[int, str], tuple[Mapping[str, Any] | None, Observation | None]] = {}

    def due(self, suspicion: Suspicion) -> bool:
        """Whether a suspicion, the next in order, is to be reduced."""
        self._coming.popleft()
        return self._turns.take(suspicion)

    def learn(self, suspicion: Suspicion, new: bool) -> None:
        """Hear whether one that was due has brought something new."""
        self._turns.learn(suspicion, new)

    def of(self, suspicion: Suspicion) -> tuple[Mapping[str, Any] | None, Observation | None]:
        """Return the check, the problem and the finding that one which is due comes down to, None where it does not
        hold up; or how the child died of it. Raises Fault on one of ours."""
        if _key(suspicion) not in self._made:
            self._reduce([suspicion, *self._likely(suspicion)])
        found, death = self._made.pop(_key(suspicion))
        return found, None if death is None else death.sound()

    def _likely(self, first: Suspicion) -> list[Suspicion]:
        """Those behind one whose turn it will be, if nothing new is found."""
        turns = deepcopy(self._turns)
        found: list[Suspicion] = []
        turns.learn(first, new=False)
        for suspicion in self._coming:
            if len(found) == _TOGETHER - 1:
                break
            if turns.take(suspicion):
                turns.learn(suspicion, new=False)
                if _key(suspicion) not in self._made:
                    found.append(suspicion)
        return found

    def _reduce(self, together: list[Suspicion]) -> None:
        """Reduce as many as one child lives through."""
        item = {"suspicions": [{"problem": each["problem"], "check": each["check"]} for each in together]}
        records, death = self._executor.attempt("arith-reduce", item, self._executor.limits.relaxed(_PATIENCE))
        for suspicion, record in zip(together, records, strict=False):
            self._made[_key(suspicion)] = (record["found"], None)
        if death is not None and len(records) < len(together):
            self._made[_key(together[len(records)])] = (None, death)


def _key(suspicion: Suspicion) -> tuple[int, str]:
    return suspicion["iteration"], suspicion["check"]
