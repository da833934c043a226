"""Programs that TVM 0.27 does not read back from its own text, from a campaign to their bundle."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Command, environment
from tzerlike.campaign.directory import CampaignDir
from tzerlike.core.case import Case
from tzerlike.oracles.round_trip.examiner import reportable
from tzerlike.systems.tvm_api import dump_ir, module_of, parse_script, tirx, tvm
from tzerlike.tir.roundtrip import PARSER, PRINTER, UNEQUAL, TextFault, round_trip

SCRIPT = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = A[i] + T.float32({number})
"""


def virtual_thread(number: int = 0) -> object:
    """Virtual threads named vthread.x, as schedules make them: their text is read back as threads."""
    func = parse_script(SCRIPT.format(number=number))
    loop = func.body
    axis = tirx.IterVar(tvm.ir.Range(0, 8), loop.loop_var, tirx.IterVar.ThreadIndex, "vthread.x")
    body = tirx.AttrStmt(axis, "virtual_thread", tirx.IntImm("int32", 8), loop.body)
    return tirx.PrimFunc(func.params, body, func.ret_type, func.attrs)


def test_a_thread_of_another_dtype_than_its_loop_is_no_fault_of_the_text() -> None:
    """No schedule makes one: it takes nodes that are put together by hand."""
    for dtype in ("int32", "int64"):
        thread = tirx.IterVar(None, tirx.Var("j", dtype), 1, "vthread.x")
        kind = tirx.ForKind.THREAD_BINDING
        loop = tirx.For(tirx.Var("i", "int32"), 0, 1, kind, tirx.Evaluate(0), thread_binding=thread)
        fault = round_trip(module_of(tirx.PrimFunc([], loop)))
        assert (fault is None) == (dtype == "int32")
        assert fault is None or not reportable(fault)


def test_only_what_tvmscript_does_not_mean_to_do_is_reportable() -> None:
    fault = round_trip(module_of(virtual_thread()))
    assert fault is not None
    assert (fault.stage, fault.cause) == (UNEQUAL, "attr_key: virtual_thread becomes thread_extent")
    assert reportable(fault)
    assert not reportable(TextFault(UNEQUAL, "Max is rewritten", ""))
    assert not reportable(TextFault(UNEQUAL, "layout: TileLayout becomes NoneType", ""))
    assert not reportable(
        TextFault(UNEQUAL, "value: <n> becomes <n>", "<root>.body.buffer.ty.layout.shard[0].extent.value: 12")
    )
    assert reportable(TextFault(UNEQUAL, "value: <n> becomes <n>", "<root>.body.buffer.ty.shape[0].value: 12"))
    folding = "InternalError: Check failed: pb->value != 0 (0 vs. 0) : Divide by zero"
    assert not reportable(TextFault(PRINTER, folding, folding))
    unread = "DiagnosticError: error: unsupported operand type(s) for *: 'Var' and 'FloatImm'"
    assert reportable(TextFault(PARSER, unread, unread))


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    seeds, root = tmp_path_factory.mktemp("seeds"), tmp_path_factory.mktemp("campaign") / "c"
    for number in range(24):
        case = Case(dump_ir(module_of(virtual_thread(number))))
        (seeds / f"threads{number}.json").write_text(json.dumps(case.to_json()))
    options = [
        "--coverage",
        "none",
        "--iterations",
        "24",
        "--jobs",
        "1",
        "--seeds",
        str(seeds),
        "--out",
        str(root),
        "--seed",
        "2",
    ]
    options += ["--oracles", "roundtrip", "--mutators", "constants", "--pass-mode", "none", "--ui", "none"]
    subprocess.run([sys.executable, "-m", "tzerlike", "fuzz", *options], env=environment(), check=True, timeout=600)
    (found,) = [path for path in CampaignDir(root).bundles() if "-roundtrip-" in path.name]
    return found


@pytest.mark.long
def test_it_shows_again(tzerlike: Command, bundle: Path) -> None:
    assert bundle.name.startswith("ice-on-valid-roundtrip-another-program-comes-back")
    assert "TVMScript round trip: attr_key virtual_thread becomes thread_extent" in (bundle / "report.md").read_text()
    done = tzerlike("replay", bundle, "--times", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("shows 2/2")
    repro = subprocess.run([sys.executable, "-I", bundle / "repro.py"], capture_output=True, text=True, timeout=300)
    assert repro.returncode == 1, repro.stderr
    assert "another program comes back" in repro.stdout
    test = subprocess.run([sys.executable, bundle / "test_regression.py"], capture_output=True, text=True, timeout=300)
    assert test.returncode == 1, "the test fails"
    assert "assert_structural_equal" in test.stdout


@pytest.mark.long
def test_it_is_reduced_to_what_does_not_come_back(tzerlike: Command, bundle: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(bundle, tmp_path / bundle.name))
    done = tzerlike("reduce", copy, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    (said,) = json.loads(done.stdout)
    assert said["status"] == "reduced"
    assert (
        said["after"]["statements"] < said["before"]["statements"] or said["after"]["nodes"] < said["before"]["nodes"]
    )
    assert "virtual_thread" in (copy / "reduced" / "case.json").read_text()
    again = tzerlike("replay", copy / "reduced", "--times", "2")
    assert again.stdout.startswith("shows 2/2"), again.stdout + again.stderr
