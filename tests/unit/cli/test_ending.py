"""What `fuzz` ends with: each finding once, with the commands that say more."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import click
import pytest

from tests.bundles import add_bundle, crashed
from tzerlike.campaign.directory import CampaignDir
from tzerlike.cli.commands.ending import ending
from tzerlike.cli.main import cli
from tzerlike.core.finding import Signed


def campaign(root: Path, number: int) -> CampaignDir:
    directory = CampaignDir(root)
    directory.create(1)
    for index in range(number):
        parts = ("passes", f"Pass{index}", "SIGSEGV", "lib+0x1")
        add_bundle(directory.findings, Signed("crash", parts), crashed(f"tirx.Pass{index}", "lib+0x1"))
    return directory


def test_each_finding_is_a_line_with_its_id_and_its_title(tmp_path: Path) -> None:
    directory = campaign(tmp_path / "my campaign", 3)
    lines = list(ending(directory))
    assert "3 findings; tier 1 is what users can meet" in lines
    for path in directory.bundles():
        about = [line for line in lines if path.name[-12:] in line and not line.endswith(f"{path}'")]
        assert len(about) == 1
        assert re.search(r"crash +\S*Pass\d\S* ", about[0]), about


def test_the_next_steps_are_commands_that_can_be_copied(tmp_path: Path) -> None:
    root = tmp_path / "my campaign"
    lines = list(ending(campaign(root, 1)))
    commands = [shlex.split(line.partition("tzerlike ")[2]) for line in lines if " tzerlike " in line]
    assert [words[0] for words in commands] == ["report", "triage", "report", "replay"]
    for name, *rest in commands:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        command.make_context(name, rest)
    assert all(Path(words[1]).exists() for words in commands)


def test_an_id_stands_for_the_path_where_it_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = campaign(tmp_path / "campaign", 1)
    monkeypatch.chdir(tmp_path)
    (bundle,) = directory.bundles()
    assert list(ending(directory))[-1].split()[-3:] == ["tzerlike", "replay", bundle.name[-12:]]


def test_many_are_cut_and_none_say_nothing(tmp_path: Path) -> None:
    assert list(ending(campaign(tmp_path / "none", 0))) == []
    lines = list(ending(campaign(tmp_path / "many", 25)))
    assert "  ... and 5 more" in lines
    assert len(lines) < 30


@pytest.mark.parametrize("number", [1, 2])
def test_no_bundle_is_named_twice_by_its_path(tmp_path: Path, number: int) -> None:
    directory = campaign(tmp_path / "c", number)
    text = "\n".join(ending(directory))
    assert max(text.count(str(path)) for path in directory.bundles()) == 2  # report and replay of the first


def test_what_users_would_meet_comes_first(tmp_path: Path) -> None:
    directory = campaign(tmp_path / "campaign", 2)
    for tier, bundle in zip((2, 1), sorted(directory.bundles()), strict=True):
        told = json.loads((bundle / "observation.json").read_text()) | {"tier": tier}
        (bundle / "observation.json").write_text(json.dumps(told))
    listed = [line.split()[:2] for line in ending(directory) if line.startswith("  tier")]
    assert listed == [["tier", "1"], ["tier", "2"]]
