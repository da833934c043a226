"""Signs of life: what a zygote can say of a worker and its runner, and how the supervisor tells that one is stuck."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

STOPPED = "T"
"""The state of a process that was stopped, and not by a debugger."""


class Role(StrEnum):
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


class Watchdog:
    """Says which processes to kill: those that stay stopped, and workers without a sign of life.

    What is wrong has to stay wrong for a while in which this object itself is asked again and again: where everything
    was stopped together, by Ctrl-Z, everything goes on together.
    """

    STOPPED_SECONDS = 5.0
    SILENT_SECONDS = 300.0
    """Longer than what a worker does by itself between two signs of life; while it waits for a child, it gives them."""

    GRACE = 15.0
    """For a worker without a sign of life, once its runner, which it may wait for, has been killed."""

    _GAP = 3.0

    def __init__(self) -> None:
        self._since: dict[tuple[int, str], float] = {}
        self._looked = 0.0

    def forget(self) -> None:
        """Begin anew, with other processes."""
        self._since.clear()

    def to_kill(self, now: float, vitals: Iterable[Vital]) -> list[tuple[int, Role]]:
        """Return slots and roles; `now` is the time by a clock that does not go back."""
        if now - self._looked > self._GAP:
            self.forget()
        self._looked = now
        victims: list[tuple[int, Role]] = []
        for vital in vitals:
            stopped = {Role.WORKER: vital.worker == STOPPED, Role.RUNNER: vital.runner == STOPPED}
            victims += [
                (vital.slot, role)
                for role, holds in stopped.items()
                if self._lasts(now, (vital.slot, role), holds, self.STOPPED_SECONDS)
            ]
            silent = vital.silent > self.SILENT_SECONDS
            if self._lasts(now, (vital.slot, "silent"), silent, self.STOPPED_SECONDS + self.GRACE):
                victims.append((vital.slot, Role.WORKER))
            elif self._lasts(now, (vital.slot, "hangs"), silent, self.STOPPED_SECONDS, once=True):
                victims.append((vital.slot, Role.RUNNER))
        return victims

    def _lasts(self, now: float, key: tuple[int, str], holds: bool, seconds: float, once: bool = False) -> bool:
        """Whether something has held for so many seconds; it then begins anew, or with `once`, not while it holds."""
        if not holds:
            self._since.pop(key, None)
            return False
        if now - self._since.setdefault(key, now) < seconds:
            return False
        self._since[key] = float("inf") if once else now
        return True
