"""Events of a campaign, announced as they happen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tzerlike.campaign.directory import CampaignDir
from tzerlike.findings.faults.book import warning

FINDING = "finding: "
"""How the line of a finding begins."""


class Announcer:
    """Tells of each new bundle of a campaign, and once that tzerlike itself fails too often."""

    def __init__(self, directory: CampaignDir, tell: Callable[[str], None]) -> None:
        self._directory = directory
        self._tell = tell
        self._told = {path.name for path in directory.bundles()}
        self._warned = False

    def look(self, stats: Mapping[str, Any]) -> None:
        """Tell of what has come since the last look; `stats` are the contents of stats.json."""
        for path in self._directory.bundles():
            if path.name not in self._told:
                self._told.add(path.name)
                self._tell(f"{FINDING}{path}")
        if not self._warned and (line := warning(stats)):
            self._warned = True
            self._tell(line)
