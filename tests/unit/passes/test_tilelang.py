"""TileLang's passes as data: no TVM."""

from __future__ import annotations

import pytest

from tzerlike.core.case import parse_sequence
from tzerlike.passes.facts import ANY_PROGRAM, Fact
from tzerlike.passes.plan import enabled
from tzerlike.passes.preconditions import PRECONDITIONS, drawn, legal, out_of_place, rule_of
from tzerlike.passes.tilelang import ASCEND, FORKED, TILE_ARGUMENTS, TILE_RULES, tile_pipeline

KERNEL = frozenset({Fact.TARGET, Fact.BUFFER_PARAMS, Fact.LAUNCH, Fact.TILES, Fact.BLOCKS, Fact.ALLOCATIONS})
"""What is true of a kernel in the dialect: copies between buffers of one dimension."""


@pytest.mark.parametrize("target", ["llvm", "cuda"])
def test_what_its_driver_runs_is_legal_on_a_kernel(target: str) -> None:
    facts = KERNEL | {Fact.BLOCK_BUFFERS, Fact.DEVICE_CODE}
    assert legal(tile_pipeline(target), facts, to_code=True) is None
    assert legal(tile_pipeline(target), facts | {Fact.ND}, to_code=True) is None, "the driver narrows, then flattens"
    narrowed = tuple(
        spec for spec in tile_pipeline(target) if spec.name in ("tl.SplitHostDevice", "tirx.NarrowDataType")
    )
    assert str(legal(narrowed, frozenset({Fact.TARGET, Fact.ND}))).endswith(
        "(tirx.NarrowDataType) cannot take nd-buffers"
    )


def test_code_is_generated_for_narrow_floats_as_they_are_in_tiles_alone() -> None:
    narrow = frozenset({Fact.BF16, Fact.BF16_STORAGE, Fact.FP8, Fact.FP8_STORAGE})
    assert legal(tile_pipeline("cuda"), KERNEL | {Fact.BLOCK_BUFFERS, Fact.DEVICE_CODE} | narrow, to_code=True) is None
    assert legal((), frozenset({Fact.TARGET, Fact.PACKED}), to_code=True) is None
    assert legal((), frozenset({Fact.TARGET, Fact.PACKED}) | narrow, to_code=True) is not None


def test_what_tiles_become_is_flattened_before_code_generation() -> None:
    unflattened = tuple(spec for spec in tile_pipeline("cuda") if spec.name != "tl.FlattenBuffer")
    violation = legal(unflattened, KERNEL | {Fact.BLOCK_BUFFERS, Fact.DEVICE_CODE}, to_code=True)
    assert str(violation).endswith("cannot take nd-buffers")


def test_warps_are_specialised_from_hopper_on() -> None:
    older, newer = (tile_pipeline(f'{{"kind": "cuda", "arch": "{arch}"}}') for arch in ("sm_80", "sm_90"))
    assert {spec.name for spec in newer} - {spec.name for spec in older} == {
        "tl.cuda.AutoWarpSpecialization",
        "tl.cuda.MaterializeWSSchedule",
        "tl.cuda.ProducerConsumerWarpSpecialized",
        "tl.cuda.FuseMBarrierArriveExpectTx",
        "tl.cuda.AnnotateWarpGroupRegAlloc",
    }


def test_each_pass_of_its_pipelines_has_a_rule_that_says_where_it_comes_from() -> None:
    for spec in tile_pipeline("llvm") + tile_pipeline("cuda"):
        if spec.name.startswith("tl."):
            assert rule_of(spec.name).source, spec.name
            assert set(dict(spec.args)) == set(TILE_ARGUMENTS.get(spec.name, ())), spec.name
    assert set(FORKED.values()) <= set(PRECONDITIONS) and not set(FORKED) & set(TILE_RULES)
    assert set(TILE_ARGUMENTS) <= set(TILE_RULES) | set(FORKED)


@pytest.mark.parametrize(
    ("text", "violation"),
    [
        ("tl.LayoutInference", "pass 1 (tl.LayoutInference) cannot take kernel-launch"),
        ("tl.LowerTileOp", "pass 1 (tl.LowerTileOp) needs tile-layouts"),
        ("tl.LowerAccessPtr", "pass 1 (tl.LowerAccessPtr) needs tiles-lowered"),
    ],
)
def test_tiles_are_lowered_in_the_order_of_the_driver(text: str, violation: str) -> None:
    assert str(legal(parse_sequence(text), KERNEL)) == violation


def test_kernels_are_not_built_while_they_have_tiles() -> None:
    assert str(legal(tile_pipeline("llvm")[:1], KERNEL, to_code=True)).startswith("pass 2 (code generation)")


def test_programs_of_tvm_are_given_none_of_the_passes_for_tiles() -> None:
    assert enabled(parse_sequence("tl.LowerTileOp")[0], ANY_PROGRAM) is None
    (copied,) = parse_sequence("tl.StorageRewrite")
    assert enabled(copied, frozenset({Fact.TARGET, Fact.BUFFER_PARAMS})) == (copied,)


def test_what_is_for_npus_is_never_drawn() -> None:
    assert ASCEND and not any(drawn(name) for name in ASCEND)
    assert all(out_of_place(name) for name in ASCEND)
    assert drawn("tl.LayoutInference") and not out_of_place("tl.LayoutInference")
