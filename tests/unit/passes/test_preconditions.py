"""Preconditions, plans, labels and adaptive choice: no TVM."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tzerlike.core.bandit import FLOOR, Yields, shares
from tzerlike.core.case import ContextConfig, PassSpec, parse_sequence
from tzerlike.core.rng import rng_for
from tzerlike.passes.facts import ANY_PROGRAM, Fact, Facts, facts_of
from tzerlike.passes.info import PassInfo, Pool
from tzerlike.passes.label import Label, label
from tzerlike.passes.plan import (
    MAX_ENABLERS,
    PlannedSource,
    enabled,
    ordered_sequence,
    repaired,
    shrunk,
    varied_pipeline,
)
from tzerlike.passes.preconditions import PRECONDITIONS, facts_after, legal
from tzerlike.systems import tvm_api

PIPELINE = parse_sequence(
    "s_tir.CanonicalizeLoop; s_tir.LowerCrossThreadReduction; s_tir.LowerInitBlock; s_tir.ConvertBlocksToOpaque; "
    "s_tir.CompactBufferAllocation; s_tir.LowerMatchBuffer; s_tir.InjectSoftwarePipeline; "
    "s_tir.LowerOpaqueBlock; tirx.FlattenBuffer; tirx.BF16ComputeLegalize; tirx.FP8ComputeLegalize; "
    "tirx.NarrowDataType{target_bits=32}; s_tir.LoopPartition; tirx.VectorizeLoop; s_tir.InjectVirtualThread; "
    "tirx.StorageRewrite; tirx.CommonSubexprElim; tirx.SplitHostDevice; tirx.MakePackedAPI; tirx.FP8StorageLegalize; "
    "tirx.BF16StorageLegalize"
)
CATALOG = tuple(PassInfo(name, name) for name in sorted(PRECONDITIONS))
POOL = Pool(CATALOG)
FLAT: Facts = frozenset({Fact.TARGET, Fact.BUFFER_PARAMS})
BLOCKS: Facts = FLAT | {Fact.S_TIR, Fact.BLOCKS, Fact.ITERATORS, Fact.INIT, Fact.ND, Fact.BLOCK_BUFFERS}
NAMES = [info.name for info in CATALOG]


def spec(name: str) -> PassSpec:
    return PassSpec(name)


def test_the_default_pipeline_is_legal_on_any_program() -> None:
    assert legal(PIPELINE, ANY_PROGRAM, to_code=True) is None


@pytest.mark.parametrize(
    ("text", "facts", "violation"),
    [
        ("s_tir.ConvertBlocksToOpaque", BLOCKS, "pass 1 (s_tir.ConvertBlocksToOpaque) cannot take block-init"),
        ("tirx.StmtSimplify; tirx.FP8StorageLegalize", FLAT, "pass 2 (tirx.FP8StorageLegalize) cannot take buffer-"),
        ("tirx.LowerTVMBuiltin", FLAT, "pass 1 (tirx.LowerTVMBuiltin) needs packed-api"),
        ("tirx.NarrowDataType", BLOCKS, "pass 1 (tirx.NarrowDataType) cannot take blocks"),
        ("tirx.NarrowDataType", FLAT, None),
        ("tirx.MakePackedAPI; tirx.NarrowDataType", FLAT, "pass 2 (tirx.NarrowDataType) cannot take packed-api"),
        ("s_tir.LowerInitBlock; s_tir.ConvertBlocksToOpaque; s_tir.LowerOpaqueBlock", BLOCKS, None),
        ("tirx.FlattenBuffer; s_tir.DefaultGPUSchedule", FLAT, "pass 2 (s_tir.DefaultGPUSchedule) cannot take lowered"),
        ("x.Unknown", BLOCKS, None),
    ],
)
def test_the_first_violation_is_named(text: str, facts: Facts, violation: str | None) -> None:
    found = legal(parse_sequence(text), facts)
    if violation is None:
        assert found is None
    else:
        assert str(found).startswith(violation)


def test_code_generation_has_preconditions_too() -> None:
    assert legal((), FLAT) is None
    assert str(legal((), FLAT, to_code=True)) == "pass 1 (code generation) needs packed-api"
    assert str(legal(PIPELINE[:-1], ANY_PROGRAM, to_code=True)).endswith("(code generation) cannot take bf16-storage")


def test_what_is_legal_on_any_program_is_legal_on_every_program() -> None:
    for seed in range(300):
        rng = rng_for(seed)
        passes = ordered_sequence(rng, POOL, ANY_PROGRAM, PIPELINE)
        facts = frozenset(f for f in sorted(ANY_PROGRAM) if f is Fact.TARGET or rng.random() < 0.5)
        assert legal(passes + PIPELINE, facts, to_code=True) is None


def test_a_pass_brings_along_what_it_needs() -> None:
    step = enabled(spec("tirx.StorageRewrite"), BLOCKS | {Fact.VECTORIZED})
    assert step is not None and step[-1].name == "tirx.StorageRewrite"
    assert legal(step, BLOCKS | {Fact.VECTORIZED}) is None
    assert enabled(spec("tirx.StorageRewrite"), FLAT) == (spec("tirx.StorageRewrite"),)
    assert enabled(spec("tirx.LowerTIRx"), BLOCKS) is None, "nothing makes an S-TIR function a TIRx one"


def test_steps_have_to_be_canonicalised_first() -> None:
    for name in ("tirx.UnrollLoop", "tirx.VectorizeLoop"):
        violation = legal((spec(name),), frozenset({Fact.STEPS}))
        assert violation is not None and "steps" in str(violation)
        assert legal((spec("s_tir.CanonicalizeLoop"), spec(name)), frozenset({Fact.STEPS})) is None


def test_ordered_sequences_are_bounded_and_varied() -> None:
    seen: Counter[str] = Counter()
    for seed in range(500):
        passes = ordered_sequence(rng_for(seed), POOL, BLOCKS, PIPELINE, 6)
        assert len(passes) <= 6 + MAX_ENABLERS
        seen.update(p.name for p in passes)
    never = {info.name for info in CATALOG} - set(seen)
    # These end the lowering, so the default pipeline cannot follow; or they are for another dialect.
    assert {"tirx.MakePackedAPI", "tirx.LowerTVMBuiltin", "tirx.LowerTIRx"} <= never and len(never) < 16


def test_repairing_keeps_what_is_legal_and_completes_the_rest() -> None:
    good = parse_sequence("s_tir.LowerInitBlock; tirx.UnrollLoop")
    assert repaired(good, BLOCKS, PIPELINE) == good
    assert repaired(parse_sequence("tirx.MakePackedAPI; tirx.UnrollLoop"), BLOCKS, PIPELINE) == good[1:]
    for seed in range(200):
        rng = rng_for(seed)
        wild = tuple(POOL.draw(rng) for _ in range(6))
        fixed = repaired(wild, BLOCKS, PIPELINE)
        assert legal(fixed + PIPELINE, BLOCKS, to_code=True) is None
        assert repaired(fixed, BLOCKS, PIPELINE) == fixed


def test_varied_pipelines_differ_and_still_reach_code_generation() -> None:
    different = 0
    for seed in range(100):
        passes = varied_pipeline(rng_for(seed), POOL, BLOCKS, PIPELINE)
        assert legal(passes, BLOCKS, to_code=True) is None
        different += passes != PIPELINE
    assert different >= 95


def source(**options: float) -> PlannedSource:
    return PlannedSource(CATALOG, lambda config: PIPELINE, **options)  # type: ignore[arg-type]


def test_plans_are_of_both_kinds_legal_and_reproducible() -> None:
    kinds: Counter[str] = Counter()
    first, second = source(wild_share=0.0), source(wild_share=0.0)
    for seed in range(300):
        plan = first.fresh(rng_for(seed), BLOCKS)
        assert plan == second.fresh(rng_for(seed), BLOCKS)
        for step in range(3):
            passes, config = plan
            kinds[config.pipeline] += 1
            tail = (
                () if config.pipeline == "none" else tuple(p for p in PIPELINE if p.name not in config.disabled_passes)
            )
            assert legal(passes + tail, BLOCKS, to_code=True) is None
            child = first.mutate(passes, config, rng_for(seed, step), PIPELINE[2:5], BLOCKS)
            assert child == second.mutate(passes, config, rng_for(seed, step), PIPELINE[2:5], BLOCKS)
            assert child != plan
            plan = child
    assert 0.15 < kinds["none"] / kinds.total() < 0.4


def test_a_plan_is_fitted_to_a_program_that_changed() -> None:
    planned = source()
    config = ContextConfig(disabled_passes=("s_tir.LoopPartition",))
    passes = parse_sequence("tirx.FlattenBuffer; tirx.UnrollLoop")
    assert planned.fit(passes, config, FLAT) == (passes, config)
    fitted, other = planned.fit(passes, config, BLOCKS | {Fact.LIKELY})
    assert other == ContextConfig() and fitted[-2:] == passes and len(fitted) > 2
    assert legal(fitted + PIPELINE, BLOCKS | {Fact.LIKELY}, to_code=True) is None
    whole = ContextConfig(pipeline="none")
    assert planned.fit(PIPELINE[3:], whole, BLOCKS) == (PIPELINE[3:], whole)


def test_a_share_of_the_sequences_is_wild() -> None:
    wild = source(wild_share=0.5, pipeline_share=0.0)
    plans = [wild.fresh(rng_for(seed), BLOCKS) for seed in range(200)]
    illegal = [p for p, _ in plans if legal(p + PIPELINE, BLOCKS, to_code=True) is not None]
    assert 40 <= len(illegal) <= 100


def test_yields_move_the_draws_and_the_floor_holds() -> None:
    uniform = shares(NAMES, {})
    assert max(uniform) == pytest.approx(1 / len(CATALOG)) == min(uniform)
    yields: Yields = {info.name: (1000, 0) for info in CATALOG}
    yields["tirx.UnrollLoop"] = (1000, 900)
    weights = dict(zip(NAMES, shares(NAMES, yields), strict=True))
    assert sum(weights.values()) == pytest.approx(1)
    assert weights["tirx.UnrollLoop"] > 0.3
    assert min(weights.values()) >= FLOOR / len(CATALOG)
    assert shares(NAMES, {"gone.Pass": (10**6, 10**6)}) == pytest.approx(uniform)


def test_what_paid_changes_later_draws_by_its_counts_alone() -> None:
    one, two, other = source(), source(), source(adaptive=False)
    counts: Yields = {"tirx.UnrollLoop": (2000, 2000), "tirx.RemoveNoOp": (2000, 0)}
    one.learn({"tirx.RemoveNoOp": (500, 500)})
    for learner in (one, two, other):
        learner.learn(counts)
    assert all(one.fresh(rng_for(seed)) == two.fresh(rng_for(seed)) for seed in range(20))

    def drawn(planned: PlannedSource) -> int:
        plans = (planned.fresh(rng_for(seed), FLAT)[0] for seed in range(1000))
        return sum(passed.name == "tirx.UnrollLoop" for passes in plans for passed in passes)

    assert drawn(one) > 1.5 * drawn(other)


def test_idle_passes_are_shrunk_away_unless_something_needs_them() -> None:
    passes = parse_sequence("tirx.UnrollLoop; s_tir.LowerInitBlock; s_tir.ConvertBlocksToOpaque; tirx.RemoveNoOp")
    assert shrunk(passes, (0, 0, 3, 0), BLOCKS, PIPELINE) == passes[1:3]
    assert shrunk(passes, (0, 0, 0, 0), BLOCKS, PIPELINE) == ()
    assert shrunk(passes, (1, 1, 1, 1), BLOCKS, PIPELINE) == passes
    assert [p.name for p in shrunk(PIPELINE, (0,) * len(PIPELINE), FLAT, ())] == ["tirx.MakePackedAPI"]
    assert legal(shrunk(PIPELINE, (0,) * len(PIPELINE), BLOCKS, ()), BLOCKS, to_code=True) is None
    wild = parse_sequence("tirx.MakePackedAPI; tirx.UnrollLoop")
    assert shrunk(wild, (5, 0), BLOCKS, PIPELINE) == wild[:1]
    with pytest.raises(ValueError, match="1 counts for 2 passes"):
        shrunk(wild, (5,), BLOCKS, PIPELINE)


def test_a_late_violation_does_not_excuse_an_early_failure() -> None:
    passes = parse_sequence("tirx.UnrollLoop; tirx.FP8StorageLegalize")
    message = "Check failed: something"
    assert label(passes, FLAT, "tirx.UnrollLoop", message) is Label.INTERNAL_ERROR
    assert label(passes, FLAT, "tirx.FP8StorageLegalize", message) is Label.ILLEGAL_ORDER
    assert label(PIPELINE, BLOCKS, "tirx.StorageRewrite", message) is Label.INTERNAL_ERROR
    assert label(PIPELINE, BLOCKS, "", message) is Label.INTERNAL_ERROR
    assert label(PIPELINE[:-3], BLOCKS, "", message) is Label.ILLEGAL_ORDER
    assert label(PIPELINE, BLOCKS, "", "\nInternalError: not implemented\nstack") is Label.DOCUMENTED_REFUSAL


def test_what_c_lacks_is_refused_and_a_builtin_that_is_left_is_not() -> None:
    said = 'InternalError: Unresolved call ir.Op(span=None, name="tirx.{}", num_inputs=1)'
    assert label(PIPELINE, BLOCKS, "", said.format("exp2")) is Label.DOCUMENTED_REFUSAL
    assert label(PIPELINE, BLOCKS, "", said.format("start_profile_intrinsic")) is Label.DOCUMENTED_REFUSAL
    assert label(PIPELINE, BLOCKS, "", said.format("tvm_stack_alloca")) is Label.INTERNAL_ERROR
    narrow = "InternalError: The buffer p0 in the function buffer map has dtype int64. The function is"
    assert label((), BLOCKS, "tirx.ForceNarrowIndexToInt32", narrow) is Label.DOCUMENTED_REFUSAL


def test_facts_come_from_the_json_alone() -> None:
    for text in ("no json", "7", "{}", '{"nodes": [7]}', '{"nodes": [{"type": "tirx.For", "data": {}}]}', "[" * 90_000):
        with pytest.raises(ValueError):
            facts_of(text)
    empty = '{"root_index": 0, "nodes": [{"type": "None"}]}'
    assert facts_of(empty) == {Fact.TARGET}
    assert facts_after(PIPELINE, ANY_PROGRAM) >= {Fact.PACKED, Fact.SPLIT}


def test_no_plan_has_a_pass_that_this_tvm_lacks() -> None:
    few = tuple(info for info in CATALOG if info.name not in ("tirx.SplitHostDevice", "s_tir.LowerInitBlock"))
    known = {info.name for info in few}
    source = PlannedSource(few, lambda config: (), pipeline_share=0.0)
    for number in range(300):
        rng = rng_for(number, "few")
        passes, config = source.fresh(rng, BLOCKS)
        mutated, _ = source.mutate(passes, config, rng, (), BLOCKS)
        fitted, _ = source.fit((spec("s_tir.ConvertBlocksToOpaque"),), config, BLOCKS)
        assert {s.name for s in (*passes, *mutated, *fitted)} <= known


def test_facts_of_programs_from_before_0_27() -> None:
    nodes: list[dict[str, object]] = [
        {"type": "tirx.PrimFunc", "data": {"params": 1, "buffer_map": 3, "body": 5}},
        {"type": "ffi.Array", "data": [2]},
        {"type": "tirx.Var", "data": {"dtype": "handle"}},
        {"type": "ffi.Map", "data": [2, 4]},
        {"type": "tirx.Buffer", "data": {"dtype": "bool", "shape": 7, "strides": 8, "elem_offset": 6}},
        {"type": "tirx.SBlockRealize", "data": {"predicate": 9}},
        {"type": "ir.IntImm", "data": {"value": 0}},
        {"type": "ffi.Array", "data": [9]},
        {"type": "ffi.Array", "data": []},
        {"type": "ir.IntImm", "data": {"value": 1}},
    ]
    found = {Fact.TARGET, Fact.BOOL_STORAGE}

    def facts() -> Facts:
        return facts_of(json.dumps({"metadata": {"tvm_version": "0.26.0"}, "nodes": nodes}))

    assert facts() == {*found, Fact.BUFFER_PARAMS, Fact.S_TIR}
    nodes[3], nodes[5] = {"type": "ffi.Map", "data": []}, {"type": "tirx.Evaluate", "data": {}}
    assert facts() == found
    nodes[6] = {"type": "ir.IntImm", "data": {"value": 4}}
    assert facts() == {*found, Fact.ND}


@pytest.mark.parametrize(
    ("layout", "flat"),
    [("", True), (", elem_offset=0", True), (", elem_offset=4", False), (", strides=(2,)", False)],
)
def test_code_generation_takes_no_buffer_that_is_not_flat(layout: str, flat: bool) -> None:
    """It looks at neither strides nor offsets, which FlattenBuffer makes a part of the index."""
    text = f"""
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((4,), "float32")):
    H = T.decl_buffer((4,), data=A.data{layout})
    B[0] = H[1]
"""
    facts = facts_of(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(text))))
    lowering = parse_sequence("tirx.MakePackedAPI")
    assert (legal(lowering, facts, to_code=True) is None) is flat
    assert legal(parse_sequence("tirx.FlattenBuffer; tirx.MakePackedAPI"), facts, to_code=True) is None


@pytest.mark.parametrize(
    ("scope", "extent", "open_size"), [("shared", "n", True), ("global", "n", False), ("local", "4", False)]
)
def test_memory_of_a_size_known_at_run_time_is_a_fact(scope: str, extent: str, open_size: bool) -> None:
    text = f"""
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (n,))
    B = T.sblock_alloc_buffer(({extent},), scope="{scope}")
    B[0] = A[0]
    A[1] = B[0]
"""
    ir = tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(text)))
    assert (Fact.RUN_TIME_MEMORY in facts_of(ir)) is open_size


def test_passes_that_go_by_marks_of_loops_that_are_left_early_want_them() -> None:
    text = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((2,), "int32"), B: T.Buffer((2,), "int32")):
    for j in range(2):
        for i in range(1):
            if A[j] > 0:
                {jump}
        B[j] = 7
"""
    for jump, unmarked in (("T.break_loop()", True), ("T.continue_loop()", True), ("T.evaluate(0)", False)):
        facts = facts_of(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(text.format(jump=jump)))))
        assert (Fact.JUMPS in facts) is unmarked
        for name in ("s_tir.LowerOpaqueBlock", "tirx.UnrollLoop", "s_tir.LoopPartition"):
            assert (legal(parse_sequence(name), facts) is None) is not unmarked
            assert legal(parse_sequence(f"s_tir.AnnotateIrregularLoop; {name}"), facts) is None


def test_contexts_differ_by_their_pipeline() -> None:
    assert ContextConfig(pipeline="none") != ContextConfig()
