"""What models have had so far: calls, edges, and triples, two edges that follow each other (GenCoG, HirFuzz, Isra)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class Novelty:
    """Remembers over models. Operators go by their names, so that the forms of one count as one."""

    def __init__(self) -> None:
        self.firsts: set[tuple[str, object]] = set()
        self.types: set[int] = set()
        self.calls: set[int] = set()
        self.edges: set[tuple[str, str]] = set()
        self.triples: set[tuple[str, str, str]] = set()

    def promise(self, before: Iterable[str], maker: str, operator: str, first: object) -> int:
        """How much is new if `operator` first takes what `maker` gives, of type `first`, which takes from `before`."""
        found = 2 * ((operator, first) not in self.firsts)
        if maker:
            found += (maker, operator) not in self.edges
            for one in before:
                found += (one, maker, operator) not in self.triples
        return found

    def note_edge(self, before: Iterable[str], maker: str, operator: str) -> None:
        if maker:
            self.edges.add((maker, operator))
            self.triples.update((first, maker, operator) for first in before)

    def worth(self, operator: str, types: tuple[object, ...], attributes: Mapping[str, object]) -> int:
        """2 for a call with types that the operator never had, 1 for attributes that these types never had, else 0."""
        kind = hash((operator, types))
        if kind not in self.types:
            return 2
        return int(hash((kind, *attributes.values())) not in self.calls)

    def note_call(self, operator: str, types: tuple[object, ...], attributes: Mapping[str, object]) -> None:
        kind = hash((operator, types))
        self.types.add(kind)
        self.firsts.update((operator, one) for one in types[:1])
        self.calls.add(hash((kind, *attributes.values())))
