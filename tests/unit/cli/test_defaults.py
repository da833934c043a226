"""Options from tzerlike.toml and pyproject.toml."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

import tzerlike
from tzerlike.cli.commands.fuzz import fuzz
from tzerlike.cli.defaults import defaults_for
from tzerlike.cli.main import cli
from tzerlike.core.errors import UserError
from tzerlike.core.untrusted import SCRIPT_BYTES


def parsed(map_: dict[str, object], *args: str) -> dict[str, object]:
    with click.Context(cli, default_map=map_, **cli.context_settings) as parent:
        return fuzz.make_context("fuzz", list(args), parent=parent).params


def test_the_nearest_file_says_what_is_not_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n[tool.tzerlike.fuzz]\njobs = 3\nbudget = 90\n")
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    map_ = defaults_for(cli, below)
    assert parsed(map_)["jobs"] == 3
    assert parsed(map_)["budget"] == "90"
    assert parsed(map_, "-j", "5")["jobs"] == 5
    (tmp_path / "a" / "tzerlike.toml").write_text("[fuzz]\nplugin = ['mine']\nout = 'night'\n[ci.batch]\njobs = 2\n")
    map_ = defaults_for(cli, below)
    assert (parsed(map_)["plugins"], parsed(map_)["out"]) == (("mine",), "night")
    assert parsed(map_)["jobs"] is None, "one file, not a mixture"
    assert map_["ci"] == {"batch": {"jobs": 2}}


def test_names_may_be_one_or_a_list(tmp_path: Path) -> None:
    (tmp_path / "tzerlike.toml").write_text('[fuzz]\nplugin = "mine"\noracles = ["crash", "roundtrip"]\n')
    given = parsed(defaults_for(cli, tmp_path))
    assert (given["plugins"], given["oracles"]) == (("mine",), "crash,roundtrip")


def test_a_project_that_says_nothing_of_us_is_passed_by(tmp_path: Path) -> None:
    (tmp_path / "tzerlike.toml").write_text("[fuzz]\njobs = 3\n")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert defaults_for(cli, tmp_path / "a") == {"fuzz": {"jobs": 3}}


def test_a_project_is_read_through_a_link_and_a_huge_one_is_passed_by(tmp_path: Path) -> None:
    (tmp_path / "shared.toml").write_text("[tool.tzerlike.fuzz]\njobs = 3\n")
    (tmp_path / "pyproject.toml").symlink_to("shared.toml")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "pyproject.toml").write_bytes(b"#" * (SCRIPT_BYTES + 1))
    assert defaults_for(cli, tmp_path / "a") == {"fuzz": {"jobs": 3}}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[fuz]\njobs = 3", "fuz: no such command"),
        ("jobs = 3", "jobs: no such command"),
        ("[fuzz]\njob = 3", "fuzz: job: no such option"),
        ("[fuzz", "not readable as TOML"),
        ("[run]\nunconfined = true", "unconfined: can be set only on the command line"),
        ("[replay]\npython = ['./python']", "python: can be set only on the command line"),
        ("[report]\nhtml = '/home/me/.profile'", "html: can be set only on the command line"),
        ("[tvm.build]\nsource = '.'", "source: can be set only on the command line"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "tzerlike.toml").write_text(text)
    with pytest.raises(UserError, match=why):
        defaults_for(cli, tmp_path)


def test_the_command_goes_by_the_file_where_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "tzerlike.toml").write_text("[fuzz]\nbudget = '7h'\n")
    called = [sys.executable, "-m", "tzerlike", "fuzz", "--help"]
    done = subprocess.run(called, cwd=tmp_path, capture_output=True, text=True, env=dict(os.environ), check=True)
    assert "[default: 7h]" in done.stdout


def test_help_comes_where_the_current_directory_is_gone(tmp_path: Path) -> None:
    def called(*words: str) -> subprocess.CompletedProcess[str]:
        gone = tmp_path / "gone"
        gone.mkdir(exist_ok=True)
        script = f'rmdir {gone}; exec {sys.executable} -m tzerlike "$@"'
        # By its own place: where there is no directory, none is looked through for packages.
        variables = {**os.environ, "PYTHONPATH": str(Path(tzerlike.__file__).parents[1])}
        words = ("sh", "-c", script, "sh", *words)
        return subprocess.run(words, cwd=gone, capture_output=True, text=True, env=variables, check=False)

    assert called("--help").returncode == 0
    assert called("fuzz", "--help").returncode == 0
    done = called("fuzz", "--budget", "1s")
    assert done.returncode == 2
    assert done.stderr == "tzerlike: the current directory is gone; change to one that is there\n"
