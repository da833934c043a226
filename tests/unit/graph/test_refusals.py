"""What TVM says on models that it does not support, and what is an error of its own."""

from __future__ import annotations

import msgspec
import pytest

from tests.models import called, floats
from tzerlike.graph.importers import ONNX
from tzerlike.graph.model import Model
from tzerlike.harnesses.graph.refusals import label_of
from tzerlike.passes.label import Label

EMPTY = Model((), (), ())


@pytest.mark.parametrize(
    "message",
    [
        "InternalError: The pattern name for a composite function should start with a compiler name",
        "InternalError: only support float32 and float16 for now",
        "InternalError: Only call_tir and call_tir_inplace are supported in primitive function, but got: R.abs(x)",
    ],
)
def test_a_reason_in_words_is_a_refusal(message: str) -> None:
    assert label_of(message, EMPTY) is Label.DOCUMENTED_REFUSAL


def test_a_failed_check_is_an_error() -> None:
    assert label_of("InternalError: Check failed: (n == 1) is false: ", EMPTY) is Label.INTERNAL_ERROR


def test_a_reason_that_is_about_extents_is_one_where_they_vary() -> None:
    message = "InternalError: Check failed: (dim_imm) is false: Can only handle constant size stack allocation for now"
    varying = msgspec.structs.replace(called("exp", floats(3)), variables=((3, 2, 4),))
    assert label_of(message, varying) is Label.DOCUMENTED_REFUSAL
    assert label_of(message, called("exp", floats(3))) is Label.INTERNAL_ERROR


def test_of_an_operator_without_a_lowering_no_build_ends_well() -> None:
    """Whichever step fails first: with another one in its place, the last would."""
    fused = called("ewise_fma", floats(3), floats(3), floats(3))
    assert label_of("InternalError: Check failed: ", fused) is Label.DOCUMENTED_REFUSAL
    assert label_of("InternalError: Check failed: ", called("exp", floats(3))) is Label.INTERNAL_ERROR
    sorted_ = called("sort", floats(3), axis=0, descending=False)
    assert label_of("InternalError: Check failed: ", sorted_) is Label.INTERNAL_ERROR


@pytest.mark.parametrize(
    ("message", "refuses"),
    [
        ("OpNotImplemented: The following operators are not supported for frontend ONNX: Foo", True),
        ("NotImplementedError: opset version 9", True),
        ("AssertionError: Unsupported function types ['amax.default']", True),
        ("ValueError: dtype mismatch between input (float32) and attribute (7)", False),
    ],
)
def test_an_importer_may_say_that_it_lacks_something(message: str, refuses: bool) -> None:
    expected = Label.DOCUMENTED_REFUSAL if refuses else Label.INTERNAL_ERROR
    assert label_of(message, EMPTY, ONNX.name) is expected
    assert label_of(message, EMPTY) is Label.INTERNAL_ERROR
