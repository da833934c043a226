"""All draws that there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")


class _Path:
    """Takes the choices of `given`, and then the first of each."""

    def __init__(self, given: list[int]) -> None:
        self.given = given
        self.taken: list[tuple[int, int]] = []

    def below(self, count: int) -> int:
        assert count > 0, "a domain is empty"
        place = len(self.taken)
        self.taken.append((self.given[place] if place < len(self.given) else 0, count))
        return self.taken[-1][0]

    def between(self, low: int, high: int) -> int:
        return low + self.below(high - low + 1)


def all_draws(draw: Callable[[_Path], T]) -> Iterator[T]:
    """What `draw` gives for each sequence of choices."""
    given: list[int] = []
    while True:
        path = _Path(given)
        yield draw(path)
        taken = path.taken
        while taken and taken[-1][0] + 1 == taken[-1][1]:
            taken.pop()
        if not taken:
            return
        given = [choice for choice, _ in taken]
        given[-1] += 1
