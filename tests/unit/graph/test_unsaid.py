"""What a model's TVMScript can be without."""

from __future__ import annotations

from collections.abc import Callable

from tzerlike.harnesses.graph.unsaid import without_defaults
from tzerlike.systems import tvm_api

MODEL = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 1, 2, 2), dtype="float32")):
        with R.dataflow():
            y = R.image.resize2d(x, R.shape([7, 1]), coordinate_transformation_mode="align_corners")
            z = R.astype(y, dtype="float16")
            R.output(z)
        return z
"""


def reads_as(whole: str) -> Callable[[str], bool]:
    def reads_back(text: str) -> bool:
        try:
            return bool(tvm_api.script_of(tvm_api.parse_script(text)) == whole)
        except Exception:  # noqa: BLE001 - the parser may raise anything
            return False

    return reads_back


def test_defaults_and_types_go_and_what_was_asked_for_stays() -> None:
    whole = tvm_api.script_of(tvm_api.parse_script(MODEL))
    assert "cubic_alpha" in whole and "y: R.Tensor" in whole and "-> R.Tensor" in whole
    short = without_defaults(whole, reads_as(whole))
    assert reads_as(whole)(short)
    assert short.strip().endswith(MODEL.strip())


def test_each_piece_that_is_needed_is_kept() -> None:
    text = "def f() -> int:\n    a: int = R.f(1, b=2, c=3, d=4)\n"
    assert (
        without_defaults(text, lambda shorter: "c=3" in shorter and "-> int" in shorter)
        == "def f() -> int:\n    a = R.f(1, c=3)\n"
    )
    assert without_defaults(text, lambda shorter: shorter == text) == text
