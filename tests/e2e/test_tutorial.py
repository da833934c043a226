"""The commands of docs/tutorial.md, as they stand; and its reference of commands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT, environment

TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text()
ID = "f15c4509146e"

MORE = 10
"""How many times the budget a campaign gets, at most, for what it finds within one on a machine that is not busy."""


def test_the_reference_is_what_the_commands_say() -> None:
    script = "import command_reference as made; print(made.PAGE.read_text() == made.page())"
    variables = environment(PYTHONPATH=f"{ROOT}:{ROOT / 'scripts'}")
    done = subprocess.run([sys.executable, "-c", script], env=variables, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n", "run python scripts/command_reference.py"


@pytest.mark.long
def test_every_command_of_the_tutorial_works(tmp_path: Path) -> None:
    (kernel,) = re.findall(r"```python\n(.*?)```", TUTORIAL, re.DOTALL)
    (tmp_path / "kernel.py").write_text(kernel)
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "tzerlike"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m tzerlike "$@"\n')
    script.chmod(0o755)
    variables = environment(PYTHONPATH=str(ROOT))
    variables["PATH"] = f"{script.parent}:{variables['PATH']}"
    found = ""
    blocks = re.findall(r"```console\n(.*?)```", TUTORIAL, re.DOTALL)
    assert len(blocks) >= 6
    for block in blocks:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            # Another version of TVM, or of the mutators, finds another bug first.
            ran = subprocess.run(
                command.replace(ID, found or ID),
                shell=True,
                cwd=tmp_path,
                env=variables,
                capture_output=True,
                text=True,
                check=False,
            )
            expected = 1 if command.startswith("tzerlike run ") else 0
            assert ran.returncode == expected, f"{command}: {ran.stdout[-800:]}{ran.stderr[-800:]}"
            assert ran.stdout.startswith(shown), f"{command}: {ran.stdout}"
            if not found and " fuzz " in command:
                found = next(path.name[-12:] for path in sorted((tmp_path / "first/findings").iterdir()))
                (listed,) = re.findall(r"```\n\d+ findings?; tier 1 is .*?\n(.*?)```", TUTORIAL, re.DOTALL)
                # It may find more: the first run on a machine was seen to reach other code than later ones.
                assert set(listed.splitlines()) <= set(ran.stdout.splitlines()), ran.stdout
    assert "### Steps to reproduce" in (tmp_path / "issue.md").read_text()
    assert (tmp_path / "first.html").stat().st_size > 10_000


@pytest.mark.long
def test_a_first_finding_in_a_model_takes_two_commands(tmp_path: Path) -> None:
    """Those of README, as they stand but for where tzerlike is."""
    about = (ROOT / "README.md").read_text().partition("### Whole models")[2]
    block = re.findall(r"```\n(\$ .*?)```", about, re.DOTALL)[0]
    fuzz, repro = re.findall(r"^\$ (.*)$", block, re.MULTILINE)
    (said,) = re.findall(r"^(?!\$ )(.+)$", block, re.MULTILINE)

    def run(command: str, status: int, root: str) -> str:
        here = command.replace(".venv/bin/python", sys.executable)
        here = here.replace(".venv/bin/tzerlike", f"{sys.executable} -m tzerlike")
        variables = environment(PYTHONPATH=root)
        ran = subprocess.run(here, shell=True, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
        assert ran.returncode == status, f"{command}: {ran.stdout[-800:]}{ran.stderr[-800:]}"
        return ran.stderr

    run(fuzz, 0, str(ROOT))
    (shown,) = re.findall(r"\S+/repro\.py", repro)
    (minutes,) = re.findall(r"--budget (\d+)m", fuzz)
    for times in range(2, MORE + 1):
        if list(tmp_path.glob(shown)):
            break
        run(fuzz.replace(f"{minutes}m", f"{times * int(minutes)}m --resume"), 0, str(ROOT))
    assert run(repro, 1, "").strip().splitlines()[-1] == said
