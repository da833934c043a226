"""Schedule primitives with bugs: TVM's own, with a miscompiling pass run on what they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.planted.rewrite import Pass
from tests.planted.table import MISCOMPILES

HEAD = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((6, 8), "int32"), B: T.Buffer(({rows}), "int32")):
"""
SUM = (
    HEAD.format(rows="6,")
    + """
    for i, k in T.grid(6, 8):
        with T.sblock("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vk]
"""
)
TWO = (
    HEAD.format(rows="6, 8")
    + """
    C = T.sblock_alloc_buffer((6, 8), "int32")
    for i, j in T.grid(6, 8):
        with T.sblock("first"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * 3 + vj
    for i, j in T.grid(6, 8):
        with T.sblock("second"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = C[vi, vj] - vi
"""
)

Steps = Callable[[Any], Any]


def _loops(sch: Any, block: str) -> Any:
    return sch.get_loops(sch.get_sblock(block))


PRIMITIVES: Mapping[str, tuple[str, Steps, Pass]] = {
    "Split": (SUM, lambda sch: sch.split(_loops(sch, "sum")[1], [None, 3]), MISCOMPILES["last-iteration-lost"]),
    "Fuse": (TWO, lambda sch: sch.fuse(*_loops(sch, "first")), MISCOMPILES["first-iteration-lost"]),
    "Reorder": (TWO, lambda sch: sch.reorder(*_loops(sch, "second")[::-1]), MISCOMPILES["extents-confused"]),
    "Unroll": (SUM, lambda sch: sch.unroll(_loops(sch, "sum")[1]), MISCOMPILES["inner-iteration-lost"]),
    "Parallel": (TWO, lambda sch: sch.parallel(_loops(sch, "first")[0]), MISCOMPILES["constant-off-by-one"]),
    "AddUnitLoop": (SUM, lambda sch: sch.add_unit_loop(sch.get_sblock("sum")), MISCOMPILES["init-in-every-step"]),
    "CacheRead": (SUM, lambda sch: sch.cache_read(sch.get_sblock("sum"), 0, "local"), MISCOMPILES["axis-stuck"]),
    "CacheWrite": (SUM, lambda sch: sch.cache_write(sch.get_sblock("sum"), 0, "local"), MISCOMPILES["init-dropped"]),
    "RFactor": (SUM, lambda sch: sch.rfactor(_loops(sch, "sum")[1], 0), MISCOMPILES["accumulator-forgotten"]),
    "DecomposeReduction": (
        SUM,
        lambda sch: sch.decompose_reduction(sch.get_sblock("sum"), _loops(sch, "sum")[1]),
        MISCOMPILES["first-store-dropped"],
    ),
    "ComputeInline": (TWO, lambda sch: sch.compute_inline(sch.get_sblock("first")), MISCOMPILES["factor-dropped"]),
    "ComputeAt": (
        TWO,
        lambda sch: sch.compute_at(sch.get_sblock("first"), _loops(sch, "second")[0]),
        MISCOMPILES["inner-iteration-lost"],
    ),
}
"""By the name of the instruction: a program, the call on its schedule, and what goes wrong with what it makes."""
