"""A campaign whose interpreter reads the contract wrongly: the witness withholds what it would report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.e2e.conftest import Command
from tzerlike.systems.tvm_api import dump_ir, module_of, parse_script

PLANT = """
import gc, sys

if "tzerlike.processes.zygote" in sys.orig_argv:
    freeze = gc.freeze

    def plant():
        from tzerlike.systems.tvm_api import tirx
        from tzerlike.tir.interpreter import expressions, integers, regions

        expressions._INTEGER_BINARY[tirx.FloorDiv] = integers.divide
        regions.Regions.check = lambda *arguments: None
        freeze()

    gc.freeze = plant
"""

SEED = """
from tvm.script import tirx as T


@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        B[i] = (A[i] * 2 - 21) // 2
"""


UNDECLARED = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.sblock("copy"):
            v = T.axis.spatial(8, i)
            T.reads()
            T.writes(B[v])
            B[v] = A[v]
"""


@pytest.fixture(scope="module")
def campaign(tzerlike: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign with the misreading, which `site` next to it plants."""
    root = tmp_path_factory.mktemp("witness")
    for directory, name, text in (("site", "sitecustomize.py", PLANT), ("seeds", "seed.py", SEED)):
        (root / directory).mkdir()
        (root / directory / name).write_text(text)
    options = ("--seeds", root / "seeds", "--seed", "3", "--iterations", "3", "--jobs", "1", "--ui", "none")
    oracles = ("--oracles", "crash,inconsistency")
    done = tzerlike("fuzz", *options, *oracles, "--out", root / "c", PYTHONPATH=str(root / "site"))
    assert done.returncode == 0, done.stderr
    return root / "c"


@pytest.mark.long
def test_what_the_witness_objects_to_is_a_fault_of_ours_and_no_finding(campaign: Path) -> None:
    stats = json.loads((campaign / "stats.json").read_text())
    assert "wrong-code" not in stats["findings"]
    assert stats["witness"].keys() == {"objects"}
    kept = [json.loads((fault / "fault.json").read_text()) for fault in (campaign / "faults").iterdir()]
    assert kept
    assert all(fault["kind"] == "WitnessObjects" for fault in kept)
    assert "in place of" in kept[0]["text"]
    assert all((fault / "case.json").exists() for fault in (campaign / "faults").iterdir())


@pytest.mark.long
def test_a_replay_asks_the_witness_again(tzerlike: Command, campaign: Path) -> None:
    fault = next((campaign / "faults").iterdir())
    again = tzerlike("replay", fault, PYTHONPATH=str(campaign.parent / "site"))
    assert (again.returncode, again.stdout.split()[:2]) == (0, ["shows", "1/1"]), again.stderr
    cured = tzerlike("replay", fault)
    assert (cured.returncode, cured.stdout.split()[:2]) == (1, ["cured", "0/1"]), cured.stderr


@pytest.mark.long
def test_it_does_so_where_builds_agree_and_says_when_it_cannot(
    tzerlike: Command, campaign: Path, tmp_path: Path
) -> None:
    fault = tmp_path / "fault"
    shutil.copytree(next((campaign / "faults").iterdir()), fault)
    stored = json.loads((fault / "case.json").read_text())
    stored["case"]["ir"] = dump_ir(module_of(parse_script(UNDECLARED)))
    (fault / "case.json").write_text(json.dumps(stored))
    again = tzerlike("replay", fault, PYTHONPATH=str(campaign.parent / "site"))
    assert (again.returncode, again.stdout.split()[:2]) == (0, ["shows", "1/1"]), again.stderr
    kept = next((campaign / "faults").iterdir())
    unheard = tzerlike("replay", kept, PATH="/nowhere")
    assert (unheard.returncode, unheard.stderr) == (2, f"tzerlike: {kept}: the witness cannot say: no gcc\n")
