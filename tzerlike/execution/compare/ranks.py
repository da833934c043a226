"""The Mann-Whitney test: do the values of one sample tend to be greater than those of another?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence


def chance_of_greater(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the one-sided p-value of the hypothesis that `second` tends to be greater than `first`.

    The normal approximation with a correction for ties and for continuity; good from about ten values a side.
    1.0 when either sample is empty or all values are equal.
    """
    n, m = len(first), len(second)
    total = n + m
    counts = Counter((*first, *second))
    ranks: dict[float, float] = {}
    below = 0
    for value in sorted(counts):
        ranks[value] = below + (counts[value] + 1) / 2
        below += counts[value]
    u = sum(ranks[value] for value in second) - m * (m + 1) / 2
    ties = sum(count**3 - count for count in counts.values())
    variance = n * m / 12 * (total + 1 - ties / (total * (total - 1))) if total > 1 else 0.0
    if variance <= 0:
        return 1.0
    z = (u - n * m / 2 - 0.5) / math.sqrt(variance)
    return 0.5 * math.erfc(z / math.sqrt(2))
