"""Sequence mutation over a made-up catalogue: no TVM."""

from __future__ import annotations

import pytest

from tzerlike.core.case import ContextConfig, PassSpec
from tzerlike.core.rng import rng_for
from tzerlike.passes import sequence
from tzerlike.passes.info import PassInfo, PassParameter, Pool

CATALOG = (
    PassInfo("s_tir.Sync", "s_tir.transform.Sync", (PassParameter("scope", ("shared", "warp"), True),)),
    PassInfo("tirx.Narrow", "tirx.transform.Narrow", (PassParameter("bits", (8, 16, 32), True),)),
    PassInfo("tirx.Unroll", "tirx.transform.Unroll"),
    PassInfo("tirx.Vectorize", "tirx.transform.Vectorize", (PassParameter("on", (True, False)),)),
)
POOL = Pool(CATALOG)
A, B, C, D = (PassSpec(f"tirx.{name}") for name in "ABCD")


def draws(count: int = 300) -> range:
    return range(count)


def test_random_sequences_stay_in_the_catalogue_and_the_bound() -> None:
    lengths = set()
    for seed in draws():
        passes = sequence.random_sequence(rng_for(seed), POOL, 5)
        lengths.add(len(passes))
        for spec in passes:
            info = next(i for i in CATALOG if i.name == spec.name)
            assert [k for k, _ in spec.args] == [p.name for p in info.parameters]
            assert all(v in p.domain for (_, v), p in zip(spec.args, info.parameters, strict=True))
    assert lengths == {1, 2, 3, 4, 5}


def test_equal_generators_make_equal_children() -> None:
    for seed in draws(50):
        first, second = (rng_for(seed, "same") for _ in range(2))
        for _ in range(5):
            assert sequence.mutate_sequence((A, B), first, POOL, (C, D)) == sequence.mutate_sequence(
                (A, B), second, POOL, (C, D)
            )
        assert sequence.random_config(first) == sequence.random_config(second)


@pytest.mark.parametrize("passes", [(), (A,), (A, B), (A,) * 8, (A, B) * 20])
@pytest.mark.parametrize("donor", [(), (C,), (C, D) * 30])
def test_a_child_differs_and_is_bounded(passes: sequence.Sequence, donor: sequence.Sequence) -> None:
    for seed in draws(100):
        child = sequence.mutate_sequence(passes, rng_for(seed), POOL, donor)
        assert child != passes
        assert len(child) <= max(sequence.MAX_LENGTH, len(passes))


def test_each_operator_does_what_it_says() -> None:
    for seed in draws():
        rng = rng_for(seed)
        passes = (A, B, C)
        inserted = sequence.insert(passes, rng, POOL, ())
        assert inserted is not None and len(inserted) == 4
        assert tuple(p for p in inserted if p in passes) == passes
        assert sequence.delete(passes, rng, POOL, ()) in {(A, B), (A, C), (B, C)}
        replaced = sequence.replace(passes, rng, POOL, ())
        assert replaced is not None and sum(p not in passes for p in replaced) == 1 and len(replaced) == 3
        assert sequence.swap(passes, rng, POOL, ()) in {(B, A, C), (C, B, A), (A, C, B)}
        repeated = sequence.repeat_pass(passes, rng, POOL, ())
        assert repeated is not None and sorted(map(str, repeated)) != sorted(map(str, passes))
        assert set(repeated) == set(passes) and len(repeated) == 4
        head = sequence.crossover_one(passes, rng, POOL, (D, D))
        assert head is not None
        kept = [p for p in head if p != D]
        assert tuple(kept) == passes[: len(kept)] and head[len(kept) :] == (D,) * (len(head) - len(kept))
        middle = sequence.crossover_two(passes, rng, POOL, (D, D))
        assert middle is not None and middle.count(D) <= 2


def test_re_argument_changes_one_value_and_nothing_else() -> None:
    narrow = PassSpec("tirx.Narrow", (("bits", 8),))
    seen = set()
    for seed in draws():
        child = sequence.re_argument((A, narrow), rng_for(seed), POOL, ())
        assert child is not None and child[0] == A and child[1].name == "tirx.Narrow"
        seen.add(child[1].args)
    assert seen == {(("bits", 16),), (("bits", 32),)}
    assert sequence.re_argument((A, PassSpec("tirx.Unroll")), rng_for(0), POOL, ()) is None


def test_operators_say_when_they_do_not_apply() -> None:
    rng = rng_for(0)
    assert sequence.delete((), rng, POOL, ()) is None
    assert sequence.replace((), rng, POOL, ()) is None
    assert sequence.swap((A,), rng, POOL, ()) is None
    assert sequence.repeat_pass((), rng, POOL, ()) is None
    assert sequence.crossover_one((A,), rng, POOL, ()) is None
    assert sequence.crossover_two((), rng, POOL, (A,)) is None


def test_contexts_differ_after_mutation_and_rarely_keep_the_asserts() -> None:
    configs = [sequence.random_config(rng_for(seed)) for seed in draws(2000)]
    quiet = sum(dict(c.options).get("tirx.disable_assert") is True for c in configs)
    assert 0.82 < quiet / len(configs) < 0.92
    for seed, config in enumerate(configs[:200]):
        assert sequence.mutate_config(config, rng_for(seed, "m")) != config
    assert sequence.mutate_config(ContextConfig(), rng_for(3)) != ContextConfig()
