"""The second night of `ci batch` in the same place."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from tzerlike.campaign.directory import CampaignDir
from tzerlike.core.errors import UserError
from tzerlike.reporting.ci.earlier import make_room


def campaign(root: Path, seed: int) -> CampaignDir:
    directory = CampaignDir(root)
    directory.create(1)
    directory.config.write_text(f"seed = {seed}\n")
    return directory


def test_the_night_before_is_kept_and_the_one_before_that_is_not(tmp_path: Path) -> None:
    root = tmp_path / "campaign"
    make_room(CampaignDir(root))
    for night in (1, 2, 3):
        make_room(campaign(root, night))
        assert not root.exists()
        assert (tmp_path / "campaign.before" / "campaign.toml").read_text() == f"seed = {night}\n"


def test_what_is_no_campaign_or_runs_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "diary").mkdir()
    with pytest.raises(UserError, match="already exists"):
        make_room(CampaignDir(tmp_path / "diary"))
    running = campaign(tmp_path / "campaign", 1)
    with open(running.root / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UserError, match="in use"):
            make_room(running)
    assert running.config.exists()
