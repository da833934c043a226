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


GATHERED = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((T.int64(1), T.int64(4)), "float32")):
    for i in range(4):
        with T.sblock("B"):
            v = T.axis.spatial(4, i)
            T.reads(A[v])
            T.writes(B[T.int64(0), T.int64(0):T.int64(4)])
            B[T.Cast("int64", A[v]), v] = T.float32(0)
"""


def test_the_ends_of_a_region_have_one_dtype() -> None:
    """TVM takes a dimension of unknown index from an int32 0 to an int64 extent."""
    (block,) = (site.node for site in Tree(tvm_api.parse_script(GATHERED)).of_type(s_tir.SBlock)[1:])
    (written,) = refresh_regions(block).writes
    assert all(extent.min.ty == extent.extent.ty for extent in written.region)


STRIDED = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((6, 8), "int32"), B: T.Buffer((6, 8), "int32")):
    for i in range(3):
        with T.sblock("pair"):
            v = T.axis.spatial(3, i)
            T.reads(A[v * 2:v * 2 + 2, 0:8])
            T.writes(B[v, 0:8])
            s = T.int32()
            view = T.match_buffer(A[v * 2:v * 2 + 2, 0:8], (2, 8), "int32", strides=(s, 1), offset_factor=1)
            for y in range(8):
                B[v + s, y] = view[0, y]
"""


def test_a_region_does_not_speak_of_the_strides_of_the_blocks_own_views() -> None:
    (block,) = (site.node for site in Tree(tvm_api.parse_script(STRIDED)).of_type(s_tir.SBlock)[1:])
    assert [str(region) for region in refresh_regions(block).writes] == ["B[0:6, 0:8]"]
