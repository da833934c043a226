"""Gradients of TVM's pass beside numerical differences."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.models import Drafted
from tzerlike.core.errors import Fault
from tzerlike.graph.gradients import differentiable, disagreements, gradients
from tzerlike.graph.model import Model, Origin, TensorType
from tzerlike.graph.values import drawn_values
from tzerlike.processes.forked import in_child


def _doubles(*shape: int, low: float = -2.0) -> Origin:
    return Origin(TensorType(shape, "float64"), low=low, high=2.0, seed=len(shape))


def _chain() -> Model:
    """softmax(x @ y) * sin(x @ y), and what of it lies above its mean."""
    draft = Drafted(_doubles(3, 4), _doubles(4, 5))
    product = draft.call("matmul", 0, 1)
    share = draft.call("multiply", draft.call("nn.softmax", product, axis=1), draft.call("sin", product))
    mean = draft.call("mean", share, axis=(1,), keepdims=True)
    return draft.model(draft.call("nn.relu", draft.call("subtract", share, mean)))


def _call(row: str, *sources: Origin, **attributes: Any) -> Model:
    draft = Drafted(*sources)
    return draft.model(draft.call(row, *range(len(sources)), **attributes))


RIGHT = {
    "a chain": _chain(),
    "a broadcast": _call("divide", _doubles(3, 4), _doubles(3, 1, low=0.5)),
    "a variance": _call("variance", _doubles(3, 4), axis=(1,), keepdims=False),
    "a scan": _call("cumsum", _doubles(3, 4), axis=1, exclusive=False),
}
WRONG = {"exclusive": _call("cumsum", _doubles(3, 4), axis=1, exclusive=True)}


def _found(model: Model, factor: float = 1.0) -> list[str]:
    def work() -> str:
        values = [drawn_values(origin, 0) for origin in model.sources]
        return json.dumps(disagreements(model, values, [factor * one for one in gradients(model, values)]))

    # Not here: a parallel kernel would leave TVM's threads behind, which the children of later tests lack.
    answer, signal = in_child(work)
    assert answer is not None, f"died of signal {signal}"
    found: list[str] = json.loads(answer)
    return found


@pytest.mark.parametrize("model", RIGHT.values(), ids=RIGHT)
def test_gradients_are_those_that_differences_give(model: Model) -> None:
    assert _found(model) == []


@pytest.mark.parametrize("model", WRONG.values(), ids=WRONG)
def test_a_scan_that_leaves_itself_out_has_the_gradient_of_one_that_does_not(model: Model) -> None:
    assert [one.split(":")[0] for one in _found(model)] == ["%0"]


def test_a_gradient_that_is_off_by_a_little_is_seen() -> None:
    assert [one.split(":")[0] for one in _found(_chain(), 1.01)] == ["%0", "%1"]


def test_triu_has_a_rule_that_does_not_fit_it() -> None:
    assert "triu" in differentiable()
    with pytest.raises(Fault, match="partials"):
        _found(_call("triu", _doubles(3, 4), k=0))
