"""Every command takes campaigns, bundles and the ids that reports print."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.bundles import add_bundle, crashed
from tzerlike.campaign.directory import CampaignDir
from tzerlike.cli.main import cli
from tzerlike.cli.named import named, named_bundles
from tzerlike.core.errors import UserError
from tzerlike.core.finding import Signed

FOUND = [Signed("crash", ("passes", name, "SIGSEGV", "lib+0x1")) for name in ("First", "Second")]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a campaign of two bundles, which is the working directory."""
    directory = CampaignDir(tmp_path / "campaign")
    directory.create(1)
    directory.config.write_text("seed = 1\n")
    for finding in FOUND:
        add_bundle(directory.findings, finding, crashed(finding.parts[1], "lib+0x1"))
    monkeypatch.chdir(tmp_path)
    return directory.findings


def test_a_campaign_a_directory_a_bundle_and_an_id_name_bundles(here: Path) -> None:
    both = sorted(here.iterdir())
    first = next(path for path in both if path.name == FOUND[0].directory)
    assert [path.resolve() for path in named_bundles([Path("campaign")])] == both
    assert [path.resolve() for path in named_bundles([Path("campaign/findings")])] == both
    assert named_bundles([first]) == [first]
    for length in (12, 6):
        (found,) = named_bundles([Path(FOUND[0].signature[:length])])
        assert found.resolve() == first
    assert len(named_bundles([Path("campaign"), Path(FOUND[0].signature)])) == 2


def test_an_id_is_one_bundle_or_an_error_in_a_line(here: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no bundle of that id"):
        named(Path("0123456789ab"))
    again = CampaignDir(tmp_path / "again")
    again.create(1)
    add_bundle(again.findings, FOUND[0], crashed("First", "lib+0x1"))
    with pytest.raises(UserError, match="there are several"):
        named(Path(FOUND[0].signature))
    assert named(Path(FOUND[1].signature)).name == FOUND[1].directory


def test_what_is_there_or_no_id_stays_as_it_is(here: Path, tmp_path: Path) -> None:
    (tmp_path / "abcd").mkdir()
    assert named(Path("abcd")) == Path("abcd")
    assert named(Path("my_module.py")) == Path("my_module.py")
    assert named_bundles([Path("nowhere")]) == [Path("nowhere")]


@pytest.mark.parametrize("command", [("triage",), ("triage", "--json")])
def test_commands_take_ids(here: Path, command: tuple[str, ...]) -> None:
    done = CliRunner().invoke(cli, [*command, FOUND[0].signature])
    assert done.exit_code == 0, done.exception
    assert "First" in done.output
    assert "Second" not in done.output


def test_a_damaged_bundle_does_not_pass_for_the_reduced_one_in_it(here: Path) -> None:
    bundle = next(here.iterdir())
    bundle.rename(here.parent / "b")
    add_bundle(here.parent / "b", FOUND[0], crashed("First", "lib+0x1"))
    (here.parent / "b" / "case.json").unlink()
    assert named_bundles([here.parent / "b"]) == [here.parent / "b"]
