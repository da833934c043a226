"""One worker's share of a campaign: its name, and how work is divided among all shards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Shard:
    """The shard of worker `slot` on machine `node`, whose shards are numbered from `first` on, of `total` on all.

    Its `index` is what random draws, files and provenance call the worker. The slot is that of the node's shared
    memory, and nothing else.
    """

    slot: int
    total: int
    node: int = 0
    first: int = 0

    @property
    def index(self) -> int:
        return self.first + self.slot

    def of(self, everything: Sequence[_T]) -> Sequence[_T]:
        """This shard's part of what all shards have in the same order: each element is in one."""
        return everything[self.index :: self.total]

    def quota(self, iterations: int | None) -> int | None:
        """How many of the campaign's iterations are this shard's; None where they are not limited."""
        return None if iterations is None else iterations // self.total + (self.index < iterations % self.total)

    def owns(self, case_id: str) -> bool:
        """Whether a pair of a carried corpus is this shard's."""
        return owner_of(case_id, self.total) == self.index


def owner_of(case_id: str, total: int) -> int:
    """Return the index of the shard, of `total`, that a pair of a carried corpus belongs to."""
    return int(case_id[:8], 16) % total
