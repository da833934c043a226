"""Draws for domains, from a generator of random numbers."""

from __future__ import annotations

from random import Random

FEW_SIZES = 8


class Dice:
    """Draws for domains."""

    def __init__(self, rng: Random) -> None:
        self.uniform = rng.random

    def below(self, count: int) -> int:
        return int(self.uniform() * count)

    def between(self, low: int, high: int) -> int:
        """A size by bins of 1, 2, 4, ... numbers above `low`, each bin alike; of few sizes each alike."""
        span = high - low
        if span < FEW_SIZES:
            return low + int(self.uniform() * (span + 1))
        bin_ = int(self.uniform() * (span.bit_length() + 1))
        if bin_ == 0:
            return low
        first = 1 << (bin_ - 1)
        return low + first + int(self.uniform() * (min(2 * first - 1, span) - first + 1))
