"""Long work shows how far it is on a terminal, and nothing in a pipe."""

from __future__ import annotations

import io
import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from tests.bundles import add_bundle, crashed
from tzerlike.campaign.directory import CampaignDir
from tzerlike.cli.commands import tvm as tvm_command
from tzerlike.cli.commands.report import report
from tzerlike.cli.progress import progress
from tzerlike.core.finding import Signed
from tzerlike.systems.builds.ninja import Progress


def test_a_terminal_shows_how_many_of_how_many_are_done() -> None:
    out = io.StringIO()
    with progress("bundles", Console(file=out, force_terminal=True, width=120)) as steps:
        steps(3, 10, "crash-[bold]x\x1b[2J")
    text = out.getvalue()
    assert "bundles" in text and "3/10" in text and "left" in text
    assert "crash-[bold]x" in text and "\x1b[2J" not in text, "a name is no markup, and moves no cursor"


def test_a_pipe_shows_nothing() -> None:
    out = io.StringIO()
    with progress("bundles", Console(file=out)) as steps:
        steps(3, 10, "crash")
    assert out.getvalue() == ""


@pytest.mark.parametrize("terminal", [True, False])
def test_triage_and_report_show_it_on_stderr_alone(tmp_path: Path, terminal: bool) -> None:
    directory = CampaignDir(tmp_path / "campaign")
    directory.create(1)
    for number in range(3):
        add_bundle(directory.findings, Signed("crash", (f"{number}",)), crashed(f"tirx.{number}", "lib+0x1"))
    for command in ("triage", "report"):
        ours, theirs = pty.openpty()
        done = subprocess.run(
            [sys.executable, "-m", "tzerlike", command, directory.root],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=theirs if terminal else subprocess.PIPE,
            env={**os.environ, "TERM": "xterm"},
            timeout=60,
            check=True,
        )
        os.close(theirs)
        shown = os.read(ours, 1 << 16) if terminal else b""
        os.close(ours)
        assert (b"3/3" in shown) is terminal
        assert b"\x1b" not in done.stdout and b"3/3" not in done.stdout
        assert not terminal or b"crash" in done.stdout
        assert terminal or done.stderr == b""


def test_a_build_of_tvm_has_a_bar_on_a_terminal_and_lines_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    shown = io.StringIO()
    screen = tvm_command._Screen(Console(file=shown, force_terminal=True, width=100))
    screen.show(Progress(3, 10, 60.0, 140.0))
    screen.tell("installing")
    screen.show(Progress(4, 10, 80.0, 120.0))
    screen.close()
    assert "build" in shown.getvalue() and "3/10" in shown.getvalue() and "4/10" in shown.getvalue()
    assert capsys.readouterr().err == "installing\n"
    piped = tvm_command._Screen(Console(file=io.StringIO(), force_terminal=False))
    piped.show(Progress(10, 10, 60.0, 0.0))
    assert "10 of 10 steps" in capsys.readouterr().err


REPORTS = Path(__file__).parents[2] / "data" / "reports"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("hang-build", True), ("oom-passes", False), ("crash-rewrite", False), ("crash-mutate", True)],
)
def test_a_report_of_a_bundle_says_beside_it_that_it_is_not_reduced(name: str, hint: bool) -> None:
    (path,) = REPORTS.glob(f"{name}*")
    done = CliRunner().invoke(report, [str(path)])
    assert (done.stderr == f"not reduced yet: tzerlike reduce {path}\n") is hint
    assert hint or not done.stderr
    assert "not reduced" not in done.stdout


def test_a_report_of_a_bundle_says_that_it_was_reduced_roughly(tmp_path: Path) -> None:
    (path,) = REPORTS.glob("oom-passes*")
    shutil.copytree(path, tmp_path / "bundle")
    seen = tmp_path / "bundle" / "reduced" / "observation.json"
    record = json.loads(seen.read_text())
    seen.write_text(json.dumps({**record, "environment": {**record["environment"], "reduced_roughly": True}}))
    done = CliRunner().invoke(report, [str(tmp_path / "bundle")])
    assert done.stderr == f"only reduced roughly so far: tzerlike reduce {tmp_path / 'bundle'}\n"
