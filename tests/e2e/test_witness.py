"""A campaign whose interpreter reads the contract wrongly: the witness withholds what it would report."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.conftest import Command

PLANT = """
import gc, sys

if "tzerlike.processes.zygote" in sys.orig_argv:
    freeze = gc.freeze

    def plant():
        from tzerlike.systems.tvm_api import tirx
        from tzerlike.tir.interpreter import expressions, integers

        expressions._INTEGER_BINARY[tirx.FloorDiv] = integers.divide
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


def test_what_the_witness_objects_to_is_a_fault_of_ours_and_no_finding(tzerlike: Command, tmp_path: Path) -> None:
    for directory, name, text in (("site", "sitecustomize.py", PLANT), ("seeds", "seed.py", SEED)):
        (tmp_path / directory).mkdir()
        (tmp_path / directory / name).write_text(text)
    out, seeds, path = tmp_path / "c", tmp_path / "seeds", str(tmp_path / "site")
    options = ("--seeds", seeds, "--seed", "3", "--iterations", "3", "--jobs", "1", "--ui", "none")
    done = tzerlike("fuzz", *options, "--oracles", "crash,inconsistency", "--out", out, PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    stats = json.loads((out / "stats.json").read_text())
    assert "wrong-code" not in stats["findings"]
    assert stats["witness"].keys() == {"objects"}
    kept = [json.loads((fault / "fault.json").read_text()) for fault in (out / "faults").iterdir()]
    assert kept
    assert all(fault["kind"] == "WitnessObjects" for fault in kept)
    assert "in place of" in kept[0]["text"]
    assert all((fault / "case.json").exists() for fault in (out / "faults").iterdir())
