"""Bundles of a real crash of TVM 0.27: replay, repro.py, and what a damaged bundle says."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Command
from tests.e2e.test_reduce import CRASH


@pytest.fixture(scope="module")
def bundle(tzerlike: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """NarrowDataType to few bits dies on every block."""
    root = tmp_path_factory.mktemp("bundles")
    program = root / "program.py"
    program.write_text(CRASH)
    passes = "tirx.StmtSimplify; tirx.NarrowDataType{target_bits=16}"
    done = tzerlike("run", program, "--passes", passes, "--oracles", "crash", "--out", root / "findings")
    assert done.returncode == 1, done.stdout + done.stderr
    (path,) = (root / "findings").iterdir()
    return path


def test_it_shows_again(tzerlike: Command, bundle: Path) -> None:
    done = tzerlike("replay", bundle, "--times", "3")
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("shows 3/3")
    result = json.loads(tzerlike("replay", bundle, "--json").stdout)
    assert result[0]["verdict"] == "shows"


def test_repro_shows_it_with_tvm_and_numpy_alone(bundle: Path, tmp_path: Path) -> None:
    alone = tmp_path / "repro.py"
    shutil.copy(bundle / "repro.py", alone)
    assert "tzerlike" not in alone.read_text()
    done = subprocess.run([sys.executable, alone], capture_output=True, timeout=300, cwd=tmp_path, check=False)
    assert done.returncode < 0, "the process dies of a signal"


@pytest.mark.long
def test_run_judges_its_case_alike(tzerlike: Command, bundle: Path) -> None:
    done = tzerlike("run", bundle / "case.json", "--json")
    assert done.returncode == 1
    observed = json.loads((bundle / "observation.json").read_text())
    assert json.loads(done.stdout)["finding"]["signature"] == observed["signature"]


@pytest.mark.long
def test_another_signature_does_not_show(tzerlike: Command, bundle: Path, tmp_path: Path) -> None:
    other = tmp_path / "b"
    shutil.copytree(bundle, other)
    observed = json.loads((other / "observation.json").read_text()) | {"signature": "0" * 12}
    (other / "observation.json").write_text(json.dumps(observed))
    done = tzerlike("replay", other)
    assert done.returncode == 1
    assert "does not show 0/1" in done.stdout


@pytest.mark.parametrize("name", ["case.json", "observation.json"])
@pytest.mark.parametrize(
    "content",
    [
        None,
        pytest.param("", marks=pytest.mark.long),
        pytest.param("{}", marks=pytest.mark.long),
        "[" * 10_000,
        '{"schema_version": 1}',
        pytest.param("null", marks=pytest.mark.long),
    ],
)
def test_a_damaged_bundle_is_one_line(
    tzerlike: Command, bundle: Path, tmp_path: Path, name: str, content: str | None
) -> None:
    other = tmp_path / "b"
    shutil.copytree(bundle, other)
    if content is None:
        (other / name).unlink()
    else:
        (other / name).write_text(content)
    done = tzerlike("replay", other)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert name in done.stderr
