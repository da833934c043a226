"""A campaign's directory as a value: the content of a page or a summary.

Works on a campaign that runs, was interrupted or lost files: what cannot be read is left out, with one line in
`notes`. Files are taken as a stranger's: bounded, and data only. Imports no TVM.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tzerlike.campaign.directory import CampaignDir, existing
from tzerlike.campaign.stats import CurvePoint, read_curve
from tzerlike.core.config import CampaignConfig
from tzerlike.core.errors import UserError
from tzerlike.core.progress import Steps, untold
from tzerlike.core.untrusted import read_json
from tzerlike.findings.faults.bundle import kept_faults, read_fault
from tzerlike.reporting.shown import ShownFinding, shown_findings

POINTS = 360
"""Points of a curve at most: more than a screen can show."""


_FAULTS = 100
"""Faults that are read for what they are."""


@dataclass(frozen=True, slots=True)
class YieldRow:
    """What came of a mutator or a pass."""

    name: str
    tried: int
    valid: int
    valuable: int


@dataclass(frozen=True, slots=True)
class FaultRow:
    """A fault of tzerlike's own: what it is, and how often it occurred."""

    signature: str
    title: str
    count: int


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything that is shown of a campaign.

    `curve` is in order of time, at most POINTS long, its first and last points those of coverage.csv. `findings` are
    those that are shown, by kind and then by name, and `more` counts the others by kind. `faults` are those of
    tzerlike's own. `notes` are lines about what could not be read.
    """

    name: str
    config: CampaignConfig | None
    environment: Mapping[str, Any]
    stats: Mapping[str, Any]
    curve: tuple[CurvePoint, ...]
    findings: tuple[ShownFinding, ...]
    more: Mapping[str, int]
    faults: tuple[FaultRow, ...]
    notes: tuple[str, ...]

    def number(self, key: str) -> float:
        """A number of stats.json; 0 where there is none."""
        return _number(self.stats.get(key))

    def counts(self, key: str) -> dict[str, int]:
        """A table of stats.json from names to whole numbers, the largest first."""
        table = {name: int(_number(value)) for name, value in self._table(key).items()}
        return dict(sorted(table.items(), key=lambda item: (-item[1], item[0])))

    def seconds(self) -> dict[str, float]:
        """The time that stages took, those that took any, in the order in which a case goes through them.

        Files say `build_reference` for what is called the baseline build everywhere else.
        """
        table = {
            name.replace("reference", "baseline").replace("_", " "): _number(value)
            for name, value in self._table("stage_seconds").items()
        }
        return {name: value for name, value in table.items() if value > 0}

    def yields(self, key: str) -> tuple[YieldRow, ...]:
        """The rows of `mutators` or `passes`, what brought most first."""
        rows = [
            YieldRow(name, *(int(_number(row.get(column))) for column in ("tried", "valid", "valuable")))
            for name, row in self._table(key).items()
            if isinstance(row, dict)
        ]
        return tuple(sorted(rows, key=lambda row: (-row.valuable, -row.tried, row.name)))

    @property
    def kinds(self) -> dict[str, int]:
        """The number of findings by kind, as the directory has them."""
        kinds = Counter(self.more)
        kinds.update(finding.kind for finding in self.findings)
        return dict(sorted(kinds.items()))

    @property
    def libraries(self) -> dict[str, tuple[int, int]]:
        """The blocks of each library of the compiler, reached and in all; none where it is one library."""
        table = self._table("coverage_libraries")
        return {
            name: (int(_number(row.get("covered"))), int(_number(row.get("total"))))
            for name, row in table.items()
            if isinstance(row, dict)
        }

    @property
    def covers(self) -> bool:
        """Whether the campaign followed coverage."""
        return self.number("coverage_total") > 0

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "stats": dict(self.stats),
            "environment": dict(self.environment),
            "curve": [point.to_csv() for point in self.curve],
            "findings": [finding.to_json() for finding in self.findings],
            "more_findings": dict(self.more),
            "faults": [asdict(row) for row in self.faults],
            "notes": list(self.notes),
        }

    def _table(self, key: str) -> Mapping[str, Any]:
        value = self.stats.get(key)
        return value if isinstance(value, dict) else {}


def read_overview(root: Path, steps: Steps = untold) -> Overview:
    """Read a campaign directory; UserError where it is none."""
    directory = existing(root)
    notes: list[str] = []
    config = _config(directory, notes)
    findings, more = shown_findings(directory, notes, steps)
    stats = _object(directory.stats, notes)
    return Overview(
        name=root.resolve().name,
        config=config,
        environment=_object(directory.environment, notes),
        stats=stats,
        curve=_curve(directory.coverage_csv, notes),
        findings=findings,
        more=more,
        faults=_faults(directory, stats, notes),
        notes=tuple(notes),
    )


def thinned(curve: Sequence[CurvePoint], points: int = POINTS) -> tuple[CurvePoint, ...]:
    """Return at most `points` of a curve, evenly spread over its time, the first and the last among them."""
    if len(curve) <= points:
        return tuple(curve)
    first, last = curve[0], curve[-1]
    step = (last.elapsed_s - first.elapsed_s) / (points - 1)
    kept = [first]
    for point in curve[1:-1]:
        if len(kept) < points - 1 and point.elapsed_s >= first.elapsed_s + step * len(kept):
            kept.append(point)
    return (*kept, last)


def _config(directory: CampaignDir, notes: list[str]) -> CampaignConfig | None:
    try:
        return CampaignConfig.from_toml(directory.config)
    except (UserError, ValueError, TypeError) as error:
        notes.append(_first_line(error))
        return None


def _faults(directory: CampaignDir, stats: Mapping[str, Any], notes: list[str]) -> tuple[FaultRow, ...]:
    """The faults that stats.json counts and those that were kept, the most frequent first."""
    counts = stats.get("faults")
    rows = {
        signature: FaultRow(signature, "", int(_number(count)))
        for signature, count in (counts.items() if isinstance(counts, dict) else ())
    }
    for path in kept_faults(directory.faults)[:_FAULTS]:
        try:
            kept = read_fault(path)
        except UserError as error:
            notes.append(_first_line(error))
            continue
        row = rows.get(path.name, FaultRow(path.name, "", 0))
        rows[path.name] = replace(row, title=f"{kept.fault.title} ({kept.fault.doing})")
    return tuple(sorted(rows.values(), key=lambda row: (-row.count, row.signature)))


def _object(path: Path, notes: list[str]) -> Mapping[str, Any]:
    try:
        value = read_json(path)
    except UserError as error:
        notes.append(_first_line(error))
        return {}
    if not isinstance(value, dict):
        notes.append(f"{path}: not an object")
        return {}
    return value


def _curve(path: Path, notes: list[str]) -> tuple[CurvePoint, ...]:
    try:
        points, bad = read_curve(path)
    except UserError as error:
        notes.append(f"{_first_line(error)}; there are no curves")
        return ()
    if bad:
        notes.append(f"{path}: {bad} of {len(points) + bad} lines cannot be read and are left out")
    elif not points:
        notes.append(f"{path}: no point yet; there are no curves")
    return thinned([point for index, point in enumerate(points) if index == 0 or point != points[index - 1]])


def _number(value: object) -> float:
    try:
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
    except OverflowError:
        return 0.0


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
