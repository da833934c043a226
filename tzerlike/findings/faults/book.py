"""A worker's book of faults: each counted, the first of each signature kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from tzerlike.core.config import CampaignConfig
from tzerlike.core.errors import Fault, contained, kept
from tzerlike.core.storage import Room
from tzerlike.findings.faults.bundle import Occasion, write_fault

_T = TypeVar("_T")

WORKER_LOST = "WorkerLost"
"""The kind of a fault that took a worker with it: a loop in a library, or a death that is none of TVM's."""

WINDOW = 1000
"""Iterations that the rate of faults is that of."""

TOLERATED = 1 / 200
"""Faults an iteration above which a campaign says so."""


class FaultBook:
    """Keeps the faults of one worker, in the directory `faults` of its campaign; `environment` is what it runs on.

    They are counted by signature in `counts`, and `recent` has the iterations of the last.
    """

    def __init__(
        self,
        directory: Path,
        worker: int,
        campaign: CampaignConfig,
        environment: dict[str, Any],
        room: Room | None = None,
        counts: dict[str, int] | None = None,
        recent: list[int] | None = None,
    ) -> None:
        self.counts = Counter() if counts is None else counts
        self.recent = [] if recent is None else recent
        self._directory, self._worker = directory, worker
        self._campaign, self._environment = campaign, environment
        self._room = room or Room(lambda: True, lambda why: None)

    def note(self, fault: Fault, occasion: Occasion) -> None:
        """Count a fault and keep it, if it is the first of its signature; StorageError when the disk is full."""
        self.counts[fault.signature] = self.counts.get(fault.signature, 0) + 1
        self.recent.append(occasion.iteration)
        write = partial(write_fault, self._directory, fault, occasion, self._worker, self._campaign, self._environment)
        contained(lambda: self._room.keep(write), "fault bundle")

    def keep(self, step: Callable[[], _T], doing: str, occasion: Occasion) -> _T | None:
        """Return what `step` returns, or None where it fails of a fault, which is noted."""
        return kept(step, doing, lambda fault: self.note(fault, occasion))

    def forget(self, iterations: int) -> None:
        """Let go of what is no longer recent for a worker that has done so many iterations."""
        while self.recent and self.recent[0] < iterations - WINDOW:
            del self.recent[0]


def lost_worker(culprit: Mapping[str, Any]) -> tuple[Fault, Occasion]:
    """What the worker before this one was ended over, as a fault: `culprit` has the `iteration`, what it was `doing` in
    it, and `why`."""
    doing = str(culprit["doing"])
    return Fault(WORKER_LOST, (doing,), str(culprit["why"]), doing), Occasion(int(culprit["iteration"]))


def warning(stats: Mapping[str, Any]) -> str:
    """The line that says that a campaign has too many faults by its stats.json; "" where it has not."""
    rate = stats.get("fault_rate", 0.0)
    if rate <= TOLERATED:
        return ""
    return (
        f"WARNING: tzerlike itself failed on {rate:.1%} of its last iterations; this campaign tests less than it "
        "seems to. Please report the bundles in its faults/"
    )


def tally(stats: Mapping[str, Any]) -> str:
    """`12 (3 distinct)`: the faults by a campaign's stats.json; "" where there are none."""
    counts = stats.get("faults")
    if not isinstance(counts, dict) or not counts:
        return ""
    numbers = [count for count in counts.values() if isinstance(count, int)]
    return f"{sum(numbers):,} ({len(counts):,} distinct)"
