"""A campaign in a few lines for a terminal."""

from __future__ import annotations

from itertools import groupby

from tzerlike.core.units import duration
from tzerlike.core.untrusted import one_line
from tzerlike.findings.faults.book import tally
from tzerlike.reporting.overview import Overview
from tzerlike.reporting.page import subtitle

_BEST = 5
_FINDINGS = 20
"""Findings of a kind that are listed."""


def summary(overview: Overview) -> list[str]:
    """Return the lines; nothing in them moves the cursor, whatever is in the campaign."""
    lines = [f"{one_line(overview.name, 100)}: {one_line(subtitle(overview), 200)}"]
    if overview.stats:
        lines += _totals(overview)
    for key in ("mutators", "passes"):
        best = [row for row in overview.yields(key) if row.valuable][:_BEST]
        if best:
            lines.append(f"best {key}: " + ", ".join(f"{one_line(row.name, 60)} {row.valuable}" for row in best))
    if not overview.kinds:
        lines.append("no findings")
    for kind, group in groupby(overview.findings, lambda each: each.kind):
        found = list(group)
        lines.append(f"{kind}: {overview.kinds[kind]}")
        for finding in found[:_FINDINGS]:
            lines.append(f"  {finding.signature}  {one_line(finding.title, 150)}")
            if finding.guilty:
                lines.append(f"                guilty: {one_line(finding.guilty, 130)}")
        if overview.kinds[kind] > len(found[:_FINDINGS]):
            lines.append(f"  ... and {overview.kinds[kind] - len(found[:_FINDINGS])} more")
    if overview.faults:
        lines.append(f"faults of tzerlike itself: {tally(overview.stats) or len(overview.faults)}")
    for row in overview.faults[:_BEST]:
        lines.append(f"  {one_line(row.signature, 20)}  {row.count}  {one_line(row.title, 130)}")
    return [*lines, *(f"note: {one_line(note, 200)}" for note in overview.notes)]


def _totals(overview: Overview) -> list[str]:
    elapsed, iterations = overview.number("elapsed_s"), overview.number("iterations")
    budget = f" of {duration(overview.config.budget)}" if overview.config else ""
    line = f"{duration(elapsed)}{budget}, {iterations:,.0f} iterations ({overview.number('iterations_per_s'):,.1f}/s)"
    line += f", valid {overview.number('valid_rate'):.0%}"
    if overview.covers:
        covered, total = overview.number("coverage"), overview.number("coverage_total")
        line += f", coverage {covered:,.0f} ({covered / total:.2%}), corpus {overview.number('corpus'):,.0f}"
    lines = [line]
    for name, (reached, blocks) in overview.libraries.items():
        lines.append(f"  {one_line(name, 60)}: {reached:,} of {blocks:,} blocks ({reached / max(1, blocks):.2%})")
    seconds = overview.seconds()
    if total_time := sum(seconds.values()):
        most = sorted(seconds.items(), key=lambda item: -item[1])[:_BEST]
        lines.append("time: " + ", ".join(f"{one_line(name, 40)} {value / total_time:.0%}" for name, value in most))
    return lines
