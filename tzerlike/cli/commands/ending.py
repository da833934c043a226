"""The end of a campaign's output: its findings, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from tzerlike.campaign.directory import CampaignDir
from tzerlike.cli.named import named
from tzerlike.core.errors import UserError
from tzerlike.core.untrusted import one_line
from tzerlike.reporting.shown import ShownFinding, shown_findings

_LISTED = 20


def ending(directory: CampaignDir) -> Iterator[str]:
    """The findings of a campaign, a line each, what users would meet first; then the commands that say more."""
    found, more = shown_findings(directory, [])
    number = len(found) + sum(more.values())
    if not found:
        return
    yield ""
    yield f"{number} finding{'' if number == 1 else 's'}; tier 1 is what users can meet"
    ordered = sorted(found, key=lambda one: (_tier(one), one.kind, one.title, one.directory))
    for one in ordered[:_LISTED]:
        tier = f"tier {_tier(one)}" if _tier(one) < _UNKNOWN else "      "
        yield f"  {tier}  {one.signature}  {one.kind:12}  {one_line(one.title, 160)}"
    if number > _LISTED:
        yield f"  ... and {number - _LISTED} more"
    campaign, first = shlex.quote(str(directory.root)), _name(directory, ordered[0])
    page = shlex.quote(f"{directory.root}.html")
    yield ""
    yield f"all on one page     tzerlike report {campaign} --html {page}"
    yield f"grouped by bug      tzerlike triage {campaign}"
    yield f"as a GitHub issue   tzerlike report {first}"
    yield f"reproduce it        tzerlike replay {first}"


def _name(directory: CampaignDir, finding: ShownFinding) -> str:
    """What a command takes for a bundle: its id, where that is no other's below the working directory."""
    path = directory.findings / finding.directory
    try:
        unique = named(Path(finding.signature)).resolve() == path.resolve()
    except UserError:
        unique = False
    return finding.signature if unique else shlex.quote(str(path))


_UNKNOWN = 9


def _tier(finding: ShownFinding) -> int:
    return finding.tier or _UNKNOWN
