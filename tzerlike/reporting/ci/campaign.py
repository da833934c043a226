"""A campaign as a check: its findings, without those of earlier runs and of known.toml."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tzerlike.campaign.directory import CampaignDir
from tzerlike.core.finding import SECOND_TIER
from tzerlike.core.units import duration
from tzerlike.findings.faults.book import tally, warning
from tzerlike.findings.known import Known
from tzerlike.findings.versions.against import Against
from tzerlike.reporting.ci.carry import Carry
from tzerlike.reporting.ci.outcome import CiOutcome, Item, Status
from tzerlike.reporting.triage.groups import Group, Triage, triage
from tzerlike.reporting.triage.sightings import collect


def judged_campaign(
    mode: str,
    campaign: CampaignDir,
    carry: Carry,
    known: Known,
    stats: Mapping[str, Any],
    against: Against | None = None,
) -> CiOutcome:
    """Return the outcome of a campaign that ended with `stats`: an item for each group that it has a bundle of.

    A group of which another TVM shows every bundle, by `against`, is nothing new.
    """
    earlier = [carry.root] if carry.findings.is_dir() else []
    found = triage(collect([campaign.root, *earlier]), known)
    groups = [(group, _own(group, campaign.findings)) for group in found.groups]
    ours = [(group, own) for group, own in groups if own is not None]
    # Who asks for a merge is stopped by what users would meet.
    second = [own for _, own in ours if mode == "pr" and all(member.tier == SECOND_TIER for member in own.members)]
    items = tuple(_item(group, own, carry, against) for group, own in ours if own not in second)
    compared = [] if against is None else [str(against)]
    return CiOutcome(
        mode,
        tuple(sorted(items, key=lambda item: not item.status.fails)),
        float(stats["elapsed_s"]),
        tuple(_facts(stats)),
        (*compared, *_notes(found, sum(own is None for _, own in groups), len(second), stats)),
    )


def _own(group: Group, findings: Path) -> Group | None:
    """The group as far as the campaign's own bundles go; None when it has none."""
    inside = findings.resolve()
    members = tuple(member for member in group.members if member.path.resolve().is_relative_to(inside))
    return replace(group, members=members) if members else None


def _item(group: Group, own: Group, carry: Carry, against: Against | None) -> Item:
    others = [member for member in group.members if carry.holds(member.path)]
    if group.known is not None:
        status, detail = Status.KNOWN, group.known.link
    elif others:
        status, detail = Status.CARRIED, f"as {others[0].path.name}"
    elif against is not None and all(against.shows(member.path) for member in own.members):
        status, detail = Status.ELSEWHERE, f"{against.name} shows it too"
    else:
        status, detail = Status.NEW, f"shown again in {own.same} of {own.runs} runs"
    return Item(status, own.kind, own.title, own.signatures, own.representative.path, detail)


def _facts(stats: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    yield "time", duration(stats["elapsed_s"])
    yield "iterations", str(stats["iterations"])
    yield "valid", f"{stats['valid_rate']:.0%}"
    if stats["coverage_total"]:
        yield "coverage", f"{stats['coverage']} of {stats['coverage_total']}"
    yield "corpus", str(stats["corpus"])
    if faults := tally(stats):
        yield "faults of tzerlike itself", faults


def _notes(found: Triage, absent: int, second: int, stats: Mapping[str, Any]) -> Iterable[str]:
    if second:
        yield f"findings of tier 2, which count only in ci batch: {second}"
    if absent:
        yield f"findings of earlier runs that did not show: {absent}"
    for label, count in found.hidden:
        yield f"known, seen {count} time{'' if count == 1 else 's'}: {label}"
    for entry in found.silent:
        yield f"known, not seen in this run: {entry.label} ({entry.link})"
    if line := warning(stats):
        yield line
    yield from found.problems
    yield from stats["problems"]
