"""A system of somebody else's, from a campaign on it to its bundles: TVM under another name, one pass renamed."""

from __future__ import annotations

import json
import os
import shutil
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.conftest import CACHE, Command, install
from tzerlike.campaign.directory import CampaignDir
from tzerlike.core.case import Case, PassSpec
from tzerlike.core.stored import Provenance, StoredCase

TOY = Path(__file__).parents[1] / "data" / "toy_system"
SYSTEM = "toy:squeezer"
SQUEEZE, IN_TVM = "tirx.Squeeze", "tirx.NarrowDataType"
RENAMED = ("--passes", f"{SQUEEZE}{{target_bits=32}}")


@pytest.fixture(scope="module")
def toy(tzerlike: Command, tmp_path_factory: pytest.TempPathFactory) -> Command:
    """The command where the toy is installed."""
    site = install(TOY, tmp_path_factory.mktemp("toy") / "site")
    return partial(tzerlike, PYTHONPATH=os.pathsep.join([str(site), str(TOY / "src")]))


@pytest.fixture(scope="module")
def campaign(toy: Command, tmp_path_factory: pytest.TempPathFactory) -> CampaignDir:
    """A small campaign on the toy, which dies of the pair that it begins with."""
    root = tmp_path_factory.mktemp("campaign")
    fuzz = ("fuzz", "--system", SYSTEM, "--seed", "1", "--jobs", "1", "--iterations", "30", "--oracles", "crash")
    done = toy(*fuzz, "--ui", "none", "--out", root / "c", "--corpus", fatal(root / "corpus"))
    assert done.returncode == 0, done.stderr
    return CampaignDir(root / "c")


@pytest.fixture(scope="module")
def bundle(campaign: CampaignDir) -> Path:
    (path,) = (path for path in campaign.bundles() if path.name.startswith("crash-"))
    return path


def fatal(directory: Path) -> Path:
    """A corpus of one pair, which TVM dies of: NarrowDataType to 8 bits, by its name in the toy."""
    from tzerlike.tir.seeds import builtin_seeds

    (seed,) = (seed for seed in builtin_seeds(CACHE / "tzerlike") if seed.name == "topi.tensor_size.f32_3x4")
    case = Case(seed.ir, (PassSpec(SQUEEZE, (("target_bits", 8),)),))
    directory.mkdir(parents=True)
    stored = StoredCase(case, Provenance(seed.name)).to_json()
    (directory / f"{case.id}.json").write_text(json.dumps(stored))
    return directory


@pytest.mark.long
def test_a_campaign_records_its_system_and_uses_its_names(campaign: CampaignDir, bundle: Path) -> None:
    assert f'system = "{SYSTEM}"' in campaign.config.read_text()
    assert json.loads((campaign.root / "environment.json").read_text())["system"] == SYSTEM
    passes = json.loads(campaign.stats.read_text())["passes"]
    assert SQUEEZE in passes
    assert IN_TVM not in passes
    assert SQUEEZE in (bundle / "case.json").read_text()
    assert "tirx.transform.NarrowDataType(target_bits=8)" in (bundle / "repro.py").read_text()


@pytest.mark.long
def test_its_bundle_is_reduced_and_both_replay(toy: Command, bundle: Path) -> None:
    done = toy("reduce", bundle, "--jobs", "1", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    (reduction,) = json.loads(done.stdout)
    assert reduction["status"] == "reduced"
    assert reduction["after"]["nodes"] < reduction["before"]["nodes"]
    (left,) = json.loads((bundle / "reduced" / "case.json").read_text())["case"]["passes"]
    assert left["name"] == SQUEEZE
    assert "tirx.transform.NarrowDataType(" in (bundle / "reduced" / "repro.py").read_text()
    smallest = (bundle / "reduced" / "module.py").read_text().splitlines()[-1].strip()
    assert smallest in (bundle / "report.md").read_text()

    replayed = toy("replay", bundle, bundle / "reduced")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr


@pytest.mark.long
def test_it_is_reported_and_triaged(toy: Command, campaign: CampaignDir, bundle: Path) -> None:
    report = json.loads(toy("report", campaign.root, "--json").stdout)
    assert [finding["signature"] for finding in report["findings"]] == [bundle.name[-12:]]
    groups = json.loads(toy("triage", campaign.root, "--json").stdout)
    assert bundle.name in json.dumps(groups)


@pytest.mark.long
def test_its_corpus_is_minimised_on_the_system_of_the_campaign(
    toy: Command, campaign: CampaignDir, tmp_path: Path
) -> None:
    path = next(path for path in sorted(campaign.corpus.iterdir()) if SQUEEZE in path.read_text())
    (tmp_path / "corpus").mkdir()
    shutil.copy(path, tmp_path / "corpus")
    shutil.copy(campaign.config, tmp_path)
    done = toy("corpus", "minimize", tmp_path, "--json")
    assert (done.returncode, json.loads(done.stdout or "{}").get("kept")) == (0, 1), done.stderr


@pytest.mark.long
def test_run_knows_the_names_of_the_system_that_it_is_given(toy: Command) -> None:
    program = Path(__file__).parents[2] / "docs" / "bugs" / "bfloat16_in_a_bind.py"
    run = ("run", program, "--oracles", "crash", *RENAMED)
    judged = toy(*run, "--system", SYSTEM)
    assert judged.returncode == 0, judged.stderr
    assert judged.stdout.startswith("ok in done")
    refused = toy(*run)
    assert refused.returncode == 2
    assert f"no pass '{SQUEEZE}' in this TVM" in refused.stderr


def test_passes_list_has_the_other_name_and_what_is_known_of_the_pass(toy: Command) -> None:
    def listed(*options: str) -> dict[str, dict[str, object]]:
        return {row.pop("name"): row for row in json.loads(toy("passes", "list", "--json", *options).stdout)}

    here, in_tvm = listed("--system", SYSTEM), listed()
    assert here.pop(SQUEEZE) == in_tvm.pop(IN_TVM)
    assert here == in_tvm


@pytest.mark.long
def test_ci_batch_runs_on_the_system_that_it_is_given(toy: Command, tmp_path: Path) -> None:
    batch = ("ci", "batch", "--system", SYSTEM, "--carry", tmp_path / "state", "--output", tmp_path / "output")
    fatal(tmp_path / "state" / "corpus")
    done = toy(*batch, "--iterations", "1", "--jobs", "1", "--oracles", "crash")
    assert done.returncode == 1, done.stdout + done.stderr
    (found,) = (tmp_path / "state" / "findings").iterdir()
    assert json.loads((found / "observation.json").read_text())["environment"]["system"] == SYSTEM


@pytest.mark.parametrize(
    "command",
    [("fuzz",), ("run", __file__), ("seeds", "list"), ("passes", "list"), ("ci", "pr", "--carry", "none")],
)
def test_a_system_that_there_is_not(tzerlike: Command, command: tuple[str, ...]) -> None:
    refused = tzerlike(*command, "--system", "tvn")
    assert refused.returncode == 2
    assert refused.stderr.strip() == "tzerlike: --system: no system 'tvn'; there are tvm"
