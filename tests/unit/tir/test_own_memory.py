"""Memory that each iteration over spatial axes may have for itself."""

from __future__ import annotations

import pytest

from tzerlike.systems.tvm_api import parse_script, script_of
from tzerlike.tir.own_memory import with_own_memory

TEXT = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    C = T.sblock_alloc_buffer((8,), "int32")
    for t in range(2):
        for i in range(8):
            for j in range(1):
                with T.sblock("c"):
                    vi = T.axis.spatial(8, {first})
                    C[vi] = A[vi]
                with T.sblock("b"):
                    vi = T.axis.{axis}
                    T.reads(C[vi // 2])
                    T.writes(B[vi])
                    {use}
"""

VIEW = """\
D = T.match_buffer(C[vi // 2], (1,), "int32")
                    B[vi] = D[0]"""


def lines(first: str, axis: str, use: str = "B[vi] = C[vi // 2]") -> list[str]:
    func = with_own_memory(parse_script(TEXT.format(first=first, axis=axis, use=use)))
    return [] if func is None else [line.strip() for line in script_of(func).splitlines()]


@pytest.mark.parametrize(
    ("first", "axis", "loop"),
    [
        ("t * 4 + i % 4 + j", "spatial(8, i)", "for t, i, j in T.grid(2, 8, 1):"),
        ("t * 4 + i % 4", "spatial(8, i)", "for t, i in T.grid(2, 8):"),
        ("t * 4 + i % 4", "opaque(8, i)", "for t in range(2):"),
        ("t * 4 + i % 4", "reduce(8, i)", "for t in range(2):"),
    ],
)
def test_memory_goes_into_the_loops_that_only_spatial_axes_go_over(first: str, axis: str, loop: str) -> None:
    found = lines(first, axis)
    allocated = next(place for place, line in enumerate(found) if line.startswith("C = "))
    assert [line for line in found[:allocated] if line.startswith("for ")] == [loop]


@pytest.mark.parametrize(
    ("first", "axis", "use"),
    [
        ("i", "spatial(8, i)", "B[vi] = C[vi // 2]"),
        ("t * 4 + i % 4", "opaque(8, t * 4 + i % 4)", "B[vi] = C[vi // 2]"),
        ("t * 4 + i % 4", "spatial(8, i)", VIEW),
    ],
    ids=["no axis goes over the outermost loop", "an opaque axis goes over all", "a view"],
)
def test_memory_stays_where_another_iteration_may_need_it(first: str, axis: str, use: str) -> None:
    assert lines(first, axis, use) == []
