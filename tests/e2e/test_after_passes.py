"""What passes make of a program, as a program of its own."""

from __future__ import annotations

import pytest

from tests.puzzles.conftest import served
from tzerlike.core.case import Case, PassSpec
from tzerlike.core.limits import Limits
from tzerlike.coverage import NoCoverage
from tzerlike.execution import plainness
from tzerlike.processes.lane import Lane
from tzerlike.systems import tvm_api

LOOP = """
@T.prim_func
def main(A: T.Buffer(({0},), "int32")):
    for i in T.unroll({0}):
        A[i] = 1
"""


@pytest.mark.parametrize(("rounds", "fits"), [(4, True), (150_000, False)])
def test_what_is_too_large_for_a_case_is_none(rounds: int, fits: bool) -> None:
    """Unrolled, the longer loop takes more than the memory that a child answers through."""
    ir = tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(LOOP.format(rounds))))
    case = Case(ir, (PassSpec("tirx.UnrollLoop", ()),))
    with served(Lane.prepare(0, NoCoverage(), jobs=plainness.JOBS), Limits(30.0)) as executor:
        assert (plainness.program_after(executor, case, 1) is not None) is fits
