"""`tzerlike replay --python` with the three versions of TVM that have been tried, each in an environment of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import CACHE, Command
from tests.e2e.test_reduce import CRASH, bundle
from tzerlike.arith.case import ArithCase
from tzerlike.arith.model import Expr, Problem, Variable, const
from tzerlike.core.finding import Signed
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.storage import json_text
from tzerlike.findings.bundles.bundle import Confirmation, observation_text
from tzerlike.systems import TVM

pytestmark = pytest.mark.long

HOME, *OLDER = list(TVM.releases)[:3]

CAST = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((4,), "uint8"), B: T.Buffer((4,), "uint8")):
    for i in range(4):
        v: T.let[T.int32] = T.int32(-1)
        B[i] = T.if_then_else(i > 5, T.Cast("uint8", v), A[i])
"""
"""Folding the cast raises in all three versions; 0.27 has worded that anew, as a check."""

ALLOCATION = (Path(__file__).resolve().parents[2] / "docs" / "bugs" / "vectorized_allocation.py").read_text()

DIES = Observation(Exit.CRASH, Stage.PASSES, "SIGSEGV", "tirx.NarrowDataType", 11)
RAISES = Observation(
    Exit.REJECTED,
    Stage.PASSES,
    "InternalError: Check failed: (value >= 0) is false: cannot make uint from negative value -1",
    "tirx.StmtSimplify",
)


@pytest.fixture(scope="module")
def pythons() -> list[Path]:
    """The pythons of environments with the older versions, as README says to make them."""
    found = []
    for version in OLDER:
        place = CACHE / f"tvm-{version}"
        python = place / "bin" / "python"
        wanted = [f"apache-tvm=={version}", f"apache-tvm-ffi=={TVM.releases[version]}", "numpy", "msgspec"]
        for command in ([sys.executable, "-m", "venv", place], [python, "-m", "pip", "install", "--quiet", *wanted]):
            done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
            if done.returncode != 0:
                pytest.skip(f"no TVM {version} here: {done.stderr.strip().splitlines()[-1:]}")
        found.append(python)
    return found


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("bundles")
    made = {
        "crash": bundle(root / "crash", CRASH, "tirx.NarrowDataType{target_bits=16}"),
        "cast": bundle(root / "cast", CAST, "tirx.StmtSimplify"),
        "wrong": bundle(root / "wrong", ALLOCATION, ""),
    }
    seen_in(made["crash"], DIES)
    seen_in(made["cast"], RAISES)
    # What the interpreter expects on inputs of its own choice is in the bundle of a reduction.
    done = subprocess.run(
        [sys.executable, "-m", "tzerlike", "reduce", made["wrong"], "--budget", "60s"], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    made["wrong"] = Path(shutil.copytree(made["wrong"] / "reduced", root / "wrong-code-reduced"))
    return made


def seen_in(path: Path, seen: Observation) -> None:
    file = path / "observation.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"observation": seen.to_json()}))


def histories(tzerlike: Command, paths: list[Path], pythons: list[Path]) -> tuple[list[dict[str, Any]], int]:
    options = [word for python in pythons for word in ("--python", str(python))]
    done = tzerlike("replay", *paths, *options, "--json")
    assert done.stdout, done.stderr
    return json.loads(done.stdout), done.returncode


def words(history: dict[str, Any]) -> list[str]:
    return [cell["word"] for cell in history["versions"].values()]


def test_three_versions_are_compared(tzerlike: Command, bundles: dict[str, Path], pythons: list[Path]) -> None:
    found, status = histories(tzerlike, [bundles[name] for name in ("crash", "cast", "wrong")], pythons)
    assert status == 0
    crash, cast, wrong = found
    assert list(crash["versions"]) == [*reversed(OLDER), HOME]
    assert (words(crash), crash["first_bad"]) == (["does not show", "does not show", "shows"], HOME)
    assert (words(cast), cast["first_bad"]) == (["shows"] * 3, f"<= {OLDER[-1]}")
    assert (words(wrong), wrong["first_bad"]) == (["shows"] * 3, f"<= {OLDER[-1]}")


def test_one_bad_python_does_not_lose_the_table(
    tzerlike: Command, bundles: dict[str, Path], pythons: list[Path], tmp_path: Path
) -> None:
    missing = tmp_path / "python"
    (crash,), status = histories(tzerlike, [bundles["crash"]], [missing, pythons[0]])
    assert status == 2, "naming a Python that is none is an error all the same"
    assert words(crash) == ["cannot load", "does not show", "shows"]
    assert "No such file" in crash["versions"][str(missing)]["detail"]


def test_arithmetic_is_asked_of_each_version(tzerlike: Command, pythons: list[Path], tmp_path: Path) -> None:
    """The bound of a remainder goes by the greatest common divisor since 0.26 (TVM: src/arith/const_int_bound.cc)."""
    path = tmp_path / "wrong-code-const-int-bound"
    path.mkdir()
    x = Variable("x", "int32", (0, 4), "steps")
    moved = Expr("Add", "int32", (x.node, const(-1, "int32")))
    root = Expr("FloorMod", "int32", (moved, const(22, "int32")))
    problem = Problem((x,), (root,))
    finding = Signed("wrong-code", ("const_int_bound", "FloorMod(Add(v0, c), c) [v0 int32]"))
    seen = Observation(Exit.OK, Stage.ANALYZE, "claims ((x + -1) %% 22) <= 1", "const_int_bound")
    (path / "case.json").write_text(json_text(ArithCase("const_int_bound", problem, 1, 0, 0).to_json()))
    (path / "observation.json").write_text(observation_text(finding, seen, Limits(), Confirmation(2, 2), {}))
    (history,), status = histories(tzerlike, [path], pythons)
    assert status == 1, "it does not show on our own"
    assert words(history) == ["shows", "does not show", "does not show"]
    assert (history["first_bad"], history["fixed_in"]) == (f"<= {OLDER[-1]}", OLDER[0])
