"""What people write is not odd: the built-in seeds are such programs, TOPI's and lowered models' above all."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.property.test_mutators_matrix import CACHE
from tzerlike.systems import tvm_api
from tzerlike.systems.compilation import load
from tzerlike.tir.odd.forms import oddities
from tzerlike.tir.odd.vocabulary import USUAL_FORMS, forms
from tzerlike.tir.seeds import builtin_seeds
from tzerlike.tir.tree import Tree


@pytest.mark.long
def test_hardly_a_seed_has_an_odd_form() -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    seeds = builtin_seeds(CACHE)
    found: Counter[str] = Counter()
    usual: set[str] = set()
    for seed in seeds:
        func = tvm_api.entry_of(load(seed.ir))
        usual.update(form for _, form in forms(Tree(func)))
        # What loop_partition leaves has loop variables in its blocks, which people bind to axes.
        if "schedule_partitioned" not in seed.name:
            found.update({odd.what for odd in oddities(func, threads=seed.target == "cuda")})
    # Attributes and annotations are what some seeds are there for.
    assert all(count <= 3 for what, count in found.items() if what not in ("an attribute", "an annotation")), found
    assert found.total() <= len(seeds) / 20
    assert sorted(usual) == USUAL_FORMS.read_text().splitlines(), "run scripts/usual_forms.py"
