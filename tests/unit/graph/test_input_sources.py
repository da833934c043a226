"""How the scripts of a model make the values of what comes in."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.models import Drafted, case_of
from tzerlike.graph.model import Origin, TensorType
from tzerlike.graph.runs import values_of_runs
from tzerlike.graph.spec import ROWS
from tzerlike.harnesses.graph.sources import sources_source


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "bool", "bfloat16"])
@pytest.mark.parametrize(("shape", "drawn"), [((), False), ((2, 3), False), ((8, 9), True)])
def test_few_values_are_listed_and_many_are_drawn_again(dtype: str, shape: tuple[int, ...], drawn: bool) -> None:
    draft = Drafted(Origin(TensorType(shape, dtype), "input", -4.0, 4.0, 7))
    model = draft.model(draft.call("where" if dtype == "bool" else "negative", *([0] * (3 if dtype == "bool" else 1))))
    case = case_of(model)
    (source,) = sources_source(model, case)
    assert ("default_rng" in source) is drawn, source
    (_, (value,)), *_ = values_of_runs(model, ROWS, case.input_seed)

    made = eval(source, {"np": np, "ml_dtypes": ml_dtypes})
    assert made.dtype == value.dtype and made.shape == value.shape
    np.testing.assert_array_equal(made.astype("float64"), value.astype("float64"))


def test_values_are_listed_where_those_of_all_inputs_are_few() -> None:
    draft = Drafted(*(Origin(TensorType((5, 8), "float32"), "input", -4.0, 4.0, n) for n in range(2)))
    model = draft.model(draft.call("add", 0, 1))
    assert all("default_rng" in source for source in sources_source(model, case_of(model)))
