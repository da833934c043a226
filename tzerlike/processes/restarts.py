"""Limits on restarts."""

from __future__ import annotations

from collections import deque


class Restarts:
    """Allows so many starts in any `window` of seconds; more have to wait. There is no limit on their total."""

    def __init__(self, limit: int = 20, window: float = 60.0) -> None:
        self._window = window
        self._times: deque[float] = deque(maxlen=limit)

    def allowed(self, now: float) -> bool:
        """Whether one more may be started now."""
        return len(self._times) < (self._times.maxlen or 0) or now - self._times[0] >= self._window

    def note(self, now: float) -> None:
        """One is started now."""
        self._times.append(now)
