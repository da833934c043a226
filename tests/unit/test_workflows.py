"""The workflows name commands and options that exist, and files that the commands write."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from tzerlike.cli.main import cli
from tzerlike.reporting.ci.files import SARIF, SUMMARY

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from run_workflow import read_workflow, run_job, wanted  # noqa: E402 - it is a script

TO_COPY = sorted((ROOT / "docs" / "workflows").glob("*.yml"))
WORKFLOWS = [*sorted((ROOT / ".github" / "workflows").glob("*.yml")), *TO_COPY]


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in read_workflow(path)["jobs"].values() for step in job["steps"]]


def commands(path: Path) -> list[list[str]]:
    """The command lines of tzerlike, without the program."""
    lines = [shlex.split(line) for step in steps(path) for line in step.get("run", "").splitlines()]
    return [line[1:] for line in lines if line[0].rpartition("/")[2] == "tzerlike"]


def parsed(line: list[str]) -> click.Context:
    """Parse a command line as tzerlike does, without running it; click.UsageError when it would refuse it."""
    command: click.Command = cli
    rest = list(line)
    while isinstance(command, click.Group):
        name, found, rest = command.resolve_command(click.Context(command), rest)
        assert found is not None, name
        command = found
    return command.make_context(command.name, rest)


def option(line: list[str], name: str) -> str:
    return line[line.index(name) + 1]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_command_parses(path: Path) -> None:
    lines = commands(path)
    assert lines
    for line in lines:
        parsed(line)


def test_an_option_that_does_not_exist_would_be_noticed() -> None:
    with pytest.raises(click.UsageError):
        parsed(["ci", "batch", "--carry", "x", "--no-such-option"])
    with pytest.raises(click.UsageError):
        parsed(["ci", "no-such-mode"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_what_is_restored_saved_and_uploaded_is_what_the_commands_use(path: Path) -> None:
    (fuzz,) = [line for line in commands(path) if line[1] in ("batch", "pr")]
    state, output = option(fuzz, "--carry"), option(fuzz, "--output")
    caches = [step for step in steps(path) if step.get("uses", "").startswith("actions/cache")]
    assert {step["with"]["path"] for step in caches} == {state}
    kinds = [step["uses"].partition("@")[0].rpartition("/")[2] for step in caches]
    assert kinds == (["restore", "save"] if fuzz[1] == "batch" else ["restore"])
    for step in caches:
        assert step["with"]["key"].startswith(caches[0]["with"]["restore-keys"])
    uploads = {step["uses"].partition("@")[0]: step for step in steps(path) if "upload" in step.get("uses", "")}
    assert uploads["github/codeql-action/upload-sarif"]["with"]["sarif_file"] == f"{output}/{SARIF}"
    assert output in uploads["actions/upload-artifact"]["with"]["path"].splitlines()
    assert any(f"{output}/{SUMMARY}" in step.get("run", "") for step in steps(path))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_new_finding_keeps_nothing_from_being_saved(path: Path) -> None:
    """The step that fuzzes fails for a new finding; everything behind it runs all the same."""
    job = read_workflow(path)["jobs"]["fuzz"]
    names = [step.get("name") for step in job["steps"]]
    behind = job["steps"][names.index("Fuzz") + 1 :]
    assert behind
    assert all("always()" in step["if"] for step in behind)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_programs_and_actions_are_there(path: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for step in steps(path):
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w/-]+@v\d+", step["uses"])
            continue
        program, *rest = shlex.split(step["run"].splitlines()[0])
        assert program in ("make", "cat", "pip", "tzerlike", ".venv/bin/tzerlike") or os.access(
            ROOT / program, os.X_OK
        ), program
        assert program != "make" or set(rest) <= targets


@pytest.mark.parametrize("path", TO_COPY, ids=lambda path: path.name)
def test_what_is_to_be_copied_needs_nothing_of_this_repository(path: Path) -> None:
    programs = {shlex.split(line)[0] for step in steps(path) for line in step.get("run", "").splitlines()}
    assert programs == {"pip", "tzerlike", "cat"}
    assert read_workflow(path)["jobs"]["fuzz"]["env"]["TZERLIKE"]
    assert list(read_workflow(path)["jobs"]) == ["fuzz"]


def test_conditions(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    assert wanted("", False, tmp_path)
    assert not wanted("", True, tmp_path)
    assert wanted("always()", True, tmp_path)
    assert wanted("always() && hashFiles('a') != ''", True, tmp_path)
    assert not wanted("hashFiles('b/*') != ''", False, tmp_path)
    with pytest.raises(ValueError, match="only the service"):
        wanted("github.actor == 'x'", False, tmp_path)


def test_steps_run_in_order_and_a_failure_is_kept(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    job = {
        "steps": [
            {"uses": "actions/checkout@v4"},
            {"run": "echo $WORD; exit 3", "continue-on-error": "true"},
            {"run": "false | true"},
            {"run": "echo skipped"},
            {"run": "echo kept > file", "if": "always()"},
        ]
    }
    assert run_job(job, {"WORD": "first"}, tmp_path) == 1
    assert (tmp_path / "file").read_text() == "kept\n"
    assert "\nfirst\n" in capfd.readouterr().out
    assert not (tmp_path / "skipped").exists()


def test_what_is_no_workflow_is_refused(tmp_path: Path) -> None:
    for text in ("a: [1, 2\n", "a: 1\na: 2\n", "a: 1\n   b: 2\n", "just text\n"):
        (tmp_path / "w.yml").write_text(text)
        with pytest.raises(ValueError, match="not understood"):
            read_workflow(tmp_path / "w.yml")
