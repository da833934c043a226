"""What TVM says on models that it does not support, and what is an error of its own."""

from __future__ import annotations

import pytest

from tzerlike.graph.model import Model
from tzerlike.harnesses.graph.refusals import label_of
from tzerlike.passes.label import Label

EMPTY = Model((), (), ())


@pytest.mark.parametrize(
    "message",
    [
        "InternalError: The pattern name for a composite function should start with a compiler name",
        "InternalError: only support float32 and float16 for now",
    ],
)
def test_a_reason_in_words_is_a_refusal(message: str) -> None:
    assert label_of(message, EMPTY) is Label.DOCUMENTED_REFUSAL


def test_a_failed_check_is_an_error() -> None:
    assert label_of("InternalError: Check failed: (n == 1) is false: ", EMPTY) is Label.INTERNAL_ERROR
