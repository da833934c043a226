"""Sequences that respect the preconditions of passes: drawn, mutated, repaired and shrunk.

There are two kinds. A *prefix* runs before the target's default pipeline, as in Tzer. A *pipeline* is the
default pipeline itself with passes inserted, dropped, swapped, repeated or given other arguments; nothing but
finalisation and code generation follows it (`ContextConfig.pipeline` is "none"). Both are
built so that `legal` finds no violation up to code generation; a small share is left wild on purpose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace as with_fields
from functools import cache
from random import Random
from typing import Final

from tzerlike.core.bandit import Yields, shares
from tzerlike.core.case import Case, ContextConfig, PassSpec
from tzerlike.passes.facts import ANY_PROGRAM, Fact, Facts
from tzerlike.passes.info import Catalog, Pool
from tzerlike.passes.preconditions import PRECONDITIONS, composed, facts_after, legal, rule_of
from tzerlike.passes.rule import Rule
from tzerlike.passes.sequence import (
    OPERATORS,
    Sequence,
    SequenceOperator,
    delete,
    fresh,
    insert,
    mutate_config,
    mutate_sequence,
    random_config,
    random_sequence,
    re_argument,
    repeat_pass,
    replace,
    swap,
)
from tzerlike.systems import under_test

PassPlan = tuple[Sequence, ContextConfig]

MAX_GROWTH: Final = 16
"""A pipeline may be this much longer than the default one."""

PLANNED_LENGTH: Final = 20
"""Passes drawn for a prefix at most: a pass takes some 0.3 ms and a build 15, so that a long prefix reaches more for
the same time, as long as its order is legal (Tzer's, drawn blindly, are mostly rejected at that length)."""

MAX_ENABLERS: Final = 8
"""A prefix may be this much longer, for the passes that others bring along."""

_ATTEMPTS: Final = 24
_ENABLING_DEPTH: Final = 8


def enabled(spec: PassSpec, facts: Facts, depth: int = _ENABLING_DEPTH) -> Sequence | None:
    """Return `spec` with the passes before it that make it legal where `facts` hold, or None if none do."""
    before: Sequence = ()
    rule = rule_of(spec.name)
    while (found := rule.violation(facts)) is not None:
        enabler = _enabler(*found)
        step = enabled(enabler, facts, depth - 1) if enabler is not None and depth > 0 else None
        if step is None:
            return None
        before += step
        facts = facts_after(step, facts)
        if len(before) > depth:
            return None
    return (*before, spec)


@cache
def _enabler(fact: Fact, wanted: bool) -> PassSpec | None:
    """Return the pass that gives or takes away `fact`: the one that does least besides."""
    names = [
        name
        for name, rule in PRECONDITIONS.items()
        if fact in (rule.adds if wanted else rule.removes) and fact not in rule.forbids
    ]
    if not names:
        return None
    name = min(names, key=lambda n: (len(PRECONDITIONS[n].adds | PRECONDITIONS[n].removes), n))
    return PassSpec(under_test().pass_name(name), _ENABLING_ARGUMENTS.get(name, ()))


_ENABLING_ARGUMENTS: Final = {"tirx.BindTarget": (("target", '{"kind": "llvm"}'),)}


def ordered_sequence(
    rng: Random, pool: Pool, facts: Facts, tail: Sequence = (), max_length: int = PLANNED_LENGTH
) -> Sequence:
    """Return 1 to `max_length` random passes, legal on a program with `facts` and followed by `tail`.

    A pass that is drawn out of order brings along the passes that it needs before it, MAX_ENABLERS in all.
    Where nothing fits, the sequence is shorter.
    """
    end = composed(tail, to_code=bool(tail))
    goal = rng.randint(1, max_length)
    drawn = 0
    passes: Sequence = ()
    for _ in range(_ATTEMPTS):
        if drawn == goal:
            break
        step = _step(pool.draw(rng), facts, end)
        if step and len(passes) + len(step) - drawn - 1 <= MAX_ENABLERS:
            passes += step
            facts = facts_after(step, facts)
            drawn += 1
    return passes


def repaired(passes: Sequence, facts: Facts, tail: Sequence = ()) -> Sequence:
    """Return `passes` made legal before `tail`: what a pass needs is put before it, or the pass is left out."""
    end = composed(tail, to_code=bool(tail))
    kept: Sequence = ()
    for spec in passes:
        step = _step(spec, facts, end)
        kept += step
        facts = facts_after(step, facts)
    return kept


def _step(spec: PassSpec, facts: Facts, end: Rule | None) -> Sequence:
    """Return `spec` and what it needs before it; nothing when that is out of reach or leads away from `end`."""
    step = enabled(spec, facts)
    if step is None or end is None or end.violation(facts_after(step, facts)) is not None:
        return ()
    return step


_PIPELINE_EDITS: Final[tuple[SequenceOperator, ...]] = (insert, insert, delete, swap, repeat_pass, replace, re_argument)


def varied_pipeline(rng: Random, pool: Pool, facts: Facts, pipeline: Sequence) -> Sequence:
    """Return `pipeline` after one to six random edits, still legal on a program with `facts` up to code generation."""
    passes = pipeline
    for _ in range(rng.randint(1, 6)):
        for _ in range(_ATTEMPTS):
            child = rng.choice(_PIPELINE_EDITS)(passes, rng, pool, ())
            if child is not None and child != passes and legal(child, facts, to_code=True) is None:
                passes = child
                break
    return passes


class PlannedSource:
    """Draws plans, a pass sequence with its context, that respect preconditions.

    `pipeline_of` returns the lowering that a build runs under a context: `default_pipeline(target, config).passes`.
    `pipeline_share` of the fresh plans are pipelines. `wild_share` of all sequences are Tzer's own, whatever their
    order. `tiles` is the lowering of a program in TileLang's dialect. Facts default to those of any program: what is
    legal there is legal everywhere, but a program's own facts allow more.
    """

    def __init__(
        self,
        catalog: Catalog,
        pipeline_of: Callable[[ContextConfig], Sequence],
        *,
        pipeline_share: float = 0.25,
        wild_share: float = 0.1,
        adaptive: bool = True,
        tiles: Sequence = (),
    ) -> None:
        self._catalog = catalog
        self._pipeline_of = pipeline_of
        self._pipeline_share = pipeline_share
        self._wild_share = wild_share
        self._adaptive = adaptive
        self._tiles = tiles
        self._names = [info.name for info in catalog]
        self._known = frozenset(self._names)
        self._pool = Pool(catalog)

    def learn(self, yields: Yields) -> None:
        """Draw by these counts of the whole campaign from now on: passes that brought something are preferred."""
        if self._adaptive:
            self._pool = Pool(self._catalog, shares(self._names, yields))

    def fresh(self, rng: Random, facts: Facts = ANY_PROGRAM) -> PassPlan:
        """Return a new plan for a program with `facts`."""
        config = random_config(rng)
        if Fact.TILES in facts:
            return self._tiled(rng, config, facts)
        if rng.random() < self._wild_share:
            return random_sequence(rng, self._pool), config
        if rng.random() < self._pipeline_share:
            passes = varied_pipeline(rng, self._pool, facts, self._pipeline_of(config))
            return passes, with_fields(config, disabled_passes=(), pipeline="none")
        config = self._fitting(config, facts)
        return self._available(ordered_sequence(rng, self._pool, facts, self._tail(config))), config

    def mutate(
        self, passes: Sequence, config: ContextConfig, rng: Random, donor: Sequence, facts: Facts = ANY_PROGRAM
    ) -> PassPlan:
        """Return a plan that differs from (`passes`, `config`), for a program with `facts`.

        One time in four the context changes, one in sixteen everything.
        """
        if Fact.TILES in facts:
            return self.fresh(rng, facts)
        kind = rng.randrange(16)
        if kind < 4:
            child = mutate_config(config, rng)
            if legal(passes + self._tail(child), facts, to_code=True) is None:
                return passes, child
        if kind == 4:
            return self.fresh(rng, facts)
        if rng.random() < self._wild_share:
            return mutate_sequence(passes, rng, self._pool, donor), config
        if config.pipeline == "none":
            return self._mutate_pipeline(passes, config, rng, donor, facts)
        tail = self._tail(config)
        for _ in range(_ATTEMPTS):
            changed = rng.choice(OPERATORS)(passes, rng, self._pool, donor)
            if changed is None:
                continue
            changed = self._available(repaired(changed, facts, tail))
            if changed != passes and len(changed) <= max(PLANNED_LENGTH + MAX_ENABLERS, len(passes)):
                return changed, config
        return self.fresh(rng, facts)

    def fit(self, passes: Sequence, config: ContextConfig, facts: Facts) -> PassPlan:
        """Return a plan for a program that has changed and now has `facts`: the old one where it is still legal.

        A prefix is repaired; a pipeline that no longer fits is left to be rejected.
        """
        if config.pipeline != "default":
            return passes, config
        config = self._fitting(config, facts)
        tail = self._tail(config)
        if legal(passes + tail, facts, to_code=True) is None:
            return passes, config
        return self._available(repaired(passes, facts, tail)), config

    def whole(self, case: Case) -> Sequence:
        """Return all passes that a case runs before code generation: its own, and the default pipeline after them."""
        return case.passes + self._tail(case.config)

    def shrunk(self, passes: Sequence, config: ContextConfig, new_blocks: tuple[int, ...], facts: Facts) -> Sequence:
        """Return what `shrunk` makes of the passes of a case that was built under `config`.

        A lowering of tiles stays whole: what each of its passes leaves to the next is not known well enough.
        """
        if Fact.TILES in facts:
            return passes
        return shrunk(passes, new_blocks, facts, self._tail(config))

    def _tiled(self, rng: Random, config: ContextConfig, facts: Facts) -> PassPlan:
        """TileLang's own lowering, as it is or varied; TVM's can do nothing with a program in its dialect."""
        passes = self._tiles
        if rng.random() < self._pipeline_share:
            passes = varied_pipeline(rng, self._pool, facts, passes)
        else:
            config = ContextConfig()
        return passes, with_fields(config, disabled_passes=(), pipeline="tiles")

    def _mutate_pipeline(
        self, passes: Sequence, config: ContextConfig, rng: Random, donor: Sequence, facts: Facts
    ) -> PassPlan:
        bound = max(len(passes), len(self._pipeline_of(with_fields(config, pipeline="default"))) + MAX_GROWTH)
        for _ in range(_ATTEMPTS):
            operator = rng.choice(OPERATORS)
            child = None if operator is fresh else operator(passes, rng, self._pool, donor)
            if child is None or child == passes or len(child) > bound:
                continue
            if legal(child, facts, to_code=True) is None:
                return child, config
        return self.fresh(rng, facts)

    def _available(self, passes: Sequence) -> Sequence:
        """Leave out what was brought along for others and is no pass of this TVM: an older one has not got them all."""
        return tuple(spec for spec in passes if spec.name in self._known)

    def _tail(self, config: ContextConfig) -> Sequence:
        """Return what runs after the passes of a case built under `config`."""
        if config.pipeline != "default":
            return ()
        return config.enabled(self._pipeline_of(config))

    def _fitting(self, config: ContextConfig, facts: Facts) -> ContextConfig:
        """Return `config`, without its disabled passes where a program with `facts` cannot be built without them."""
        if legal(self._tail(config), facts, to_code=True) is None:
            return config
        return with_fields(config, disabled_passes=())


def shrunk(passes: Sequence, new_blocks: tuple[int, ...], facts: Facts, tail: Sequence) -> Sequence:
    """Drop the passes that added no coverage before a sequence is stored (Tzer, section 3.1).

    `new_blocks` has the number of blocks that each pass was the first to reach; `tail` is what runs after `passes`,
    nothing after a pipeline. A pass that a later one or code generation needs stays, so a legal
    sequence stays legal; one that was illegal is stripped of every idle pass.
    Raises ValueError when the lengths differ. What is left is another sequence: it has to be run before it is stored.
    """
    if len(new_blocks) != len(passes):
        raise ValueError(f"{len(new_blocks)} counts for {len(passes)} passes")

    def fits(sequence: Sequence) -> bool:
        return legal(sequence + tail, facts, to_code=True) is None

    strict = fits(passes)
    kept = list(zip(passes, new_blocks, strict=True))
    for index in reversed(range(len(kept))):
        if kept[index][1] == 0:
            rest = [*kept[:index], *kept[index + 1 :]]
            if not strict or fits(tuple(spec for spec, _ in rest)):
                kept = rest
    return tuple(spec for spec, _ in kept)
