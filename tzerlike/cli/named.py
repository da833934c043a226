"""Bundles as users name them: by a directory, by a campaign that contains them, or by the ids that reports print."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from tzerlike.campaign.directory import CampaignDir
from tzerlike.core.errors import UserError
from tzerlike.findings.reduction.place import is_bundle
from tzerlike.reporting.triage.sightings import bundles_in

_ID = re.compile(r"[0-9a-f]{4,12}")
_PLACES = ("findings", "*/findings", "*/*/findings")
"""Where an id is looked for, from the working directory."""


def named_bundles(names: Iterable[Path]) -> list[Path]:
    """Return the bundles that are named, a campaign's all in its order, each once.

    What is none of these stays as it is: whoever reads it says what is wrong with it. UserError where an id is that of
    no bundle, or of several, or a campaign has none.
    """
    found: dict[Path, None] = {}
    for name in names:
        path = named(name)
        inside = [path] if is_bundle(path) or not _holds_bundles(path) else bundles_in(path)
        if not inside:
            raise UserError(f"{path}: no bundles in it")
        found |= dict.fromkeys(inside)
    return list(found)


def named(name: Path) -> Path:
    """Return the bundle that `name` is the id of, or `name` where it is none or a path that is there."""
    text = str(name)
    if name.exists() or not _ID.fullmatch(text):
        return name
    pattern = re.compile(rf"-{text}[0-9a-f]{{{12 - len(text)}}}(-\w+)?")
    places = [place for pattern_ in _PLACES for place in sorted(Path().glob(pattern_))]
    found = [path for place in places for path in CampaignDir(place.parent).bundles() if pattern.search(path.name)]
    if not found:
        raise UserError(f"{text}: no such file, and no bundle of that id in the campaigns below this directory")
    if len(found) > 1:
        raise UserError(f"{text}: there are several, such as {found[0]} and {found[1]}; name one by its directory")
    return found[0]


def _holds_bundles(path: Path) -> bool:
    """Whether a directory is a campaign or one of bundles. A damaged bundle is none, whatever is in it."""
    if any((path / name).exists() for name in ("case.json", "observation.json", "report.md")):
        return False
    if (path / "campaign.toml").is_file() or (path / "findings").is_dir():
        return True
    return path.is_dir() and any(is_bundle(one) for one in path.iterdir())
