"""What blocks declare after their bodies have changed."""

from __future__ import annotations

from tzerlike.systems import tvm_api
from tzerlike.systems.tvm_api import s_tir
from tzerlike.tir.tree import Tree, refresh_regions

VIEWS = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    for i in range(2):
        with T.sblock("outer"):
            u = T.axis.spatial(2, i)
            T.reads()
            T.writes()
            with T.sblock("inner"):
                v = T.axis.spatial(2, u)
                T.reads()
                T.writes()
                a = T.match_buffer(A[v * 2:v * 2 + 2, 0:4], (2, 4), offset_factor=1)
                c = T.match_buffer(C[v * 2:v * 2 + 2, 0:4], (2, 4), offset_factor=1)
                for x, y in T.grid(2, 4):
                    c[x, y] = a[x, y]
"""


def test_what_is_accessed_through_a_view_is_declared() -> None:
    tree = Tree(tvm_api.parse_script(VIEWS))
    (inner,) = (site.node for site in tree.of_type(s_tir.SBlock) if site.node.name_hint == "inner")
    fresh = refresh_regions(inner)
    assert [str(region) for region in fresh.reads] == ["A[v * 2:v * 2 + 2, 0:4]"]
    assert [str(region) for region in fresh.writes] == ["C[v * 2:v * 2 + 2, 0:4]"]
