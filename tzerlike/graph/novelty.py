"""What models have contained so far: calls, edges, and triples, two edges that follow each other (GenCoG, HirFuzz,
Isra).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from zlib import crc32

import msgspec

BYTES = 1 << 21
"""To remember by, whatever a campaign draws. A million of things seen make one in 17 new ones look old."""


class Novelty:
    """Remembers over models. Operators go by their names, so that the forms of one count as one.

    `seen` is all of its state, and means the same in every process.
    """

    def __init__(self, seen: bytes = bytes(BYTES)) -> None:
        self.seen = bytearray(seen)
        self._bits = 8 * len(seen)

    def promise(self, before: Iterable[str], maker: str, operator: str, first: object) -> int:
        """How much is new if `operator` first takes what `maker` gives, of type `first`, which takes from `before`."""
        found = 2 * self._is_new(_key(operator, first))
        if maker:
            edge = f"{maker}>{operator}"
            found += self._is_new(crc32(edge.encode()))
            for one in before:
                found += self._is_new(crc32(f"{one}>{edge}".encode()))
        return found

    def note_edge(self, before: Iterable[str], maker: str, operator: str) -> None:
        if maker:
            edge = f"{maker}>{operator}"
            self._note(crc32(edge.encode()))
            for one in before:
                self._note(crc32(f"{one}>{edge}".encode()))

    def worth(self, operator: str, types: tuple[object, ...], attributes: Mapping[str, object]) -> int:
        """2 for a call with types that the operator never had, 1 for attributes that these types never had, else 0."""
        if self._is_new(_key(operator, types)):
            return 2
        return int(self._is_new(_key(operator, types, attributes)))

    def note_call(self, operator: str, types: tuple[object, ...], attributes: Mapping[str, object]) -> None:
        self._note(_key(operator, types))
        self._note(_key(operator, types, attributes))
        if types:
            self._note(_key(operator, types[0]))

    def _is_new(self, key: int) -> bool:
        return not self.seen[key % self._bits >> 3] >> (key & 7) & 1

    def _note(self, key: int) -> None:
        self.seen[key % self._bits >> 3] |= 1 << (key & 7)


def _key(*parts: object) -> int:
    return crc32(msgspec.json.encode(parts))
