"""Reports of bundles as they stand: with the reduced program and the culprit pass, once these are there."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tzerlike.cli.commands.report import report as command
from tzerlike.core.case import Case, Provenance
from tzerlike.core.errors import UserError
from tzerlike.core.finding import FIRST_TIER, SECOND_TIER, Finding
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import Difference, Ending, Ran, Results
from tzerlike.core.stored import StoredCase
from tzerlike.execution.diagnosis.walk import Change
from tzerlike.findings.bundles.bisection import Bisection, write_bisection
from tzerlike.findings.bundles.bundle import Confirmation, Texts, read_record, write_bundle
from tzerlike.findings.reduction.place import is_bundle
from tzerlike.findings.refresh import refresh_report, report_of
from tzerlike.tir.witness.verdict import Deposition, WitnessWord

BAD = Ran(Ending.DIFFERS, "", Difference(1, "B", "int32", (0,), "1", "0.0", "2", 1, 4, "value"))


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    case = Case("{}")
    seen = Observation(Exit.OK, Stage.DONE, results=Results("defined", optimised=BAD))
    path = write_bundle(
        tmp_path,
        Finding("wrong-code", ("optimised", "int", "value"), case, seen),
        StoredCase(case, Provenance("topi.add")),
        Limits(),
        Confirmation(2, 2),
        Texts("first = 1\nsecond = 2\nthird = 3\n", "", "def test_it():\n    assert 'long'\n"),
        {"tvm": "0.27.0"},
    )
    assert path is not None
    return path


def guilty(path: Path) -> Bisection:
    return Bisection(
        path.name.rpartition("-")[2],
        "tirx.StorageRewrite",
        change=Change.RESULT,
        index=3,
        passes=60,
        detail="B[0] is 2",
        diff="-a\n+++ after\n+b",
    )


def test_a_fresh_report_is_the_one_that_was_written(bundle: Path) -> None:
    written = (bundle / "report.md").read_text()
    assert report_of(bundle) == written
    assert "assert 'long'" in written
    assert "Where it goes wrong" not in written


def test_a_bundle_whose_record_makes_no_sense_has_no_report(bundle: Path) -> None:
    """Strangers send bundles; what is wrong with one is said in a line."""
    path = bundle / "observation.json"
    record = json.loads(path.read_text())
    record["observation"]["results"]["optimised"]["difference"]["bound"] = "wide"
    path.write_text(json.dumps(record))
    with pytest.raises(UserError, match="there is no report of it") as error:
        report_of(bundle)
    assert str(bundle) in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (Deposition(WitnessWord.CONFIRMS), "it computes the same result."),
        (Deposition(WitnessWord.CANNOT_SAY, "call of x"), "could not be checked by a translation to C (call of x)."),
        (None, ""),
    ],
)
def test_a_report_says_what_the_witness_says(tmp_path: Path, said: Deposition | None, words: str) -> None:
    seen = Observation(Exit.OK, Stage.DONE, results=Results("defined", optimised=BAD))
    path = write_bundle(
        tmp_path,
        Finding("wrong-code", ("optimised",), Case("{}"), seen),
        StoredCase(Case("{}"), Provenance("topi.add")),
        Limits(),
        Confirmation(2, 2, witness=said),
        Texts("", ""),
        {},
    )
    assert path is not None
    assert words in report_of(path)
    assert ("to C" in report_of(path)) is (said is not None)
    assert read_record(path).confirmed == Confirmation(2, 2, witness=said)
    assert json.loads((path / "observation.json").read_text()).get("witness") == (said.word if said else None)


def test_the_guilty_pass_and_the_reduced_program_are_told(bundle: Path) -> None:
    write_bisection(bundle, replace(guilty(bundle), reduced=True))
    reduced = bundle / "reduced"
    shutil.copytree(bundle, reduced)
    (reduced / "module.py").write_text("only = 1\n")
    (reduced / "test_regression.py").write_text("def test_it():\n    assert 'short'\n")
    refresh_report(bundle)
    text = (bundle / "report.md").read_text()
    assert text.startswith("# [Bug][TIR] Wrong code (StorageRewrite): B[0] is 2, not 1\n")
    assert "assert 'short'" in text
    assert "assert 'long'" not in text
    assert "The program was reduced from 3 lines to 1." in text
    assert "`tirx.StorageRewrite`: after it the program computes something else\n" in text, "that B[0] is 2 was said"
    undefined = replace(guilty(bundle), change=Change.UNDEFINED, detail="race: B[0] = 1")
    write_bisection(bundle, replace(undefined, reduced=True))
    assert (
        "`tirx.StorageRewrite`: after it two iterations that may run at the same time access one element (B[0] = 1)"
        in report_of(bundle)
    )
    write_bisection(bundle, undefined)
    refresh_report(bundle)
    assert "(race" not in (bundle / "report.md").read_text(), "that is of the larger program"
    assert "```diff\n-a\n+++ after\n+b\n```" in text
    before = (bundle / "report.md").read_bytes()
    refresh_report(bundle)
    assert (bundle / "report.md").read_bytes() == before


def test_a_diff_of_a_case_that_was_made_smaller_since_is_not_shown(bundle: Path) -> None:
    write_bisection(bundle, replace(guilty(bundle), case=Case("{}").id))
    assert "```diff\n-a" in report_of(bundle)
    write_bisection(bundle, replace(guilty(bundle), case=Case("another").id))
    text = report_of(bundle)
    assert "```diff" not in text and "`tirx.StorageRewrite`: after it" in text


def test_the_verdict_is_told_without_what_the_report_says_elsewhere(bundle: Path) -> None:
    found = replace(guilty(bundle), reduced=False)
    write_bisection(bundle, replace(found, change=Change.ILL_TYPED, detail="buffer: a buffer laid out by int32x4"))
    wrong = "it has a buffer with an extent, stride or offset of int32x4"
    assert f"`tirx.StorageRewrite`: after it the program is ill-typed: {wrong}\n" in report_of(bundle)
    write_bisection(bundle, replace(found, change=Change.LEFTOVER, detail="T.Cast(A)", build="reference"))
    told = "`tirx.StorageRewrite`: it leaves what it should remove (T.Cast(A))"
    assert f"{told}, in the baseline build\n" in report_of(bundle)
    seen = json.loads((bundle / "observation.json").read_text())
    seen["observation"]["results"]["baseline"] = seen["observation"]["results"]["optimised"]
    (bundle / "observation.json").write_text(json.dumps(seen))
    assert f"{told}\n" in report_of(bundle), "the default build has it too"


def test_the_origin_of_a_failure_is_not_told_twice(bundle: Path) -> None:
    seen = json.loads((bundle / "observation.json").read_text())
    origin = {"check": "not-kept", "pass_name": "s_tir.P", "rule": "meaning", "where": "a hint"}
    seen["observation"]["origin"] = origin
    (bundle / "observation.json").write_text(json.dumps(seen))
    write_bisection(bundle, guilty(bundle))
    assert "Where it goes wrong" in report_of(bundle), "there is a program before and after"
    write_bisection(bundle, replace(guilty(bundle), diff=""))
    assert "Where it goes wrong" not in report_of(bundle)


def test_the_attributes_of_a_target_are_left_out_of_a_diff(bundle: Path) -> None:
    line = '         T.func_attr({"target": T.target({"kind": "llvm", "tag": ""})})\n'
    write_bisection(bundle, replace(guilty(bundle), diff=f"--- before\n+++ after\n{line}-a\n+b\n"))
    assert '\n         T.func_attr({"target": ...})\n-a\n' in report_of(bundle)


def test_a_program_that_a_pass_leaves_as_it_was_is_shown_where_it_is_short(bundle: Path) -> None:
    for lines, shown in ((10, True), (100, False)):
        diff = "--- before tirx.StorageRewrite\n" + " x = 1\n" * lines
        write_bisection(bundle, replace(guilty(bundle), diff=diff))
        assert ("The program that it is given:" in report_of(bundle)) is shown
        assert "before and after" not in report_of(bundle)
        write_bisection(bundle, replace(guilty(bundle), diff=diff + "+++ after tirx.StorageRewrite\n+x = 2\n"))
        assert "The program before and after" in report_of(bundle)


def test_a_bisection_that_tells_nothing_or_of_something_else_is_left_out(bundle: Path) -> None:
    for useless in (replace(guilty(bundle), guilty=""), replace(guilty(bundle), signature="0" * 12)):
        write_bisection(bundle, useless)
        assert "Where it goes wrong" not in report_of(bundle)


def test_what_compute_sanitizer_says_is_in_the_report(bundle: Path) -> None:
    assert "compute-sanitizer" not in report_of(bundle)
    (bundle / "compute-sanitizer.txt").write_text("memcheck:\n Invalid __global__ write of size 4 bytes\n")
    assert "Invalid __global__ write of size 4 bytes" in report_of(bundle)


def test_a_damaged_bundle_is_one_clear_line(bundle: Path) -> None:
    (bundle / "observation.json").write_text('{"schema_version": 1}')
    with pytest.raises(UserError, match=r"observation\.json: bundle\.kind: missing"):
        report_of(bundle)
    assert not is_bundle(bundle.parent)


def test_the_command_prints_the_report_of_a_bundle(bundle: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(command, [str(bundle)])
    assert done.stdout == report_of(bundle)
    told = json.loads(CliRunner().invoke(command, [str(bundle), "--json"]).stdout)
    assert told == {"bundle": str(bundle), "report": report_of(bundle)}
    done = CliRunner().invoke(command, [str(bundle), "--html", str(tmp_path / "x.html")])
    assert isinstance(done.exception, UserError)
    assert not (tmp_path / "x.html").exists()


@pytest.mark.parametrize("alone", [True, False])
def test_what_its_own_scripts_do_not_show_is_of_the_second_tier(tmp_path: Path, alone: bool) -> None:
    """It does not show each time, or takes tzerlike to see."""
    found = Confirmation(3, 3).with_tier(FIRST_TIER, None)
    case = Case("{}")
    finding = Finding(
        "wrong-code", (), case, Observation(Exit.OK, Stage.DONE, results=Results("defined", optimised=BAD))
    )
    stored = StoredCase(case, Provenance("topi.add"))
    path = write_bundle(tmp_path, finding, stored, Limits(), found, Texts("", "", alone=alone), {})
    assert path is not None
    assert read_record(path).tier == (FIRST_TIER if alone else SECOND_TIER)
