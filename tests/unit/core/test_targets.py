"""Targets as text, and the configuration that names them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tzerlike.core.config import CampaignConfig
from tzerlike.core.errors import UserError
from tzerlike.core.targets import kind_of_target, target_text


def test_an_architecture_belongs_to_cuda_alone() -> None:
    assert json.loads(target_text("cuda", "sm_80")) == {"kind": "cuda", "arch": "sm_80"}
    assert target_text("llvm", "sm_80") == "llvm"


@pytest.mark.parametrize("text", ["cuda", '{"kind": "cuda", "arch": "sm_90"}', ' {"arch": "sm_75", "kind": "cuda"}'])
def test_the_kind_of_a_target_is_read_off_either_form(text: str) -> None:
    assert kind_of_target(text) == "cuda"


def test_a_campaign_keeps_its_architecture(tmp_path: Path) -> None:
    config = CampaignConfig(seed=0, target="cuda", arch="sm_100a")
    path = tmp_path / "campaign.toml"
    path.write_text(config.to_toml())
    assert CampaignConfig.from_toml(path) == config
    assert json.loads(config.case_target)["arch"] == "sm_100a"


@pytest.mark.parametrize("arch", ["90", "sm_", "sm_90x", "compute_90", "sm_9; rm"])
def test_what_is_no_architecture_is_refused(arch: str) -> None:
    with pytest.raises(UserError, match="--arch"):
        CampaignConfig(seed=0, target="cuda", arch=arch)
