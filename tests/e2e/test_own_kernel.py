"""`run` of one's own kernel, as people write it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT, Command
from tzerlike import api
from tzerlike.core.errors import UserError

KERNEL = """\
from tvm.script import tirx as T

N = 8
M = N * 2


@T.prim_func
def main(A: T.Buffer((N, M), "float32"), B: T.Buffer((N, M), "float32")):
    for i, j in T.grid(N, M):
        B[i, j] = A[i, j] + T.float32(1)
"""
RELAX = """\
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            y = R.nn.relu(x)
            R.output(y)
        return y
"""


@pytest.mark.parametrize("text", [KERNEL, pytest.param(RELAX, marks=pytest.mark.long)], ids=["constants", "relax"])
def test_a_kernel_is_judged_as_it_is_written(tzerlike: Command, tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.py").write_text(text)
    done = tzerlike("run", tmp_path / "mine.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["ok in done", "interpreter: defined"]


@pytest.mark.parametrize(
    ("good", "bad", "line", "why"),
    [
        ("T.float32(1)", "T.nonsense(1)", 10, "has no attribute 'nonsense'"),
        pytest.param("T.float32(1)", "missing", 10, "Undefined variable: missing", marks=pytest.mark.long),
        pytest.param("i, j in", "i; j in", 9, "not Python: invalid syntax", marks=pytest.mark.long),
    ],
)
def test_an_error_names_the_file_and_the_line(
    tzerlike: Command, tmp_path: Path, good: str, bad: str, line: int, why: str
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(KERNEL.replace(good, bad))
    done = tzerlike("run", path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"tzerlike: {path}:{line}: ")
    assert why in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_wrong_code_is_said_in_words_and_becomes_a_bundle(tzerlike: Command, tmp_path: Path) -> None:
    done = tzerlike("run", ROOT / "docs/bugs/bfloat16_in_a_bind.py", "--out", tmp_path / "bundles")
    assert done.returncode == 1, done.stderr
    detail = done.stdout.splitlines()[3]
    assert " is " in detail and ", not " in detail and "elements" in detail
    (bundle,) = (tmp_path / "bundles").iterdir()
    assert done.stdout.splitlines()[4] == f"bundle: {bundle}"
    assert {"report.md", "repro.py", "case.json"} <= {path.name for path in bundle.iterdir()}
    again = tzerlike("replay", bundle, "--json")
    assert [json.loads(again.stdout)[0]["verdict"], again.returncode] == ["shows", 0]


HELPED = """\
import math

from lengths import ROWS
from tvm.script import tirx as T


def kernel(n):
    @T.prim_func
    def main(A: T.Buffer((ROWS, n), "float32"), B: T.Buffer((ROWS, n), "float32")):
        for i, j in T.grid(ROWS, n):
            B[i, j] = A[i, j] + T.float32(1)

    return main


main = kernel(int(math.sqrt(64)))
"""


def test_a_file_with_imports_and_helpers_is_run_in_confinement(tmp_path: Path) -> None:
    (tmp_path / "lengths.py").write_text("ROWS = 4\n")
    path = tmp_path / "mine.py"
    with api.open_tvm() as client:

        def judged(text: str, *, text_only: bool = False) -> str:
            path.write_text(text)
            try:
                return api.judge(path, text_only=text_only, client=api.using(client)).exit.value
            except UserError as error:
                return str(error)

        assert judged(HELPED) == "ok"
        assert judged(HELPED.replace("main = kernel", "error = kernel")) == "ok", "whatever its name"
        assert f"{path}:" in judged(HELPED, text_only=True), "its functions are not in the text"
        writes = judged(HELPED + "open('made', 'w')\n")
        assert "may not" in writes and "--text" in writes
        assert not (tmp_path / "made").exists() and not Path("/made").exists()
        failed = judged(HELPED.replace("math.sqrt(64)", "math.sqrt('x')"))
        assert failed.startswith(f"{path}:{HELPED.count(chr(10))}: TypeError: ")


@pytest.mark.long
def test_watch_judges_the_file_again_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(KERNEL)
    watching = subprocess.Popen(
        [sys.executable, "-m", "tzerlike", "run", path, "--watch"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert watching.stdout is not None
    try:
        assert [watching.stdout.readline() for _ in range(2)] == ["ok in done\n", "interpreter: defined\n"]
        path.write_text(KERNEL.replace("T.float32(1)", "missing"))
        assert "Undefined variable: missing" in watching.stdout.readline()
        path.write_text(KERNEL)
        assert watching.stdout.readline() == "ok in done\n"
    finally:
        watching.send_signal(signal.SIGINT)
        assert watching.wait(30) == 130
