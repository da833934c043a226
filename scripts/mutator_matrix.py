"""Every mutator on every built-in seed: well-formed or None, parent unchanged, same child for the same seed.

    python scripts/mutator_matrix.py [ROUND [MUTATOR...]]

The tests run ROUND 0, the default; other rounds use other random numbers. Prints each breach, with everything needed to
reproduce it, and exits 1 if there is one. A call that kills its process is a crash of TVM: counted, but not a breach.
"""

from __future__ import annotations

import sys
import time

from standalone import cache_directory

from tzerlike.mutators import make_mutators
from tzerlike.testing import Grid
from tzerlike.tir.seeds import builtin_seeds


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    grid = Grid(builtin_seeds(cache_directory()))
    broken = 0
    for mutator in make_mutators(sys.argv[2:] or ["all"]):
        began = time.perf_counter()
        row = grid.row(mutator, number)
        spent = time.perf_counter() - began
        print(
            f"{mutator.name:20} {row.calls} calls, {row.children} children, {len(row.deaths)} killed their process, "
            f"{spent:.1f} s",
            flush=True,
        )
        for breach in row.breaches:
            print(f"    {breach}")
        broken += len(row.breaches)
    print(f"{broken} breaches")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
