"""Plans for programs in TileLang's dialect: its own lowering, and no pass of TVM's in front."""

from __future__ import annotations

import pytest

from tests.property.test_passes import CATALOG, TAIL
from tzerlike.core.case import ContextConfig
from tzerlike.core.errors import UserError
from tzerlike.core.rng import rng_for
from tzerlike.mutators import OF_TILES, make_mutators
from tzerlike.passes.facts import ANY_PROGRAM, Fact, facts_of
from tzerlike.passes.label import Label, label
from tzerlike.passes.plan import PlannedSource
from tzerlike.passes.tilelang import tile_pipeline

TILES = tile_pipeline("cuda")
KERNEL = frozenset({Fact.TARGET, Fact.BUFFER_PARAMS, Fact.LAUNCH, Fact.TILES, Fact.BLOCKS, Fact.ND})


def test_a_kernel_is_lowered_by_its_own_pipeline_and_keeps_all_of_it() -> None:
    source = PlannedSource(CATALOG, lambda config: TAIL, pipeline_share=0.0, tiles=TILES)
    plan = source.fresh(rng_for(1), KERNEL)
    assert plan == (TILES, ContextConfig(pipeline="tiles"))
    assert source.mutate(*plan, rng_for(2), (), KERNEL) == plan
    assert source.fit(*plan, KERNEL) == plan
    assert source.shrunk(*plan, (0,) * len(TILES), KERNEL) == TILES
    assert source.fresh(rng_for(1), ANY_PROGRAM)[1].pipeline != "tiles"


def test_what_launches_a_kernel_is_in_the_dialect() -> None:
    launch = '{"root_index": 0, "nodes": [{"type": "ir.Op", "data": "tl.launch_thread_idx"}]}'
    assert {Fact.LAUNCH, Fact.TILES} <= facts_of(launch)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "InternalError: Reduce for buffers in scope (shared, local.fragment) is not implemented.",
            "documented-refusal",
        ),
        ("InternalError: CPU fill only supports local and global buffers, but got", "documented-refusal"),
        ("InternalError: Check failed: (layout.defined()) is false", "internal-error"),
    ],
)
def test_what_tilelang_does_not_do_with_some_tiles_is_no_internal_error(message: str, expected: str) -> None:
    assert label(TILES, KERNEL, "tl.LowerTileOp", message) == Label(expected)


def test_mutators_of_tiles_are_for_the_tvm_that_has_them() -> None:
    assert not set(OF_TILES) & {mutator.name for mutator in make_mutators(["all"])}
    with pytest.raises(UserError, match="tile-scope need TileLang's TVM"):
        make_mutators(["tile-scope"])
