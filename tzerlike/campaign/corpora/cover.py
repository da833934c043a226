"""Which cases of a corpus to keep so that nothing it covers is lost: few and small ones, found by a greedy rule.

The rule: as long as something is uncovered, take the case that adds the most blocks for its size (the bytes of its
file); of equals the smaller, then the one whose id comes first. At the end, from the largest to the smallest, drop each
case whose blocks the rest covers. The answer depends on the cases alone, not on their order.
"""

from __future__ import annotations

import heapq
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy
import numpy.typing as npt

from tzerlike.coverage import Indices


@dataclass(frozen=True, slots=True)
class Covered:
    """A case's size in bytes and the blocks that it reaches, ascending, kept small: a corpus has thousands of them."""

    size: int
    packed: bytes
    count: int

    @classmethod
    def of(cls, size: int, blocks: Indices) -> Covered:
        steps = numpy.diff(numpy.sort(blocks), prepend=numpy.uint32(0)).astype(numpy.uint32)
        return cls(size, zlib.compress(steps.tobytes(), 1), len(blocks))

    @property
    def blocks(self) -> Indices:
        steps = numpy.frombuffer(zlib.decompress(self.packed), numpy.uint32)
        return numpy.cumsum(steps, dtype=numpy.uint32)

    def within(self, wanted: Indices) -> Covered:
        """The same case as if it reached only blocks that are `wanted`."""
        return Covered.of(self.size, numpy.intersect1d(self.blocks, wanted))


def union(corpus: Mapping[str, Covered]) -> Indices:
    """Return the blocks that any of the cases reaches, ascending."""
    hits = _hits(corpus)
    return numpy.flatnonzero(hits).astype(numpy.uint32)


def smallest_cover(corpus: Mapping[str, Covered]) -> list[str]:
    """Return the ids of the cases to keep, sorted; together they reach what all cases reach."""
    left = _hits(corpus) > 0
    # How much a case adds only falls as others are taken, so that an old figure is a bound of the new one.
    queue = [(-case.count / case.size, case.size, name) for name, case in corpus.items()]
    heapq.heapify(queue)
    kept: list[str] = []
    while queue:
        _, size, name = heapq.heappop(queue)
        blocks = corpus[name].blocks
        gain = int(numpy.count_nonzero(left[blocks]))
        if not gain:
            continue
        now = (-gain / size, size, name)
        if queue and queue[0] < now:
            heapq.heappush(queue, now)
            continue
        kept.append(name)
        left[blocks] = False
    return _without_needless(corpus, kept)


def _without_needless(corpus: Mapping[str, Covered], kept: list[str]) -> list[str]:
    hits = _hits({name: corpus[name] for name in kept})
    for name in sorted(kept, key=lambda name: (-corpus[name].size, name)):
        blocks = corpus[name].blocks
        if bool((hits[blocks] > 1).all()):
            hits[blocks] -= 1
            kept.remove(name)
    return sorted(kept)


def _hits(corpus: Mapping[str, Covered]) -> npt.NDArray[numpy.int32]:
    """How many cases reach each block."""
    hits = numpy.zeros(0, numpy.int32)
    for case in corpus.values():
        blocks = case.blocks
        if len(blocks) and int(blocks[-1]) >= len(hits):
            hits = numpy.concatenate([hits, numpy.zeros(int(blocks[-1]) + 1 - len(hits), numpy.int32)])
        hits[blocks] += 1
    return hits
