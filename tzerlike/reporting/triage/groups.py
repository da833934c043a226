"""Triage: bundles of any number of campaigns, gathered into groups of one bug each.

Bundles of one signature are one group, but for those that a campaign found to have another cause. Signatures are one
group when they have the same cause (tzerlike.reporting.triage.cause). The cause of a signature is the one that its
bundles agree on, those that were bisected before the others; where they disagree it has none. Both steps compare by
equality, so the groups do not depend on the order of anything, and a group's representative is its smallest case.
What failed in a baseline build has no frames: it belongs to the one cause that differs from its own in nothing else,
if there is just one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tzerlike.core.finding import KINDS
from tzerlike.findings.known import Known, KnownEntry
from tzerlike.reporting.triage.cause import Cause
from tzerlike.reporting.triage.sightings import Sighting, Sightings


@dataclass(frozen=True, slots=True)
class Group:
    """Bundles of one bug, the smallest case first; `known` is the entry that one of them is."""

    members: tuple[Sighting, ...]
    cause: Cause | None
    known: KnownEntry | None

    @property
    def representative(self) -> Sighting:
        return self.members[0]

    @property
    def kind(self) -> str:
        return self.representative.kind

    @property
    def title(self) -> str:
        return self.representative.title

    @property
    def signatures(self) -> tuple[str, ...]:
        return tuple(sorted({member.signature for member in self.members}))

    @property
    def first_seen(self) -> float | None:
        """Seconds into the campaign that saw it earliest; None where no campaign says."""
        return min((m.first_seen for m in self.members if m.first_seen is not None), default=None)

    @property
    def versions(self) -> tuple[str, ...]:
        return tuple(sorted({member.version for member in self.members} - {""}))

    @property
    def runs(self) -> int:
        return sum(member.runs for member in self.members)

    @property
    def same(self) -> int:
        return sum(member.same for member in self.members)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "title": self.title,
            "status": "known" if self.known else "new",
            "known": self.known.to_json() if self.known else None,
            "cause": self.cause.to_json() if self.cause else None,
            "bundles": len(self.members),
            "signatures": list(self.signatures),
            "representative": str(self.representative.path),
            "paths": [str(member.path) for member in self.members],
            "first_seen_s": self.first_seen,
            "confirmed": {"runs": self.runs, "same": self.same},
            "versions": list(self.versions),
        }


@dataclass(frozen=True, slots=True)
class Triage:
    """Groups in a fixed order: new before known, by kind, the largest first.

    `silent` are entries of the known.toml that no bundle and no campaign showed. `hidden` counts, by their labels,
    what campaigns saw of known findings and did not bundle.
    """

    groups: tuple[Group, ...]
    silent: tuple[KnownEntry, ...]
    hidden: tuple[tuple[str, int], ...]
    problems: tuple[str, ...]

    @property
    def new(self) -> tuple[Group, ...]:
        return tuple(group for group in self.groups if group.known is None)

    def to_json(self) -> dict[str, Any]:
        return {
            "groups": [group.to_json() for group in self.groups],
            "known_not_shown": [entry.to_json() for entry in self.silent],
            "known_not_bundled": dict(self.hidden),
            "problems": list(self.problems),
        }


def triage(sightings: Sightings, known: Known) -> Triage:
    """Gather bundles into groups and tell the known ones from the new."""
    by_signature: dict[tuple[str, ...], list[Sighting]] = defaultdict(list)
    for sighting in sightings.bundles:
        by_signature[sighting.kind, sighting.signature, *sighting.apart].append(sighting)
    classes: dict[Cause | tuple[str, ...], list[Sighting]] = defaultdict(list)
    causes = {signature: agreed_cause(members) for signature, members in by_signature.items()}
    sites: dict[Cause, set[Cause]] = defaultdict(set)
    for cause in causes.values():
        if cause is not None and cause.site:
            sites[replace(cause, site=())].add(cause)
    for signature, members in by_signature.items():
        cause = causes[signature]
        if cause is not None and len(sites[cause]) == 1:
            (cause,) = sites[cause]
        classes[cause or signature].extend(members)
    shown = Counter(sightings.hidden)
    groups = []
    for key, members in classes.items():
        matches = [
            entry
            for member in members
            if (entry := known.match(member.signatures, member.title, member.message, member.version))
        ]
        shown.update(entry.label for entry in matches)
        first = min(matches, key=known.entries.index) if matches else None
        ordered = tuple(sorted(members, key=lambda member: member.rank))
        groups.append(Group(ordered, key if isinstance(key, Cause) else None, first))
    groups.sort(key=_order)
    return Triage(
        tuple(groups),
        known.silent(shown, sightings.versions),
        tuple(sorted(sightings.hidden.items())),
        sightings.problems,
    )


def agreed_cause(members: Sequence[Sighting]) -> Cause | None:
    """Return the one cause of a signature's bundles, or None where they have none or several."""
    telling = [member for member in members if member.cause is not None]
    bisected = [member for member in telling if member.bisected]
    causes = {member.cause for member in bisected or telling}
    return causes.pop() if len(causes) == 1 else None


def _order(group: Group) -> tuple[bool, int, int, tuple[int, str, str]]:
    rank = KINDS.index(group.kind) if group.kind in KINDS else len(KINDS)
    return (group.known is not None, rank, -len(group.members), group.representative.rank)
