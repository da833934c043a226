"""Programs with smaller loops."""

from __future__ import annotations

from typing import Any

from tzerlike.systems import tvm_api
from tzerlike.systems.tvm_api import structural_walk, tirx
from tzerlike.tir.extents import halved
from tzerlike.tir.typecheck import is_well_typed

PROGRAM = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((64, 64), "int32"), B: T.Buffer((64, 64), "int32"), n: T.int32):
    for i in range(64):
        for j in T.vectorized(8):
            B[i, j] = A[i, j] + 64
    for k in T.unroll(3, 19):
        for l in T.serial(1):
            with T.sblock("b"):
                vk = T.axis.spatial(64, k)
                vl = T.axis.spatial(64, l)
                B[vk, vl] = A[vk, vl] * 2
    for m in range(n):
        B[m, 0] = 64
"""


def loops(func: Any) -> list[int | None]:
    found: list[Any] = []
    structural_walk(func.body, ((tirx.For, lambda node: found.append(node.extent)),))
    return [int(extent.value) if type(extent) is tirx.IntImm else None for extent in found]


def test_extents_of_loops_are_halved_until_all_are_small() -> None:
    module = tvm_api.module_of(tvm_api.parse_script(PROGRAM))
    assert sorted(filter(None, loops(tvm_api.entry_of(module)))) == [1, 8, 16, 64]
    made = [tvm_api.entry_of(tvm_api.load_ir(ir)) for ir in halved(tvm_api.dump_ir(module))]
    assert [sorted(filter(None, loops(func))) for func in made] == [
        [1, 4, 8, 32], [1, 2, 4, 16], [1, 2, 2, 8], [1, 2, 2, 4], [1, 2, 2, 2],
    ]  # fmt: skip
    for func in made:
        assert is_well_typed(func)
        assert "64, 64" in str(tvm_api.parameter_types(func)) and "T.axis.spatial(64" in func.script()
        assert list(halved(tvm_api.dump_ir(tvm_api.module_of(made[-1])))) == []


FOLDS = """
# from tvm.script import tirx as T
@T.prim_func
def main(n: T.int32):
    for i in range(T.FloorMod(-1, 9)):
        for j in range(T.Add(T.Mul(4, 3), T.Min(7, T.FloorDiv(9, 2)))):
            for k in range(T.FloorDiv(8, 3) + n):
                T.evaluate(i + j + k)
"""


def test_an_extent_of_constants_is_halved_as_what_it_comes_to() -> None:
    module = tvm_api.module_of(tvm_api.parse_script(FOLDS))
    made = [tvm_api.entry_of(tvm_api.load_ir(ir)) for ir in halved(tvm_api.dump_ir(module))]
    assert [loops(func)[::-1] for func in made] == [[4, 8, None], [2, 4, None], [2, 2, None]]
