"""Preconditions on GPU programs: TVM's own pipelines respect them, and orders that break them fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tzerlike.core.case import ContextConfig, parse_sequence
from tzerlike.passes.catalog import instantiate
from tzerlike.passes.facts import facts_of
from tzerlike.passes.label import Label, label
from tzerlike.passes.pipeline import default_pipeline
from tzerlike.passes.preconditions import legal
from tzerlike.processes.forked import in_child
from tzerlike.systems.tvm_api import load_ir, raised_by_tvm
from tzerlike.systems.tvm_build import bind_target, build, target_of
from tzerlike.systems.tvm_passes import pass_context
from tzerlike.tir.seeds import Seed, builtin_seeds

CACHE = Path(__file__).parents[2] / "build" / "test-cache" / "tzerlike"
TARGET = '{"kind": "cuda", "arch": "sm_90"}'
FLAGS = ("use_async_copy", "disable_vectorize", "disable_storage_rewrite", "disable_cse_tir", "s_tir.ldg32")
CONFIGS = [ContextConfig(), *(ContextConfig(options=((f"tirx.{flag}", True),)) for flag in FLAGS)]


@pytest.fixture(scope="module")
def seeds() -> dict[str, Seed]:
    CACHE.mkdir(parents=True, exist_ok=True)
    return {seed.name: seed for seed in builtin_seeds(CACHE, "cuda")}


def test_the_default_pipelines_are_legal_on_every_seed(seeds: dict[str, Seed]) -> None:
    assert len(seeds) >= 40
    for config in CONFIGS:
        passes = default_pipeline("cuda", config).passes
        for seed in seeds.values():
            assert legal(passes, facts_of(seed.ir), to_code=True) is None, seed.name
            assert label(passes, facts_of(seed.ir), "", "Check failed: something") is Label.INTERNAL_ERROR


BLOCKS = "s_tir.ConvertBlocksToOpaque; s_tir.LowerMatchBuffer; s_tir.LowerOpaqueBlock"


@pytest.mark.parametrize(
    ("name", "broken", "mended"),
    [
        (
            "relax.dlight_gpu.softmax.f32_4x33",
            "s_tir.LowerInitBlock",
            "s_tir.LowerCrossThreadReduction; s_tir.LowerInitBlock",
        ),
        (
            "relax.dlight_gpu.matmul.f32_16x16_f32_16x16",
            f"s_tir.LowerCrossThreadReduction; s_tir.LowerInitBlock; {BLOCKS}; tirx.FlattenBuffer",
            f"s_tir.LowerCrossThreadReduction; s_tir.LowerInitBlock; {BLOCKS}",
        ),
        ("relax.dlight_gpu.transpose.f32_18x34", f"{BLOCKS}; tirx.SplitHostDevice", BLOCKS),
    ],
)
def test_a_wrong_order_fails_and_the_right_one_builds(
    seeds: dict[str, Seed], name: str, broken: str, mended: str
) -> None:
    facts = facts_of(seeds[name].ir)
    tail = default_pipeline("cuda").passes
    assert legal(parse_sequence(broken) + tail, facts, to_code=True) is not None
    assert legal(parse_sequence(mended) + tail, facts, to_code=True) is None
    assert in_child(lambda: outcome(seeds[name], broken))[0] != "built"
    assert in_child(lambda: outcome(seeds[name], mended))[0] == "built"


def outcome(seed: Seed, passes: str) -> str:
    target, config = target_of(TARGET), ContextConfig(options=(("tirx.disable_assert", True),))
    try:
        with target, pass_context(config):
            module = bind_target(load_ir(seed.ir), target)
            for spec in parse_sequence(passes):
                module = instantiate(spec)(module)
            build(module, target)
    except Exception as error:
        if not raised_by_tvm(error):
            raise
        return str(error)
    return "built"
