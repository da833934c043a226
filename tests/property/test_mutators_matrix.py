"""Every mutator on every built-in seed. `scripts/mutator_matrix.py` does it with other random numbers."""

from pathlib import Path

import pytest

from tzerlike.mutators import SCHEDULE, Mutator, make_mutators
from tzerlike.seedgen import builtin_seeds
from tzerlike.testing import Grid

CACHE = Path(__file__).parents[2] / "build" / "test-cache" / "tzerlike"


@pytest.fixture(scope="module")
def grid() -> Grid:
    CACHE.mkdir(parents=True, exist_ok=True)
    return Grid(builtin_seeds(CACHE))


@pytest.mark.parametrize("mutator", make_mutators(), ids=lambda mutator: mutator.name)
def test_every_seed(grid: Grid, mutator: Mutator) -> None:
    row = grid.row(mutator)
    assert row.breaches == ()
    assert row.children >= 50
    # A primitive that segfaults (loop_partition of 0.27 does) is TVM's fault; nobody else calls such things.
    assert row.deaths == () or mutator.name in SCHEDULE
