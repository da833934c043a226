"""The examples of docs/library.md give what stands there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT, environment


@pytest.mark.long
def test_the_examples_of_the_documentation(tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    (tmp_path / "seeds").mkdir()
    seed = "bfloat16_in_a_bind.py"
    (tmp_path / "seeds" / seed).write_text((ROOT / "docs" / "bugs" / seed).read_text())
    done = subprocess.run(
        [sys.executable, "-m", "doctest", "docs/library.md"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
