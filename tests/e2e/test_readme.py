"""The commands of the documents, as they stand but for budgets: each parses, and what can be run here is run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tests.e2e.conftest import ROOT, environment
from tzerlike.cli.main import cli

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
RUN = ("README.md", "docs/guide.md", "docs/forks.md", "docs/research.md")
ELSEWHERE = {
    "mine": "a plug-in or a build of the reader's: tests/e2e/test_plugins.py, test_system.py, test_toy_harness.py",
    "tvm build": "half an hour each: tests/e2e/test_tvm_build.py",
    "--python": "environments of other versions: tests/e2e/test_versions.py",
    "--harness graph": "tests/e2e/test_tutorial.py",
    "tvm add": "tests/e2e/test_added_tvms.py",
    "--tvm all": "what was added: tests/e2e/test_added_tvms.py",
}
"""What is not run here, by what is in the line, and what runs it."""


def commands(path: Path) -> list[str]:
    """The lines of code blocks that call tzerlike, without prompts and remarks."""
    blocks = re.findall(r"^```(?:console)?\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE)
    lines = [line.removeprefix("$ ").split("  #")[0] for block in blocks for line in block.splitlines()]
    calls = [line[line.index("tzerlike ") :] for line in lines if re.match(r"(\.venv/bin/|pip .*&& )?tzerlike ", line)]
    return [re.sub(r"\s+#.*| > .*", "", call).strip() for call in calls]


EVERY = [(path.name, line) for path in DOCUMENTS for line in commands(path)]


def test_there_are_commands() -> None:
    assert len(EVERY) > 30


@pytest.mark.parametrize(("document", "line"), EVERY)
def test_every_command_in_the_documents_parses(document: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    command: click.Command = cli
    # A command keeps the help option that it has under its first parent.
    parent = click.Context(cli, **cli.context_settings)
    words = shlex.split(line)[1:]
    while isinstance(command, click.Group) and words:
        name, found, words = command.resolve_command(parent, words)
        assert found is not None, name
        command = found
    # Files are there or not: that is for whoever runs it.
    for parameter in command.params:
        if isinstance(parameter.type, click.Path):
            monkeypatch.setattr(parameter, "type", click.STRING)
    command.make_context(command.name, words, parent)


OWN = """\
from tvm.script import tirx as T

N = 4


@T.prim_func
def main(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    for i in range(N):
        B[i] = A[i] + T.float32(1)
"""


@pytest.mark.long
def test_every_command_of_readme_and_guides_runs(tmp_path: Path) -> None:
    """In a directory with a small campaign under each name that README gives to one."""
    (tmp_path / "my_module.py").write_text(OWN)
    (tmp_path / "known.toml").write_text("")
    for name in ("docs", "seeds"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "tzerlike"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m tzerlike "$@"\n')
    script.chmod(0o755)
    variables = environment(PYTHONPATH=str(ROOT))
    variables["PATH"] = f"{script.parent}:{os.environ['PATH']}"

    def call(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            line, shell=True, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
        )

    first = "tzerlike fuzz --iterations 60 --jobs 1 --seed 5 --out nightly"
    assert call(first).returncode == 0
    for other in ("nightly-1", "nightly-2", "monday", "tuesday", "lastweek", "paper-1"):
        shutil.copytree(tmp_path / "nightly", tmp_path / other)
    bundles = sorted((tmp_path / "nightly" / "findings").iterdir())
    shutil.copytree(bundles[0], tmp_path / "mended" / bundles[0].name)
    shutil.copytree(tmp_path / "nightly", tmp_path / "campaign-x")
    bad = []
    for line in dict.fromkeys(line for page in RUN for line in commands(ROOT / page)):
        if any(mark in line for mark in ELSEWHERE):
            continue
        short = re.sub(r"--budget \w+", "--budget 5s", line).replace("--jobs 8", "--jobs 2")
        if line.startswith("tzerlike fuzz") and "--budget" not in line:
            short += " --budget 5s"
        if line.startswith("tzerlike fuzz") and "--resume" not in line:
            shutil.rmtree(tmp_path / "again", ignore_errors=True)
            short = re.sub(r" --out \S+", "", short) + " --out again"
        if line.startswith("tzerlike fuzz --resume"):
            # It has made all of its iterations, and ends at once.
            short = short.replace("--budget 5s", "--budget 8h")
        if "wrong-code-*" in short:
            short = short.replace("wrong-code-*", "*")
        done = call(short)
        # 1: there is a finding, a bundle still shows, or one stays as it is.
        if done.returncode not in (0, 1) or "Traceback" in done.stderr:
            bad.append(f"{short}: {done.returncode} {done.stdout[-300:]}{done.stderr[-300:]}")
    assert not bad, "\n".join(bad)
