"""Mutators and reducers of models: whatever they make may run."""

from __future__ import annotations

from functools import partial
from random import Random

import numpy as np
import pytest

from tests.models import Drafted, floats
from tzerlike.core.case import Case, PassSpec
from tzerlike.core.errors import UserError
from tzerlike.graph.dice import Dice
from tzerlike.graph.evolve import MODEL_LIMITS, MODEL_MUTATORS, Surroundings, mutated
from tzerlike.graph.generate import random_model
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import Model, Origin, TensorType, VaryingExtent, Vertex, model_text
from tzerlike.graph.prune import pruned
from tzerlike.graph.rebuild import Rebuilding
from tzerlike.graph.smaller import (
    eased_calls,
    fewer_dimensions,
    fewer_inputs,
    fewer_outputs,
    plainer_calls,
    plainer_dtypes,
    plainer_forms,
    plainer_relations,
    redrawn_calls,
    simpler_attributes,
    smaller_extents,
    without_calls,
)
from tzerlike.graph.smaller_values import calls_alone, on_other_values, roughness, rounder_values
from tzerlike.graph.sound import unsound
from tzerlike.graph.spec import ROWS
from tzerlike.graph.stored import operators_of, require_model
from tzerlike.graph.symbols import wrong_symbols
from tzerlike.graph.values import drawn_values

MENU = Menu(list(ROWS.values()))

ROW = TensorType((6,), "float32")
CHAIN = Model(
    (Origin(ROW),),
    (Vertex("exp", (0,), {}, (ROW,)), Vertex("tan", (1,), {}, (ROW,))),
    (2,),
)


def _models(count: int) -> list[Model]:
    return [random_model(Random(seed), 1 + seed % 8, MENU, MODEL_LIMITS) for seed in range(count)]


@pytest.mark.parametrize("name", MODEL_MUTATORS)
def test_what_a_mutator_makes_may_run(name: str) -> None:
    pool = _models(12)
    made = 0
    for seed in range(60):
        rng = Random(seed)
        around = Surroundings(ROWS, MENU, rng, lambda rng=rng: rng.choice(pool))  # type: ignore[misc]
        found = mutated(name, rng.choice(pool), around)
        if found is not None:
            made += 1
            assert unsound(found, ROWS) == "", found
    assert made > 20


def test_a_function_called_on_what_does_not_vary_like_its_arguments_is_still_a_model() -> None:
    """What is made of a constant has the type of what is made of an input, and keeps it where that varies."""
    calls = tuple(Vertex(row, takes, {}, (ROW,)) for row, takes in (("exp", (0,)), ("exp", (2,)), ("add", (3, 1))))
    held = Model(
        (Origin(ROW), Origin(ROW), Origin(ROW, "constant")),
        calls,
        (4, 5),
        variables=((6, 7, 8),),
        written=(VaryingExtent(6, (0,)),),
    )
    assert not wrong_symbols(held, ROWS)
    made = [mutated("repeat", held, Surroundings(ROWS, MENU, Random(seed), lambda: held)) for seed in range(60)]
    assert all(found is None or not wrong_symbols(found, ROWS) for found in made)
    assert any(found is not None and found.variables for found in made)
    assert any(found is not None and not found.variables for found in made)


def test_models_do_not_grow_out_of_bounds() -> None:
    large = TensorType((1 << 8, 1 << 8), "float32")
    full = Model((Origin(large),), (Vertex("exp", (0,), {}, (large,)),), (1,))
    tile = Menu([ROWS["tile"]])
    for seed in range(20):
        found = mutated("insert", full, Surroundings(ROWS, tile, Random(seed), lambda: full))
        assert found is None or unsound(found, ROWS) == ""


@pytest.mark.parametrize("name", MODEL_MUTATORS)
def test_the_same_draws_make_the_same_model(name: str) -> None:
    pool = _models(6)
    twice = [mutated(name, pool[3], Surroundings(ROWS, MENU, Random(5), lambda: pool[4])) for _ in range(2)]
    assert twice[0] == twice[1]


def test_reducers_make_smaller_models_that_may_run() -> None:
    for model in _models(10):
        smaller = (
            without_calls,
            plainer_calls,
            plainer_forms,
            smaller_extents,
            fewer_dimensions,
            fewer_outputs,
            plainer_relations,
            fewer_inputs,
            simpler_attributes,
            plainer_dtypes,
            redrawn_calls,
            eased_calls,
            on_other_values,
            rounder_values,
            partial(calls_alone, seed=0),
        )
        for found in (one for reducer in smaller for one in reducer(model)):
            assert unsound(found, ROWS) == "", found
            assert len(found.vertices) <= len(model.vertices)


def test_calls_take_less_and_plainer_things() -> None:
    half = TensorType((6,), "float16")
    joined = Vertex("concat", (0, 1), {"axis": 0}, (TensorType((12,), "float16"),))
    model = Model((Origin(half), Origin(half)), (joined,), (2,))
    assert {found.vertices[0].inputs for found in fewer_inputs(model)} == {(0,), (0, 0)}
    (plain,) = plainer_dtypes(model)
    assert {kind.dtype for kind in plain.types()} == {"float32"}
    shifted = Vertex("flip", (0,), {"axis": -1}, (half,))
    (found,) = simpler_attributes(Model((Origin(half),), (shifted,), (1,)))
    assert found.vertices[0].attributes == {"axis": 0}


def test_a_result_that_nothing_takes_stays_so() -> None:
    double, single = (TensorType((2, 3), dtype) for dtype in ("float64", "float32"))
    model = Model((Origin(double),), (Vertex("call_tir:sum_and_difference", (0, 0), {}, (double, double)),), (2,))
    (plain,) = [one for one in plainer_dtypes(model) if one.types()[0] == single]
    assert plain.outputs == (2,)


def test_of_a_call_whose_results_all_stay_idle_they_come_out() -> None:
    """A model has no calls for nothing."""
    into = Rebuilding(ROWS, Dice(Random(0)), MODEL_LIMITS)
    source = into.source(Origin(ROW))
    results = into.call(ROWS["call_tir:sum_and_difference"], (source, source), {})
    for result in results:
        into.stays_idle(result)
    assert into.model().outputs == (1, 2)
    into.comes_out(results[0])
    assert into.model().outputs == (1,)


def test_extents_and_the_attribute_that_goes_with_them_change_together() -> None:
    """The images of a convolution in two groups have twice the channels of its filters."""
    window = {"strides": (1, 1), "padding": (0, 0, 0, 0), "dilation": (1, 1), "data_layout": "NCHW"}
    draft = Drafted(floats(1, 4, 1, 1), floats(2, 2, 1, 1))
    made = draft.call("nn.conv2d", 0, 1, **window, groups=2, kernel_layout="OIHW")
    found = list(redrawn_calls(draft.model(draft.call("sum:all", made, axis=None, keepdims=False))))
    assert {"float32"} == {kind.dtype for model in found for kind in model.types()}
    assert any(model.vertices[0].attributes["groups"] == 1 and len(model.vertices) == 2 for model in found)


def test_a_call_keeps_its_attributes_but_for_one_on_extents_that_go_with_that() -> None:
    window = {"strides": (1, 1), "padding": (0, 0, 0, 0), "dilation": (2, 1), "data_layout": "NCHW"}
    draft = Drafted(floats(1, 3, 3, 1), floats(3, 1, 2, 1))
    made = draft.call("nn.conv2d", 0, 1, **window, groups=3, kernel_layout="OIHW")
    found = list(eased_calls(draft.model(draft.call("sum:all", made, axis=None, keepdims=False))))
    tried = [(one.vertices[0].attributes["dilation"], one.vertices[0].attributes["groups"]) for one in found]
    assert {((2, 1), 1), ((1, 1), 3)} <= set(tried)


def test_what_is_computed_does_not_matter() -> None:
    """An operator becomes the plainest, and of two inputs where it has two; a made closure one that is there."""
    pair, one = TensorType((2,), "float32"), TensorType((), "float32")
    within = Vertex("multiply", (0, 1), {}, (pair,), ("maker0",))
    model = Model(
        (Origin(pair), Origin(pair)), (within, Vertex("mean", (2,), {"axis": (0,), "keepdims": False}, (one,))), (3,)
    )
    rows = {tuple(vertex.row for vertex in found.vertices) for found in plainer_calls(model)}
    assert {("negative", "mean"), ("add", "mean"), ("multiply", "negative")} <= rows
    assert not any("logical_not" in row for row in rows)
    assert [
        found for found in plainer_calls(Model((Origin(one),), (Vertex("negative", (0,), {}, (one,)),), (1,)))
    ] == []
    assert {found.vertices[0].within for found in plainer_forms(model)} == {(), ("closure0",)}


def test_of_several_outputs_one_goes_into_the_call_of_another() -> None:
    pair = Model((Origin(ROW),), (Vertex("exp", (0,), {}, (ROW,)), Vertex("tan", (0,), {}, (ROW,))), (1, 2))
    assert CHAIN in list(fewer_outputs(pair))
    assert {found.outputs for found in fewer_outputs(CHAIN)} == set()


def test_shapes_lose_a_dimension_together() -> None:
    square = TensorType((3, 1, 2), "float32")
    added = Model((Origin(square), Origin(square)), (Vertex("add", (0, 1), {}, (square,)),), (2,))
    shapes = [tuple(source.type.shape for source in found.sources) for found in fewer_dimensions(added)]
    assert ((3, 2), (3, 2)) in shapes and ((1, 2), (1, 2)) in shapes


def test_an_extent_that_varies_becomes_twice_a_variable() -> None:
    row, wide = TensorType((3,), "float32"), TensorType((11,), "float32")
    calls = (Vertex("exp", (0,), {}, (row,)), Vertex("tan", (1,), {}, (wide,)))
    square = VaryingExtent(11, (0, 0), 1, 2)
    written = (VaryingExtent(3, (0,)), square)
    model = Model((Origin(row), Origin(wide)), calls, (2, 3), variables=((3, 4, 5),), written=written)
    (found,) = plainer_relations(model)
    assert found.written == (written[0], VaryingExtent(6, (0,), 2)) and found.sources[1].type.shape == (6,)
    assert unsound(found, ROWS) == "" and list(plainer_relations(found)) == []


def test_a_call_alone_gets_values_like_those_inside_of_the_model() -> None:
    found = list(calls_alone(CHAIN, 0))
    assert {vertex.row for one in found for vertex in one.vertices} == {"exp", "tan"}
    (first, *others) = (one for one in found if one.vertices[0].row == "tan")
    got = np.exp(drawn_values(CHAIN.sources[0], 0))
    (source,) = first.sources
    assert (source.low, source.high) == (pytest.approx(got.min(), rel=1e-6), pytest.approx(got.max(), rel=1e-6))
    assert others and all(one.sources[0].seed != source.seed for one in others)


def test_what_comes_in_becomes_whole_or_one_number() -> None:
    found = [one.sources[0] for one in rounder_values(CHAIN)]
    assert all(roughness(one) < roughness(CHAIN.sources[0]) for one in found)
    values = [drawn_values(one, 0) for one in found]
    assert {float(one[0]) for one in values if len(set(one.tolist())) == 1} >= {0.0, 1.0, 2.0, 0.5}
    several = [one for one in values if len(set(one.tolist())) > 1]
    assert several and all(np.array_equal(one, np.rint(one)) and one.dtype == "float32" for one in several)


def test_pruning_leaves_what_an_output_takes() -> None:
    left = pruned(CHAIN, (1,))
    assert left == Model((Origin(ROW),), CHAIN.vertices[:1], (1,))


def test_indices_that_may_lie_outside_are_refused() -> None:
    drawn = (random_model(Random(seed), 1, Menu([ROWS["take"]]), MODEL_LIMITS) for seed in range(9))
    model = next(one for one in drawn if len(one.sources) == 2)
    assert unsound(model, ROWS) == ""
    wild = Origin(model.sources[1].type, "input", 0.0, 99.0)
    assert "has no meaning" in unsound(Model((model.sources[0], wild), model.vertices, model.outputs), ROWS)


def test_a_stored_case_is_a_sound_model_and_passes_of_relax() -> None:
    require_model(Case(model_text(CHAIN), (PassSpec("relax.FoldConstant"),), harness="graph"))
    for wrong in (
        Case("{}", harness="graph"),
        Case(model_text(CHAIN), (PassSpec("tirx.UnrollLoop"),), harness="graph"),
        Case(model_text(CHAIN), (PassSpec("relax.BindParams", (("func", "main"),)),), harness="graph"),
        Case(model_text(Model(CHAIN.sources, (Vertex("os.system", (0,), {}, (ROW,)),), (2,))), harness="graph"),
    ):
        with pytest.raises(UserError):
            require_model(wrong)


def test_operators_of_what_is_no_model_are_none() -> None:
    assert operators_of(model_text(CHAIN)) == ("exp", "tan")
    assert operators_of("") == operators_of("{}") == ()
