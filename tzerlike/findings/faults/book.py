"""A worker's book of faults: each counted, the first of each signature kept."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from tzerlike.core.config import CampaignConfig
from tzerlike.core.errors import Fault, contained, kept
from tzerlike.core.storage import Room
from tzerlike.findings.faults.bundle import Occasion, write_fault

_T = TypeVar("_T")

WINDOW = 1000
"""Iterations that the rate of faults is that of."""

TOLERATED = 1 / 200
"""Faults an iteration above which a campaign says so."""


class FaultBook:
    """Keeps the faults of one worker, in the directory `faults` of its campaign; `environment` is what it runs on."""

    def __init__(
        self,
        directory: Path,
        worker: int,
        campaign: CampaignConfig,
        environment: dict[str, Any],
        room: Room | None = None,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._recent: deque[int] = deque()
        self._directory, self._worker = directory, worker
        self._campaign, self._environment = campaign, environment
        self._room = room or Room(lambda: True, lambda why: None)

    def note(self, fault: Fault, occasion: Occasion) -> None:
        """Count a fault and keep it, if it is the first of its signature; StorageError when the disk is full."""
        self.counts[fault.signature] += 1
        self._recent.append(occasion.iteration)
        whence = (self._worker, self._campaign, self._environment)
        write = partial(write_fault, self._directory, fault, occasion, *whence)
        contained(lambda: self._room.keep(write), "fault bundle")

    def keep(self, step: Callable[[], _T], doing: str, occasion: Occasion) -> _T | None:
        """Return what `step` returns, or None where it fails of a fault, which is noted."""
        return kept(step, doing, lambda fault: self.note(fault, occasion))

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up where `to_json` left off."""
        self.counts.update(state.get("faults", {}))
        self._recent.extend(state.get("recent_faults", []))

    def to_json(self, iterations: int) -> dict[str, Any]:
        """What of this belongs into the state of a worker that has done so many iterations."""
        while self._recent and self._recent[0] < iterations - WINDOW:
            self._recent.popleft()
        return {"faults": dict(self.counts), "recent_faults": list(self._recent)}


def warning(stats: Mapping[str, Any]) -> str:
    """The line that says that a campaign has too many faults by its stats.json; "" where it has not."""
    rate = stats.get("fault_rate", 0.0)
    if rate <= TOLERATED:
        return ""
    return (
        f"WARNING: tzerlike itself failed on {rate:.1%} of its last iterations; this campaign tests less than it seems "
        "to. Please report what is in its faults/"
    )


def tally(stats: Mapping[str, Any]) -> str:
    """`12 (3 distinct)`: the faults by a campaign's stats.json; "" where there are none."""
    counts = stats.get("faults")
    if not isinstance(counts, dict) or not counts:
        return ""
    numbers = [count for count in counts.values() if isinstance(count, int)]
    return f"{sum(numbers):,} ({len(counts):,} distinct)"
