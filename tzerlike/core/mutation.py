"""A mutation by its coordinates: read and written without TVM."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from random import Random
from typing import Annotated, Any

from msgspec import Meta

from tzerlike.core.case import check_seed
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

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: object) -> Mutation:
        """UserError that names a coordinate that is missing or of the wrong type."""
        return converted(data, cls, "mutation")
