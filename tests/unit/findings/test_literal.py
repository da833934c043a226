"""Arrays as source text: what is read back is what was written."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from tzerlike.findings.issue.literal import array_source, python_source, weight
from tzerlike.findings.issue.pytest_file import snake_case

ARRAYS = [
    (np.arange(-3, 4, dtype=np.int64), '"int64"'),
    (np.array([[0.1, -0.0], [1e30, 2.5]], np.float32), '"float32"'),
    (np.array([-0.0, 1.0], np.float32), '"float32"'),
    (np.array([0.1, 1 / 3, 5e-324]), '"float64"'),
    (np.array([True, False]), '"bool"'),
    (np.full((2, 3), 7, np.uint8), '"uint8"'),
    (np.array(3.5, np.float32), '"float32"'),
    (np.zeros((0, 4), np.int32), '"int32"'),
    (np.array([0.2, -3.28, 4.0]).astype(ml_dtypes.bfloat16), "ml_dtypes.bfloat16"),
    (np.array([float("nan"), float("inf"), 1.0]), '"float64"'),
    (np.array([2**63], np.uint64), '"uint64"'),
]


@pytest.mark.parametrize(("values", "dtype"), ARRAYS, ids=lambda value: str(value)[:20])
def test_an_array_reads_back(values: NDArray[np.generic], dtype: str) -> None:
    source = array_source(values.astype(np.float64) if "ml_dtypes" in dtype else values, dtype)
    again = eval(source, {"np": np, "ml_dtypes": ml_dtypes, "float": float})
    assert again.dtype == values.dtype
    assert again.shape == values.shape
    assert again.tobytes() == values.tobytes()


def test_what_is_stored_as_float64_reads_back_exactly() -> None:
    values = np.array([0.1, 0.3], np.float32).astype(np.float64)
    assert np.array_equal(eval(array_source(values, '"float64"'), {"np": np}), values)


def test_equal_numbers_are_said_once() -> None:
    assert array_source(np.zeros((100, 100)), '"float64"') == 'np.full((100, 100), 0.0, "float64")'
    assert weight(np.zeros((100, 100))) == 1
    assert weight(np.arange(9)) == 9


def test_options_read_as_tvm_writes_them() -> None:
    value = {"a": True, "b": ["x", None], "c": {"d": 1}}
    assert python_source(value) == '{"a": True, "b": ["x", None], "c": {"d": 1}}'
    assert eval(python_source('it\'s "quoted"')) == 'it\'s "quoted"'


def test_a_test_is_named_after_its_pass_in_words() -> None:
    assert snake_case("InjectVirtualThread") == "inject_virtual_thread"
    assert snake_case("LowerTIRxCleanup") == "lower_tirx_cleanup"
