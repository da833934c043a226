"""The other commands, and what they say to wrong input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import Command

SCRIPT = """
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def add(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] + T.float32(1)

    @T.prim_func
    def copy(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i]
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "module.py"
    path.write_text(SCRIPT)
    return path


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("fuzz", "--colour"), "No such option"),
        (("fuzz", "--budget", "soon"), "--budget: 'soon' is not a duration"),
        (("fuzz", "--budget", "-5m"), "--budget"),
        (("fuzz", "--iterations", "-3"), "--iterations: expected"),
        (("fuzz", "--iterations", "many"), "'many' is not a valid integer"),
        (("fuzz", "--jobs", "0"), "--jobs: expected"),
        (("fuzz", "--jobs", "100000"), "--jobs: expected"),
        (("fuzz", "--n-max", "0"), "--n-max: expected"),
        (("fuzz", "--timeout", "-1"), "--timeout: expected"),
        (("fuzz", "--memory-limit", "lots"), "--memory-limit"),
        (("fuzz", "--seed", "-1"), "--seed: expected"),
        (("fuzz", "--target", "abacus"), "'abacus' is not one of 'llvm', 'cuda'"),
        (("fuzz", "--seeds", "nowhere"), "--seeds: 'nowhere' is neither"),
        (("fuzz", "--mutators", "swpa"), "--mutators: no mutator 'swpa'; nearest: swap"),
        (("fuzz", "--oracles", "taste"), "no oracle 'taste'"),
        (("fuzz", "--oracles", ""), "--oracles: expected"),
        (("fuzz", "--resume"), "holds no campaign"),
        (("replay",), "Missing argument"),
        (("replay", "nowhere"), "nowhere: not a bundle"),
        (("run", "nowhere.py"), "nowhere.py: not found"),
        (("conquer",), "No such command"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(
    tzerlike: Command, tmp_path: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    out = ("--out", str(tmp_path / "c")) if arguments[0] == "fuzz" else ()
    done = tzerlike(*arguments, *out)
    assert done.returncode == 2, done.stdout
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert not (tmp_path / "c").exists(), "a campaign that cannot start leaves nothing behind"


def test_a_directory_that_is_not_empty_is_left_alone(tzerlike: Command, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear diary")
    done = tzerlike("fuzz", "--out", tmp_path)
    assert done.returncode == 2
    assert "is not empty" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["letter.txt"]


def test_a_file_is_no_directory(tzerlike: Command, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    done = tzerlike("fuzz", "--out", path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


def test_run_judges_a_function_of_a_file(tzerlike: Command, script: Path) -> None:
    done = tzerlike("run", script, "--function", "add", "--passes", "tirx.StmtSimplify", "--json")
    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    assert set(verdict) == {"exit", "stage", "message", "reference", "finding"}
    assert verdict["exit"] == "ok"
    assert verdict["finding"] is None


def test_run_says_what_the_compiler_refuses(tzerlike: Command, script: Path) -> None:
    done = tzerlike("run", script, "--function", "add", "--passes", "tirx.BF16StorageLegalize", "--json")
    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    assert verdict["exit"] == "rejected"
    assert verdict["stage"] == "passes"
    assert "MakePackedAPI" in verdict["message"]


ENDLESS = """
@T.prim_func
def main(A: T.Buffer((1000000000,), "int8")):
    for i in T.unroll(1000000000):
        A[i] = T.int8(1)
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("limits", "kind"),
    [
        (("--timeout", "0.5", "--memory-limit", "64G"), "hang"),
        (("--timeout", "60", "--memory-limit", "64M"), "oom"),
    ],
)
def test_unrolling_without_end_is_a_finding(
    tzerlike: Command, tmp_path: Path, limits: tuple[str, ...], kind: str
) -> None:
    path = tmp_path / "endless.py"
    path.write_text(ENDLESS)
    done = tzerlike("run", path, *limits, "--json")
    assert done.returncode == 1, done.stderr
    verdict = json.loads(done.stdout)
    assert verdict["finding"]["kind"] == kind
    assert verdict["stage"] == "build"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        pytest.param((), "--function; there are: add, copy", marks=pytest.mark.long),
        pytest.param(("--function", "mul"), "there are: add, copy", marks=pytest.mark.long),
        (("--function", "add", "--passes", "tirx.UnrolLoop"), "nearest: tirx.UnrollLoop"),
        pytest.param(
            ("--function", "add", "--passes", "tirx.UnrollLoop{"), "expected an argument name", marks=pytest.mark.long
        ),
        (("--function", "add", "--oracles", "taste"), "no oracle"),
    ],
)
def test_run_says_what_is_wrong(tzerlike: Command, script: Path, arguments: tuple[str, ...], complaint: str) -> None:
    done = tzerlike("run", script, *arguments)
    assert done.returncode == 2, done.stdout
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", marks=pytest.mark.long),
        pytest.param("x = 1", marks=pytest.mark.long),
        pytest.param("def f(:", marks=pytest.mark.long),
        "import os; os.system('touch owned')",
    ],
)
def test_a_file_that_is_no_tvmscript(tzerlike: Command, tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.py"
    path.write_text(text)
    done = tzerlike("run", path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert not Path("owned").exists()


def test_doctor_finds_this_machine_fit(tzerlike: Command) -> None:
    done = tzerlike("doctor")
    assert done.returncode == 0, done.stdout
    names = [line.split(": ")[0] for line in done.stdout.splitlines()]
    assert "ok   tvm" in names
    assert "ok   memcov" in names
    (witness,) = [line for line in tzerlike("doctor", PATH="").stdout.splitlines() if "witness" in line]
    assert witness.startswith("note witness: no gcc -> install gcc")
    checks = json.loads(tzerlike("doctor", "--json").stdout)
    assert {"name", "good", "seen", "advice", "needed"} == set(checks[0])


def test_lists(tzerlike: Command) -> None:
    seeds = json.loads(tzerlike("seeds", "list", "--json").stdout)
    assert len(seeds) >= 629
    assert {"name", "origin", "target", "nodes"} == set(seeds[0])
    table = tzerlike("seeds", "list").stdout
    assert f"{len(seeds)} seeds" in table
    assert "constants" in tzerlike("mutators", "list").stdout.split()
    assert "tirx.UnrollLoop" in tzerlike("passes", "list").stdout.split()


def test_no_tvm_is_one_line(tzerlike: Command, tmp_path: Path) -> None:
    (tmp_path / "tvm").mkdir()
    (tmp_path / "tvm" / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'tvm'\", name='tvm')")
    done = tzerlike("fuzz", "--out", tmp_path / "c", PYTHONPATH=str(tmp_path))
    assert done.returncode == 2, done.stderr
    assert "no module 'tvm' in this Python" in done.stderr
    assert len(done.stderr.splitlines()) == 1
