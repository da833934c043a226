"""The numbers of a campaign: one worker's state files added up."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tzerlike.core.errors import UserError
from tzerlike.core.observation import Exit
from tzerlike.core.schema import Count, Schema, Seconds, Text
from tzerlike.core.untrusted import read_bytes
from tzerlike.findings.faults.book import WINDOW

STAGES = (
    "mutate",
    "fork",
    "load",
    "passes",
    "build",
    "interpret",
    "build_reference",
    "run_reference",
    "run",
    "compare",
    "oracle",
    "bookkeeping",
)

CURVE_EVERY = 5.0
"""Seconds between two points of coverage.csv; the last point is that of now."""

CSV_HEADER = "elapsed_s,iterations,blocks,corpus,valuable_tests,findings"


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One line of coverage.csv."""

    elapsed_s: float
    iterations: int
    blocks: int
    corpus: int
    valuable_tests: int
    findings: int

    def to_csv(self) -> str:
        return (
            f"{self.elapsed_s:.1f},{self.iterations},{self.blocks},{self.corpus},{self.valuable_tests},{self.findings}"
        )

    @classmethod
    def from_csv(cls, line: str) -> CurvePoint:
        """ValueError where the line is no point: every number is finite and none is negative."""
        elapsed, *numbers = line.split(",")
        if len(numbers) != _NUMBERS or any(len(number) > 20 for number in numbers):
            raise ValueError(f"not {_NUMBERS + 1} numbers")
        point = cls(float(elapsed), *map(int, numbers))
        if not (
            math.isfinite(point.elapsed_s) and point.elapsed_s >= 0 and all(int(number) >= 0 for number in numbers)
        ):
            raise ValueError("out of range")
        return point


_NUMBERS = CSV_HEADER.count(",")


def read_curve(path: Path) -> tuple[list[CurvePoint], int]:
    """Read coverage.csv: its points in order of time, and how many of its lines are none.

    UserError where it cannot be read, or has another header and so another version.
    """
    lines = read_bytes(path).decode(errors="replace").splitlines()
    if not lines:
        return [], 0
    if lines[0] != CSV_HEADER:
        raise UserError(f"{path}: the first line is not {CSV_HEADER}")
    points: list[CurvePoint] = []
    bad = 0
    for line in lines[1:]:
        try:
            point = CurvePoint.from_csv(line)
        except (ValueError, TypeError):
            bad += 1
            continue
        if points and point.elapsed_s < points[-1].elapsed_s:
            bad += 1
        else:
            points.append(point)
    return points, bad


def extended_curve(curve: Sequence[CurvePoint], point: CurvePoint) -> list[CurvePoint]:
    """Return `curve` with `point` for its end; the end before it stays once it is CURVE_EVERY from the one before."""
    settled = len(curve) < 2 or curve[-1].elapsed_s - curve[-2].elapsed_s >= CURVE_EVERY
    return [*(curve if settled else curve[:-1]), point]


_Id = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
_Counts = dict[Text, Count]


class _State(msgspec.Struct):
    """What a worker of either harness saves of itself."""

    elapsed: Seconds
    iterations: Count
    worker: Count = 0
    time: float = 0.0
    pairs: Count = 0
    valid: Count = 0
    valuable: Count = 0
    exits: _Counts = {}
    rejected: _Counts = {}
    labels: _Counts = {}
    verdicts: _Counts = {}
    internal_errors: _Counts = {}
    seconds: dict[Text, float] = {}
    mutators: dict[Text, tuple[Count, Count, Count]] = {}
    passes: dict[Text, tuple[Count, Count, Count]] = {}
    findings: _Counts = {}
    unconfirmed: _Counts = {}
    last_finding: Text = ""
    known: _Counts = {}
    problems: list[Text] = []
    carried_through: Text = ""
    coverage: Count = 0
    coverage_total: Count = 0
    coverage_backend: Text = "none"
    corpus: Count = 0
    entries: list[tuple[_Id, Count]] = []
    superseded: list[_Id] = []
    pending: Count = 0
    in_hand: dict[Text, Any] | None = None
    faults: _Counts = {}
    recent_faults: list[Count] = []
    checks: dict[Text, tuple[Count, Count, Count]] = {}
    tried: _Counts = {}
    claimed: _Counts = {}
    suspected: _Counts = {}
    hints: _Counts = {}


STATE = Schema(_State, "state", unstated=1)
"""A worker's state.json."""

_STATE_BYTES = 1 << 30


def read_state(path: Path) -> dict[str, Any]:
    """Read a worker's state.json, whole; UserError in one line that names the file and the place."""
    return msgspec.structs.asdict(STATE.read(path, _STATE_BYTES))


_Row = dict[Text, Count]


class _Stats(msgspec.Struct):
    """stats.json as far as it is read again."""

    elapsed_s: Seconds = 0.0
    iterations: Count = 0
    known: _Counts = {}
    mutators: dict[Text, _Row] = {}
    passes: dict[Text, _Row] = {}


STATS = Schema(_Stats, "stats", unstated=1)


def read_stats(path: Path) -> dict[str, Any]:
    """Read the tables of a stats.json; UserError in one line that names the file and the place."""
    return msgspec.structs.asdict(STATS.read(path))


def add_up(states: Sequence[dict[str, Any]], corpus: int, findings: Counter[str]) -> dict[str, Any]:
    """Return the contents of stats.json.

    `states` are the workers' state files, `corpus` the number of corpus files, `findings` the number of
    bundles by kind.
    """
    iterations = sum(state["iterations"] for state in states)
    valid = sum(state["valid"] for state in states)
    elapsed = max((state["elapsed"] for state in states), default=0.0)
    exits: Counter[str] = Counter()
    rejected: Counter[str] = Counter()
    labels: Counter[str] = Counter()
    verdicts: Counter[str] = Counter()
    internal_errors: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    unconfirmed: Counter[str] = Counter()
    known: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    recent_faults = 0
    for state in states:
        exits.update(state["exits"])
        rejected.update(state["rejected"])
        labels.update(state["labels"])
        verdicts.update(state["verdicts"])
        internal_errors.update(state["internal_errors"])
        seconds.update(state["seconds"])
        unconfirmed.update(state["unconfirmed"])
        known.update(state.get("known", {}))
        faults.update(state.get("faults", {}))
        recent_faults += len(state.get("recent_faults", []))
    judged = sum(exits[exit_.value] for exit_ in Exit)
    last = max(states, key=lambda state: (bool(state["last_finding"]), state["time"]), default=None)
    numbers = {
        "elapsed_s": round(elapsed, 3),
        "iterations": iterations,
        "iterations_per_s": round(iterations / elapsed, 3) if elapsed else 0.0,
        "pairs": sum(state["pairs"] for state in states),
        "valid_rate": round(valid / judged, 4) if judged else 0.0,
        "coverage": max((state["coverage"] for state in states), default=0),
        "coverage_total": max((state["coverage_total"] for state in states), default=0),
        "coverage_backend": states[0]["coverage_backend"] if states else "none",
        "corpus": corpus,
        "valuable_tests": sum(state["valuable"] for state in states),
        "findings": dict(sorted(findings.items())),
        "last_finding": last["last_finding"] if last else "",
        "known": dict(sorted(known.items())),
        "faults": dict(faults.most_common()),
        "fault_rate": round(recent_faults / (WINDOW * max(1, len(states))), 4),
        "unconfirmed": dict(sorted(unconfirmed.items())),
        "exits": dict(sorted(exits.items())),
        "rejected": dict(rejected.most_common()),
        "rejected_labels": dict(sorted(labels.items())),
        "verdicts": dict(verdicts.most_common()),
        "internal_errors": dict(sorted(internal_errors.items())),
        "mutators": _yields(states, "mutators"),
        "passes": _yields(states, "passes"),
        "stage_seconds": {stage: round(seconds[stage], 3) for stage in STAGES},
        "seeds_pending": sum(state["pending"] for state in states),
        "problems": sorted({problem for state in states for problem in state["problems"]}),
        "workers": len(states),
    }
    return STATS.stamped(numbers)


def _yields(states: Sequence[dict[str, Any]], table: str) -> dict[str, dict[str, int]]:
    total: dict[str, Counter[str]] = {}
    for state in states:
        for name, (tried, valid, valuable) in state[table].items():
            total.setdefault(name, Counter()).update(tried=tried, valid=valid, valuable=valuable)
    return {name: {k: counts[k] for k in ("tried", "valid", "valuable")} for name, counts in sorted(total.items())}


def curve_point(stats: dict[str, Any]) -> CurvePoint:
    return CurvePoint(
        stats["elapsed_s"],
        stats["iterations"],
        stats["coverage"],
        stats["corpus"],
        stats["valuable_tests"],
        sum(stats["findings"].values()),
    )
