"""Schedules of a program that has nothing to count: buffers without dimensions, blocks without axes."""

from __future__ import annotations

from random import Random

from tzerlike.mutators import MutationEnv
from tzerlike.mutators.schedule import ScheduleBlocks
from tzerlike.tvm_api import parse_script, raised_by_tvm

SCRIPT = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((), "int32"), B: T.Buffer((), "int32")):
    for i in range(2):
        with T.sblock("add"):
            T.reads(A[()])
            T.writes(B[()])
            B[()] = A[()] + 1
"""


def test_a_step_that_needs_a_dimension_does_not_apply() -> None:
    func = parse_script(SCRIPT)
    mutator = ScheduleBlocks()
    for seed in range(40):
        try:
            mutator(func, Random(seed), MutationEnv())
        except Exception as error:  # noqa: BLE001 - TVM raises what it likes
            assert raised_by_tvm(error), "no fault of ours"
