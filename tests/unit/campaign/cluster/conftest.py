"""A coordinator with two machines, which look at once for what is new."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.campaign.cluster.machines import Machine, campaign
from tzerlike.campaign.cluster.coordinator import Coordinator


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tzerlike.campaign.cluster.mirror._SAVES_EVERY", -1.0)
    monkeypatch.setattr("tzerlike.campaign.cluster.mirror._CHANGES_EVERY", -1.0)
    monkeypatch.setattr("tzerlike.campaign.cluster.merged._EVERY", -1.0)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Coordinator, Machine, Machine]:
    coordinator = Coordinator(campaign(tmp_path))
    return coordinator, Machine(tmp_path, coordinator, 0), Machine(tmp_path, coordinator, 1)
