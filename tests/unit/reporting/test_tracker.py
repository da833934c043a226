"""What a reader looks for in a tracker."""

from __future__ import annotations

import pytest

from tzerlike.reporting.tracker import search_of

TRACKER = "https://github.com/apache/tvm/issues"


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("LegalizeOps on strided_slice: check axis < src_tensor_dim", "LegalizeOps+strided_slice"),
        ("LegalizeOps on topi::broadcast_to fails", "LegalizeOps+broadcast_to"),
        ("Gradient of `nn.conv2d` fails in relax::InferTypeConv2dTranspose", "Gradient+conv2d"),
        ("Gradient fails on triu and sum: partials number != inputs number", "Gradient+triu"),
        ("Wrong code (softplus): output0[1] is inf in float16, not 14.9", "softplus"),
        ("argmax does not reject an invalid call cleanly (input 0: dtype)", "argmax"),
        ("VectorizeLoop crashes (SIGSEGV)", "VectorizeLoop"),
        ("TVMScript is not parsed back: T.uint64(18446744073709551614)", "uint64"),
    ],
)
def test_it_is_for_the_names_in_a_title(title: str, words: str) -> None:
    assert search_of(TRACKER, title) == f"{TRACKER}?q={words}"


def test_where_nothing_is_named_or_there_is_no_tracker_there_is_no_search() -> None:
    assert search_of(TRACKER, "Wrong code: the compiled function dies (SIGABRT)") == ""
    assert search_of("", "VectorizeLoop crashes") == ""
