"""Models whose extents vary: each of their runs may run."""

from __future__ import annotations

from random import Random

import pytest
from msgspec.structs import replace

from tzerlike.core.case import Case
from tzerlike.core.errors import UserError
from tzerlike.graph.dice import Dice
from tzerlike.graph.evolve import MODEL_LIMITS
from tzerlike.graph.generate import random_model
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import Model, Origin, TensorType, VaryingExtent, Vertex, model_text
from tzerlike.graph.prune import pruned
from tzerlike.graph.smaller import plainer_forms
from tzerlike.graph.sound import unsound
from tzerlike.graph.spec import ROWS
from tzerlike.graph.stored import require_model
from tzerlike.graph.symbols import (
    RUNS,
    extents_in,
    has_inferred_shapes,
    runs_of,
    with_those_of,
    with_variables,
    wrong_symbols,
)


def _kind(*shape: int) -> TensorType:
    return TensorType(shape, "float32")


PLAIN = Model(
    (Origin(_kind(5, 3)), Origin(_kind(10))),
    (
        Vertex("reshape", (0,), {"shape": (15,)}, (_kind(15),)),
        Vertex("sin", (1,), {}, (_kind(10),)),
    ),
    (2, 3),
)
VARYING = replace(
    PLAIN,
    variables=((5, 7, 2),),
    written=(VaryingExtent(5, (0,)), VaryingExtent(10, (0,), 2), VaryingExtent(15, (0,), 3)),
)


def test_each_run_has_its_extents() -> None:
    shapes = [[kind.shape for kind in run.types()] for run in runs_of(VARYING, ROWS)]
    assert shapes == [[(5, 3), (10,), (15,), (10,)], [(7, 3), (14,), (21,), (14,)], [(2, 3), (4,), (6,), (4,)]]
    assert wrong_symbols(VARYING, ROWS) == ""
    assert [run.types() for run in runs_of(PLAIN, ROWS)] == [PLAIN.types()]


@pytest.mark.parametrize(
    "wrong",
    [
        replace(VARYING, written=(*VARYING.written[:2], VaryingExtent(15, (0,), 1, 10))),
        replace(VARYING, written=(VaryingExtent(5, (0,)), VaryingExtent(10, (1,), 2), VaryingExtent(15, (0,), 3))),
        replace(VARYING, variables=((5, 7, 1),)),
        replace(VARYING, variables=((6, 7, 2),)),
        replace(VARYING, variables=()),
        replace(VARYING, variables=(*VARYING.variables, (3, 4, 5))),
    ],
)
def test_what_cannot_vary_like_that_is_refused(wrong: Model) -> None:
    assert wrong_symbols(wrong, ROWS)
    with pytest.raises(UserError):
        require_model(Case(model_text(wrong), harness="graph"))


def test_most_models_can_vary_and_all_of_their_runs_may_run() -> None:
    menu, varied = Menu(list(ROWS.values())), 0
    for seed in range(60):
        found = with_variables(random_model(Random(seed), 5, menu, MODEL_LIMITS), ROWS, Dice(Random(seed)))
        if found is None:
            continue
        varied += 1
        runs = runs_of(found, ROWS)
        assert [unsound(run, ROWS) for run in runs] == [""] * RUNS
        assert all(len({*extents_in(found, run).values()} - {1}) > 0 for run in range(RUNS))
        for smaller in plainer_forms(found):
            assert wrong_symbols(smaller, ROWS) == "" or len(smaller.variables) > 0
        assert has_inferred_shapes(found, ROWS)
    assert varied > 45


def test_what_is_squeezed_of_all_axes_of_extent_1_does_not_vary() -> None:
    squeezed = Vertex("squeeze:all", (0,), {"axis": None}, (_kind(5, 3),))
    model = replace(PLAIN, vertices=(squeezed, PLAIN.vertices[1]))
    varying = replace(model, variables=VARYING.variables, written=VARYING.written[:2])
    assert (wrong_symbols(varying, ROWS), has_inferred_shapes(varying, ROWS)) == ("", False)
    assert with_those_of(model, varying, ROWS) == model
    found = [one for seed in range(20) if (one := with_variables(model, ROWS, Dice(Random(seed))))]
    assert {one.extent for varied in found for one in varied.written} == {10}


def test_what_is_left_of_a_model_keeps_the_variables_that_it_shows() -> None:
    assert pruned(VARYING, (3,)).variables == ()
    left = pruned(VARYING, (2,))
    assert (left.variables, left.written) == (VARYING.variables, VARYING.written)
    other = replace(PLAIN, vertices=(Vertex("sum:all", (0,), {}, ()),))
    assert with_those_of(PLAIN, other, ROWS) == PLAIN
