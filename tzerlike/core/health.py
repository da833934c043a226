"""One line of `tzerlike doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """One line: what was looked at, whether it is good, what was seen, and what to do when it is not.

    Without `needed`, a campaign runs all the same.
    """

    name: str
    good: bool
    seen: str
    advice: str = ""
    needed: bool = True

    def line(self) -> str:
        mark = "ok  " if self.good else ("FAIL" if self.needed else "note")
        return f"{mark} {self.name}: {self.seen}" + (f" -> {self.advice}" if not self.good and self.advice else "")

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "good": self.good,
            "seen": self.seen,
            "advice": self.advice if not self.good else "",
            "needed": self.needed,
        }
