"""Signs of life: the zygote's facts about a worker and its runner, and how the supervisor notices that one is stuck."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

STOPPED = "T"
"""The state of a process that was stopped, and not by a debugger."""

STOPPED_SECONDS = 5.0

SILENT_SECONDS = 300.0
"""Longer than what a worker does by itself between two signs of life; while it waits for a child, it gives them."""

GRACE = 10.0
"""Seconds for a worker without a sign of life to give one after all, and again, once its runner has been killed."""


class SlotProcess(StrEnum):
    """Which of the two processes of a slot is meant."""

    WORKER = "worker"
    RUNNER = "runner"


@dataclass(frozen=True, slots=True)
class Vital:
    """How a slot's processes are: letters of /proc/PID/stat, "" for none; seconds since the worker's last sign of life;
    the iteration under way and what is done in it; how many runners have died there."""

    slot: int
    worker: str
    runner: str
    silent: float
    iteration: int
    doing: str
    runners_lost: int


def state_of(pid: int) -> str:
    """Return the letter that stands for a process's state; "" when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


class Lasting:
    """Says when something has held for so many `seconds`, in which it is asked again and again.

    Where it is not, the one who asks was held up, and so may others have been: then it begins anew.
    """

    _GAP = 3.0

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since: float | None = None
        self._asked = 0.0

    def lasts(self, now: float, holds: bool) -> bool:
        """Whether it does; then it begins anew. `now` is the time by a clock that does not go back."""
        if not holds or self._since is None or now - self._asked > self._GAP:
            self._since = now if holds else None
        self._asked = now
        if self._since is None or now - self._since < self._seconds:
            return False
        self._since = now
        return True


class Watchdog:
    """Says which processes to kill: those that stay stopped, and workers without a sign of life."""

    def __init__(self) -> None:
        self._stopped: dict[tuple[int, SlotProcess], Lasting] = {}
        self._silent: dict[int, Lasting] = {}
        self._hanging: set[int] = set()

    def to_kill(self, now: float, vitals: Iterable[Vital]) -> list[tuple[int, SlotProcess]]:
        """Return slots and roles; to be asked every second or so. `now` is as in `Lasting`."""
        victims: list[tuple[int, SlotProcess]] = []
        for vital in vitals:
            for role, state in ((SlotProcess.WORKER, vital.worker), (SlotProcess.RUNNER, vital.runner)):
                stopped = self._stopped.setdefault((vital.slot, role), Lasting(STOPPED_SECONDS))
                if stopped.lasts(now, state == STOPPED):
                    victims.append((vital.slot, role))
            if vital.silent <= SILENT_SECONDS:
                self._hanging.discard(vital.slot)
            if self._silent.setdefault(vital.slot, Lasting(GRACE)).lasts(now, vital.silent > SILENT_SECONDS):
                # It may wait for its runner: that one goes first.
                victims.append((vital.slot, SlotProcess.WORKER if vital.slot in self._hanging else SlotProcess.RUNNER))
                self._hanging ^= {vital.slot}
        return victims
