"""A mutation by its coordinates: read and written without TVM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

from tzerlike.case import SEEDS
from tzerlike.rng import rng_for
from tzerlike.untrusted import Fields


@dataclass(frozen=True, slots=True)
class Mutation:
    """A mutation of a campaign by its coordinates; `parent` is the id of the case that it changed."""

    seed: int
    worker: int
    iteration: int
    draw: int
    mutator: str
    parent: str

    @property
    def rng(self) -> Random:
        """Where its draws come from, from the first one on."""
        return rng_for(self.seed, self.worker, self.iteration, "mutate", self.draw)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Mutation:
        """UserError that names a coordinate that is missing or of the wrong type."""
        root = Fields.of(data, "mutation")
        seed = root.whole("seed", *SEEDS)
        worker, iteration, draw = (root.whole(key) for key in ("worker", "iteration", "draw"))
        return cls(seed, worker, iteration, draw, root.text("mutator", 200), root.text("parent", 200))
