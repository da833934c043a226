"""An internal error on a program that is undefined elsewhere, from a campaign to its bundle."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import environment
from tzerlike.campaign.directory import CampaignDir

SEED = """
from tvm.script import tirx as T


@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        B[i] = A[i + 1]
    for i in T.parallel(4):
        A[0] = A[0] + i
    B[3] = T.reinterpret("int32", T.uint32(0)) + B[2]
"""


@pytest.mark.long
def test_a_smaller_program_that_is_defined_shows_it(tmp_path: Path) -> None:
    (tmp_path / "seeds").mkdir()
    (tmp_path / "seeds" / "undefined.py").write_text(SEED)
    options = ["--seed", "1", "--iterations", "2", "--jobs", "1", "--seeds", str(tmp_path / "seeds"), "--ui", "none"]
    options += ["--mutators", "none", "--pass-mode", "none", "--coverage", "none", "--out", str(tmp_path / "c")]
    command = [sys.executable, "-m", "tzerlike", "fuzz", *options, "--oracles", "crash,internal-error"]
    subprocess.run(command, env=environment(), check=True, timeout=600)
    (bundle,) = CampaignDir(tmp_path / "c").bundles()
    observed = json.loads((bundle / "observation.json").read_text())
    assert "zero reinterpret shortcut" in observed["observation"]["message"]
    assert observed["tier"] == 1
    assert json.loads((tmp_path / "c" / "stats.json").read_text())["exits"]["doubtful: defined"] == 1
    assert "parallel" not in (bundle / "module.py").read_text()
