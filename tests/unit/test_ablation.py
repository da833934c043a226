"""scripts/ablation.py runs what is missing, and compares."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import ablation

FAKE = """
import argparse, json
from pathlib import Path

parser = argparse.ArgumentParser()
for option in ("--out", "--seed", "--budget", "--more"):
    parser.add_argument(option, default="0")
given = parser.parse_args()
Path(given.out).mkdir()
with Path(given.out).with_name("ran.txt").open("a") as ran:
    ran.write(Path(given.out).name + "\\n")
stats = {"coverage": 100 + int(given.more), "pairs": 50, "elapsed_s": 10.0, "valuable_tests": int(given.seed)}
(Path(given.out) / "stats.json").write_text(json.dumps(stats))
"""


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of baselines; returns the one that results go to."""
    modules = tmp_path / "scripts" / "baselines"
    modules.mkdir(parents=True)
    (modules / "__init__.py").touch()
    for name in ("fake", "empty"):
        (modules / f"{name}.py").write_text(FAKE)
    monkeypatch.setattr(ablation, "SCRIPTS", modules.parent)
    return tmp_path / "out"


def called(monkeypatch: pytest.MonkeyPatch, out: Path, *words: str) -> list[str]:
    """Run it; returns the campaigns that ran."""
    (out / "ran.txt").unlink(missing_ok=True)
    arguments = [str(out), "one=@fake --more 20", "two=@fake", "--seeds", "1", "2", "3", "--budget", "9s", *words]
    monkeypatch.setattr(sys, "argv", ["ablation.py", *arguments])
    ablation.main()
    ran = out / "ran.txt"
    return sorted(ran.read_text().split()) if ran.exists() else []


def test_it_goes_on_where_it_was(
    scripts: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = ["empty-1", "one-1", "one-2", "one-3", "two-1", "two-2", "two-3"]
    assert called(monkeypatch, scripts, "--at-once", "2") == whole
    table = capsys.readouterr().out
    assert "| one | 120 | 120 to 120 | | | |" in table
    # 20 blocks beyond the floor against none.
    assert "| one | 20 | 20 to 20 | | | |" in table
    assert "| two | 0 | 0 to 0 | - |" in table
    assert "| two | 100 | 100 to 100 | 1.20 |" in table
    # Interrupted: its directory is there, and may have statistics, but it has no row.
    rows = (scripts / "figures.csv").read_text().splitlines(keepends=True)
    (scripts / "figures.csv").write_text("".join(row for row in rows if not row.startswith("two,") or ",2," not in row))
    assert called(monkeypatch, scripts) == ["two-2"]
    assert capsys.readouterr().out == table


def test_figures_go_on_in_another_place(scripts: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    figures = str(tmp_path / "figures.csv")
    called(monkeypatch, scripts, "--figures", figures)
    assert called(monkeypatch, tmp_path / "other", "--figures", figures) == []


def test_results_of_another_budget_are_not_taken(scripts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = called(monkeypatch, scripts)
    assert called(monkeypatch, scripts, "--budget", "10m") == whole[1:]
    assert called(monkeypatch, scripts) == []


def test_a_campaign_that_fails_is_named(scripts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (ablation.SCRIPTS / "baselines" / "fake.py").write_text("raise SystemExit(3)")
    with pytest.raises(SystemExit, match=r"one-1: status 3, see one-1\.log"):
        called(monkeypatch, scripts, "--seeds", "1", "--at-once", "1")


def test_the_blocks_of_a_directory_are_told_too(
    scripts: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ablation, "blocks_within", lambda campaign, directory: len(f"{campaign.name} {directory}"))
    called(monkeypatch, scripts, "--within", "src/relax")
    assert "| blocks within | median |" in (table := capsys.readouterr().out)
    assert "| one | 15 | 15 to 15 | | | |" in table


def test_the_arms_are_options_of_fuzz_or_baselines_that_exist() -> None:
    from tzerlike.cli.commands.fuzz import fuzz

    for name, text in ablation.ARMS.items():
        arm = ablation.Arm.parse(f"{name}={text}")
        if arm.words and arm.words[0].startswith("@"):
            assert (ablation.SCRIPTS / "baselines" / f"{arm.words[0][1:]}.py").is_file()
        else:
            fuzz.make_context("fuzz", list(arm.words), resilient_parsing=False)


def test_results_say_how_they_were_made(scripts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called(monkeypatch, scripts)
    with (scripts / "figures.csv").open(newline="") as lines:
        (row,) = (row for row in csv.DictReader(lines) if (row["arm"], row["seed"]) == ("one", "1"))
    assert row["options"] == "@fake --more 20"
    assert (row["budget"], row["oracles"], row["blocks"], row["pairs/s"]) == ("9s", "crash", "120", "5")
