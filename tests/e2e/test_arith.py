"""Arithmetic campaigns on the real analyzer."""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Command, kill_group, start, wait_until
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.events import event_lines

FUZZ = ("fuzz", "--harness", "arith", "--seed", "3", "--ui", "none")
ITERATIONS = 240

CONTRACT = {
    "elapsed_s", "iterations", "iterations_per_s", "valid_rate", "coverage", "coverage_total", "coverage_backend",
    "corpus", "valuable_tests", "findings", "rejected", "mutators", "passes", "stage_seconds",
}  # fmt: skip

FILES = {"case.json", "module.py", "inputs.npz", "observation.json", "repro.py", "report.md", "test_regression.py"}


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def names(root: Path) -> list[str]:
    return [path.name for path in CampaignDir(root).bundles()]


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two campaigns with the same seed."""
    roots = (tmp_path_factory.mktemp("one") / "c", tmp_path_factory.mktemp("two") / "c")
    for root in roots:
        process = start(*FUZZ, "--jobs", "1", "--iterations", str(ITERATIONS), "--out", root)
        _, stderr = process.communicate(timeout=600)
        assert process.returncode == 0, stderr
    return roots


@pytest.mark.long
def test_one_seed_gives_one_campaign(campaigns: tuple[Path, Path]) -> None:
    first, second = campaigns
    assert names(first) == names(second) != []
    one, two = (read(CampaignDir(root).stats) for root in campaigns)
    assert set(one) >= CONTRACT
    assert one["iterations"] == two["iterations"] == ITERATIONS
    for key in ("valid_rate", "findings", "rejected", "exits", "unconfirmed"):
        assert one[key] == two[key], key
    assert one["valid_rate"] > 0.6
    assert one["tiers"] == two["tiers"] and sum(one["tiers"].values()) == sum(one["findings"].values())
    assert 'harness = "arith"' in CampaignDir(first).config.read_text()
    assert CampaignDir(first).coverage_csv.read_text().startswith("elapsed_s,iterations,blocks")
    events = [json.loads(line) for line in event_lines(CampaignDir(first).worker(0))]
    assert sum(event.get("n", 0) for event in events) >= ITERATIONS - one["exits"].get("crash", 0)


@pytest.mark.long
def test_bundles_are_complete_replay_and_stand_alone(campaigns: tuple[Path, Path], tzerlike: Command) -> None:
    bundles = list(CampaignDir(campaigns[0]).bundles())
    assert all({path.name for path in bundle.iterdir()} >= FILES for bundle in bundles)
    replayed = tzerlike("replay", "--json", *bundles)
    assert replayed.returncode == 0, replayed.stdout
    assert [item["verdict"] for item in json.loads(replayed.stdout)] == ["shows"] * len(bundles)
    for bundle in bundles:
        done = subprocess.run([sys.executable, bundle / "repro.py"], capture_output=True, text=True, check=False)
        assert done.returncode != 0, f"{bundle.name}\n{done.stdout}"
        report = (bundle / "report.md").read_text()
        assert (bundle / "test_regression.py").read_text() in report
        limits = " It was only seen with numbers near the limits of a type" in report
        assert limits == (read(bundle / "observation.json")["tier"] == 2)
    command = [sys.executable, "-m", "pytest", "-q", "--import-mode=importlib", "-p", "no:cacheprovider"]
    alive = [bundle for bundle in bundles if bundle.name.startswith(("wrong-code", "ice"))]
    tests = [bundle / "test_regression.py" for bundle in alive]
    done = subprocess.run([*command, "--rootdir", campaigns[0], *tests], capture_output=True, text=True, check=False)
    assert f"{len(tests)} failed" in done.stdout and "passed" not in done.stdout


@pytest.mark.long
def test_another_problem_in_a_bundle_does_not_show_its_signature(
    campaigns: tuple[Path, Path], tzerlike: Command, tmp_path: Path
) -> None:
    bundle = next(path for path in CampaignDir(campaigns[0]).bundles() if path.name.startswith("wrong-code"))
    copy = tmp_path / "bundle"
    copy.mkdir()
    for name in FILES:
        (copy / name).write_bytes((bundle / name).read_bytes())
    case = read(copy / "case.json")
    case["problem"]["roots"] = [["IntImm", "int32", 1]] * len(case["problem"]["roots"])
    (copy / "case.json").write_text(json.dumps(case))
    replayed = tzerlike("replay", copy)
    assert replayed.returncode == 1 and "does not show" in replayed.stdout
    case["check"] = "const_int_bounds"
    (copy / "case.json").write_text(json.dumps(case))
    replayed = tzerlike("replay", copy)
    assert replayed.returncode == 2 and "const_int_bounds" in replayed.stderr
    case["problem"]["roots"] = [["Launch", "int32", None]]
    (copy / "case.json").write_text(json.dumps(case))
    replayed = tzerlike("replay", copy)
    assert replayed.returncode == 2 and "case.json" in replayed.stderr and replayed.stderr.count("\n") == 1


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_campaign_goes_on(tzerlike: Command, tmp_path: Path, number: signal.Signals) -> None:
    root = tmp_path / "c"
    directory = CampaignDir(root)
    process = start(*FUZZ, "--jobs", "1", "--budget", "1h", "--out", root)
    try:
        wait_until(lambda: directory.worker_state(0).exists() and read(directory.worker_state(0))["iterations"] > 0)
        if number == signal.SIGINT:
            process.send_signal(number)
            assert process.wait(60) == 130
        else:
            kill_group(process)
    finally:
        if process.poll() is None:
            kill_group(process)
    before = read(directory.worker_state(0))["iterations"]
    found = set(names(root))
    resumed = tzerlike("fuzz", "--resume", "--iterations", str(before + 100), "--out", root, "--ui", "none")
    assert resumed.returncode == 0, resumed.stderr
    stats = read(directory.stats)
    assert stats["iterations"] == before + 100 == sum(stats["exits"].values())
    assert found <= set(names(root))


@pytest.mark.parametrize(
    "option",
    [("--mutators", "constants"), ("--seeds", "none"), ("--coverage", "breakpoint"), ("--oracles", "crash")],
    ids=lambda option: option[0],
)
def test_options_of_the_other_harness_are_refused(tzerlike: Command, tmp_path: Path, option: tuple[str, str]) -> None:
    done = tzerlike(*FUZZ, *option, "--out", tmp_path / "c")
    assert done.returncode == 2
    assert option[0] in done.stderr and "--harness arith" in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "c").exists()


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("z3") is None, reason="needs z3-solver")
def test_what_is_claimed_is_proved_besides(tmp_path: Path) -> None:
    process = start(*FUZZ, "--oracles", "proof", "--jobs", "1", "--iterations", "60", "--out", tmp_path / "c")
    _, stderr = process.communicate(timeout=600)
    assert process.returncode == 0, stderr
    stats = read(CampaignDir(tmp_path / "c").stats)
    assert stats["proofs"]["proved"] > 20 and stats["proofs"]["rules"] > 5 and stats["faults"] == {}
    rules = read(CampaignDir(tmp_path / "c").worker(0) / "rules.json")["rules"]
    assert len({rule["rule"] for rule in rules}) == stats["proofs"]["rules"]
