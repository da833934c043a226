"""The books of a campaign: the saved states of all workers added up, and the curve over time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any

from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.machines import restarts_of
from tzerlike.campaign.state import StatesRead, WorkerState
from tzerlike.campaign.stats import CurvePoint, add_up, curve_csv, curve_point, extended_curve, read_curve
from tzerlike.core.errors import UserError
from tzerlike.core.finding import kind_of
from tzerlike.core.storage import locked, write_atomic, write_json

_EVERY = 2.0
"""Seconds between two times of adding up what all machines have, at least."""

_SHARE = 10
"""How many times as long as that takes there is between two times of it."""


class Books:
    """stats.json and coverage.csv of one campaign; one process at a time writes them."""

    def __init__(self, directory: CampaignDir) -> None:
        self.directory = directory
        self.curve: list[CurvePoint] = []
        self._read = StatesRead()
        self._held: ExitStack | None = None
        self._total: dict[str, Any] = {}
        self._due = 0.0

    def open(self) -> None:
        """Take up the curve where whoever wrote it before has left it."""
        path = self.directory.coverage_csv
        self.curve = read_curve(path)[0] if path.exists() else []

    def taken(self) -> bool:
        """Whether these are the books, which one of several machines keeps: as soon as nobody else does, this one."""
        if self._held is None:
            with ExitStack() as stack:
                try:
                    stack.enter_context(locked(self.directory.root / ".books"))
                except BlockingIOError:
                    return False
                self._held = stack.pop_all()
            self.open()
        return True

    def close(self) -> None:
        """Leave the books to another machine."""
        if self._held is not None:
            self._held.close()

    def states(self) -> list[WorkerState]:
        """The states of all workers, on all machines; one that cannot be read counts once it is written again."""
        found = []
        for path in map(self.directory.worker_state, self.directory.worker_numbers()):
            with suppress(UserError, OSError):
                found.append(self._read.of(path))
        return found

    def stats(
        self, states: Sequence[WorkerState] | None = None, restarted: Mapping[str, int] | None = None
    ) -> dict[str, Any]:
        """Return the contents of stats.json: of these states, and what had to be started again; None is of all
        machines."""
        directory = self.directory
        findings = Counter(kind_of(path.name) for path in directory.bundles())
        restarts = restarts_of(directory) if restarted is None else restarted
        numbers = add_up(self.states() if states is None else states, len(directory.corpus_ids()), findings)
        return numbers | {"restarts": dict(sorted(restarts.items()))}

    def total(self, anew: bool = False) -> dict[str, Any]:
        """Return the contents of stats.json: what was added up last for a while, the longer the longer that took."""
        began = time.monotonic()
        if anew or began >= self._due:
            self._total = self.stats()
            now = time.monotonic()
            self._due = now + max(_EVERY, _SHARE * (now - began))
        return self._total

    def save(self, stats: Mapping[str, Any]) -> None:
        """Write stats.json and the curve; StorageError where they cannot be written."""
        write_json(self.directory.stats, stats)
        self.curve = extended_curve(self.curve, curve_point(stats))
        write_atomic(self.directory.coverage_csv, curve_csv(self.curve))
