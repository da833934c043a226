"""The values of a model's inputs, for each of its runs."""

from __future__ import annotations

from collections.abc import Mapping

from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import Model
from tzerlike.graph.reference import source_values
from tzerlike.graph.spec.language import Specification
from tzerlike.graph.symbols import runs_of


def values_of_runs(model: Model, rows: Mapping[str, Specification], seed: int) -> list[tuple[Model, list[Array]]]:
    """Return each run with its values; constants are what they are in the first, whose values alone are searched."""
    first, *others = runs_of(model, rows)
    fixed = source_values(first, rows, seed)
    found = [(first, fixed)]
    for one in others:
        drawn = zip(one.sources, fixed, source_values(one, rows, seed), strict=True)
        found.append((one, [old if origin.kind == "constant" else new for origin, old, new in drawn]))
    return found
