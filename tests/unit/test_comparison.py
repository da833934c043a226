"""The statistics of scripts/ablation.py."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from comparison import mann_whitney, superiority


def test_superiority_counts_pairs() -> None:
    assert superiority([1, 2, 3], [0, 0]) == 1
    assert superiority([1, 2], [1, 2]) == 0.5
    assert superiority([1, 4], [2, 3]) == 0.5
    assert superiority([5], [1, 9, 9, 9]) == 0.25


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 4), (5, 2), (4, 4)])
def test_an_exact_p_is_the_share_of_orders_that_are_as_far_off(n: int, m: int) -> None:
    orders = list(itertools.combinations(range(n + m), n))
    far = [abs(superiority(places, _rest(places, n + m)) - 0.5) for places in orders]
    for places, off in zip(orders, far, strict=True):
        expected = sum(other >= off - 1e-9 for other in far) / len(far)
        assert mann_whitney(places, _rest(places, n + m)) == pytest.approx(min(1, expected))


def _rest(places: tuple[int, ...], size: int) -> list[int]:
    return [place for place in range(size) if place not in places]


def test_p_of_ten_against_ten() -> None:
    assert mann_whitney(range(10), range(10, 20)) == pytest.approx(2 / 184756)


@pytest.mark.parametrize(
    ("ours", "theirs", "p"),
    # By scipy.stats.mannwhitneyu, method="asymptotic".
    [([1, 2, 2, 3, 5], [2, 4, 4, 6, 7, 7], 0.078645), ([1, 1, 1], [1, 1], 1.0), ([0, 0, 1, 1], [1, 2, 2, 2], 0.047057)],
)
def test_ties_are_heeded(ours: list[float], theirs: list[float], p: float) -> None:
    assert mann_whitney(ours, theirs) == pytest.approx(p, abs=1e-6)
