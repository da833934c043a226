"""`tzerlike reduce` on bundles of real wrong code and of a real crash of TVM 0.27."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Command, environment, start, wait_until
from tzerlike.core.case import Case, ContextConfig, Provenance, parse_sequence
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.stored import StoredCase
from tzerlike.findings.bundles.bundle import Confirmation, Texts, write_bundle
from tzerlike.systems import tvm_api
from tzerlike.systems.optional import baseline_named

ORACLES = ["crash", "inconsistency", "internal-error"]

WRONG_CODE = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((4,), "bfloat16"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "int32")):
    for i in range(4):
        if C[i] >= -1000:
            v: T.let[T.float32] = T.Cast("float32", A[i])
            B[i] = v
"""
"""docs/bugs/bfloat16_in_a_bind.py with things around it that do not matter."""

CRASH = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("b"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
"""
"""NarrowDataType to few bits dies on every block."""


def bundle(directory: Path, program: str, passes: str) -> Path:
    """A bundle as a campaign writes it, of what `tzerlike run` finds in a program."""
    directory.mkdir()
    ir = tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(program)))
    config = ContextConfig(3, (("tirx.disable_assert", True),))
    case = Case(ir, parse_sequence(passes), config, '{"kind": "llvm", "opt-level": 0}', 41)
    stored = StoredCase(case, Provenance("test"))
    file = directory / "case.json"
    file.write_text(json.dumps(stored.to_json()))
    run = [sys.executable, "-m", "tzerlike", "run", str(file), "--oracles", ",".join(ORACLES), "--json"]
    said = json.loads(subprocess.run(run, env=environment(), capture_output=True, timeout=600, check=False).stdout)
    assert said["finding"], said
    finding = Finding(said["finding"]["kind"], ("found by the test",), case, Observation(Exit.OK, Stage.DONE))
    held = {"oracles": ORACLES, "baseline": baseline_named(tvm_api.TVM_VERSION)}
    path = write_bundle(directory, finding, stored, Limits(), Confirmation(1, 1), Texts("", ""), held)
    assert path is not None
    sign(path, said["finding"]["signature"])
    return path


def sign(path: Path, signature: str) -> None:
    file = path / "observation.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"signature": signature}))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A bundle of wrong code and one of a crash."""
    root = tmp_path_factory.mktemp("found")
    return (
        bundle(root / "wrong", WRONG_CODE, "tirx.StmtSimplify; tirx.RemoveNoOp"),
        bundle(root / "crash", CRASH, "tirx.StmtSimplify; tirx.NarrowDataType{target_bits=16}"),
    )


@pytest.fixture
def bundles(found: tuple[Path, Path], tmp_path: Path) -> tuple[Path, Path]:
    """Copies of them that a test may reduce."""
    first, second = (Path(shutil.copytree(path, tmp_path / path.parent.name)) for path in found)
    return first, second


def content(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((path / "reduced" / "case.json").read_text())["case"]
    return data


@pytest.mark.long
def test_reduced_bundles_are_small_and_of_the_same_finding_whatever_the_jobs(
    tzerlike: Command, bundles: tuple[Path, Path], found: tuple[Path, Path], tmp_path: Path
) -> None:
    done = tzerlike("reduce", *bundles, "--jobs", "2", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    wrong, crash = json.loads(done.stdout)
    assert (wrong["status"], crash["status"]) == ("reduced", "reduced")
    assert (wrong["before"]["statements"], crash["before"]["statements"]) == (4, 4)
    assert wrong["after"]["statements"] <= 3
    assert (wrong["after"]["passes"], wrong["after"]["options"]) == (0, 0)
    assert (crash["after"]["statements"], crash["after"]["passes"]) == (1, 1)
    for path in bundles:
        small = path / "reduced"
        files = {file.name for file in path.iterdir()}
        assert {file.name for file in small.iterdir()} >= files - {"reduced", "bisect.json"}
        assert not [file for file in path.iterdir() if file.name.startswith(".")]
    shown = tzerlike("replay", *(path / "reduced" for path in bundles), "--times", "3")
    assert [line[:9] for line in shown.stdout.splitlines()] == ["shows 3/3"] * 2
    repro = [sys.executable, bundles[0] / "reduced" / "repro.py"]
    assert subprocess.run(repro, capture_output=True, timeout=300, check=False).returncode != 0

    alone = Path(shutil.copytree(found[1], tmp_path / "alone"))
    assert tzerlike("reduce", alone, "--jobs", "1").returncode == 0
    assert content(alone) == content(bundles[1])
    again = tzerlike("reduce", alone, alone / "reduced", "--jobs", "1", "--json")
    assert [said["status"] for said in json.loads(again.stdout)] == ["reduced", "left alone"]
    assert content(alone) == content(bundles[1])


@pytest.mark.long
def test_the_best_so_far_stays_after_an_interrupt_and_is_gone_on_from(
    tzerlike: Command, bundles: tuple[Path, Path]
) -> None:
    process = start("reduce", bundles[1])
    wait_until(lambda: process.poll() is not None or at_work(process.pid))
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130, (out, err)
    assert "run it again to continue" in err
    (said,) = json.loads(tzerlike("reduce", bundles[1], "--json").stdout)
    assert (said["status"], said["after"]["statements"], said["after"]["passes"]) == ("reduced", 1, 1)


def at_work(pid: int) -> bool:
    """Whether the zygote below `pid` has forked a worker."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        grandchildren = [Path(f"/proc/{child}/task/{child}/children").read_text() for child in children]
    except FileNotFoundError:
        return False
    return any(text.strip() for text in grandchildren)


@pytest.mark.long
def test_a_budget_that_is_used_up_leaves_the_best_so_far_and_what_does_not_show_nothing(
    tzerlike: Command, bundles: tuple[Path, Path]
) -> None:
    sign(bundles[1], "0" * 12)
    done = tzerlike("reduce", *bundles, "--budget", "0.01s", "--json")
    assert done.returncode == 1
    wrong, crash = json.loads(done.stdout)
    assert (wrong["status"], crash["status"]) == ("budget", "does not show")
    assert wrong["after"] == wrong["before"]
    small = json.loads((bundles[0] / "reduced" / "observation.json").read_text())
    assert small["signature"] == wrong["signature"]
    assert "### Where it goes wrong" in (bundles[0] / "report.md").read_text(), "wrong code is bisected as well"
    assert not (bundles[1] / "reduced").exists()


def test_no_bundle_is_a_usage_error(tzerlike: Command, tmp_path: Path) -> None:
    done = tzerlike("reduce", tmp_path / "nothing")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


TWO = """
from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 6), "float32"), B: T.Buffer((8, 6), "float32"), C: T.Buffer((8, 6), "float32")):
    for i in range(8):
        for j in range(6):
            with T.sblock("first"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1)
        for j in range(6):
            with T.sblock("second"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] * T.float32(2)
"""


@pytest.mark.long
def test_a_schedule_that_kills_its_process_is_reduced_in_the_campaign(tzerlike: Command, tmp_path: Path) -> None:
    """TVM 0.27: loop_partition of a loop around two others is a segmentation fault."""
    (tmp_path / "seeds").mkdir()
    (tmp_path / "seeds" / "two.py").write_text(TWO)
    options = ["--seed", "3", "--iterations", "240", "--jobs", "1", "--seeds", tmp_path / "seeds", "--ui", "none"]
    options += ["--oracles", "crash", "--mutators", "schedule-loops", "--pass-mode", "none", "--coverage", "none"]
    done = tzerlike("fuzz", *options, "--out", tmp_path / "c")
    assert done.returncode == 0, done.stderr
    (bundle,) = (tmp_path / "c" / "findings").glob("crash-mutate-schedule-loop-partition-sigsegv-*")
    before, after = ((path / "module.py").read_text() for path in (bundle, bundle / "reduced"))
    assert before.count("for j in") == 2
    assert "for j in" not in after, after
