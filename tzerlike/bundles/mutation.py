"""A mutation by its coordinates: read and written without TVM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tzerlike.case import SEEDS
from tzerlike.untrusted import Fields


@dataclass(frozen=True, slots=True)
class Mutation:
    """A mutation by its coordinates: its draws come from `rng_for(seed, worker, iteration, "mutate", draw)`."""

    seed: int
    worker: int
    iteration: int
    draw: int
    mutator: str
    parent: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Mutation:
        """UserError that names a coordinate that is missing or of the wrong type."""
        root = Fields.of(data, "mutation")
        seed = root.whole("seed", *SEEDS)
        worker, iteration, draw = (root.whole(key) for key in ("worker", "iteration", "draw"))
        return cls(seed, worker, iteration, draw, root.text("mutator", 200), root.text("parent", 200))
