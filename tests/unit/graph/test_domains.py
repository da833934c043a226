"""A domain draws exactly the values that it lists, and has each of them."""

from __future__ import annotations

import pytest

from tests.unit.graph.paths import all_draws
from tzerlike.graph.dice import Dice
from tzerlike.graph.place import SizeLimits
from tzerlike.graph.spec import axes, domains, shapes
from tzerlike.graph.spec.terms import Bindings, integers, shape, symbol

n, i, it = integers("n i it")
S = shape("S")
KNOWN: Bindings = SizeLimits(rank=3, extent=3, elements=12, dtypes=("int8",)).bindings() | {"n": 4, "S": (2, 1)}

EACH_KIND: list[domains.Choice] = [
    domains.Between(2, n + 1),
    domains.NewExtent(),
    domains.NewExtent(n, S),
    domains.Multiples(n // 4),
    domains.Divisors(n * 3),
    domains.OneOf("same", None, 0.5),
    domains.Dtypes("int8", "int16"),
    axes.Axis(S.rank),
    axes.Axes(S.rank),
    axes.Axes(n, 0),
    axes.NewAxes(S.rank),
    axes.Cuts(n),
    axes.Order(n),
    shapes.Shapes(),
    shapes.Shapes(1, 2, (n,)),
    shapes.BroadcastWith(S),
    shapes.BroadcastWith(S, into=True),
    shapes.Wider(S),
    shapes.Factors(n * 3),
    domains.Each(S.rank, i, domains.Between(0, S[i])),
    domains.Such(axes.Axis(n), it, (it % 2).equals(0)),
]


@pytest.mark.parametrize("domain", EACH_KIND, ids=lambda one: type(one).__name__)
def test_a_domain_draws_what_it_lists(domain: domains.Choice) -> None:
    spliced = list(domain.values(KNOWN))
    assert spliced
    assert set(spliced) == set(all_draws(lambda chance: domain.draw(KNOWN, chance)))
    assert all(domain.has(KNOWN, value) for value in spliced)
    assert domain.names <= {"n", "S"}


@pytest.mark.parametrize("domain", EACH_KIND, ids=lambda one: type(one).__name__)
def test_a_domain_has_nothing_that_it_does_not_list(domain: domains.Choice) -> None:
    strange = [-9, 0, 77, (0,), (5, 5), (-1, 1), (3, 2, 2), "", "int64", 1.5, (0, 0, 0, 0), (7, 9)]
    unlimited = (
        domains.NewExtent | domains.Multiples | shapes.Shapes | shapes.BroadcastWith | shapes.Wider | domains.Dtypes
    )
    if not isinstance(domain, unlimited):
        spliced = list(domain.values(KNOWN))
        assert [value for value in strange if domain.has(KNOWN, value) and value not in spliced] == []
    assert not domain.has(KNOWN, "no such word")


def test_sizes_are_drawn_by_exponential_bins() -> None:
    from random import Random

    dice = Dice(Random(3))
    drawn = [dice.between(1, 32) for _ in range(6000)]
    assert set(drawn) == set(range(1, 33))
    shares = [
        sum(low <= size <= high for size in drawn) / 6000 for low, high in ((1, 1), (2, 2), (3, 4), (5, 8), (9, 16))
    ]
    assert all(abs(share - 1 / 6) < 0.03 for share in shares)


def test_a_term_reads_like_what_it_says() -> None:
    assert repr((n + 2 * i - 1) // S[i]) == "(((n + (2 * i)) - 1) // S[i])"
    assert repr(symbol("mode").is_("same")) == "(mode == 'same')"
