"""Coverage as text."""

from __future__ import annotations

from collections.abc import Sequence

from tzerlike.coverage.source.totals import Row

Ranges = Sequence[tuple[int, int]]


def percent(row: Row) -> str:
    return f"{100 * row.covered / row.total:.1f}%" if row.total else ""


def ranges_text(ranges: Ranges) -> str:
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
