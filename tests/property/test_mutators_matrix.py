"""Every mutator on a twelfth of the built-in seeds, another twelfth for each of its neighbours.

`scripts/mutator_matrix.py` tries every mutator on every seed, which takes two minutes of a processor.
"""

from pathlib import Path

import pytest

from tzerlike.mutators import ALL, GROUPS, Mutator, make_mutators
from tzerlike.testing import Grid
from tzerlike.tir.seeds import builtin_seeds

CACHE = Path(__file__).parents[2] / "build" / "test-cache" / "tzerlike"


SLICES = 12

RARE = {"shared-memory": (6, 2)}
"""A larger part, and the children that it has at least: a few dozen seeds are kernels without blocks."""


@pytest.fixture(scope="module")
def grid() -> Grid:
    CACHE.mkdir(parents=True, exist_ok=True)
    return Grid(builtin_seeds(CACHE))


@pytest.mark.parametrize(("place", "mutator"), list(enumerate(make_mutators())), ids=ALL)
def test_seeds(grid: Grid, place: int, mutator: Mutator) -> None:
    slices, least = RARE.get(mutator.name, (SLICES, 10))
    row = grid.row(mutator, part=slice(place % slices, None, slices))
    # Schedule primitives of TVM's leave axes of one dtype over loops of another, and too few strides; no campaign takes
    # such a child.
    assert [breach for breach in row.breaches if not breach.endswith("the child is not well-typed")] == []
    assert len(row.breaches) <= (6 if mutator.name in (*GROUPS["schedule"], "software-pipeline") else 0)
    assert row.children >= least
    # A primitive that segfaults (loop_partition of 0.27 does) is TVM's fault; nobody else calls such things.
    assert row.deaths == () or mutator.name in GROUPS["schedule"]
