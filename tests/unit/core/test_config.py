from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tzerlike.core.config import CampaignConfig, parse_duration, parse_size
from tzerlike.core.errors import UserError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("30m", 1800), ("4h", 14400), ("1h30m", 5400), ("1d", 86400), ("0.5h", 1800), ("90", 90)],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "4 4", "h", "4x", "4h later", "-4h", "1 h 2", "4h;"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(UserError, match="--budget"):
        parse_duration(text)


@pytest.mark.parametrize(("text", "size"), [("2G", 2 << 30), ("512m", 512 << 20), ("64MiB", 64 << 20), ("1000", 1000)])
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "G", "-1G", "2T", "1.5G", "two"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(UserError, match="--memory-limit"):
        parse_size(text)


def test_a_configuration_survives_toml(tmp_path: Path) -> None:
    config = CampaignConfig(seed=0, budget=60, iterations=7, mutators=("constants", "swap"), jobs=3, seeds='a "b"')
    path = tmp_path / "campaign.toml"
    path.write_text(config.to_toml())
    assert CampaignConfig.from_toml(path) == config


@pytest.mark.parametrize(
    ("values", "option"),
    [
        ({"seed": -1}, "--seed"),
        ({"budget": 0}, "--budget"),
        ({"budget": 1e12}, "--budget"),
        ({"iterations": 0}, "--iterations"),
        ({"iterations": -5}, "--iterations"),
        ({"n_max": 0}, "--n-max"),
        ({"jobs": 0}, "--jobs"),
        ({"jobs": 10**6}, "--jobs"),
        ({"timeout": 0}, "--timeout"),
        ({"timeout": float("nan")}, "--timeout"),
        ({"memory_limit": 1}, "--memory-limit"),
        ({"pairs_per_fork": 0}, "--pairs-per-fork"),
        ({"target": "rocm"}, "--target"),
        ({"coverage": "magic"}, "--coverage"),
        ({"oracles": ()}, "--oracles"),
    ],
)
def test_a_value_out_of_range_names_its_option(values: dict[str, Any], option: str) -> None:
    with pytest.raises(UserError, match=f"^{option}: expected"):
        CampaignConfig(**{"seed": 1, **values})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("seed = 1\ncolour = 3\n", "unknown key 'colour'"),
        ("budget = 3\n", "campaign.seed: missing"),
        ("seed = 'x'\n", "campaign.seed: expected int, found str"),
        ("seed = 1\njobs = 'two'\n", "campaign.jobs: expected int, found str"),
        ("seed = 1\noracles = 'crash'\n", "campaign.oracles: expected array, found str"),
        ("seed = ", "not readable"),
        ("seed = 1\nmutators = " + "[" * 5000, "not readable"),
        ("seed = 1\nbudget = nan\n", "--budget"),
        ("schema_version = 2\nseed = 1\n", "schema_version 2 is newer"),
        ("seed = 1\njobs = 0\n", "--jobs"),
    ],
)
def test_a_faulty_file_says_what_is_wrong(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "campaign.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=complaint):
        CampaignConfig.from_toml(path)


def test_a_file_of_before_states_no_version(tmp_path: Path) -> None:
    path = tmp_path / "campaign.toml"
    path.write_text("seed = 3\nbudget = 60\nplugins = []\n")
    assert CampaignConfig.from_toml(path) == CampaignConfig(seed=3, budget=60.0)


def test_a_missing_file_says_that_there_is_no_campaign(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no campaign"):
        CampaignConfig.from_toml(tmp_path / "campaign.toml")


def test_a_resumed_campaign_keeps_its_budget_unless_another_is_given(tmp_path: Path) -> None:
    from tzerlike.campaign.directory import CampaignDir
    from tzerlike.campaign.supervisor import resolve

    directory = CampaignDir(tmp_path)
    stored = CampaignConfig(seed=3, budget=3600.0, iterations=50)
    directory.config.write_text(stored.to_toml())
    command_line = CampaignConfig(seed=9, budget=7200.0)
    assert resolve(command_line, directory, resume=True) == stored
    assert resolve(command_line, directory, resume=True, given={"budget"}) == replace(stored, budget=7200.0)
