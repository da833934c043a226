"""A mutation by its coordinates, and its outcome: read and written without TVM."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from random import Random
from typing import Annotated, Any

from msgspec import Meta

from tzerlike.core.case import Provenance, check_seed
from tzerlike.core.rng import rng_for
from tzerlike.core.schema import Whole, converted

_Name = Annotated[str, Meta(max_length=200)]


@dataclass(frozen=True, slots=True)
class Mutation:
    """A mutation of a campaign by its coordinates; `parent` is the id of the case that it changed."""

    seed: int
    worker: Whole
    iteration: Whole
    draw: Whole
    mutator: _Name
    parent: _Name

    def __post_init__(self) -> None:
        check_seed(self.seed)

    @property
    def rng(self) -> Random:
        """Where its draws come from, from the first one on."""
        return rng_for(self.seed, self.worker, self.iteration, "mutate", self.draw)

    def descent(self, provenance: Provenance) -> Provenance:
        """Return where a case comes from that this mutation made of one with `provenance`."""
        return replace(
            provenance, parent=self.parent, mutator=self.mutator, worker=self.worker, iteration=self.iteration
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: object) -> Mutation:
        """UserError that names a coordinate that is missing or of the wrong type."""
        return converted(data, cls, "mutation")


NOT_BUILT = "not-built"
ILL_FORMED = "ill-formed"


@dataclass(frozen=True, slots=True)
class Attempt:
    """The text of a child that is well-formed, or None and `why`.

    That is NOT_BUILT where the compiler refused to build the child, ILL_FORMED where its verifiers refuse it, and ""
    where the mutator does not apply. `amiss` is what looks like a failure of the compiler, where its code made the
    child: what it raised, in words, or the rule of types that the child breaks.
    """

    text: str | None
    why: str = ""
    amiss: str = ""


@dataclass(frozen=True, slots=True)
class Mutant:
    """What came of a mutation: the attempt, and of one in a child of its own the blocks that it was the first to reach,
    and the signal that the child died of, or 0."""

    attempt: Attempt
    new_blocks: int = 0
    died_of: int = 0
