"""The contract speaks of every rule, every node and every intrinsic, and its table of accuracy is what was measured."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.left_out import STRUCTURAL
from tzerlike.mutators.intrinsics import INTRINSICS
from tzerlike.tir.interpreter.verdict import RULES

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "tir-semantics.md").read_text(encoding="utf-8")
WORDS = frozenset(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", TEXT))
ACCURACY = json.loads((ROOT / "tests" / "data" / "intrinsic_accuracy.json").read_text(encoding="utf-8"))


def test_every_rule_is_explained() -> None:
    assert [rule for rule in RULES if f"**{rule}**" not in TEXT] == []


def test_every_intrinsic_is_explained() -> None:
    called = {entry.args[0].removeprefix("$llvm.") for entry in INTRINSICS if entry.args[0].startswith("$llvm.")}
    names = {entry.op.rpartition(".")[2] for entry in INTRINSICS} - {"call_llvm_pure_intrin"}
    names |= {name.rpartition(".")[2] for name in STRUCTURAL}
    assert sorted(name for name in names if name not in WORDS) == []
    assert sorted(name for name in called if name not in TEXT) == []


def test_every_node_is_explained() -> None:
    from tzerlike.tir.tree import SHAPES

    constants = {"IntImm", "FloatImm", "StringImm"}
    names = {kind.__name__ for kind in SHAPES} - constants
    assert sorted(name for name in names if name not in WORDS) == []


def test_the_table_of_accuracy_is_the_measured_one() -> None:
    rows = re.findall(r"^\| `((?:tirx|prim)\.\w+)` \| (.*) \|$", TEXT, re.MULTILINE)
    assert [op for op, _ in rows] == list(ACCURACY)
    for op, row in rows:
        shown = [cell.strip() for cell in row.split("|")]
        for dtype, cell in zip(("float16", "bfloat16", "float32", "float64"), shown, strict=True):
            entry = ACCURACY[op].get(dtype)
            assert cell.split(" or ")[0] == ("" if entry is None else f"{entry['ulp']:g}"), (op, dtype)
