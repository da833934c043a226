"""Gradients by differences, and the models that have them."""

from __future__ import annotations

from random import Random

import msgspec
import numpy as np
import pytest

from tests.models import Drafted
from tzerlike.graph.evolve import MODEL_LIMITS, Surroundings, mutated
from tzerlike.graph.generate import random_model
from tzerlike.graph.gradients import expected_gradients
from tzerlike.graph.loss import differentiable, losses_of_calls, with_loss
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import Model, Origin, TensorType
from tzerlike.graph.reference import ExpectedOutput, source_values
from tzerlike.graph.sound import unsound
from tzerlike.graph.spec import ROWS

RULES = frozenset("add subtract multiply divide exp sin abs sqrt nn.relu matmul sum mean split where greater".split())  # noqa: SIM905


def _floats(*shape: int, dtype: str = "float64") -> Origin:
    return Origin(TensorType(shape, dtype), seed=len(shape))


def _values(model: Model, *inputs: object) -> list[Array]:
    """The inputs, and what is drawn for all other sources."""
    drawn = source_values(model, ROWS, 0)
    given = [np.asarray(one, kind.type.dtype) for one, kind in zip(inputs, model.sources, strict=False)]
    return [*given, *drawn[len(given) :]]


def _gradients(model: Model, *inputs: object) -> tuple[list[ExpectedOutput], list[Array]]:
    values = _values(model, *inputs)
    return expected_gradients(model, ROWS, values), values


def _loss(row: str, *sources: Origin) -> Model:
    draft = Drafted(*sources)
    found = draft.call(row, *range(len(sources)))
    return with_loss(draft.model(found), [found])


@pytest.mark.parametrize("dtype, near", [("float64", 1e-4), ("float32", 1e-2)])
def test_gradients_are_those_of_calculus_and_their_bounds_are_small(dtype: str, near: float) -> None:
    """Of x @ y, then exp, then a product with x broadcast: each tensor is taken more than once."""
    draft = Drafted(_floats(3, 1, dtype=dtype), _floats(1, 4, dtype=dtype))
    powers = draft.call("exp", draft.call("matmul", 0, 1))
    product = draft.call("multiply", powers, 0)
    model = with_loss(draft.model(product), [product])
    (by_x, by_y), (x, y, weights) = _gradients(model, [[0.5], [-1], [0.25]], [[1, -0.5, 0.25, 2]])
    above = weights * np.exp(x @ y)
    for found, wanted in ((by_x, (above * (1 + x * y)).sum(1, keepdims=True)), (by_y, (above * x * x).sum(0)[None])):
        assert found.counts
        assert np.all(np.abs(found.values - wanted) <= found.bound)
        assert np.all(found.bound < near * np.maximum(1, np.abs(wanted)))


@pytest.mark.parametrize("off", [0.0, 1e-9, -1e-9])
def test_at_an_edge_both_slopes_are_right_and_beside_it_one_is(off: float) -> None:
    model = _loss("nn.relu", _floats(3))
    (found,), (_, weights) = _gradients(model, [-2, off, 2])
    assert found.counts
    for slope in (0, 1):
        assert np.all((np.abs(found.values - slope * weights) <= found.bound) == [slope == 0, True, slope == 1])


@pytest.mark.parametrize("size", [1e3, 3e6, 1e9, 1e12])
def test_the_slope_of_a_wave_is_its_own_far_out(size: float) -> None:
    model = _loss("sin", _floats(9))
    far = size * np.linspace(1, 2, 9)
    (found,), (_, weights) = _gradients(model, far)
    assert np.all(np.abs(found.values - np.cos(far) * weights) <= found.bound)


def test_the_slope_of_a_line_is_known_well_far_out() -> None:
    model = _loss("multiply", _floats(3), _floats(3))
    (found, _), (_, other, weights) = _gradients(model, [1e3, 3e6, 1e9], [2, 3, 4])
    assert np.all(np.abs(found.values - other * weights) <= found.bound)
    assert np.all(found.bound < 1e-2)


def test_where_a_function_ends_there_is_no_slope() -> None:
    model = _loss("sqrt", _floats(2))
    assert [one.counts for one in _gradients(model, [1, 0])[0]] == [False]
    assert [one.counts for one in _gradients(model, [1, 2])[0]] == [True]


def test_where_rounding_may_choose_otherwise_nothing_counts() -> None:
    draft = Drafted(_floats(2, dtype="float32"), _floats(2, dtype="float32"))
    above = draft.call("greater", draft.call("exp", 0), 1)
    chosen = draft.call("where", above, 0, 1)
    model = with_loss(draft.model(chosen), [chosen])
    near = float(np.exp(np.float32(0.3)))
    assert [one.counts for one in _gradients(model, [0.3, 1], [near, 0])[0]] == [False, False]
    assert [one.counts for one in _gradients(model, [0.3, 1], [near + 0.1, 0])[0]] == [True, True]


def _difference_of_large_numbers(dtype: str) -> tuple[Drafted, int]:
    """exp(x) - y, both of some 10,000."""
    draft = Drafted(_floats(1, dtype=dtype), _floats(1, dtype=dtype), _floats(1, dtype=dtype))
    return draft, draft.call("subtract", draft.call("exp", 0), 1)


@pytest.mark.parametrize("dtype, least, most", [("float32", 1e-3, 1.0), ("float64", 0.0, 1e-4)])
def test_a_gradient_is_off_by_as_much_as_what_it_is_made_of(dtype: str, least: float, most: float) -> None:
    draft, difference = _difference_of_large_numbers(dtype)
    product = draft.call("multiply", difference, 2)
    (_, _, by_factor), _ = _gradients(with_loss(draft.model(product), [product]), [np.log(10001.0)], [10000], [1])
    assert by_factor.counts and least <= by_factor.bound[0] <= most


@pytest.mark.parametrize("dtype, both", [("float32", True), ("float64", False)])
def test_an_edge_is_near_if_rounding_may_get_there(dtype: str, both: bool) -> None:
    draft, difference = _difference_of_large_numbers(dtype)
    above = draft.call("nn.relu", difference)
    values = [np.log(10000.0) + 1e-7], [10000], [1]
    (_, by_y), (_, _, weights) = _gradients(with_loss(draft.model(above), [above]), *values[:2])
    assert (np.abs(by_y.values - 0) <= by_y.bound) == both
    assert np.abs(by_y.values + weights) <= by_y.bound


def test_a_sum_is_off_by_a_rounding_for_each_term() -> None:
    model = _loss("matmul", _floats(1, 50, dtype="float32"), _floats(50, 1, dtype="float32"))
    (by_x, _), (_, y, weights) = _gradients(model)
    assert np.all(by_x.bound >= 8 * 2.0**-23 * np.abs(y * weights).T)


def test_numbers_whose_squares_do_not_fit_count_for_nothing() -> None:
    model = _loss("divide", _floats(2, dtype="float32"), _floats(2, dtype="float32"))
    for size, counts in ((1e-20, False), (1e20, False), (1e-3, True)):
        assert [one.counts for one in _gradients(model, [1, 2], [1, size])[0]] == [counts, counts]


def test_there_is_no_gradient_by_the_exponent_of_what_is_not_above_0() -> None:
    """TVM says so, and gives NaN, where the slope of 0 ** y is 0."""
    model = _loss("power", _floats(2), _floats(2))
    assert [one.counts for one in _gradients(model, [0.5, 0], [2, 2])[0]] == [False, False]
    assert [one.counts for one in _gradients(model, [0.5, 1], [2, 2])[0]] == [True, True]
    held = msgspec.structs.replace(model.sources[1], kind="constant")
    constant = msgspec.structs.replace(model, sources=(model.sources[0], held, *model.sources[2:]))
    assert [one.counts for one in _gradients(constant, [0.5, 0], [2, 2])[0]] == [True]


def test_a_cast_has_the_slope_1_and_not_that_of_its_roundings() -> None:
    draft = Drafted(_floats(40))
    single = draft.call("astype", draft.call("exp", 0), dtype="float32")
    model = with_loss(draft.model(single), [single])
    (found,), (x, weights) = _gradients(model, np.linspace(-3, 3, 40))
    assert found.counts
    assert np.all(np.abs(found.values - np.exp(x) * weights) <= found.bound)
    assert np.all(found.bound <= 1e-3 * np.abs(found.values))


def test_a_model_has_gradients_if_all_calls_have_rules_and_floats_alone_come_in() -> None:
    model = _loss("exp", _floats(2, 3))
    assert differentiable(model, RULES)
    assert not differentiable(model, RULES - {"exp"})
    assert not differentiable(msgspec.structs.replace(model, outputs=(2,)), RULES)
    whole = Drafted(Origin(TensorType((3,), "int32")))
    total = whole.call("sum:all", whole.call("multiply", 0, 0), axis=None, keepdims=False)
    assert not differentiable(whole.model(total), RULES)
    constant = msgspec.structs.replace(model.sources[0], kind="constant")
    assert not differentiable(msgspec.structs.replace(model, sources=(constant, model.sources[1])), RULES)


def test_there_is_no_gradient_by_the_weights_of_nll_loss() -> None:
    draft = Drafted(_floats(2, 3), Origin(TensorType((2,), "int64"), low=0, high=2), _floats(3))
    found = draft.call("nn.nll_loss", 0, 1, 2, reduction="sum", ignore_index=-100)
    model = with_loss(draft.model(found), [found])
    assert [one.kind for one in model.sources] == ["input", "constant", "constant"]
    rules = RULES | {"nn.nll_loss"}
    assert differentiable(model, rules)
    weights = msgspec.structs.replace(model.sources[2], kind="input")
    assert not differentiable(msgspec.structs.replace(model, sources=(*model.sources[:2], weights)), rules)


def test_losses_that_are_drawn_have_gradients() -> None:
    menu, found = Menu(list(ROWS.values())), []
    for seed in range(40):
        model = random_model(Random(seed), 4, menu, MODEL_LIMITS)
        around = Surroundings(ROWS, menu, Random(seed), lambda model=model: model, RULES)  # type: ignore[misc]
        loss = mutated("loss", model, around)
        if loss is not None:
            assert differentiable(loss, RULES) and unsound(loss, ROWS) == "", loss
            found.append(loss)
    assert len(found) > 35
    assert {vertex.row for loss in found for vertex in loss.vertices} > {"split", "matmul", "where"}


def test_each_call_that_gradients_go_through_has_a_loss_of_its_own() -> None:
    draft = Drafted(_floats(4, 2), _floats(4, 2))
    first = draft.call("split", 0, indices_or_sections=2, axis=0)
    product = draft.call("multiply", first, draft.call("exp", first + 1))
    model = with_loss(draft.model(product), [product])
    rows = []
    for vertex, alone, values in losses_of_calls(model, ROWS, source_values(model, ROWS, 0)):
        rows.append(vertex.row)
        assert differentiable(alone, RULES) and len(values) == len(alone.sources)
        assert vertex.row in {one.row for one in alone.vertices}
    assert rows == ["sum:all", "multiply", "multiply", "exp", "split"]


def test_what_gives_no_float_has_no_gradient_of_its_own() -> None:
    draft = Drafted(_floats(3))
    found = draft.call("where", draft.call("greater", draft.call("exp", 0), 0), 0, 0)
    model = with_loss(draft.model(found), [found])
    rows = [vertex.row for vertex, *_ in losses_of_calls(model, ROWS, source_values(model, ROWS, 0))]
    assert rows == ["sum:all", "multiply", "where", "exp"]
