"""The suspicions of a scan on their way to findings: selected, and reduced several to a child.

A child of its own would cost a suspicion as much as its reduction does.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from typing import Any

from tzerlike.core.observation import Observation
from tzerlike.execution.executor import ForkExecutor

_ALWAYS = 4
_SELDOM = 64
"""Of the suspicions that look alike, the first so many are reduced, and then one in so many: a wrong rule that fires at
every hundredth expression would otherwise take up most of the time."""

_TOGETHER = 16
"""Suspicions a child."""

_PATIENCE = 4.0

Suspicion = Mapping[str, Any]


class SuspicionQueue:
    """What becomes of some suspicions, in their order."""

    def __init__(self, executor: ForkExecutor, suspicions: Iterable[Suspicion], hints: Mapping[str, int]) -> None:
        """`hints` are how many each hint has brought before."""
        self._executor = executor
        seen = Counter(hints)
        self._coming: deque[Suspicion] = deque()
        for suspicion in suspicions:
            seen[suspicion["hint"]] += 1
            if seen[suspicion["hint"]] <= _ALWAYS or seen[suspicion["hint"]] % _SELDOM == 0:
                self._coming.append(suspicion)
        self._due = {_key(suspicion) for suspicion in self._coming}
        self._made: dict[tuple[int, str], tuple[Mapping[str, Any] | None, Observation | None]] = {}

    def due(self, suspicion: Suspicion) -> bool:
        """Whether it is a suspicion's turn to be reduced."""
        return _key(suspicion) in self._due

    def of(self, suspicion: Suspicion) -> tuple[Mapping[str, Any] | None, Observation | None]:
        """Return the check, the problem and the finding that one which is due comes down to, None where it does not
        hold up; or how the child died of it. Raises Fault on one of ours."""
        while _key(suspicion) not in self._made:
            self._go_on()
        found, death = self._made.pop(_key(suspicion))
        return found, None if death is None else death.sound()

    def _go_on(self) -> None:
        """Reduce the next ones, as many as one child lives through."""
        together = [self._coming[index] for index in range(min(_TOGETHER, len(self._coming)))]
        item = {"suspicions": [{"problem": each["problem"], "check": each["check"]} for each in together]}
        records, death = self._executor.attempt("arith-reduce", item, self._executor.limits.relaxed(_PATIENCE))
        for record in records:
            self._made[_key(self._coming.popleft())] = (record["found"], None)
        if death is not None and len(records) < len(together):
            self._made[_key(self._coming.popleft())] = (None, death)


def _key(suspicion: Suspicion) -> tuple[int, str]:
    return suspicion["iteration"], suspicion["check"]
