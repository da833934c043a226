"""The numbers of a campaign: the states of its workers added up, and the curve over time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from tzerlike.campaign.state import Counts, Tally, WorkerState, Yield
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
"""Where the compiler is in several libraries, their names follow, with the blocks reached in each."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One line of coverage.csv; where there are several libraries, `libraries` has the blocks reached in each."""

    elapsed_s: float
    iterations: int
    blocks: int
    corpus: int
    valuable_tests: int
    findings: int
    libraries: Mapping[str, int] = field(default_factory=dict)

    def to_csv(self) -> str:
        counts = (self.iterations, self.blocks, self.corpus, self.valuable_tests, self.findings)
        return ",".join([f"{self.elapsed_s:.1f}", *map(str, (*counts, *self.libraries.values()))])

    @classmethod
    def from_csv(cls, line: str, libraries: Sequence[str] = ()) -> CurvePoint:
        """ValueError where the line is no point: every number is finite and none is negative."""
        elapsed, *numbers = line.split(",")
        if len(numbers) != _NUMBERS + len(libraries) or any(len(number) > 20 for number in numbers):
            raise ValueError(f"not {_NUMBERS + len(libraries) + 1} numbers")
        iterations, blocks, corpus, valuable, findings, *reached = counts = [*map(int, numbers)]
        of_libraries = dict(zip(libraries, reached, strict=True))
        point = cls(float(elapsed), iterations, blocks, corpus, valuable, findings, of_libraries)
        if not (math.isfinite(point.elapsed_s) and point.elapsed_s >= 0 and min(counts) >= 0):
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
    header, _, more = lines[0].partition(CSV_HEADER)
    if header or lines[0] == "" or (more and not more.startswith(",")):
        raise UserError(f"{path}: the first line is not {CSV_HEADER}")
    libraries = more.split(",")[1:]
    points: list[CurvePoint] = []
    bad = 0
    for line in lines[1:]:
        try:
            point = CurvePoint.from_csv(line, libraries)
        except (ValueError, TypeError):
            bad += 1
            continue
        if points and point.elapsed_s < points[-1].elapsed_s:
            bad += 1
        else:
            points.append(point)
    return points, bad


def curve_csv(curve: Sequence[CurvePoint]) -> str:
    """Return the contents of coverage.csv, with the libraries that the last point has: earlier ones have 0 for them."""
    libraries = [*curve[-1].libraries] if curve else []
    points = [replace(point, libraries={name: point.libraries.get(name, 0) for name in libraries}) for point in curve]
    return "\n".join([",".join([CSV_HEADER, *libraries]), *(point.to_csv() for point in points)]) + "\n"


def extended_curve(curve: Sequence[CurvePoint], point: CurvePoint) -> list[CurvePoint]:
    """Return `curve` with `point` for its end; the end before it stays once it is CURVE_EVERY from the one before."""
    settled = len(curve) < 2 or curve[-1].elapsed_s - curve[-2].elapsed_s >= CURVE_EVERY
    return [*(curve if settled else curve[:-1]), point]


_Row = dict[Text, Count]


class _Stats(msgspec.Struct):
    """stats.json as far as it is read again."""

    elapsed_s: Seconds = 0.0
    iterations: Count = 0
    known: Counts = {}
    mutators: dict[Text, _Row] = {}
    passes: dict[Text, _Row] = {}


STATS = Schema(_Stats, "stats", unstated=1)


def read_stats(path: Path) -> dict[str, Any]:
    """Read the tables of a stats.json; UserError in one line that names the file and the place."""
    return msgspec.structs.asdict(STATS.read(path))


def add_up(states: Sequence[WorkerState], corpus: int, findings: Counter[str]) -> dict[str, Any]:
    """Return the contents of stats.json.

    `states` are those of the workers, `corpus` the number of corpus files, `findings` the number of bundles by kind.
    """
    total = Tally.total(states)
    elapsed = max((state.elapsed for state in states), default=0.0)
    judged = sum(total.exits.get(exit_.value, 0) for exit_ in Exit)
    more = sorted(total.seconds.keys() - set(STAGES))
    last = max(states, key=lambda state: (bool(state.last_finding), state.time), default=None)
    numbers = {
        "elapsed_s": round(elapsed, 3),
        "iterations": total.iterations,
        "iterations_per_s": round(total.iterations / elapsed, 3) if elapsed else 0.0,
        "pairs": total.pairs,
        "valid_rate": round(total.valid / judged, 4) if judged else 0.0,
        "coverage": max((state.coverage for state in states), default=0),
        "coverage_total": max((state.coverage_total for state in states), default=0),
        "coverage_libraries": _libraries(states),
        "coverage_backend": states[0].coverage_backend if states else "none",
        "corpus": corpus,
        "valuable_tests": total.valuable,
        "findings": dict(sorted(findings.items())),
        "tiers": {tier: total.tiers.get(tier, 0) for tier in ("1", "2")},
        "last_finding": last.last_finding if last else "",
        "known": dict(sorted(total.known.items())),
        "faults": _by_count(total.faults),
        "fault_rate": round(len(total.recent_faults) / (WINDOW * max(1, len(states))), 4),
        "unconfirmed": dict(sorted(total.unconfirmed.items())),
        "duplicates": dict(sorted(total.duplicates.items())),
        "kernels": _by_count(total.kernels),
        "witness": dict(sorted(total.witness.items())),
        "proofs": dict(sorted(total.proofs.items())),
        "exits": dict(sorted(total.exits.items())),
        "rejected": _by_count(total.rejected),
        "rejected_labels": dict(sorted(total.labels.items())),
        "verdicts": _by_count(total.verdicts),
        "internal_errors": dict(sorted(total.internal_errors.items())),
        "mutators": _rows(total.mutators),
        "passes": _rows(total.passes),
        "stage_seconds": {stage: round(total.seconds.get(stage, 0.0), 3) for stage in (*STAGES, *more)},
        "seeds_pending": total.pending,
        "problems": sorted(set(total.problems)),
        "workers": len(states),
    }
    return STATS.stamped(numbers)


def _libraries(states: Sequence[WorkerState]) -> dict[str, dict[str, int]]:
    names = sorted({name for state in states for name in state.libraries})
    counts = {name: [state.libraries[name] for state in states if name in state.libraries] for name in names}
    return {name: dict(zip(("covered", "total"), max(found), strict=True)) for name, found in counts.items()}


def _by_count(counts: Counts) -> Counts:
    return dict(Counter(counts).most_common())


def _rows(yields: Mapping[str, Yield]) -> dict[str, dict[str, int]]:
    return {name: msgspec.structs.asdict(row) for name, row in sorted(yields.items())}


def curve_point(stats: Mapping[str, Any]) -> CurvePoint:
    return CurvePoint(
        stats["elapsed_s"],
        stats["iterations"],
        stats["coverage"],
        stats["corpus"],
        stats["valuable_tests"],
        sum(stats["findings"].values()),
        {name: counts["covered"] for name, counts in stats.get("coverage_libraries", {}).items()},
    )
