"""Short names in smaller programs."""

from __future__ import annotations

from tzerlike.systems import tvm_api
from tzerlike.tir.reducers.names import renamed
from tzerlike.tir.tree import Tree

LONG = """
@T.prim_func(s_tir=True)
def main(p0_global: T.Buffer((8,), "float32"), compute: T.Buffer((8,), "float32")):
    for ax0_ax1_fused in range(8):
        with T.sblock("compute"):
            v_ax0 = T.axis.spatial(8, ax0_ax1_fused)
            compute[v_ax0] = p0_global[v_ax0]
"""


def test_a_schedule_that_asks_for_blocks_by_name_keeps_them() -> None:
    made = [str(make()) for make in renamed(Tree(tvm_api.parse_script(LONG)))]
    short, kept = made
    assert 'with T.sblock("a"):' in short and 'with T.sblock("compute"):' in kept
    for text in made:
        assert "A: T.Buffer((8,)" in text and "for i in range(8)" in text
        assert "ax0" not in text and "p0_global" not in text
