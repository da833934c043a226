"""A schedule primitive of TVM 0.27 that leaves ill-typed IR, from a campaign to its bundle: cache_index, whose buffer
of two dimensions has one stride."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Command, environment
from tzerlike.campaign.directory import CampaignDir

SEED = """
from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((4, 8), "float32")):
    for i, j in T.grid(4, 8):
        with T.sblock("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi // 2 * 4 + vj // 4 * 2 + vi % 2] + A[vi // 2 * 4 + vj // 4 * 2]
"""


pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("campaign")
    (root / "seeds").mkdir()
    (root / "seeds" / "gather.py").write_text(SEED)
    options = ["--seed", "1", "--iterations", "30", "--jobs", "1", "--seeds", str(root / "seeds"), "--ui", "none"]
    options += ["--oracles", "primitives", "--mutators", "schedule-blocks", "--pass-mode", "none", "--coverage", "none"]
    command = [sys.executable, "-m", "tzerlike", "fuzz", *options, "--out", str(root / "c")]
    subprocess.run(command, env=environment(), check=True, timeout=600)
    return root / "c"


def test_it_is_bundled_with_its_tier_and_shows_again(tzerlike: Command, root: Path) -> None:
    bundle = next(path for path in CampaignDir(root).bundles() if "cache-index-strides" in path.name)
    assert bundle.name.startswith("invalid-ir-schedule-cache-index-strides")
    # The documentation of the primitive prints what comes out.
    assert json.loads((bundle / "observation.json").read_text())["tier"] == 2
    done = tzerlike("replay", bundle, "--times", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("shows 2/2")
    assert list((root / "faults").glob("*")) == []
    done = tzerlike("triage", root)
    assert done.returncode == 0, done.stderr
    assert "cache_index" in done.stdout


def test_a_damaged_mutation_is_one_line(tzerlike: Command, root: Path) -> None:
    bundle = next(path for path in CampaignDir(root).bundles() if "cache-index-strides" in path.name)
    observed = json.loads((bundle / "observation.json").read_text())
    observed["environment"]["mutation"] = {"seed": "x"}
    (bundle / "observation.json").write_text(json.dumps(observed))
    done = tzerlike("replay", bundle)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "observation.json" in done.stderr
