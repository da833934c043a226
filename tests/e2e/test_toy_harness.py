"""A harness in one file and one row, of a plug-in: every command takes its programs, which are no programs of TVM."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.e2e.conftest import Command, install

TOY = Path(__file__).parents[1] / "data" / "toy_harness"
FUZZ = ("fuzz", "--harness", "toy:lists", "--seed", "1", "--iterations", "400", "--jobs", "2", "--coverage", "none")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return os.pathsep.join(map(str, (install(TOY, tmp_path_factory.mktemp("site")), TOY)))


@pytest.fixture(scope="module")
def campaign(tzerlike: Command, path: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("campaign") / "c"
    done = tzerlike(*FUZZ, "--out", out, "--ui", "none", PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture
def bundle(campaign: Path, tmp_path: Path) -> Path:
    """A copy of the one bundle."""
    (found,) = (campaign / "findings").iterdir()
    return Path(shutil.copytree(found, tmp_path / found.name))


@pytest.mark.long
def test_a_campaign_finds_the_planted_bug(campaign: Path, bundle: Path) -> None:
    stats = json.loads((campaign / "stats.json").read_text())
    assert stats["faults"] == {}
    assert stats["findings"] == {"crash": 1}
    assert set(stats["mutators"]) == {"seed", "append", "splice", "passes"}
    assert bundle.name.startswith("crash-passes-sort-sigsegv")
    assert (bundle / "module.py").read_text().startswith("numbers = [")


@pytest.mark.long
def test_it_shows_again_and_is_reduced_to_the_least_that_dies(tzerlike: Command, bundle: Path, path: str) -> None:
    assert tzerlike("replay", bundle, "--times", "2", PYTHONPATH=path).stdout.startswith("shows 2/2")
    (said,) = json.loads(tzerlike("reduce", bundle, "--json", PYTHONPATH=path).stdout)
    assert said["status"] == "reduced"
    assert said["after"] == {"passes": 3, "numbers": 5}
    case = json.loads((bundle / "reduced" / "case.json").read_text())["case"]
    assert (case["harness"], case["ir"]) == ("toy:lists", "[0, 1, 2, 3, 4]")
    assert tzerlike("replay", bundle / "reduced", PYTHONPATH=path).returncode == 0
    assert tzerlike("run", bundle / "case.json", PYTHONPATH=path).returncode == 1


@pytest.mark.long
def test_it_is_reported_and_triaged_and_not_bisected(
    tzerlike: Command, campaign: Path, bundle: Path, path: str
) -> None:
    assert tzerlike("report", bundle, PYTHONPATH=path).stdout.startswith("# [Bug][List] Sort crashes (SIGSEGV)")
    page = campaign.parent / "page.html"
    assert "Sort crashes (SIGSEGV)" in tzerlike("report", campaign, "--html", page, PYTHONPATH=path).stdout
    assert "toy.Unique" in page.read_text()
    (group,) = json.loads(tzerlike("triage", campaign, bundle, "--json", PYTHONPATH=path).stdout)["groups"]
    assert group["bundles"] == 2
    assert "not a finding of a compilation" in tzerlike("bisect", bundle, PYTHONPATH=path).stdout


@pytest.mark.long
def test_what_it_does_not_know_is_a_line(tzerlike: Command, bundle: Path, path: str, tmp_path: Path) -> None:
    asked = tzerlike(*FUZZ, "--oracles", "crash,performance", "--out", tmp_path / "c", PYTHONPATH=path)
    assert (asked.returncode, asked.stderr.count("\n")) == (2, 1)
    assert "'performance' has no meaning with --harness toy:lists" in asked.stderr
    case = (bundle / "case.json").read_text()
    (bundle / "case.json").write_text(case.replace("toy.Sort", "toy.Reverse"))
    refused = tzerlike("replay", bundle, PYTHONPATH=path)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "no pass 'toy.Reverse'" in refused.stderr
    stranger = tzerlike("replay", bundle)
    assert (stranger.returncode, "no plug-in 'toy' is installed" in stranger.stderr) == (2, True)
