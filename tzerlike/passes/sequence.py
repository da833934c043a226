"""Random pass sequences and their mutation (Tzer, OOPSLA 2022, section 3.1).

A sequence is a tuple of PassSpec with concrete arguments; a context is the PassContext
it is built under. Every function is a pure function of its arguments and of the draws
it takes from `rng`: the same generator state gives the same result.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Final

from tzerlike.core.case import ContextConfig, PassSpec, Scalar
from tzerlike.passes.arguments import OPTIMISATIONS, OPTIONS
from tzerlike.passes.info import Pool, by_name

Sequence = tuple[PassSpec, ...]

MAX_LENGTH: Final = 8
"""Passes in a fresh sequence at most, and the bound that mutation keeps."""

_ATTEMPTS: Final = 16


def random_sequence(rng: Random, pool: Pool, max_length: int = MAX_LENGTH) -> Sequence:
    """Return 1 to `max_length` passes drawn from `pool`, whatever their order: Tzer's own sequences."""
    return tuple(pool.draw(rng) for _ in range(rng.randint(1, max_length)))


def mutate_sequence(
    passes: Sequence, rng: Random, pool: Pool, donor: Sequence = (), max_length: int = MAX_LENGTH
) -> Sequence:
    """Return a sequence that differs from `passes`, made by one random operator.

    `donor` is another corpus member's sequence, for crossover. The result is never longer than the
    longer of `max_length` and `passes`, and may be empty.
    """
    bound = max(max_length, len(passes))
    for _ in range(_ATTEMPTS):
        child = rng.choice(OPERATORS)(passes, rng, pool, donor)
        if child is not None and child != passes and len(child) <= bound:
            return child
    return random_sequence(rng, pool, max_length)


def insert(passes: Sequence, rng: Random, pool: Pool, donor: Sequence) -> Sequence | None:
    """Put a random pass anywhere."""
    at = rng.randint(0, len(passes))
    return (*passes[:at], pool.draw(rng), *passes[at:])


def delete(passes: Sequence, rng: Random, pool: Pool, donor: Sequence) -> Sequence | None:
    """Drop one pass."""
    if not passes:
        return None
    at = rng.randrange(len(passes))
    return passes[:at] + passes[at + 1 :]


def replace(passes: Sequence, rng: Random, pool: Pool, donor: Sequence) -> Sequence | None:
    """Put a random pass in place of another."""
    if not passes:
        return None
    at = rng.randrange(len(passes))
    return (*passes[:at], pool.draw(rng), *passes[at + 1 :])


def swap(passes: Sequence, rng: Random, pool: Pool, donor: Sequence) -> Sequence | None:
    """Exchange two passes."""
    if len(passes) < 2:
        return None
    first, second = sorted(rng.sample(range(len(passes)), 2))
    child = list(passes)
    child[first], child[second] = child[second], child[first]
    return tuple(child)


def repeat_pass(passes: Sequence, rng: Random, pool: Pool, donor: Sequence) -> Sequence | None:
    """Run one of the passes a second time, at the same place or later."""
    if not passes:
        return None
    source = rng.randrange(len(passes))
    at = rng.randint(source + 1, len(passes))
    return (*passes[:at], passes[source], *passes[at:])


def re_argument(passes: Sequence, rng: Random, pool: Pool, donor: Sequence) -> Sequence | None:
    """Give one argument of one pass another value of its domain."""
    known = by_name(pool.catalog)
    places = [
        (at, parameter)
        for at, spec in enumerate(passes)
        if spec.name in known
        for parameter in known[spec.name].parameters
        if len(parameter.domain) > 1
    ]
    if not places:
        return None
    at, parameter = rng.choice(places)
    args = dict(passes[at].args)
    others = [v for v in parameter.domain if parameter.name not in args or not _same(v, args[parameter.name])]
    args[parameter.name] = rng.choice(others)
    return (*passes[:at], PassSpec(passes[at].name, tuple(args.items())), *passes[at + 1 :])


def crossover_one(passes: Sequence, rng: Random, pool: Pool, donor: Sequence) -> Sequence | None:
    """Join a head of `passes` and a tail of `donor`."""
    if not passes or not donor:
        return None
    return passes[: rng.randint(0, len(passes))] + donor[rng.randint(0, len(donor)) :]


def crossover_two(passes: Sequence, rng: Random, pool: Pool, donor: Sequence) -> Sequence | None:
    """Put a stretch of `donor` in place of a stretch of `passes`."""
    if not passes or not donor:
        return None
    start, stop = sorted(rng.randint(0, len(passes)) for _ in range(2))
    first, last = sorted(rng.randint(0, len(donor)) for _ in range(2))
    return passes[:start] + donor[first:last] + passes[stop:]


def fresh(passes: Sequence, rng: Random, pool: Pool, donor: Sequence) -> Sequence | None:
    """Forget `passes`: a new random sequence."""
    return random_sequence(rng, pool)


SequenceOperator = Callable[[Sequence, Random, Pool, Sequence], Sequence | None]

OPERATORS: Final[tuple[SequenceOperator, ...]] = (
    insert,
    delete,
    replace,
    swap,
    repeat_pass,
    re_argument,
    crossover_one,
    crossover_two,
    fresh,
)
"""The operators of `mutate_sequence`; each returns None where it does not apply."""


def random_config(rng: Random) -> ContextConfig:
    """Return a random PassContext.

    The context keeps the default pipeline. Argument checks are compiled in for one case in eight only: they cost
    most of a small build. Half of the contexts set nothing else, the others one to three options, and one
    in eight disables an optimisation; so most builds succeed.
    """
    options: dict[str, Scalar] = {}
    if rng.randrange(8):
        options["tirx.disable_assert"] = True
    if rng.randrange(2):
        for key in rng.sample(_keys(), rng.randint(1, 3)):
            options[key] = rng.choice(OPTIONS[key])
    disabled = (rng.choice(OPTIMISATIONS),) if not rng.randrange(8) else ()
    return ContextConfig(rng.choice(_OPT_LEVELS), tuple(options.items()), disabled)


def mutate_config(config: ContextConfig, rng: Random) -> ContextConfig:
    """Return a context that differs from `config` in its level, in one option or in the disabled passes."""
    for _ in range(_ATTEMPTS):
        child = _mutate_config_once(config, rng)
        if child != config:
            return child
    return random_config(rng)


def _mutate_config_once(config: ContextConfig, rng: Random) -> ContextConfig:
    options = dict(config.options)
    disabled = config.disabled_passes
    level = config.opt_level
    what = rng.randrange(8)
    if what == 0:
        level = rng.choice(_OPT_LEVELS)
    elif what == 1:
        disabled = (rng.choice(OPTIMISATIONS),) if not disabled or rng.randrange(2) else ()
    elif what <= 3 and options:
        del options[rng.choice(sorted(options))]
    elif what == 4 and any(key in OPTIONS for key in options):
        key = rng.choice(sorted(key for key in options if key in OPTIONS))
        options[key] = rng.choice(OPTIONS[key])
    else:
        key = rng.choice(_keys())
        options[key] = rng.choice(OPTIONS[key])
    return ContextConfig(level, tuple(options.items()), disabled, config.pipeline)


@cache
def _keys() -> tuple[str, ...]:
    """The options that this TVM has."""
    # Not earlier: commands that need no TVM import this module.
    from tzerlike.systems.tvm_passes import takes_option

    return tuple(sorted(key for key, values in OPTIONS.items() if takes_option(key, values[0])))


_OPT_LEVELS: Final = (4, 4, 3, 2, 1, 0)


def _same(left: Scalar, right: Scalar) -> bool:
    return left == right and type(left) is type(right)
