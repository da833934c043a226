"""Values for which no operator gives NaN or an infinity."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from tzerlike.graph.generate import random_model
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import Model, Origin, TensorType, Vertex, model_text, read_model
from tzerlike.graph.reference import source_values
from tzerlike.graph.spec import ROWS
from tzerlike.graph.valid import exceptional_place, made_valid, prepared, valid_values
from tzerlike.graph.verify import wrong_vertex

F32 = TensorType((3, 4), "float32")


def _chain(*calls: tuple[str, dict[str, object]] | str, kind: TensorType = F32) -> Model:
    named = [(call, {}) if isinstance(call, str) else call for call in calls]
    vertices = [Vertex(row, (place,), attributes, (kind,)) for place, (row, attributes) in enumerate(named)]
    return Model((Origin(kind),), tuple(vertices), (len(vertices),))


REACHABLE = {
    "behind what has no slope": _chain("floor", "sqrt"),
    "behind what is flat": _chain("nn.relu", "log"),
    "between two limits": _chain("negative", "tanh", "asin", "log"),
    "behind elements moved": _chain(("flip", {"axis": 0}), "acosh"),
    "behind a sum along an axis": _chain(("cumsum", {"axis": 1, "exclusive": False}), "rsqrt"),
    "at the edge of where one is defined": _chain("acos", "asin", "acosh"),
    "without a step out of there": _chain("acosh", "round", "atanh"),
    "where slopes lead away": _chain("cos", "acosh", "acos"),
    "of one that overflows": _chain("square", "square", "square", "square", "exp"),
}


@pytest.mark.parametrize("model", REACHABLE.values(), ids=REACHABLE)
def test_values_are_found(model: Model) -> None:
    drawn = valid_values(model, ROWS, 0, rounds=1)
    assert not drawn.valid and exceptional_place(model, ROWS, drawn.values) is not None
    found = valid_values(model, ROWS, 0)
    assert found.valid and exceptional_place(model, ROWS, found.values) is None
    assert [value.shape for value in found.values] == [F32.shape] and found.values[0].dtype == np.float32


def test_the_same_search_finds_the_same() -> None:
    model = REACHABLE["between two limits"]
    one, other = valid_values(model, ROWS, 3), valid_values(model, ROWS, 3)
    assert np.array_equal(one.values[0], other.values[0]) and one.rounds == other.rounds


def test_a_call_without_values_takes_a_new_source() -> None:
    model = _chain("zeros_like", "log")
    assert not valid_values(model, ROWS, 0).valid
    fed, values = made_valid(model, ROWS, 0)
    assert exceptional_place(fed, ROWS, values) is None and wrong_vertex(fed, ROWS) == ""
    assert [vertex.row for vertex in fed.vertices] == ["zeros_like", "log"]
    assert len(fed.sources) == 2 and len(fed.outputs) == 2, "what nothing takes any more comes out"


@pytest.mark.parametrize("model", [_chain("tanh"), _chain("floor", "sqrt"), _chain("zeros_like", "log")])
def test_a_prepared_model_says_how_it_comes_by_values_that_are_valid(model: Model) -> None:
    found = prepared(model, ROWS, 0)
    drawn = valid_values(found, ROWS, 0, rounds=1)
    assert found.searched != drawn.valid
    assert exceptional_place(found, ROWS, source_values(read_model(model_text(found)), ROWS, 0)) is None
    assert read_model(model_text(model)) == model and "searched" not in model_text(model)


def test_indices_stay_where_they_mean_something() -> None:
    menu = Menu([ROWS[name] for name in ("take", "log", "subtract", "gather_elements")])
    for seed in range(20):
        model = random_model(Random(seed), 6, menu)
        for origin, value in zip(model.sources, valid_values(model, ROWS, 0).values, strict=True):
            if "int" in origin.type.dtype:
                assert origin.low <= value.min() and value.max() <= origin.high


def test_models_are_valid() -> None:
    menu = Menu(list(ROWS.values()))
    models = [random_model(Random(f"valid {seed}"), 10, menu) for seed in range(60)]
    drawn = sum(valid_values(model, ROWS, 0, rounds=1).valid for model in models)
    found = sum(valid_values(model, ROWS, 0).valid for model in models)
    made = sum(exceptional_place(*_with_rows(*made_valid(model, ROWS, 0))) is None for model in models)
    assert drawn + 6 <= found >= 0.88 * len(models) and made == len(models)


def _with_rows(model: Model, values: list[Any]) -> tuple[Any, ...]:
    assert wrong_vertex(model, ROWS) == ""
    return model, ROWS, values
