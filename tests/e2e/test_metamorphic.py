"""A wrong schedule primitive of TVM 0.27, from a campaign to its bundle: loop_partition starts a sum in each part."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Command, environment
from tzerlike.campaign.directory import CampaignDir
from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import Results
from tzerlike.harnesses.tir.regression_schedule import schedule_tests

SEED = """
from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def main(A: T.Buffer((6, 8), "float32"), B: T.Buffer((6,), "float32")):
    for i, k in T.grid(6, 8):
        with T.sblock("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
"""


NO_CALLS = '{"root_index":1,"nodes":[{"type":"ffi.Array","data":[]},{"type":"ffi.Array","data":[0,0]}]}'


def campaign(seed: str, iterations: int, seeds: Path, root: Path) -> Path:
    """The one bundle of a short campaign that applies loop primitives to `seed`."""
    seeds.mkdir(parents=True)
    (seeds / "sum.py").write_text(seed)
    options = ["--seed", "1", "--iterations", str(iterations), "--jobs", "1", "--seeds", str(seeds), "--out", str(root)]
    options += ["--oracles", "metamorphic", "--mutators", "schedule-loops", "--pass-mode", "none", "--ui", "none"]
    command = [sys.executable, "-m", "tzerlike", "fuzz", *options, "--coverage", "none"]
    subprocess.run(command, env=environment(), check=True, timeout=600)
    (found,) = CampaignDir(root).bundles()
    return found


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("campaign")
    return campaign(SEED, 6, root / "seeds", root / "c")


@pytest.mark.long
def test_it_names_the_primitive_and_shows_again(tzerlike: Command, bundle: Path) -> None:
    assert bundle.name.startswith("wrong-code-schedule-looppartition-other-values-f")
    done = tzerlike("replay", bundle, "--times", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("shows 2/2")


@pytest.mark.long
def test_repro_shows_it_with_tvm_and_numpy_alone(bundle: Path, tmp_path: Path) -> None:
    for name in ("repro.py", "inputs.npz"):
        shutil.copy(bundle / name, tmp_path)
    assert "tzerlike" not in (tmp_path / "repro.py").read_text()
    command = [sys.executable, "-I", tmp_path / "repro.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path, check=False)
    assert done.returncode == 1, done.stderr
    assert "B[4] is" in done.stdout
    assert done.stdout.endswith("the bug shows\n")


@pytest.mark.long
def test_its_regression_test_fails_with_the_bug_and_passes_without_the_guilty_call(
    bundle: Path, tmp_path: Path
) -> None:
    text = (bundle / "test_regression.py").read_text()
    assert "tzerlike" not in text
    assert "sch.loop_partition(" in text
    assert status(text, tmp_path) == 1
    assert status(re.sub(r"(?m)^.*suppress\(.*\n.*sch\.loop_partition\(.*\n", "", text), tmp_path) == 0


def status(test: str, directory: Path) -> int:
    """How a regression test ends."""
    path = directory / "test_regression.py"
    path.write_text(test)
    return subprocess.run([sys.executable, path], capture_output=True, timeout=300, check=False).returncode


@pytest.mark.long
def test_without_the_guilty_call_it_does_not_show(tzerlike: Command, bundle: Path, tmp_path: Path) -> None:
    other = tmp_path / "b"
    shutil.copytree(bundle, other)
    observed = json.loads((other / "observation.json").read_text())
    observed["environment"]["schedule"]["trace"] = NO_CALLS
    (other / "observation.json").write_text(json.dumps(observed))
    done = tzerlike("replay", other)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "does not show 0/1" in done.stdout


@pytest.mark.long
@pytest.mark.parametrize("schedule", [None, {}, {"trace": 3}, "trace"])
def test_a_damaged_schedule_is_one_line(tzerlike: Command, bundle: Path, tmp_path: Path, schedule: object) -> None:
    other = tmp_path / "b"
    shutil.copytree(bundle, other)
    observed = json.loads((other / "observation.json").read_text())
    observed["environment"]["schedule"] = schedule
    (other / "observation.json").write_text(json.dumps(observed))
    done = tzerlike("replay", other)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "observation.json" in done.stderr


COPY = """
from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def main(A: T.Buffer((6, 8), "float32"), B: T.Buffer((6, 8), "float32")):
    for i, k in T.grid(6, 8):
        with T.sblock("copy"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk] = A[vi, vk]
"""


@pytest.mark.long
def test_regions_that_a_primitive_makes_lie_are_reported_though_the_build_is_right(tmp_path: Path) -> None:
    bundle = campaign(COPY, 12, tmp_path / "seeds", tmp_path / "c")
    assert bundle.name.startswith("wrong-code-schedule-looppartition-block-region")
    # The documentation of the primitive prints what comes out.
    assert json.loads((bundle / "observation.json").read_text())["tier"] == 2
    command = [sys.executable, "-I", bundle / "repro.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1, done.stderr
    assert "copy_k_common does not declare A" in done.stdout
    assert "(LoopPartition)" not in (bundle / "report.md").read_text()
    text = (bundle / "test_regression.py").read_text()
    assert status(text, tmp_path) == 1
    assert status(re.sub(r"(?m)^.*suppress\(.*\n.*sch\.loop_partition\(.*\n", "", text), tmp_path) == 0


ROWS = """\
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((2, 2), "int32"), B: T.Buffer((2, 2), "int32")):
        for i, j in T.grid(2, 2):
            with T.sblock("copy"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj]
"""


@pytest.mark.long
def test_a_block_that_strays_beyond_what_it_declares_is_shown_by_tvm_alone(tmp_path: Path) -> None:
    """TVM 0.27: pad_einsum copies all of A in a block that declares one row."""
    calls = ('_, j = sch.get_loops("copy")', "sch.blockize(j)", 'sch.pad_einsum("copy", [16])')
    message = "block-region: element [1, 0] is outside of what the block declares"
    seen = Observation(Exit.OK, Stage.MUTATE, message, "PadEinsum", results=Results("defined"))
    finding = Finding("wrong-code", ("schedule", "PadEinsum", "block-region"), Case("{}"), seen)
    test = next(schedule_tests(finding, ROWS, {"calls": calls, "trace": NO_CALLS}, (), b""))
    assert test.text.splitlines()[-5].startswith("    assert stray(sch.mod)"), test.text
    assert status(test.text, tmp_path) == 1
    assert status(test.cured, tmp_path) == 0


GATHER = """\
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4, 4), "float32"), P: T.Buffer((4,), "int32"), B: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.sblock("take"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(P[0], A[P[0], vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[P[0], vj]
"""


@pytest.mark.long
def test_an_index_that_a_block_reads_and_does_not_declare_is_shown_by_tvm_alone(tmp_path: Path) -> None:
    """TVM 0.27: the copy that reindex makes declares A and not P; its region has the very index of its body."""
    calls = ('sch.reindex("take", ("read", 1))',)
    seen = Observation(
        Exit.OK, Stage.MUTATE, "block-region: reads P without declaring it", "ReIndex", results=Results("defined")
    )
    finding = Finding("wrong-code", ("schedule", "ReIndex", "block-region"), Case("{}"), seen)
    test = next(schedule_tests(finding, GATHER, {"calls": calls, "trace": NO_CALLS}, (), b""))
    assert (status(test.text, tmp_path), status(test.cured, tmp_path)) == (1, 0)
