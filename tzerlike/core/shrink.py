"""The search for a smallest value that still has a property.

After Shrink Ray (MacIver): reducers propose, a total order decides what counts as smaller, and the search takes
every smaller value that keeps the property, until no reducer has one to offer. The order makes results
reproducible: a search cannot go round in circles, and what it ends with cannot be made smaller by searching again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

V = TypeVar("V")

Attempt = Callable[[], V | None]
"""Makes one candidate, when its turn comes; None where there is none after all."""

Reducer = Callable[[V], Iterator[Attempt[V]]]
"""Candidates in place of a value, the most promising first. The same value gives the same candidates in the same
order; a candidate need be neither smaller nor keep the property."""


WIDEST = 8
"""Candidates that are screened together, at most."""


@dataclass(frozen=True, slots=True)
class Task(Generic[V]):
    """What is searched: `size` is a total order (equal sizes mean equal values), `identity` names a value, and `keeps`
    says whether a value has the property. `keeps` is asked about a name once.

    Where it is cheaper to rule out several values at once, `may_keep` says of the first of some values, of one at
    least, whether they may have the property; `keeps` is asked about those alone.
    """

    reducers: Sequence[Reducer[V]]
    size: Callable[[V], Any]
    identity: Callable[[V], Hashable]
    keeps: Callable[[V], bool]
    may_keep: Callable[[Sequence[V]], Sequence[bool]] | None = None


@dataclass(frozen=True, slots=True)
class Outcome(Generic[V]):
    """The smallest value found; `finished` when nothing smaller is on offer, else the search was stopped.

    `asked` counts the candidates that were put to the property, `taken` those that had it.
    """

    value: V
    finished: bool
    asked: int
    taken: int


def search(
    start: V,
    task: Task[V],
    *,
    stop: Callable[[], bool] = lambda: False,
    taken: Callable[[V], None] = lambda value: None,
) -> Outcome[V]:
    """Return the smallest value that the reducers lead to from `start`, which must have the property itself.

    `stop` is asked before each candidate is tried; `taken` is called with each smaller value that is found.
    """
    run = Shrinking(start, task, taken)
    return run.outcome(not any(stop() for _ in run.steps()))


def last_that(holds: Callable[[V], bool], values: Sequence[V]) -> V:
    """Return the last of values, each smaller than the one before, that holds, by bisection: the first one does, and
    what is smaller than one that does not hold is taken not to hold either."""
    good, bad = 0, len(values)
    place = bad - 1
    while place > good:
        good, bad = (place, bad) if holds(values[place]) else (good, place)
        place = (good + bad) // 2
    return values[good]


class Shrinking(Generic[V]):
    """A search that is done step by step: `best` is the smallest value so far, the counts are those of Outcome."""

    def __init__(self, start: V, task: Task[V], tell: Callable[[V], None] = lambda value: None) -> None:
        self.best = start
        self.asked = 0
        self.taken = 0
        self._size = task.size(start)
        self._width = 1
        self._task = task
        self._tell = tell
        self._refused: set[Hashable] = set()

    def outcome(self, finished: bool) -> Outcome[V]:
        return Outcome(self.best, finished, self.asked, self.taken)

    def steps(self) -> Iterator[None]:
        """Search to the end, and come back before each candidate is tried."""
        taken = -1
        while self.taken > taken:
            taken = self.taken
            for reducer in self._task.reducers:
                yield from self._all(reducer)

    def once(self, patience: int) -> Iterator[None]:
        """Ask each reducer once, and leave it after so many candidates in a row that came to nothing: roughly smaller.

        `steps` finds the rest.
        """
        for reducer in self._task.reducers:
            yield from self._all(reducer, patience)

    def _all(self, reducer: Reducer[V], patience: float = math.inf) -> Iterator[None]:
        """Take what a reducer offers until it comes to its end.

        After a success it is asked again, about the smaller value, and goes on at the same place: what it offers before
        that was refused a moment ago and most likely would be again. The next round looks at it once more.
        """
        place: int | None = 0
        while place is not None:
            place = yield from self._first(reducer, place, patience)

    def _first(self, reducer: Reducer[V], skipped: int, patience: float) -> Generator[None, None, int | None]:
        """Take the first good candidate from place `skipped` on; return its place, or None without one."""
        last = self.asked + patience
        waiting: dict[Hashable, _Candidate[V]] = {}
        for place, attempt in enumerate(reducer(self.best)):
            if self.asked + len(waiting) >= last:
                break
            if place < skipped:
                continue
            yield
            value = attempt()
            if value is None or (name := self._task.identity(value)) in self._refused or name in waiting:
                continue
            if (size := self._task.size(value)) < self._size:
                waiting[name] = _Candidate(place, name, value, size)
            if len(waiting) >= self._width:
                if (taken := self._take([*waiting.values()])) is not None:
                    return taken
                waiting.clear()
        return self._take([*waiting.values()])

    def _take(self, waiting: Sequence[_Candidate[V]]) -> int | None:
        """Take the first candidate that has the property; return its place, or None without one.

        The longer none has it, the more are screened together.
        """
        while waiting:
            values = [candidate.value for candidate in waiting]
            ruled = self._task.may_keep(values) if self._task.may_keep and len(values) > 1 else [True]
            for candidate, may in zip(waiting, ruled, strict=False):
                self.asked += 1
                if may and self._task.keeps(candidate.value):
                    self.best, self._size, self._width = candidate.value, candidate.size, 1
                    self.taken += 1
                    self._tell(candidate.value)
                    return candidate.place
                self._refused.add(candidate.name)
            waiting = waiting[len(ruled) :]
        if self._task.may_keep:
            self._width = min(2 * self._width, WIDEST)
        return None


@dataclass(frozen=True, slots=True)
class _Candidate(Generic[V]):
    place: int
    name: Hashable
    value: V
    size: Any


def spans(count: int) -> Iterator[tuple[int, int]]:
    """Yield pieces of a list as (start, stop): all of it, its halves, their halves, down to single elements.

    Pieces of one length come last to first, since what comes late is seldom needed by what comes early.
    """
    length = count
    while length > 0:
        for stop in range(count, 0, -length):
            yield max(0, stop - length), stop
        length //= 2
