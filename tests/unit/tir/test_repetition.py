"""Loops of which only the last iteration has an effect: what is not read before it is made anew."""

from __future__ import annotations

import pytest

from tzerlike.systems.tvm_api import parse_script, tirx
from tzerlike.tir.odd.repetition import overwrites
from tzerlike.tir.tree import Tree

HEAD = """# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8,), "float32")):
"""

PLAIN = """
    for i, j in T.grid(4, 8):
        {store}
"""

IN_A_BLOCK = """
    for i, j in T.grid(4, 8):
        with T.sblock("a"):
            x, y = T.axis.remap("SS", [i, j])
            {store}
"""


@pytest.mark.parametrize(
    ("body", "store", "expected"),
    [
        (PLAIN, "B[j] = A[i, j]", True),
        (PLAIN, "B[7 - j] = 0.0", True),
        (IN_A_BLOCK, "B[y] = A[x, y]", True),
        (PLAIN, "B[j] = B[j] + A[i, j]", False),
        (PLAIN, "A[i, j] = B[j]", False),
        (PLAIN, "B[(i + j) % 8] = A[i, j]", False),
        (PLAIN, "B[T.if_then_else(i == 0, j, 0)] = A[i, j]", False),
        (IN_A_BLOCK, "A[x, y] = B[y]", False),
    ],
)
def test_what_is_made_anew_without_a_reader(body: str, store: str, expected: bool) -> None:
    tree = Tree(parse_script(HEAD + body.format(store=store)))
    assert any(overwrites(tree, loop) for loop in tree.of_type(tirx.For)) == expected
