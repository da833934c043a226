"""A system of somebody else's, from a campaign on it to its bundles: TVM under another name, one pass renamed."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.e2e.conftest import CACHE, Command, install
from tzerlike.core.case import Case, PassSpec
from tzerlike.core.stored import Provenance, StoredCase

TOY = Path(__file__).parents[1] / "data" / "toy_system"
SYSTEM = "toy:squeezer"
SQUEEZE = "tirx.Squeeze"


def fatal(directory: Path) -> Path:
    """A corpus of one pair, which TVM dies of: NarrowDataType to 8 bits, by its name in the toy."""
    from tzerlike.tir.seeds import builtin_seeds

    (seed,) = (seed for seed in builtin_seeds(CACHE / "tzerlike") if seed.name == "topi.tensor_size.f32_3x4")
    case = Case(seed.ir, (PassSpec(SQUEEZE, (("target_bits", 8),)),))
    directory.mkdir()
    stored = StoredCase(case, Provenance(seed.name)).to_json()
    (directory / f"{case.id}.json").write_text(json.dumps(stored))
    return directory


def test_a_campaign_on_a_system_of_a_plugin_and_what_becomes_of_its_bundle(tzerlike: Command, tmp_path: Path) -> None:
    path = os.pathsep.join([str(install(TOY, tmp_path / "site")), str(TOY / "src")])
    out = tmp_path / "campaign"
    fuzz = ("fuzz", "--system", SYSTEM, "--seed", "1", "--jobs", "1", "--iterations", "30", "--oracles", "crash")

    done = tzerlike(*fuzz, "--ui", "none", "--out", out, "--corpus", fatal(tmp_path / "corpus"), PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    assert f'system = "{SYSTEM}"' in (out / "campaign.toml").read_text()
    assert json.loads((out / "environment.json").read_text())["system"] == SYSTEM
    stats = json.loads((out / "stats.json").read_text())
    assert SQUEEZE in stats["passes"]
    assert "tirx.NarrowDataType" not in stats["passes"]
    (bundle,) = (out / "findings").glob("crash-*")
    assert SQUEEZE in (bundle / "case.json").read_text()

    replayed = tzerlike("replay", bundle, PYTHONPATH=path)
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    assert "tirx.transform.NarrowDataType(target_bits=8)" in (bundle / "repro.py").read_text()

    report = json.loads(tzerlike("report", out, "--json", PYTHONPATH=path).stdout)
    assert [finding["signature"] for finding in report["findings"]] == [bundle.name[-12:]]
    groups = json.loads(tzerlike("triage", out, "--json", PYTHONPATH=path).stdout)
    assert bundle.name in json.dumps(groups)


def test_a_system_that_there_is_not(tzerlike: Command, tmp_path: Path) -> None:
    refused = tzerlike("fuzz", "--system", "tvn", "--out", tmp_path / "campaign")
    assert refused.returncode == 2
    assert refused.stderr.strip() == "tzerlike: --system: no system 'tvn'; there are tvm"
