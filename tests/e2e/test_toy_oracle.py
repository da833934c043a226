"""An oracle in one file and a mutator that runs compiler code, of a plug-in: every command takes what they find."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import Command, environment
from tzerlike.campaign.directory import CampaignDir

CODE = Path(__file__).parents[1] / "data" / "toy_plugin"

SEED = """
from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.sblock("b"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + T.float32({number})
"""

LONG = """
    for j in range(16):
        with T.sblock("c{number}"):
            vj = T.axis.spatial(16, j)
            B[vj] = B[vj] * T.float32(2)
"""

Found = Callable[[str], Path]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where the plug-in is installed, as an installer does it: its code, and its entry points beside it."""
    site = tmp_path_factory.mktemp("site")
    info = site / "tzerlike_toy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tzerlike-toy\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tzerlike.plugins]\ntoy = tzerlike_toy:plugin\n")
    return os.pathsep.join(map(str, (site, CODE)))


@pytest.fixture(scope="module")
def campaign(path: str, tmp_path_factory: pytest.TempPathFactory) -> CampaignDir:
    seeds, root = tmp_path_factory.mktemp("seeds"), tmp_path_factory.mktemp("campaign") / "c"
    (seeds / "long.py").write_text(SEED.format(number=1) + "".join(LONG.format(number=i) for i in range(4)))
    (seeds / "unlucky.py").write_text(SEED.format(number=13))
    options = ["--seed", "1", "--iterations", "16", "--jobs", "1", "--seeds", str(seeds), "--out", str(root)]
    options += ["--oracles", "crash,toy:length", "--plugin", "toy", "--mutators", "constants", "--pass-mode", "none"]
    command = [sys.executable, "-m", "tzerlike", "fuzz", *options, "--ui", "none", "--coverage", "none"]
    subprocess.run(command, env=environment(PYTHONPATH=path), check=True, timeout=600)
    return CampaignDir(root)


@pytest.fixture
def copied(campaign: CampaignDir, tmp_path: Path) -> Found:
    """Make a copy of the one bundle whose name starts so."""

    def copy(name: str) -> Path:
        (found,) = [bundle for bundle in campaign.bundles() if bundle.name.startswith(name)]
        return Path(shutil.copytree(found, tmp_path / found.name))

    return copy


@pytest.mark.long
def test_a_campaign_counts_its_looks_and_bundles_what_it_finds(campaign: CampaignDir, copied: Found) -> None:
    stats = json.loads(campaign.stats.read_text())
    assert stats["faults"] == {}
    assert stats["exits"]["length: long"] and stats["exits"]["length: short"]
    bundle = copied("ice-on-valid-length")
    held = json.loads((bundle / "observation.json").read_text())["environment"]
    assert held["lines"] > 15
    report = (bundle / "report.md").read_text()
    assert report.startswith("# [Bug][TIR] A program is long\n")
    assert f"`tirx.StmtSimplify` leaves it too long: {held['lines']} lines." in report


@pytest.mark.long
def test_a_mutator_that_runs_compiler_code_dies_alone(campaign: CampaignDir, copied: Found) -> None:
    stats = json.loads(campaign.stats.read_text())
    assert stats["mutators"]["toy:unrolled"]["valid"] > 0
    assert stats["exits"]["mutation-died"] > 0, "in a child: the worker went on"
    report = (copied("crash-mutate-schedule-unroll-sigabrt") / "report.md").read_text()
    assert "`Schedule.unroll` crashes: SIGABRT: in Schedule.unroll." in report


@pytest.mark.long
@pytest.mark.parametrize("name", ["ice-on-valid-length", "crash-mutate"])
def test_it_is_found_again(tzerlike: Command, copied: Found, path: str, name: str) -> None:
    bundle = copied(name)
    done = tzerlike("replay", bundle, "--times", "2", PYTHONPATH=path)
    assert (done.returncode, done.stdout.split()[:2]) == (0, ["shows", "2/2"]), done.stdout + done.stderr
    repro = subprocess.run(
        [sys.executable, bundle / "repro.py"], env=environment(PYTHONPATH=path), capture_output=True, timeout=300
    )
    assert repro.returncode != 0 or name == "crash-mutate", "TVM alone comes through the planted death"


@pytest.mark.long
def test_it_is_reduced_as_far_as_it_is_long(tzerlike: Command, copied: Found, path: str) -> None:
    bundle = copied("ice-on-valid-length")
    done = tzerlike("reduce", bundle, "--json", PYTHONPATH=path)
    (said,) = json.loads(done.stdout)
    assert said["status"] == "reduced", done.stdout + done.stderr
    assert said["after"]["nodes"] < said["before"]["nodes"]
    assert json.loads((bundle / "reduced" / "observation.json").read_text())["environment"]["lines"] > 15
    again = tzerlike("replay", bundle / "reduced", PYTHONPATH=path)
    assert again.stdout.startswith("shows 1/1"), again.stdout + again.stderr
    assert "A program is long" in tzerlike("report", bundle, PYTHONPATH=path).stdout


@pytest.mark.long
def test_a_program_that_a_mutator_died_of_is_reduced_too(tzerlike: Command, copied: Found, path: str) -> None:
    bundle = copied("crash-mutate")
    (said,) = json.loads(tzerlike("reduce", bundle, "--json", PYTHONPATH=path).stdout)
    assert said["status"] == "reduced" and said["after"]["nodes"] < said["before"]["nodes"]
    assert tzerlike("replay", bundle / "reduced", PYTHONPATH=path).stdout.startswith("shows 1/1")


@pytest.mark.long
def test_it_is_triaged_and_not_bisected(tzerlike: Command, campaign: CampaignDir, path: str) -> None:
    done = tzerlike("triage", campaign.root, "--json", PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    assert "length" in done.stdout and "crash" in done.stdout
    bundle = next(bundle for bundle in campaign.bundles() if "length" in bundle.name)
    assert "not a finding of a compilation" in tzerlike("bisect", bundle, PYTHONPATH=path).stdout


@pytest.mark.long
def test_without_the_plugin_it_is_a_line(tzerlike: Command, copied: Found) -> None:
    done = tzerlike("replay", copied("ice-on-valid-length"))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "no plug-in 'toy' is installed" in done.stderr
