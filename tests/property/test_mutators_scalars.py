"""Schedules of programs without a dimension: a block without axes, buffers without a shape."""

from random import Random

from tzerlike.mutators import GROUPS, MutationEnv, make_mutators
from tzerlike.systems.tvm_api import ENTRY, module_of, parse_script

POINT = parse_script("""
@T.prim_func(s_tir=True)
def main(A: T.Buffer((), "float32"), B: T.Buffer((), "float32")):
    for i in range(1):
        with T.sblock("point"):
            B[()] = A[()] + T.float32(1)
""")


def test_a_schedule_of_points_is_made_or_refused_and_never_fails_on_our_side() -> None:
    func = module_of(POINT)[ENTRY]
    made = 0
    for mutator in make_mutators(GROUPS["schedule"]):
        for seed in range(150):
            made += mutator(func, Random(seed), MutationEnv()) is not None
    assert made > 20
