"""Write tzerlike/tir/odd/usual_forms.txt: the forms that the built-in seeds have. With the Python of an environment of
TileLang write tile_forms.txt there: those that only its kernels have.

    python scripts/usual_forms.py

To be run when seeds come or go. tests/property/test_oddities.py says when that is due.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tzerlike.systems.compilation import load
from tzerlike.systems.tvm_api import entry_of
from tzerlike.tir.odd.vocabulary import TILE_FORMS, USUAL_FORMS, forms, is_tile_kernel, usual_forms
from tzerlike.tir.seeds import builtin_seeds
from tzerlike.tir.tree import Tree


def main() -> None:
    with tempfile.TemporaryDirectory() as cache:
        trees = [Tree(entry_of(load(seed.ir))) for seed in builtin_seeds(Path(cache))]
    tiles = [tree for tree in trees if is_tile_kernel(tree)]
    path, chosen = (TILE_FORMS, tiles) if tiles else (USUAL_FORMS, trees)
    found = {form for tree in chosen for _, form in forms(tree)}
    if tiles:
        found -= usual_forms()
    path.write_text("".join(f"{form}\n" for form in sorted(found)))
    print(f"{len(found)} forms of {len(chosen)} seeds: {path}")


if __name__ == "__main__":
    main()
