"""`tzerlike ci` and carried corpora on the real TVM, which compiles a program of docs/bugs to wrong code."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.bundles import write_case
from tests.e2e.conftest import Command, kill_group, start, wait_until
from tzerlike.campaign.corpora.carried import case_ids
from tzerlike.campaign.directory import CampaignDir
from tzerlike.systems import tvm_api
from tzerlike.testing import sample_functions
from tzerlike.tir.seeds.handwritten import definitions

ROOT = Path(__file__).resolve().parents[2]
BUG = ROOT / "docs" / "bugs" / "bfloat16_in_a_bind.py"
OPTIONS = ("--oracles", "crash,inconsistency", "--jobs", "1")
LINK = "https://github.com/apache/tvm/issues/1"


def add(corpus: Path, module: object) -> str:
    case = write_case(corpus / "new", tvm_api.dump_ir(module))
    (corpus / "new").rename(corpus / f"{case.id}.json")
    return case.id


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A carried directory whose corpus is a program that is compiled to wrong code."""
    (source,) = definitions(BUG.read_text()).values()
    corpus = tmp_path / "state" / "corpus"
    corpus.mkdir(parents=True)
    add(corpus, tvm_api.module_of(tvm_api.parse_script(source)))
    return corpus.parent


def failures(output: Path) -> list[str]:
    root = ElementTree.parse(output / "junit.xml").getroot()
    return [failure.get("type", "") for failure in root.iter("failure")]


@pytest.mark.long
def test_a_finding_fails_the_first_run_and_no_other(tzerlike: Command, state: Path, tmp_path: Path) -> None:
    carried = case_ids(state / "corpus")
    batch = ("ci", "batch", "--carry", state, "--iterations", "1", *OPTIONS, "--output")
    done = tzerlike(*batch, tmp_path / "first")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "new: wrong-code: " in done.stdout
    assert failures(tmp_path / "first") == ["wrong-code"]
    (bundle,) = (state / "findings").iterdir()
    assert case_ids(state / "corpus") == carried, "it compiles, and covers what nothing else does"

    done = tzerlike(*batch, tmp_path / "second", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    (item,) = json.loads(done.stdout)["items"]
    assert (item["status"], item["signatures"]) == ("carried", [bundle.name.rpartition("-")[2]])
    assert failures(tmp_path / "second") == []

    done = tzerlike("ci", "replay", state / "findings", "--expect", "fixed", "--output", tmp_path / "replay")
    assert done.returncode == 1, done.stdout + done.stderr
    assert failures(tmp_path / "replay") == ["wrong-code"]
    assert "shows in 1 of 1 runs" in done.stdout


@pytest.mark.long
def test_models_are_carried_from_one_run_to_the_next(tzerlike: Command, tmp_path: Path) -> None:
    state = tmp_path / "state"
    models = ("--carry", state, "--harness", "graph", "--jobs", "1", "--iterations")
    done = tzerlike("ci", "batch", "--seed", "1", *models, "60", "--output", tmp_path / "first")
    assert done.returncode == 1, done.stdout + done.stderr
    assert case_ids(state / "corpus")
    assert "ice-on-valid" in failures(tmp_path / "first")
    done = tzerlike("ci", "pr", *models, "5", "--output", tmp_path / "second", "--json")
    assert done.returncode in (0, 1), done.stdout + done.stderr
    carried = {path.name.rpartition("-")[2] for path in (state / "findings").iterdir()}
    new = {sign for one in json.loads(done.stdout)["items"] if one["status"] == "new" for sign in one["signatures"]}
    assert not carried & new


def test_a_harness_without_a_corpus_is_refused(tzerlike: Command, tmp_path: Path) -> None:
    done = tzerlike("ci", "pr", "--carry", tmp_path, "--harness", "arith", "--output", tmp_path / "out")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--harness arith" in done.stderr


@pytest.mark.long
def test_what_is_known_is_counted_and_not_bundled(tzerlike: Command, state: Path, tmp_path: Path) -> None:
    known = tmp_path / "known.toml"
    known.write_text(f"[[known]]\npattern = '^wrong-code: '\nlink = '{LINK}'\n")
    output = tmp_path / "out"
    before = sorted(state.rglob("*"))
    done = tzerlike("ci", "pr", "--carry", state, "--iterations", "1", *OPTIONS, "--known", known, "--output", output)
    assert done.returncode == 0, done.stdout + done.stderr
    campaign = CampaignDir(output / "campaign")
    assert list(campaign.bundles()) == []
    assert json.loads(campaign.stats.read_text())["known"] == {"^wrong-code: ": 1}
    assert sorted(state.rglob("*")) == before, "a pull request changes nothing that is carried"
    told = tzerlike("triage", campaign.root, "--known", known)
    assert "seen 1 time, not bundled" in told.stdout
    assert "no longer shows" not in told.stdout


@pytest.mark.long
def test_an_interrupted_batch_saves_and_tells(tmp_path: Path) -> None:
    state, output = tmp_path / "state", tmp_path / "out"
    process = start("ci", "batch", "--carry", state, "--budget", "1h", *OPTIONS, "--output", output)
    try:
        wait_until(lambda: any((output / "campaign" / "corpus").glob("*.json")))
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=300)
    finally:
        kill_group(process) if process.poll() is None else None
    assert process.returncode == 130, stdout + stderr
    assert set(case_ids(state / "corpus")) == set(CampaignDir(output / "campaign").corpus_ids()) != set()
    assert (output / "summary.md").read_text().startswith("## tzerlike batch: ")


@pytest.mark.long
def test_a_carried_corpus_is_brought_in_once_also_over_a_resume(tzerlike: Command, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    programs = [add(corpus, tvm_api.module_of(function)) for function in sample_functions()]
    (corpus / f"{'ab' * 32}.json").write_text("{")
    fuzz = ("fuzz", "--seed", "1", "--oracles", "crash", "--jobs", "1", "--ui", "none", "--seeds", "none")
    campaign = CampaignDir(tmp_path / "c")
    for how, iterations, tried in ((("--corpus", corpus), 2, 2), (("--resume",), 6, 4)):
        done = tzerlike(*fuzz, *how, "--iterations", str(iterations), "--out", campaign.root)
        assert done.returncode == 0, done.stderr
        stats = json.loads(campaign.stats.read_text())
        assert stats["mutators"]["corpus"]["tried"] == tried
    assert len(programs) == 4
    assert set(campaign.corpus_ids()) & set(programs)
    (problem,) = stats["problems"]
    assert "abababab" in problem
