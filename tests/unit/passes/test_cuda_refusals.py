"""Words by which TVM and CUDA's compiler refuse a kernel on purpose, as campaigns met them."""

from __future__ import annotations

import pytest

from tzerlike.passes.label import documented


@pytest.mark.parametrize(
    "message",
    [
        (
            'InternalError: Check failed: scope != "global" (global vs. global) : Cannot allocate global memory when '
            "targeting CUDA. You must pass all global arrays as input instead"
        ),
        (
            "InternalError: Check failed: (queue_id && queue_id->value == 0) is false: For CUDA, the index of an async "
            "queue must be 0."
        ),
        "InternalError: Cannot convert type T.float32x7 to CUDA type",
        (
            "InternalError: Check failed: (!op->op.same_as(tirx::builtin::masked_store())) is false: Predicated buffer "
            "store is not supported."
        ),
        (
            "ValueError: Cross-thread reduction cannot be applied to the block p0_red because the block violates the "
            "condition #3."
        ),
        "InternalError: Check failed: m.size() == 2U (0 vs. 2) : LowerWarpMemory failed. Could not simplify the store",
        (
            "SourceRefused: the CUDA compiler says error   : Entry function 'main_kernel' uses too much shared data "
            "(0x138800 bytes, 0xc000 max)"
        ),
    ],
)
def test_a_refusal_on_purpose_is_no_finding(message: str) -> None:
    assert documented(message)


@pytest.mark.parametrize(
    "message",
    [
        (
            "SourceRefused: the CUDA compiler says error: asm operand type size(1) does not match type/size implied by "
            "constraint 'f'"
        ),
        'SourceRefused: the CUDA compiler says error: identifier "x" is undefined',
    ],
)
def test_source_that_makes_no_sense_is_one(message: str) -> None:
    assert not documented(message)
