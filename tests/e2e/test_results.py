"""Verdicts, wrong code and internal errors of the real TVM 0.27, from the command line to the bundle."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

from tests.e2e.conftest import Command, environment
from tzerlike.campaign.directory import CampaignDir

HEADER = "# from tvm.script import ir as I\n# from tvm.script import tirx as T\n"

IN_PLACE = """
@T.prim_func
def main(A: T.Buffer((3, 4), "int32"), B: T.Buffer((3, 4), "int32")):
    S = T.alloc_buffer((3, 4), "int32")
    D = T.alloc_buffer((3, 4), "int32")
    for i, j in T.grid(3, 4):
        S[i, j] = A[i, j]
    for i in range(3):
        S[0, i] = 100
        for j in range(4):
            D[i, j] = S[i, j]
    for i, j in T.grid(3, 4):
        B[i, j] = D[i, j]
"""
"""StorageRewrite of 0.27 lets D share the memory of S although S is written again before the next row is copied."""

OVERFLOW = """
@T.prim_func
def main(A: T.Buffer((3,), "int32")):
    for i in range(3):
        A[i] = A[i] * T.int32(0) + T.int32(2147483647) + A[i] * A[i] + T.int32(1)
"""

BRANCH = """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = T.Select(T.exp(A[i] - A[i]) > T.float32(1), T.float32(2), T.float32(3))
"""

REFUSED = """
@T.prim_func
def main(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        v0 = T.int64()
        B[i] = T.Cast("int32", T.popcount(T.Let(v0, where={v0: T.int64(7)}))) + A[i]
"""


def script(directory: Path, text: str) -> Path:
    path = directory / "program.py"
    path.write_text(HEADER + text)
    return path


def judged(tzerlike: Command, path: Path, *options: str) -> tuple[int, dict[str, Any]]:
    done = tzerlike("run", path, *options, "--json")
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


@pytest.mark.long
def test_a_known_bug_of_storage_rewrite_is_wrong_code(tzerlike: Command, tmp_path: Path) -> None:
    path = script(tmp_path, IN_PLACE)
    status, verdict = judged(tzerlike, path)
    assert status == 1
    assert verdict["exit"] == "ok"
    assert verdict["reference"] == {"verdict": "defined", "rule": None, "where": None}
    # The baseline build leaves that pass out.
    assert (verdict["finding"]["kind"], verdict["finding"]["blame"]) == ("wrong-code", "optimised")
    assert "wrong-code" in tzerlike("run", path).stdout
    assert judged(tzerlike, path, "--oracles", "crash") == (
        0,
        {**verdict, "reference": {"verdict": "unknown", "rule": None, "where": None}, "finding": None},
    )


@pytest.mark.parametrize(
    ("text", "verdict", "rule"),
    [
        (OVERFLOW, "undefined", "integer-overflow"),
        pytest.param(BRANCH, "unstable", "float-branch", marks=pytest.mark.long),
    ],
)
def test_a_program_without_a_fixed_meaning_is_no_finding(
    tzerlike: Command, tmp_path: Path, text: str, verdict: str, rule: str
) -> None:
    status, seen = judged(tzerlike, script(tmp_path, text))
    assert status == 0
    assert seen["finding"] is None
    assert (seen["reference"]["verdict"], seen["reference"]["rule"]) == (verdict, rule)
    assert seen["reference"]["where"]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a campaign on one miscompiled program writes."""
    seeds = tmp_path_factory.mktemp("seeds")
    script(seeds, IN_PLACE)
    root = tmp_path_factory.mktemp("campaign") / "c"
    options = ["--seeds", str(seeds), "--seed", "2", "--iterations", "3", "--jobs", "1", "--out", str(root)]
    options += ["--ui", "none", "--oracles", "crash,inconsistency"]
    subprocess.run([sys.executable, "-m", "tzerlike", "fuzz", *options], env=environment(), check=True, timeout=600)
    stats = json.loads((root / "stats.json").read_text())
    assert stats["verdicts"]["defined"] >= 1
    assert stats["findings"]["wrong-code"] >= 1
    assert stats["stage_seconds"]["interpret"] > 0
    assert stats["witness"] == {"confirms": stats["findings"]["wrong-code"]}
    return next(
        path for path in CampaignDir(root).bundles() if path.name.startswith("wrong-code-optimised-storagerewrite-")
    )


@pytest.mark.long
def test_the_bundle_blames_the_pass_and_has_what_it_takes_to_see_it(bundle: Path) -> None:
    data = json.loads((bundle / "observation.json").read_text())
    assert data["parts"] == ["optimised", "StorageRewrite", "int", "value"]
    results = data["observation"]["results"]
    with numpy.load(bundle / "inputs.npz", allow_pickle=False) as archive:
        expected = archive["expected1"]
        assert numpy.array_equal(archive["bound1"], numpy.zeros((3, 4)))
        rows = archive["argument0"].copy()
    rows[0, 0] = 100
    assert numpy.array_equal(expected, rows), "row 0 is copied before its other elements change"
    difference = results["optimised"]["difference"]
    assert int(difference["expected"]) == expected[tuple(difference["index"])]
    report = (bundle / "report.md").read_text()
    assert "The cause is the pass `StorageRewrite`." in report
    assert (data["witness"], data["witness_reason"]) == ("confirms", "")
    assert "Translated to C and run under GCC's sanitizers, it computes the same result." in report
    assert (bundle / "test_regression.py").read_text() in report


@pytest.mark.long
def test_it_shows_again(tzerlike: Command, bundle: Path) -> None:
    done = tzerlike("replay", bundle, "--times", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("shows 2/2")


@pytest.mark.long
def test_a_replay_runs_the_stored_inputs(tzerlike: Command, bundle: Path, tmp_path: Path) -> None:
    other = tmp_path / "b"
    shutil.copytree(bundle, other)
    with numpy.load(bundle / "inputs.npz", allow_pickle=False) as archive:
        arrays = dict(archive)
    # Where everything is 100 already, the misplaced writes change nothing.
    numpy.savez(other / "inputs.npz", **{**arrays, "argument0": numpy.full((3, 4), 100)})
    assert tzerlike("replay", other).returncode == 1
    numpy.savez(other / "inputs.npz", **{**arrays, "argument0": numpy.zeros((3, 5), numpy.int64)})
    done = tzerlike("replay", other)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [f"tzerlike: {other / 'inputs.npz'}: argument0 does not fit the parameter A"]


@pytest.mark.long
def test_repro_shows_it_with_tvm_and_numpy_alone(bundle: Path, tmp_path: Path) -> None:
    for name in ("repro.py", "inputs.npz"):
        shutil.copy(bundle / name, tmp_path / name)
    repro = tmp_path / "repro.py"
    assert "tzerlike" not in repro.read_text()
    done = subprocess.run([sys.executable, repro], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1, done.stderr
    assert "the bug shows" in done.stdout
    mended = repro.read_text().replace("PassContext(", "PassContext(disabled_pass=['tirx.StorageRewrite'], ", 1)
    assert mended != repro.read_text()
    repro.write_text(mended)
    done = subprocess.run([sys.executable, repro], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
def test_the_campaign_has_a_page_with_the_program(tzerlike: Command, bundle: Path, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    done = tzerlike("report", bundle.parent.parent, "--html", file)
    assert done.returncode == 0, done.stderr
    assert "Wrong code (StorageRewrite)" in done.stdout
    text = file.read_text()
    assert f'id="{bundle.name.rpartition("-")[2]}"' in text
    assert "S = T.alloc_buffer((3, 4)" in html.unescape(re.sub("<[^>]*>", "", text)), "in colours"
    assert tzerlike("report", bundle).stdout == (bundle / "report.md").read_text()


@pytest.mark.long
def test_its_regression_test_fails_until_the_pass_is_mended(bundle: Path, tmp_path: Path) -> None:
    test = tmp_path / "test_regression.py"
    shutil.copy(bundle / "test_regression.py", test)
    assert "tzerlike" not in test.read_text()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, test]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1, done.stdout
    assert "AssertionError" in done.stdout
    assert "1 failed" in done.stdout
    without = 'tvm.transform.PassContext(disabled_pass=["tirx.StorageRewrite"])'
    mended = re.sub(r"\n( +)(.* = tvm.compile\()", rf"\n\1{without}.__enter__()\n\1\2", test.read_text())
    assert mended != test.read_text()
    test.write_text(mended)
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.long
def test_a_pass_that_breaks_a_valid_program_is_an_internal_error(tzerlike: Command, tmp_path: Path) -> None:
    path = script(tmp_path, REFUSED)
    assert judged(tzerlike, path)[1]["finding"] is None
    options = ("--passes", "tirx.ForceNarrowIndexToInt32")
    status, verdict = judged(tzerlike, path, *options)
    assert (status, verdict["exit"]) == (1, "rejected")
    assert verdict["reference"]["verdict"] == "defined"
    assert verdict["finding"]["kind"] == "ice-on-valid"


BUGS = sorted((Path(__file__).parents[2] / "docs" / "bugs").glob("*.py"))


@pytest.mark.parametrize(
    "path",
    [*BUGS[:1], *(pytest.param(path, marks=pytest.mark.long) for path in BUGS[1:])],
    ids=lambda path: path.stem,
)
def test_a_known_bug_is_wrong_code(tzerlike: Command, path: Path) -> None:
    status, verdict = judged(tzerlike, path)
    assert status == 1
    assert verdict["reference"]["verdict"] == "defined"
    assert verdict["finding"]["kind"] == "wrong-code"
    # Some of the passes to blame are among those that the baseline build leaves out.
    assert verdict["finding"]["blame"] in ("both", "optimised")


def test_there_are_known_bugs() -> None:
    assert len(BUGS) >= 4
