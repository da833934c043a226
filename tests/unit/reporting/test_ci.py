"""What a CI run comes to: which findings are new, what a replay expects, and what is carried over."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.bundles import add_bundle, crashed, write_case
from tzerlike.campaign.corpora.carried import case_ids
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.shard import owner_of
from tzerlike.cli.main import cli
from tzerlike.core.errors import UserError
from tzerlike.core.finding import Signed
from tzerlike.core.results import Results
from tzerlike.findings.bundles.bundle import Bundle, read_bundle
from tzerlike.findings.known import Known, KnownEntry
from tzerlike.findings.replay import Replayed, replay_bundle
from tzerlike.findings.versions.against import Against
from tzerlike.findings.versions.history import Cell, Word
from tzerlike.reporting.ci.campaign import judged_campaign
from tzerlike.reporting.ci.carry import Carry
from tzerlike.reporting.ci.expectation import FIXED, SHOWS, judged_bundle, judged_replay
from tzerlike.reporting.ci.outcome import CiOutcome, Status

DEEP = Signed("crash", ("passes", "Inject", "SIGSEGV", "lib+0x1", "lib+0x2"))
DEEPER = Signed("crash", ("passes", "Inject", "SIGSEGV", "lib+0x1", "lib+0x3"))
OTHER = Signed("crash", ("passes", "Vectorize", "SIGSEGV", "lib+0x1"))

STATS: dict[str, Any] = {
    "elapsed_s": 61.0,
    "iterations": 40,
    "valid_rate": 0.5,
    "coverage": 10,
    "coverage_total": 100,
    "corpus": 3,
    "problems": [],
}


@pytest.fixture
def campaign(tmp_path: Path) -> CampaignDir:
    """A campaign that found a crash twice over and another one."""
    directory = CampaignDir(tmp_path / "campaign")
    directory.create(2)
    directory.config.write_text("seed = 1\n")
    directory.environment.write_text('{"tvm": "0.27.0"}')
    add_bundle(directory.findings, DEEP, crashed("s_tir.Inject", "lib+0x1", "lib+0x2"))
    add_bundle(directory.findings, DEEPER, crashed("s_tir.Inject", "lib+0x1", "lib+0x3"))
    add_bundle(directory.findings, OTHER, crashed("s_tir.Vectorize", "lib+0x1"))
    return directory


@pytest.fixture
def carry(tmp_path: Path) -> Carry:
    state = Carry(tmp_path / "state")
    state.create()
    return state


def told(outcome: CiOutcome) -> dict[str, Status]:
    return {signature: item.status for item in outcome.items for signature in item.signatures}


def test_without_anything_before_every_group_is_new(campaign: CampaignDir, carry: Carry) -> None:
    outcome = judged_campaign("batch", campaign, carry, Known(), STATS)
    assert [item.status for item in outcome.items] == [Status.NEW, Status.NEW]
    assert outcome.verdict == "2 new findings"
    assert dict(outcome.facts)["coverage"] == "10 of 100"
    assert all(item.path.is_dir() for item in outcome.items)


def test_what_the_other_tvm_shows_too_is_not_new(campaign: CampaignDir, carry: Carry) -> None:
    cells = {path: Cell(Word.ABSENT if OTHER.signature in path.name else Word.SHOWS) for path in campaign.bundles()}
    outcome = judged_campaign("pr", campaign, carry, Known(), STATS, Against("main", "1.2", cells))
    assert told(outcome) == {
        DEEP.signature: Status.ELSEWHERE,
        DEEPER.signature: Status.ELSEWHERE,
        OTHER.signature: Status.NEW,
    }
    assert outcome.notes[0] == "against main (1.2): 1 here alone, 2 on both"
    assert outcome.verdict == "1 new finding"


def test_what_the_other_tvm_cannot_tell_is_new(campaign: CampaignDir, carry: Carry) -> None:
    cells = dict.fromkeys(campaign.bundles(), Cell(Word.UNKNOWN, "its JSON"))
    against = Against("main", "1.2", cells)
    outcome = judged_campaign("pr", campaign, carry, Known(), STATS, against)
    assert {item.status for item in outcome.items} == {Status.NEW}
    assert str(against) == "against main (1.2): 0 here alone, 0 on both, 3 where main cannot tell"


def test_a_finding_of_an_earlier_cause_is_not_new(campaign: CampaignDir, carry: Carry) -> None:
    add_bundle(carry.findings, DEEP, crashed("s_tir.Inject", "lib+0x1", "lib+0x2"))
    outcome = judged_campaign("batch", campaign, carry, Known(), STATS)
    assert told(outcome) == {
        DEEP.signature: Status.CARRIED,
        DEEPER.signature: Status.CARRIED,
        OTHER.signature: Status.NEW,
    }
    assert [item.status.fails for item in outcome.items] == [True, False], "what fails stands first"
    assert all(item.path.is_relative_to(campaign.root) for item in outcome.items), "its bundle is of this run"


def test_a_known_finding_is_not_new(campaign: CampaignDir, carry: Carry) -> None:
    known = Known((KnownEntry("https://x/1", pattern="Vectorize"), KnownEntry("https://x/2", pattern="Unheard")))
    outcome = judged_campaign("pr", campaign, carry, known, STATS)
    assert told(outcome)[OTHER.signature] is Status.KNOWN
    assert told(outcome)[DEEP.signature] is Status.NEW
    assert [note for note in outcome.notes if "Unheard" in note] == [
        "known, not seen in this run: Unheard (https://x/2)"
    ]


def test_a_pull_request_is_stopped_by_the_first_tier_alone(campaign: CampaignDir, carry: Carry) -> None:
    for finding, tier in ((DEEP, 2), (DEEPER, 2), (OTHER, 1)):
        file = campaign.findings / finding.directory / "observation.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {"tier": tier}))
    asked = judged_campaign("pr", campaign, carry, Known(), STATS)
    assert told(asked) == {OTHER.signature: Status.NEW}
    assert "findings of tier 2, which count only in ci batch: 1" in asked.notes
    assert len(judged_campaign("batch", campaign, carry, Known(), STATS).failing) == 2


def test_what_did_not_come_up_is_only_noted(campaign: CampaignDir, carry: Carry) -> None:
    gone = Signed("crash", ("passes", "Gone"))
    add_bundle(carry.findings, gone, crashed("s_tir.Gone", "lib+0x9"))
    outcome = judged_campaign("batch", campaign, carry, Known(), STATS)
    assert gone.signature not in told(outcome)
    assert "findings of earlier runs that did not show: 1" in outcome.notes


def test_a_damaged_bundle_carried_over_stops_nothing(campaign: CampaignDir, carry: Carry) -> None:
    add_bundle(carry.findings, DEEP, crashed("s_tir.Inject", "lib+0x1"))
    (carry.findings / DEEP.directory / "observation.json").write_text("{")
    outcome = judged_campaign("batch", campaign, carry, Known(), STATS)
    assert len(outcome.failing) == 2
    assert any("observation.json" in note for note in outcome.notes)


def test_a_directory_that_does_not_exist_yet_carries_nothing(campaign: CampaignDir, tmp_path: Path) -> None:
    assert len(judged_campaign("pr", campaign, Carry(tmp_path / "none"), Known(), STATS).failing) == 2
    assert Carry(tmp_path / "none").ids() == []


def test_bundles_are_carried_once_a_signature(campaign: CampaignDir, carry: Carry) -> None:
    carry.take_bundles(campaign.bundles())
    names = sorted(path.name for path in carry.findings.iterdir())
    assert names == sorted(path.name for path in campaign.bundles())
    read_bundle(carry.findings / DEEP.directory)
    (carry.findings / DEEP.directory / "mark").write_text("")
    carry.take_bundles(campaign.bundles())
    assert sorted(path.name for path in carry.findings.iterdir()) == names
    assert (carry.findings / DEEP.directory / "mark").exists(), "the first one stays"


def test_another_cause_of_a_signature_is_carried_as_well(campaign: CampaignDir, carry: Carry) -> None:
    carry.take_bundles(campaign.bundles())
    apart = add_bundle(campaign.findings, replace(DEEP, apart=("another cause",)), crashed("s_tir.Inject", "lib+0x1"))
    carry.take_bundles(campaign.bundles())
    assert (carry.findings / apart.name).is_dir()


def add_cases(directory: Path, *numbers: int) -> list[str]:
    ids = []
    for number in numbers:
        case = write_case(directory / "new", "{}", input_seed=number)
        (directory / "new").rename(directory / f"{case.id}.json")
        ids.append(case.id)
    return ids


def test_the_corpus_is_what_the_campaign_kept_and_had_no_time_for(campaign: CampaignDir, carry: Carry) -> None:
    carried = sorted(add_cases(carry.corpus, *range(40)))
    shares = [[i for i in carried if owner_of(i, 2) == number] for number in range(2)]
    kept = shares[0][3]
    (campaign.corpus / f"{kept}.json").write_bytes((carry.corpus / f"{kept}.json").read_bytes())
    found, superseded = add_cases(campaign.corpus, 100, 101)
    for number, (through, gone) in enumerate([(shares[0][5], [superseded]), (shares[1][2], [])]):
        state = {"elapsed": 1.0, "iterations": 9, "worker": number, "carried_through": through, "superseded": gone}
        campaign.worker_state(number).write_text(json.dumps(state))
    carry.take_corpus(campaign, jobs=2)
    assert case_ids(carry.corpus) == sorted([kept, found, *shares[0][6:], *shares[1][3:]])


def test_a_campaign_that_never_began_leaves_the_corpus_alone(campaign: CampaignDir, carry: Carry) -> None:
    carried = sorted(add_cases(carry.corpus, *range(10)))
    carry.take_corpus(campaign, jobs=2)
    assert case_ids(carry.corpus) == carried


def ended(exit_: str, stage: str = "done", results: dict[str, Any] | None = None) -> dict[str, Any]:
    """A run of a bundle without a finding."""
    return {"findings": [], "observation": {"exit": exit_, "stage": stage, "message": "", "results": results}}


def found(signed: Signed) -> dict[str, Any]:
    """A run of a bundle with a finding."""
    shown = {"kind": signed.kind, "signature": signed.signature, "signatures": signed.signatures, "parts": signed.parts}
    return ended("crash", "passes") | {"findings": [shown]}


class Scripted:
    """A client whose runs are told in advance."""

    def __init__(self, runs: list[dict[str, Any]]) -> None:
        self.runs = runs

    def ask(self, role: str, params: dict[str, Any]) -> list[dict[str, Any]]:
        return self.runs


@pytest.mark.parametrize(
    ("expected", "runs", "good"),
    [
        (SHOWS, [found(DEEP)] * 3, True),
        (SHOWS, [found(DEEP), ended("ok"), ended("ok")], True),
        (SHOWS, [ended("ok")] * 3, False),
        (FIXED, [ended("ok")] * 3, True),
        (FIXED, [ended("rejected", "passes")] * 3, True),
        (FIXED, [found(DEEP), ended("ok"), ended("ok")], False),
        (FIXED, [found(OTHER), ended("ok"), ended("ok")], False),
        (FIXED, [ended("crash", "run")] * 3, False),
        (FIXED, [ended("fault", "passes"), ended("ok"), ended("ok")], False),
        (FIXED, [ended("unknown", "build")] * 3, False),
    ],
)
def test_a_bundle_is_as_expected(campaign: CampaignDir, expected: str, runs: list[dict[str, Any]], good: bool) -> None:
    bundle = read_bundle(campaign.findings / DEEP.directory)
    item = judged_bundle(replay_bundle(bundle, 3, Scripted(runs)), expected)  # type: ignore[arg-type]
    assert item.status is (Status.EXPECTED if good else Status.UNEXPECTED)
    assert f"{runs.count(found(DEEP))} of 3 runs" in item.detail


WRONG = Signed("wrong-code", ("optimised", "value"))


@pytest.mark.parametrize(("verdict", "good"), [("defined", True), ("unknown", False)])
def test_wrong_code_is_mended_if_it_was_compared(tmp_path: Path, verdict: str, good: bool) -> None:
    """A program that TVM's verifiers no longer let run computes nothing that could be right."""
    bundle = read_bundle(add_bundle(tmp_path, WRONG, crashed("s_tir.Inject", "lib+0x1")))
    runs = [ended("ok", results=Results(verdict).to_json())]
    item = judged_bundle(replay_bundle(bundle, 1, Scripted(runs)), FIXED)  # type: ignore[arg-type]
    assert item.status is (Status.EXPECTED if good else Status.UNEXPECTED)


def test_an_unreadable_bundle_fails_and_the_rest_is_run(campaign: CampaignDir, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []

    def replay(bundle: Bundle, times: int, client: object) -> Replayed:
        asked.append(bundle.path)
        if bundle.path.name == DEEP.directory:
            raise UserError("inputs.npz: argument0 does not fit")
        return Replayed(bundle, times, times, "crash")

    monkeypatch.setattr("tzerlike.reporting.ci.expectation.replay_bundle", replay)
    (campaign.findings / OTHER.directory / "case.json").write_text("{")
    outcome = judged_replay([campaign.root, campaign.findings], 2, SHOWS, lambda **_: nullcontext())  # type: ignore[arg-type]
    assert len(asked) == 2
    details = {bad.path.name: bad.detail for bad in outcome.failing}
    assert set(details) == {OTHER.directory, DEEP.directory}
    assert "case.json" in details[OTHER.directory]
    assert "does not fit" in details[DEEP.directory]
    assert outcome.verdict == "2 of 3 bundles not as expected"


def test_nothing_to_replay_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no bundles in it"):
        judged_replay([tmp_path], 1, SHOWS, lambda: pytest.fail("not needed here"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("batch", "--carry", "{file}"), "--carry: cannot make"),
        (("batch", "--carry", "{new}", "--output", "{file}"), "--output: cannot make"),
        (("batch", "--carry", "{new}", "--known", "{new}"), "--known: "),
        (("batch", "--carry", "{new}", "--known", "{file}"), "entry 1: give either a signature or a pattern"),
        (("pr", "--carry", "{new}", "--oracles", "nobody"), "--oracles: no oracle 'nobody'"),
        (("pr", "--carry", "{new}", "--budget", "soon"), "--budget: 'soon' is not a duration"),
        (("pr", "--carry", "{new}", "--output", "{used}"), "already exists; remove it"),
        (("batch", "--carry", "{new}", "--tvm", "nobody"), "--tvm: no build 'nobody'"),
        (("replay", "{new}"), "no such directory"),
        (("replay", "{file}"), "not a directory"),
    ],
)
def test_a_usage_error_is_one_line_and_leaves_no_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("[[known]]\n")
    (tmp_path / "used" / "campaign").mkdir(parents=True)
    done = CliRunner().invoke(cli, ["ci", *(word.strip("{}") for word in arguments)])
    assert isinstance(done.exception, UserError), done.exception
    assert says in str(done.exception)
    assert "\n" not in str(done.exception)
    assert not list(tmp_path.rglob("campaign.toml"))
    assert not (tmp_path / "tzerlike-ci").exists()
