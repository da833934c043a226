"""`tzerlike triage` on directories: what it reads, in whatever order, and what it prints."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.bundles import add_bundle, crashed, program, refused, write_case, wrong
from tzerlike.cli.main import cli
from tzerlike.core.errors import UserError
from tzerlike.core.finding import Signed
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.findings.bundles.bisection import Bisection, write_bisection
from tzerlike.findings.known import Known
from tzerlike.reporting.triage.groups import triage
from tzerlike.reporting.triage.sightings import collect

DEEP = Signed("crash", ("passes", "Inject", "SIGSEGV", "lib+0x1", "lib+0x2"))
DEEPER = Signed("crash", ("passes", "Inject", "SIGSEGV", "lib+0x1", "lib+0x3"))
OTHER = Signed("crash", ("passes", "Vectorize", "SIGSEGV", "lib+0x1", "lib+0x2"))
REFUSED = Signed("ice-on-valid", ("Inject", "InternalError: x"))


def campaign(root: Path, version: str = "0.27.0.post1") -> Path:
    (root / "findings").mkdir(parents=True)
    (root / "campaign.toml").write_text("seed = 1\n")
    (root / "environment.json").write_text(json.dumps({"tvm": version}))
    return root


def event(root: Path, worker: int, moment: float, *signatures: str) -> None:
    path = root / "workers" / str(worker) / "events.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        line = json.dumps({"t": moment, "i": 1, "finding": list(signatures)}, separators=(",", ":"))
        file.write(line + "\n")


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """Two campaigns: the one has a crash twice over and an internal error, the other the crash again and another."""
    first, second = campaign(tmp_path / "one"), campaign(tmp_path / "two")
    add_bundle(first / "findings", DEEP, crashed("s_tir.Inject", "lib+0x1", "lib+0x2"), ir=program("tirx.For"))
    add_bundle(first / "findings", DEEPER, crashed("s_tir.Inject", "lib+0x1", "lib+0x3"))
    add_bundle(first / "findings", REFUSED, refused("s_tir.Inject", "InternalError: x", "void tvm::a::B::f()"))
    add_bundle(second / "findings", DEEP, crashed("s_tir.Inject", "lib+0x1", "lib+0x2"))
    add_bundle(second / "findings", OTHER, crashed("s_tir.Vectorize", "lib+0x1", "lib+0x2"))
    event(first, 0, 5.0)
    event(first, 0, 30.0, DEEP.signature)
    event(first, 1, 15.0, DEEP.signature)
    event(first, 1, 45.0, DEEP.signature)
    event(first, 2, 40.0, DEEP.signature)
    event(first, 1, 20.0, DEEPER.signature, "0" * 12)
    event(second, 0, 70.0, DEEP.signature)
    return first, second


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["triage", *map(str, arguments)])


def test_campaigns_are_merged_by_cause(two: tuple[Path, Path]) -> None:
    found = triage(collect(two), Known())
    crash, other, internal = found.groups
    assert crash.signatures == tuple(sorted((DEEP.signature, DEEPER.signature)))
    assert len(crash.members) == 3
    assert crash.first_seen == 15.0
    assert (crash.same, crash.runs) == (6, 6)
    assert other.signatures == (OTHER.signature,)
    assert internal.kind == "ice-on-valid"
    assert (other.first_seen, internal.first_seen) == (None, None)


def test_the_order_of_directories_does_not_matter(two: tuple[Path, Path]) -> None:
    paths = [*two, two[0] / "findings" / ".." / "findings", next((two[1] / "findings").iterdir())]
    answers = {invoke(*order, "--json").stdout for order in permutations(paths)}
    assert len(answers) == 1
    assert sum(group["bundles"] for group in json.loads(answers.pop())["groups"]) == 5


def test_the_order_of_files_does_not_matter(two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    before = invoke(*two, "--json").stdout
    listed = Path.iterdir
    monkeypatch.setattr(Path, "iterdir", lambda self: reversed(sorted(listed(self))))
    assert invoke(*two, "--json").stdout == before


def test_the_representative_is_the_smallest_case_also_after_reduction(two: tuple[Path, Path]) -> None:
    (group, *_) = triage(collect(two), Known()).groups
    assert group.representative.size == min(member.size for member in group.members)
    large = next(member for member in group.members if member.size > group.representative.size)
    (large.path / "reduced").mkdir()
    write_case(large.path / "reduced" / "case.json", "{}")
    (again, *_) = triage(collect(two), Known()).groups
    assert again.representative.path == large.path


def test_bisection_and_reduction_bring_wrong_code_together(tmp_path: Path) -> None:
    signed = [Signed("wrong-code", (blame, dtype, "value")) for blame, dtype in (("both", "int"), ("optimised", "int"))]
    small = program("tirx.For", "prim.Add")
    for number, (finding, blame) in enumerate(zip(signed, ("both", "optimised"), strict=True)):
        add_bundle(tmp_path / str(number), finding, wrong("value", blame), reduced=small, guilty="tirx.Unroll")
    assert len(triage(collect([tmp_path / "0", tmp_path / "1"]), Known()).groups) == 1
    write_bisection(tmp_path / "1" / signed[1].directory, Bisection(signed[1].signature, "tirx.Other"))
    assert len(triage(collect([tmp_path / "0", tmp_path / "1"]), Known()).groups) == 2


def test_a_bisection_outweighs_the_pass_that_died(tmp_path: Path) -> None:
    """Of one signature, the bundle that was bisected speaks; where two were, and disagree, none does."""
    seen = crashed("a.Late", "lib+0x1")
    for number, guilty in enumerate(("", "a.Early", "")):
        add_bundle(tmp_path / str(number), DEEP, seen, guilty=guilty)
    add_bundle(tmp_path / "other", DEEPER, crashed("a.Late", "lib+0x1"), guilty="a.Early")
    directories = sorted(tmp_path.iterdir())
    assert len(triage(collect(directories), Known()).groups) == 1
    write_bisection(tmp_path / "2" / DEEP.directory, Bisection(DEEP.signature, "a.Middle"))
    assert len(triage(collect(directories), Known()).groups) == 2


def known_file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "known.toml"
    path.write_text(text)
    return path


def test_known_groups_are_hidden_and_silent_entries_told(two: tuple[Path, Path], tmp_path: Path) -> None:
    known = known_file(
        tmp_path,
        f"[[known]]\nsignature = '{DEEPER.signature}'\nlink = 'https://x/1'\n"
        "[[known]]\npattern = 'Unheard'\nlink = 'https://x/2'\n"
        "[[known]]\npattern = 'Older'\nlink = 'https://x/3'\nversions = ['0.25']\n",
    )
    done = invoke(*two, "--known", known)
    assert done.exit_code == 0
    assert "5 bundles, 4 signatures, 3 groups: 2 new, 1 known" in done.stdout
    assert DEEP.title not in done.stdout.partition("5 bundles")[0]
    assert f"known: {DEEPER.signature} (3 bundles, https://x/1)" in done.stdout
    assert "no longer shows: Unheard (https://x/2)" in done.stdout
    assert "Older" not in done.stdout, "no campaign ran on 0.25"
    data = json.loads(invoke(*two, "--known", known, "--json").stdout)
    assert [group["status"] for group in data["groups"]] == ["new", "new", "known"]
    assert [entry["pattern"] for entry in data["known_not_shown"]] == ["Unheard"]


def test_what_a_campaign_hid_is_not_gone(two: tuple[Path, Path], tmp_path: Path) -> None:
    known = known_file(tmp_path, "[[known]]\npattern = 'Unheard'\nlink = 'https://x/2'\n")
    (two[1] / "stats.json").write_text(json.dumps({"known": {"Unheard": 4}}))
    done = invoke(*two, "--known", known)
    assert "no longer shows" not in done.stdout
    assert "known: Unheard (seen 4 times, not bundled)" in done.stdout


def test_a_damaged_bundle_is_left_out_and_named(two: tuple[Path, Path]) -> None:
    damaged = two[0] / "findings" / REFUSED.directory
    (damaged / "observation.json").write_text("{")
    done = invoke(*two)
    assert done.exit_code == 0
    assert "left out: " in done.stdout
    assert REFUSED.directory in done.stdout
    with pytest.raises(UserError, match=r"observation\.json"):
        collect([damaged])


@pytest.mark.parametrize("name", ["missing", "stray"])
def test_what_is_no_campaign_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "stray").mkdir()
    (tmp_path / "stray" / "file").write_text("")
    with pytest.raises(UserError, match=name):
        collect([tmp_path / name])


def test_a_campaign_without_findings_has_no_groups(tmp_path: Path) -> None:
    done = invoke(campaign(tmp_path / "c"))
    assert done.exit_code == 0
    assert done.stdout == "0 bundles, 0 signatures, 0 groups: 0 new, 0 known\n"


def test_a_hostile_title_keeps_to_its_line(tmp_path: Path) -> None:
    finding = Signed("crash", ("a\nnew: \x1b[31mfake",))
    add_bundle(tmp_path, finding, crashed("a.B", "lib+0x1"))
    (path,) = tmp_path.iterdir()
    done = invoke(path)
    assert "\x1b" not in done.stdout
    assert "\nnew:" not in done.stdout


def test_the_analysis_that_was_asked_tells_no_arithmetic_bugs_apart(tmp_path: Path) -> None:
    text = "InternalError: Check failed: (x) is false: y"
    for name, where in (("simplify", "f"), ("int_set", "f"), ("prove", "g")):
        seen = replace(refused("", text, f"void tvm::sym::A::{where}()"), stage=Stage.ANALYZE)
        path = add_bundle(tmp_path, Signed("ice-on-valid", (name, text)), seen)
        (path / "case.json").write_text(json.dumps({"harness": "arith", "check": name}))
    assert [len(group.members) for group in triage(collect([tmp_path]), Known()).groups] == [2, 1]


def test_wrong_arithmetic_goes_by_the_cause_that_its_harness_found(tmp_path: Path) -> None:
    """Whatever expression shows it, and also where one shows it that a user may meet and another does not."""
    for text, way, apart in (("a", "wraps", ()), ("b", "wraps", ("tier 1",)), ("c", "rounds", ()), ("d", "", ())):
        bare = ("int_set", way) if way else ()
        finding = Signed("wrong-code", ("int_set", text), bare=bare, apart=apart)
        path = add_bundle(tmp_path, finding, Observation(Exit.OK, Stage.ANALYZE, pass_name="int_set"))
        (path / "case.json").write_text(json.dumps({"harness": "arith", "check": text}))
    groups = triage(collect([tmp_path]), Known()).groups
    assert sorted(len(group.members) for group in groups) == [1, 1, 2]
    assert [str(group.cause) for group in groups if len(group.members) == 2] == ["arithmetic analyzer: int_set, wraps"]
