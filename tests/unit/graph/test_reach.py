"""Where elements can lie: what is said of operators against what they compute, and what models are drawn by it."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tzerlike.graph.dice import Dice
from tzerlike.graph.generate import random_model
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import Origin
from tzerlike.graph.place import SizeLimits
from tzerlike.graph.reach import ANYWHERE, NEEDS, Whereabouts, need_before, reach_of
from tzerlike.graph.solve import draw_call
from tzerlike.graph.spec import ROWS
from tzerlike.graph.spec.language import Specification
from tzerlike.graph.valid import valid_values
from tzerlike.graph.values import drawn_values

LIMITS = SizeLimits(rank=4, extent=4, elements=256, dtypes=("float64",))
SAYS = [row for row in ROWS.values() if row.operator not in ("nn.dropout",)]


def _within(values: np.ndarray, reach: Whereabouts) -> bool:  # type: ignore[type-arg]
    kept = values[np.isfinite(values)]
    return bool(((kept >= reach.low - 1e-6) & (kept <= reach.high + 1e-6)).all())


@pytest.mark.parametrize("row", SAYS, ids=lambda row: row.name)
def test_results_are_where_they_are_said_to_be(row: Specification) -> None:
    for seed in range(4):
        drawn = draw_call(row, Dice(Random(seed)), LIMITS)
        wanted = [one for one in drawn.inputs if not isinstance(one, int)]
        values = [drawn_values(Origin(one.type, "input", float(one.low), float(one.high), seed), 0) for one in wanted]
        wide = [one if one.dtype.kind in "iub" else one.astype(np.float64) for one in values]
        if any(not one.size for one in wide):
            continue
        reaches = [Whereabouts(float(one.min()), float(one.max())) for one in wide]
        with np.errstate(all="ignore"):
            found = row.meaning(*wide, **drawn.attributes)
        for one in found if isinstance(found, tuple) else (found,):
            if np.asarray(one).dtype.kind == "f":
                assert _within(np.asarray(one), reach_of(row, reaches, drawn.attributes)), drawn
                assert _within(np.asarray(one), reach_of(row, [ANYWHERE] * len(wide), drawn.attributes)), drawn


@pytest.mark.parametrize("operator", ["ceil", "floor", "round", "trunc", "erf", "tanh", "sign", "asinh", "flip"])
def test_what_is_needed_before_a_call_is_no_more_than_what_it_needs(operator: str) -> None:
    values = np.linspace(-3, 3, 601)
    given = ROWS[operator].meaning(values, **({"axis": 0} if operator == "flip" else {}))
    values = values[::-1] if operator == "flip" else values
    for need in (Whereabouts(low=1.0), Whereabouts(-1.0, 1.0), Whereabouts(low=1e-4), Whereabouts(not_zero=True)):
        before = need_before(ROWS[operator], need)
        assert before is not None
        suits = (given >= need.low) & (given <= need.high) & ((given != 0) | (not need.not_zero))
        assert _within(values[suits], before)
        assert not (before.not_zero and (values[suits] == 0).any())


def test_a_call_that_few_values_suit_takes_tensors_that_can_have_them() -> None:
    menu = Menu([ROWS[name] for name in ("sigmoid", "acosh", "zeros_like", "divide", "flip", "asin", "square")])
    limits = SizeLimits(rank=1, extent=2, dtypes=("float32",))
    drawn = [random_model(Random(seed), 8, menu, limits) for seed in range(60)]
    edges = {
        (before.row, after.row)
        for model in drawn
        for number, before in model.first_outputs()
        for after in model.vertices
        if number in after.inputs
    }
    assert {("flip", "acosh"), ("square", "asin"), ("sigmoid", "asin")} <= edges
    assert not {("sigmoid", "acosh"), ("zeros_like", "acosh")} & edges
    assert sum(valid_values(model, ROWS, 0).valid for model in drawn) >= 48


def test_needs_are_of_operators_and_inputs_that_there_are() -> None:
    for operator, needs in NEEDS.items():
        rows = [row for row in ROWS.values() if row.operator == operator]
        assert rows and all(place < len(row.inputs) for row in rows for place in needs)
