"""Statements that are copied with the match_buffers in them: what these define has a copy too."""

from __future__ import annotations

from random import Random

from tzerlike.mutators import MutationEnv, make_mutators
from tzerlike.systems.tvm_api import module_of, parse_script, script_of, well_formed

SCRIPT = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((6, 8), "int32"), B: T.Buffer((6, 8), "int32")):
    for i in range(3):
        with T.sblock("pair"):
            vi = T.axis.spatial(3, i)
            T.reads(A[vi * 2:vi * 2 + 2, 0:8])
            T.writes(B[vi * 2:vi * 2 + 2, 0:8])
            S = T.match_buffer(A[vi * 2:vi * 2 + 2, 0:8], (2, 8), "int32", strides=("s0", "s1"), offset_factor=1)
            for x, y in T.grid(2, 8):
                B[vi * 2 + x, y] = S[1 - x, y]
"""


def test_a_loop_that_is_split_by_copying_stays_well_formed() -> None:
    (mutator,) = make_mutators(["loop-nesting"])
    func = parse_script(SCRIPT)
    children = [mutator(func, Random(seed), MutationEnv()) for seed in range(80)]
    copied = [c for c in children if c is not None and script_of(c).count("match_buffer") > 1]
    assert len(copied) >= 3
    assert all(well_formed(module_of(child)) for child in copied)
