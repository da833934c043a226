"""What somebody sees who has just installed it: a welcome, help in groups, variables, tables that can be piped."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.supervisor import resolve
from tzerlike.cli.commands.coverage import _print_rows, _tried
from tzerlike.cli.commands.fuzz import fuzz
from tzerlike.cli.commands.shared import print_table
from tzerlike.cli.main import cli
from tzerlike.cli.screen import print_line
from tzerlike.core.config import CampaignConfig
from tzerlike.core.errors import UserError
from tzerlike.coverage.source.places import Places
from tzerlike.coverage.source.totals import BlockTally


def test_without_arguments_it_says_what_it_is_and_three_commands() -> None:
    done = CliRunner().invoke(cli, [])
    assert done.exit_code == 0
    commands = [line.split()[1] for line in done.output.splitlines() if line.startswith("  tzerlike ")]
    assert len(commands) == 3
    assert set(commands) <= set(cli.list_commands(click.Context(cli)))
    assert "TVM" in done.output


def test_help_says_the_exit_status_variables_and_completion() -> None:
    text = CliRunner().invoke(cli, ["--help"]).output
    for said in ("Exit status:", "130", "TZERLIKE_FUZZ_BUDGET", "Completion"):
        assert said in text
    assert CliRunner().invoke(cli, ["-V"]).output == CliRunner().invoke(cli, ["--version"]).output


def test_every_option_of_fuzz_is_in_a_group_with_a_line_of_help() -> None:
    text = CliRunner().invoke(cli, ["fuzz", "-h"]).output
    for param in fuzz.params:
        assert isinstance(param, click.Option)
        assert param.help, param.name
        assert text.count(f"{param.opts[0]} ") >= 1, param.name
    assert text.partition("\nOther:\n")[2].split() == ["-h,", "--help", "Show", "this", "message", "and", "exit."]


@pytest.mark.parametrize(
    ("words", "variables", "expected"),
    [
        (["-o", "x", "-j", "3", "-s", "7", "-q"], {}, {"out": "x", "jobs": 3, "seed": 7, "quiet": True}),
        (["-v"], {}, {"verbose": True}),
        ([], {"TZERLIKE_FUZZ_BUDGET": "90", "TZERLIKE_FUZZ_JOBS": "2"}, {"budget": "90", "jobs": 2}),
        (["--jobs", "5"], {"TZERLIKE_FUZZ_JOBS": "2"}, {"jobs": 5}),
    ],
)
def test_short_options_and_variables(
    words: list[str], variables: dict[str, str], expected: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    parent = click.Context(cli, info_name="tzerlike", auto_envvar_prefix="TZERLIKE")
    params = fuzz.make_context("fuzz", words, parent=parent).params
    assert {name: params[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("fuzz --harness nobody:x", "--harness: no plug-in 'nobody'"),
        ("fuzz --system nobody:x", "--system: no plug-in 'nobody'"),
        ("run / --oracles nobody:x", "--oracles: no plug-in 'nobody'"),
        ("run /", "/: a directory, and no bundle; name a .py file"),
        ("report nowhere", "nowhere: not a campaign (no such directory)"),
        ("coverage nowhere", "nowhere: not a campaign (no such directory)"),
        ("passes list --campaign nowhere", "nowhere: not a campaign (no such directory)"),
        ("mutators list --campaign nowhere", "nowhere: not a campaign (no such directory)"),
    ],
)
def test_what_is_not_there_is_named_by_who_asks_for_it(words: str, says: str) -> None:
    done = CliRunner().invoke(cli, words.split())
    assert isinstance(done.exception, UserError), done.exception
    assert str(done.exception).startswith(says)


def test_the_prefix_of_variables_is_that_of_the_command() -> None:
    assert cli.context_settings["auto_envvar_prefix"] == "TZERLIKE"


def test_a_table_in_a_pipe_has_a_line_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    path = "/".join(["campaign", "findings", "crash-" + "x" * 300])
    print_table(("path", "number"), [{"path": path, "number": 1}, {"path": "b", "number": 22}])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [["path", "number"], [path, "1"], ["b", "22"]]
    assert all(line == line.rstrip() for line in lines)


def test_words_of_a_program_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    title = "A[3:-1:-1] is C[i], not [/b]"
    print_table(("title",), [{"title": title}])
    print_line(Console(), title)
    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == ["title", title, title]


@pytest.mark.parametrize(
    ("name", "value", "option"),
    [("seed", 3, "--seed"), ("target", "cuda", "--target"), ("jobs", 3, "--jobs"), ("plugins", ("x",), "--plugin")],
)
def test_a_resumed_campaign_refuses_what_it_would_ignore(tmp_path: Path, name: str, value: object, option: str) -> None:
    directory = CampaignDir(tmp_path / "c")
    directory.create(1)
    stored = CampaignConfig(seed=5)
    directory.config.write_text(stored.to_toml())
    changed = replace(stored, **{name: value})  # type: ignore[arg-type]
    with pytest.raises(UserError, match=f"^{option}: .* keeps its own value"):
        resolve(changed, directory, resume=True, given=[name])
    assert resolve(changed, directory, resume=True, given=[]) == stored, "what was not given is as it was"
    assert resolve(stored, directory, resume=True, given=[name]) == stored, "the same again changes nothing"
    longer = resolve(replace(stored, budget=99.0), directory, resume=True, given=["budget", "out", "resume"])
    assert longer == replace(stored, budget=99.0)


def test_coverage_by_pass_calls_none_never_reached_that_was_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = CampaignDir(tmp_path / "c")
    directory.create(1)
    row = {"valid": 0, "valuable": 0}
    passes = {"tirx.Tried": {"tried": 204, **row}, "tirx.Never": {"tried": 0, **row}}
    directory.stats.write_text(json.dumps({"passes": passes}))
    functions = tuple(f"tvm::tirx::transform::{name}()" for name in ("Tried", "Never"))
    unknown = np.full(2, -1, np.int32)
    places = Places((), functions, unknown, np.arange(2, dtype=np.int32), np.zeros(2, np.int32))
    _print_rows(BlockTally(places, np.zeros(2, np.bool_)), "pass", "", _tried(directory))
    assert capsys.readouterr().out.splitlines()[-1] == "1 pass never reached: tirx.Never"


def test_a_fault_of_ours_has_a_status_of_its_own() -> None:
    """Status 1 says that something was found."""
    code = "from tzerlike.cli import main; main.cli.main = lambda **_: 1 // 0; main.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 70
    assert "ZeroDivisionError" in done.stderr and done.stderr.endswith("tzerlike: internal error, please report it\n")
