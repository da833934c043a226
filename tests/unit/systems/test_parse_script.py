"""Programs from their TVMScript."""

from __future__ import annotations

import inspect

import pytest

from tzerlike.systems import tvm_api
from tzerlike.systems.tvm_api import parse_script

PROGRAM = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((4,), "float32")):
    A[0] = {value}
"""

SYMBOLIC = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(a: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    for i in range(n):
        A[i] = T.float32(1)
"""


def test_nobody_looks_at_the_frames_of_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []

    def stack(context: int = 1) -> list[inspect.FrameInfo]:
        looks.append(context)
        return []

    monkeypatch.setattr(inspect, "stack", stack)
    parse_script(PROGRAM.format(value="T.float32(1)"))
    assert not looks
    with pytest.raises(tvm_api.tvm.error.DiagnosticError):
        parse_script(PROGRAM.format(value="no_such_name"))
    assert inspect.stack is stack


CLOSURE = """
# from tvm.script import relax as R
@R.function
def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
    @R.function
    def inner(y: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        return y

    z: R.Tensor((1,), "float32") = inner(x)
    return z
"""


def test_a_function_within_another_is_printed_without_imports() -> None:
    function = parse_script(CLOSURE)
    text = tvm_api.script_of(function)
    assert text.count("from tvm.script import relax") == 1
    tvm_api.tvm.ir.assert_structural_equal(parse_script(text), function)


def test_a_text_has_no_syntax_of_a_later_python() -> None:
    """From Python 3.12 on, TVM prints symbolic shapes as type parameters by default, which an earlier one refuses."""
    text = tvm_api.script_of(parse_script(SYMBOLIC))
    assert "def main(" in text and "__future__" not in text
    assert tvm_api.script_of(parse_script(text)) == text
