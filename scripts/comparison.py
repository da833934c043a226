"""Comparison of two samples without assumptions about their distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

_EXACT = 400
"""The largest product of sizes at which the distribution is counted out."""


def superiority(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Vargha and Delaney's A12: how likely one of ours is larger than one of theirs, ties by half."""
    left, right = np.asarray(ours)[:, None], np.asarray(theirs)[None, :]
    return float(np.mean((left > right) + (left == right) / 2))


def mann_whitney(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The two-sided p of Mann and Whitney's U test: counted out where nothing is tied, else by the normal distribution
    with corrections for ties and continuity."""
    n, m = len(ours), len(theirs)
    u = superiority(ours, theirs) * n * m
    _, ties = np.unique(np.concatenate([ours, theirs]), return_counts=True)
    if ties.max() == 1 and n * m <= _EXACT:
        counts = _orders(n, m)
        return min(1.0, 2 * float(counts[: round(min(u, n * m - u)) + 1].sum() / counts.sum()))
    size = n + m
    variance = n * m / 12 * (size + 1 - float((ties**3 - ties).sum()) / (size * (size - 1)))
    if variance == 0:
        return 1.0
    return math.erfc(max(0.0, abs(u - n * m / 2) - 0.5) / math.sqrt(2 * variance))


def _orders(n: int, m: int) -> np.ndarray:
    """How many of the orders of n and m values have each U: coefficients of Gauss' binomial, which fit doubles."""
    counts = np.zeros(n * m + 1)
    counts[0] = 1
    for i in range(1, n + 1):
        # Times 1 - q^(m + i), then by 1 - q^i.
        step = m + i
        if step <= n * m:
            counts[step:] = counts[step:] - counts[:-step]
        for at in range(i, n * m + 1):
            counts[at] += counts[at - i]
    return counts
