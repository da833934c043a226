"""Write tzerlike/tir/odd/usual_forms.txt: the forms that the built-in seeds have.

    python scripts/usual_forms.py

To be run when seeds come or go. tests/property/test_oddities.py says when that is due.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tzerlike.systems.compilation import load
from tzerlike.systems.tvm_api import entry_of
from tzerlike.tir.odd.vocabulary import USUAL_FORMS, forms
from tzerlike.tir.seeds import builtin_seeds
from tzerlike.tir.tree import Tree


def main() -> None:
    with tempfile.TemporaryDirectory() as cache:
        trees = [Tree(entry_of(load(seed.ir))) for seed in builtin_seeds(Path(cache))]
    found = sorted({form for tree in trees for _, form in forms(tree)})
    USUAL_FORMS.write_text("".join(f"{form}\n" for form in found))
    print(f"{len(found)} forms of {len(trees)} seeds")


if __name__ == "__main__":
    main()
