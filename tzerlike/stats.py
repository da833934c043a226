"""The numbers of a campaign: one worker's state files added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tzerlike.faults.book import WINDOW
from tzerlike.observation import Exit

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
        elapsed, *numbers = line.split(",")
        return cls(float(elapsed), *map(int, numbers))


def extended_curve(curve: Sequence[CurvePoint], point: CurvePoint) -> list[CurvePoint]:
    """Return `curve` with `point` for its end; the end before it stays once it is CURVE_EVERY from the one before."""
    settled = len(curve) < 2 or curve[-1].elapsed_s - curve[-2].elapsed_s >= CURVE_EVERY
    return [*(curve if settled else curve[:-1]), point]


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
    return {
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
