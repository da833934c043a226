"""Properties of sequences and plans over arbitrary facts and draws: no TVM."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from tzerlike.core.case import ContextConfig, PassSpec, parse_sequence, print_sequence
from tzerlike.core.rng import rng_for
from tzerlike.passes.facts import ANY_PROGRAM, Fact, Facts
from tzerlike.passes.info import PassInfo, PassParameter, Pool
from tzerlike.passes.label import Label, label
from tzerlike.passes.plan import PlannedSource, enabled, ordered_sequence, repaired, shrunk
from tzerlike.passes.preconditions import PRECONDITIONS, composed, facts_after, legal

ARGUMENT = PassParameter("value", (None, True, 3, 2.5, 'a "quoted"; {text}'), True)
CATALOG = tuple(
    PassInfo(name, name, (ARGUMENT,) if index % 3 == 0 else ()) for index, name in enumerate(sorted(PRECONDITIONS))
)
POOL = Pool(CATALOG)
TAIL = parse_sequence(
    "s_tir.CanonicalizeLoop; s_tir.LowerCrossThreadReduction; s_tir.LowerInitBlock; s_tir.ConvertBlocksToOpaque; "
    "s_tir.CompactBufferAllocation; s_tir.LowerMatchBuffer; s_tir.InjectSoftwarePipeline; "
    "s_tir.LowerOpaqueBlock; tirx.FlattenBuffer; tirx.BF16ComputeLegalize; tirx.NarrowDataType; s_tir.LoopPartition; "
    "tirx.VectorizeLoop; s_tir.InjectVirtualThread; tirx.StorageRewrite; tirx.FP8ComputeLegalize; "
    "tirx.SplitHostDevice; tirx.MakePackedAPI; tirx.FP8StorageLegalize; tirx.BF16StorageLegalize"
)

programs = st.frozensets(st.sampled_from(sorted(ANY_PROGRAM))).map(lambda facts: facts | {Fact.TARGET})
seeds = st.integers(0, 2**32)
wild = st.lists(st.sampled_from(sorted(PRECONDITIONS)).map(PassSpec), max_size=10).map(tuple)


@given(programs, seeds)
def test_ordered_sequences_are_legal_and_survive_their_text(facts: Facts, seed: int) -> None:
    passes = ordered_sequence(rng_for(seed), POOL, facts, TAIL)
    assert legal(passes + TAIL, facts, to_code=True) is None
    assert parse_sequence(print_sequence(passes)) == passes
    assert passes == ordered_sequence(rng_for(seed), POOL, facts, TAIL)


@given(programs, wild)
def test_repair_gives_a_legal_fixpoint(facts: Facts, passes: tuple[PassSpec, ...]) -> None:
    fixed = repaired(passes, facts, TAIL)
    assert legal(fixed + TAIL, facts, to_code=True) is None
    assert repaired(fixed, facts, TAIL) == fixed
    if legal(passes + TAIL, facts, to_code=True) is None:
        assert fixed == passes


@given(programs, st.sampled_from(sorted(PRECONDITIONS)))
def test_what_a_pass_brings_along_makes_it_legal(facts: Facts, name: str) -> None:
    step = enabled(PassSpec(name), facts)
    if step is not None:
        assert step[-1].name == name and legal(step, facts) is None


@given(programs, wild, st.data())
def test_no_sequence_that_respects_the_preconditions_is_labelled_illegal(
    facts: Facts, passes: tuple[PassSpec, ...], data: st.DataObject
) -> None:
    everything = repaired(passes, facts, TAIL) + TAIL
    failing = data.draw(st.sampled_from(["", *(spec.name for spec in everything)]))
    message = data.draw(st.text(max_size=60))
    assert label(everything, facts, failing, message) is not Label.ILLEGAL_ORDER


@given(programs, wild, st.data())
def test_shrinking_drops_only_idle_passes_and_keeps_the_order_legal(
    facts: Facts, passes: tuple[PassSpec, ...], data: st.DataObject
) -> None:
    good = repaired(passes, facts, TAIL)
    counts = tuple(data.draw(st.lists(st.integers(0, 2), min_size=len(good), max_size=len(good))))
    small = shrunk(good, counts, facts, TAIL)
    assert legal(small + TAIL, facts, to_code=True) is None
    assert is_part(small, good)
    assert is_part([spec for spec, count in zip(good, counts, strict=True) if count], small)


def is_part(part: Sequence[PassSpec], whole: Sequence[PassSpec]) -> bool:
    rest = iter(whole)
    return all(spec in rest for spec in part)


@settings(max_examples=40)
@given(programs, seeds)
def test_chains_of_mutations_stay_legal_and_reproducible(facts: Facts, seed: int) -> None:
    source = PlannedSource(CATALOG, lambda config: TAIL, wild_share=0.0)
    plan = source.fresh(rng_for(seed), facts)
    donor = source.fresh(rng_for(seed, "donor"), facts)[0]
    for step in range(8):
        child = source.mutate(*plan, rng_for(seed, step), donor, facts)
        assert child == source.mutate(*plan, rng_for(seed, step), donor, facts)
        assert child != plan
        passes, config = plan = child
        disabled = config.disabled_passes
        tail = () if config.pipeline == "none" else tuple(spec for spec in TAIL if spec.name not in disabled)
        assert legal(passes + tail, facts, to_code=True) is None


@given(programs, wild)
def test_facts_after_a_sequence_do_not_depend_on_how_it_is_cut(facts: Facts, passes: tuple[PassSpec, ...]) -> None:
    middle = len(passes) // 2
    assert facts_after(passes, facts) == facts_after(passes[middle:], facts_after(passes[:middle], facts))
    assert ContextConfig().pipeline == "default"


@given(programs, wild, st.booleans())
def test_a_composed_rule_stands_for_its_sequence(facts: Facts, passes: tuple[PassSpec, ...], to_code: bool) -> None:
    rule = composed(passes, to_code=to_code)
    fits = legal(passes, facts, to_code=to_code) is None
    assert fits == (rule is not None and rule.violation(facts) is None)
    if rule is not None and fits:
        assert rule.apply(facts) == facts_after(passes, facts)
