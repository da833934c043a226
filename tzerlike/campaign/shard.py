"""One worker's share of a campaign: its name, and how work is divided among all shards."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

from tzerlike.core.errors import UserError

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Shard:
    """The shard of worker `slot` on machine `node`, whose `jobs` shards are numbered from `first` on, of `total` on
    all.

    Its `index` is what random draws, files and provenance call the worker. The slot is that of the node's shared
    memory, and nothing else.
    """

    slot: int
    total: int
    node: int = 0
    first: int = 0
    jobs: int = 0

    @property
    def index(self) -> int:
        return self.first + self.slot

    def of(self, everything: Sequence[_T]) -> Sequence[_T]:
        """This shard's part of what all shards have in the same order: each element is in one."""
        return everything[self.index :: self.total]

    def quota(self, iterations: int | None) -> int | None:
        """How many of the campaign's iterations are this shard's; None where they are not limited."""
        return None if iterations is None else iterations // self.total + (self.index < iterations % self.total)

    def of_other_machines(self, numbers: Iterable[int]) -> list[int]:
        """Of the workers of all machines, the first of each other one: a machine's workers share what they cover."""
        return [n for n in numbers if self.jobs and n % self.jobs == 0 and n != self.first]

    def owns(self, case_id: str) -> bool:
        """Whether a pair of a carried corpus is this shard's."""
        return owner_of(case_id, self.total) == self.index


@dataclass(frozen=True, slots=True)
class Part:
    """One machine's part of a campaign: that of `node`, of 0 to `nodes` - 1, each of which has `jobs` workers."""

    jobs: int
    node: int = 0
    nodes: int = 1

    @classmethod
    def of_text(cls, text: str, jobs: int) -> Self:
        """Return the part that is written `2/4`, the second of four; UserError where it is none."""
        match = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise UserError(f"--shard: {text!r} is not a shard such as 1/4")
        return cls(jobs, int(match[1]) - 1, int(match[2]))

    @property
    def alone(self) -> bool:
        return self.nodes == 1

    @property
    def numbers(self) -> range:
        """The indices of its shards."""
        return range(self.node * self.jobs, (self.node + 1) * self.jobs)

    @property
    def shards(self) -> tuple[Shard, ...]:
        return tuple(
            Shard(slot, self.nodes * self.jobs, self.node, self.numbers.start, self.jobs) for slot in range(self.jobs)
        )


def owner_of(case_id: str, total: int) -> int:
    """Return the index of the shard, of `total`, that a pair of a carried corpus belongs to."""
    return int(case_id[:8], 16) % total
