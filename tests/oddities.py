"""Programs with something odd about their form, what that is, and what stands in its place once it is mended."""

from __future__ import annotations

from typing import Any

from tzerlike.systems import tvm_api
from tzerlike.tir.odd.forms import mended, oddities

BARE = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), n: T.int32):
    x, z = T.int32(), T.int32()
    {statement}
"""

BLOCK = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    with T.sblock("root"):
        T.where({root})
        for i in range(16):
            with T.sblock("b"):
                vi = T.axis.spatial(16, {value})
                T.where({predicate})
                B[vi] = A[vi]
"""

NEVER = "what no execution may come to"

REPEATS = "a loop that only repeats itself"


def bare(statement: str) -> Any:
    return tvm_api.parse_script(BARE.format(statement=statement.replace("\n", "\n    ")))


def block(root: str = "True", value: str = "i", predicate: str = "True") -> Any:
    return tvm_api.parse_script(BLOCK.format(root=root, value=value, predicate=predicate))


def names(func: Any, *, threads: bool = False) -> list[str]:
    return [odd.what for odd in oddities(func, threads=threads)]


def text_without_oddities(func: Any, way: int = 0) -> str:
    better = mended(func, way, threads=False)
    assert better is not None
    assert names(better) == []
    return tvm_api.script_of(better)
