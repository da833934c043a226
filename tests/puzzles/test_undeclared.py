"""What a script finds that a block accesses and does not declare."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
import tvm_ffi
from tvm import s_tir, tirx

from tzerlike.oracles.schedules.examiner import UNDECLARED
from tzerlike.systems import tvm_api

BLOCK = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    for i, k in T.grid(16, 4):
        with T.sblock("b"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads({reads})
            T.writes(C[vi])
            with T.init():
                C[vi] = A[vi]
            C[vi] = C[vi] + B[B[vi] % 16] * vk
"""


def undeclared(block: Any) -> list[str]:
    names: dict[str, Any] = {"tvm": tvm, "tvm_ffi": tvm_ffi, "s_tir": s_tir, "tirx": tirx}
    exec(UNDECLARED, names)
    return sorted({str(buffer.name) for buffer in names["undeclared"](block)})


@pytest.mark.parametrize(
    ("reads", "missing"),
    [("A[vi], B[0:16]", []), ("B[0:16]", ["A"]), ("A[vi]", ["B"]), ("", ["A", "B"]), ("A[B[vi] % 16]", ["B"])],
)
def test_all_that_a_block_accesses_counts_its_initialisation_too(reads: str, missing: list[str]) -> None:
    root = tvm_api.parse_script(BLOCK.format(reads=reads)).body
    blocks: list[Any] = []
    tvm_ffi.structural_walk(root.block.body, (s_tir.SBlock, blocks.append))
    assert [undeclared(block) for block in blocks] == [missing]
