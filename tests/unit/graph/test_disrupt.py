"""A disrupted call breaks its row in one place."""

from __future__ import annotations

from collections import defaultdict
from random import Random

from tzerlike.graph.dice import Dice
from tzerlike.graph.disrupt import disrupted
from tzerlike.graph.place import SizeLimits, Wanted
from tzerlike.graph.solve import draw_call, recognise
from tzerlike.graph.spec import ROWS


def test_one_thing_is_changed_and_no_form_allows_it() -> None:
    rng = Random(4)
    forms = defaultdict(list)
    for row in ROWS.values():
        forms[row.operator].append(row)
    kinds = set()
    for row in ROWS.values():
        for _ in range(5):
            drawn = draw_call(row, Dice(rng), SizeLimits())
            types = tuple(one.type for one in drawn.inputs if isinstance(one, Wanted))
            broken = disrupted(rng, row, forms[row.operator], types, drawn.attributes)
            if broken is None:
                continue
            changed = sum(one != other for one, other in zip(types, broken.types, strict=True))
            changed += sum(value != broken.attributes[name] for name, value in drawn.attributes.items())
            assert changed == 1, broken
            assert all(recognise(form, broken.types, broken.attributes) is None for form in forms[row.operator])
            kinds.add(broken.what.split(": ")[-1].split()[0])
    assert kinds == {"extent", "rank", "dtype", "attribute"}
