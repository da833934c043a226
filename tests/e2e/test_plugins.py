"""A campaign with a plug-in that is on the path as an installer leaves it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.e2e.conftest import Command, install

SAMPLE = Path(__file__).parents[1] / "data" / "sample_plugin"


@pytest.mark.long
def test_a_campaign_draws_the_mutators_of_a_plugin(tzerlike: Command, tmp_path: Path) -> None:
    path = os.pathsep.join([str(install(SAMPLE, tmp_path / "site")), str(SAMPLE / "src")])
    out = tmp_path / "campaign"
    fuzz = ("fuzz", "--seed", "1", "--jobs", "1", "--iterations", "90", "--ui", "none", "--coverage", "none", "--out")

    done = tzerlike(*fuzz, out, "--mutators", "constants", "--plugin", "sample", PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    assert {"constants", "sample:doubler"} <= set(json.loads((out / "stats.json").read_text())["mutators"])
    assert 'plugins = ["sample"]' in (out / "campaign.toml").read_text()

    refused = tzerlike(*fuzz, tmp_path / "other", "--plugin", "sample")
    assert refused.returncode == 2
    assert refused.stderr.strip() == "tzerlike: --plugin: no plug-in 'sample' is installed; there are none"
