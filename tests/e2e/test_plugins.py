"""A campaign with a plug-in that is on the path as an installer leaves it."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

from tests.e2e.conftest import Command

SAMPLE = Path(__file__).parents[1] / "data" / "sample_plugin"


def test_a_campaign_draws_the_mutators_of_a_plugin(tzerlike: Command, tmp_path: Path) -> None:
    project = tomllib.loads((SAMPLE / "pyproject.toml").read_text())["project"]
    info = tmp_path / "site" / "tzerlike_sample-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tzerlike-sample\nVersion: 1.0\n")
    points = [f"{key} = {value}" for key, value in project["entry-points"]["tzerlike.plugins"].items()]
    (info / "entry_points.txt").write_text("\n".join(["[tzerlike.plugins]", *points, ""]))
    path = os.pathsep.join([str(tmp_path / "site"), str(SAMPLE / "src")])
    out = tmp_path / "campaign"
    fuzz = ("fuzz", "--seed", "1", "--jobs", "1", "--iterations", "90", "--ui", "none", "--coverage", "none", "--out")

    done = tzerlike(*fuzz, out, "--mutators", "constants", "--plugin", "sample", PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    assert {"constants", "sample:doubler"} <= set(json.loads((out / "stats.json").read_text())["mutators"])
    assert 'plugins = ["sample"]' in (out / "campaign.toml").read_text()

    refused = tzerlike(*fuzz, tmp_path / "other", "--plugin", "sample")
    assert refused.returncode == 2
    assert refused.stderr.strip() == "tzerlike: --plugin: no plug-in 'sample' is installed; there are none"
