"""The outcome of a CI run: plain values from which every format is made."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any


class Status(StrEnum):
    """What an item means for the run; NEW and UNEXPECTED fail it."""

    NEW = "new"
    """A finding that neither known.toml nor an earlier run has."""
    KNOWN = "known"
    """A finding that known.toml has."""
    CARRIED = "carried"
    """A finding of the same cause as one of an earlier run."""
    ELSEWHERE = "elsewhere"
    """A finding that the TVM shows too that this one is compared with."""
    EXPECTED = "expected"
    """A bundle that does what it should: it still shows, or no longer."""
    UNEXPECTED = "unexpected"
    """A bundle that does not."""

    @property
    def fails(self) -> bool:
        return self in (Status.NEW, Status.UNEXPECTED)


@dataclass(frozen=True, slots=True)
class Item:
    """A finding, or a bundle that was replayed. `detail` says more than the title; `path` is its bundle."""

    status: Status
    kind: str
    title: str
    signatures: tuple[str, ...]
    path: Path
    detail: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "status": self.status.value,
            "kind": self.kind,
            "title": self.title,
            "signatures": list(self.signatures),
            "bundle": str(self.path),
            "detail": self.detail,
        }


@dataclass(frozen=True, slots=True)
class CiOutcome:
    """A whole run of `mode`, which took so many `seconds`. `facts` are what a reader wants to know of it, `notes` what
    went by the way: files left out, known findings that did not show."""

    mode: str
    items: tuple[Item, ...]
    seconds: float
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def failing(self) -> tuple[Item, ...]:
        return tuple(item for item in self.items if item.status.fails)

    @property
    def verdict(self) -> str:
        """The run in a few words."""
        count = len(self.failing)
        if self.mode == "replay":
            return f"{count} of {len(self.items)} bundles not as expected" if count else "all bundles as expected"
        return f"{count} new finding{'' if count == 1 else 's'}" if count else "nothing new"

    def to_json(self) -> dict[str, Any]:
        return {
            "mode": self.mode,
            "verdict": self.verdict,
            "failed": bool(self.failing),
            "seconds": round(self.seconds, 3),
            "facts": dict(self.facts),
            "items": [item.to_json() for item in self.items],
            "notes": list(self.notes),
        }
