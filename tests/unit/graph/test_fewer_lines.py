"""Lines of TVMScript that go as long as TVM fails in the same words."""

from __future__ import annotations

import os
import re
import signal

import pytest

from tzerlike.core.case import Case, PassSpec
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.graph.model import Model, Origin, TensorType, VaryingExtent, Vertex, model_text
from tzerlike.harnesses.graph import failing
from tzerlike.harnesses.graph.failing import shortest_source
from tzerlike.harnesses.graph.fewer_lines import with_bare_output, with_fewer_lines
from tzerlike.harnesses.graph.program import in_short, source_program
from tzerlike.harnesses.graph.regression import regression_test

SCALAR = TensorType((), "float32")

MODEL = """\
@I.ir_module
class Module:
    @R.function
    def main(x0: R.Tensor((), dtype="float32"), x1: R.Tensor((1,), dtype="float32")):
        with R.dataflow():
            @R.function
            def lv(p0: R.Tensor((), dtype="float32")):
                with R.dataflow():
                    lv_1 = R.negative(p0)
                    gv = lv_1
                    R.output(gv)
                return gv

            lv1 = lv(x0)
            lv2 = R.softmax(x1, axis=0)
            gv = lv1, lv2
            R.output(gv)
        return gv
"""


@pytest.mark.parametrize(
    ("needed", "left"),
    [
        (
            [
                r"R.softmax\(",
                "return (gv|R.softmax)",
                r"(?s)(gv = lv1, lv2|gv = lv2|return lv2|(return|gv =) R.softmax)",
            ],
            """\
@I.ir_module
class Module:
    @R.function
    def main(x1: R.Tensor((1,), dtype="float32")):
        return R.softmax(x1)
""",
        ),
        (
            [r"def lv\(", r"lv\(x0\)"],
            """\
@I.ir_module
class Module:
    @R.function
    def main(x0: R.Tensor((), dtype="float32")):
        @R.function
        def lv(p0: R.Tensor((), dtype="float32")):
            return p0

        return lv(x0)
""",
        ),
    ],
)
def test_what_no_failure_takes_goes(needed: list[str], left: str) -> None:
    found = with_fewer_lines(MODEL, lambda text: "fails" * all(re.search(part, text) for part in needed))
    assert found == left


@pytest.mark.parametrize(("other", "one"), [("float32", True), ("int32", False)])
def test_one_input_stands_for_others_of_its_type_alone(other: str, one: bool) -> None:
    inputs = f'x0: R.Tensor((), dtype="float32"), x1: R.Tensor((), dtype="{other}")'
    text = f"def main({inputs}):\n    return R.where(x1, x0)"
    found = with_fewer_lines(text, lambda text: "fails" * ("return R.where(" in text))
    assert (found.count("R.Tensor") == 1) == one


NESTED = """\
def main(x0: R.Tensor((1,), dtype="float32"), x1: R.Tensor((1,), dtype="float32")):
    @R.function
    def lv(p0: R.Tensor((1,), dtype="float32")):
        lv_1 = R.nn.batch_norm(x0, p0)
        lv1 = lv_1[0]
        lv2 = lv_1[1]
        return lv1, lv2

    lv1 = lv(x1)
    return lv1[0]"""


def test_a_closure_returns_what_it_captures_and_is_given() -> None:
    returned = re.compile(r"return x0, \w+\n|R\.nn\.batch_norm\(x0[^@]+return \w+, \w+\n")
    found = with_fewer_lines(NESTED, lambda text: "fails" * (bool(returned.search(text)) and "lv(x1)" in text))
    assert "R.nn" not in found and "        return x0, " in found


def test_a_tuple_of_one_and_a_name_for_a_name_are_needless() -> None:
    text = "with R.dataflow():\n    lv = R.exp(x0)\n    gv = (lv,)\n    R.output(gv)\nreturn gv"
    found = with_fewer_lines(text, lambda text: "fails" * ("R.output(" in text and "R.exp" in text))
    assert "gv = (lv,)" not in found and "R.output(lv)\nreturn lv" in found
    pair = with_fewer_lines("gv = a, b\nreturn gv", lambda text: "fails" * bool(re.search(r"\w, \w", text)))
    assert pair == "return a, a"


def test_a_tuple_is_given_in_the_place_of_its_item() -> None:
    text = "lv = R.nn.dropout(x0)\ngv = lv[0]\nR.output(gv)\nreturn gv"
    found = with_fewer_lines(text, lambda text: "fails" * ("R.output(gv)" in text and "gv = " in text))
    assert found == "gv = R.nn.dropout(x0)\nR.output(gv)\nreturn gv"


ONE_OUTPUT = """\
def main(x0):
    with R.dataflow():
        lv = R.exp(x0)
        gv = (lv,)
        R.output(gv)
    return gv"""


def test_the_only_output_is_returned_without_its_tuple() -> None:
    assert with_bare_output(ONE_OUTPUT) == "def main(x0):\n    return R.exp(x0)"
    for other in (ONE_OUTPUT.replace("(lv,)", "(lv, x0)"), f"{ONE_OUTPUT}\n\n{ONE_OUTPUT}"):
        assert with_bare_output(other) == other


def test_what_all_of_it_takes_or_nothing_fails_on_stays_as_it_is() -> None:
    assert with_fewer_lines(MODEL, lambda text: "fails" * (text.strip() == MODEL.strip())) == MODEL
    assert with_fewer_lines(MODEL, lambda text: "") == MODEL


def test_a_failure_in_other_words_is_another_one() -> None:
    """A function that only returns its argument fails otherwise here, so its body stays."""
    found = with_fewer_lines(MODEL, lambda text: "one" if "R.negative(" in text else "other")
    assert "R.negative(" in found and "R.softmax" not in found


def shortest(row: str, message: str, passes: tuple[PassSpec, ...] = (), kind: TensorType = SCALAR) -> str:
    model = Model((Origin(kind),), (Vertex(row, (0,), {}, (kind,)),), (1,))
    stage = Stage.PASSES if passes else Stage.BUILD
    case = Case(model_text(model), passes, harness="graph")
    finding = Finding("ice-on-valid", ("x",), case, Observation(Exit.REJECTED, stage, message))
    program = source_program(model)
    assert program is not None
    return shortest_source(finding, model, in_short(program).source)


def test_tvm_fails_on_the_shorter_text_as_well() -> None:
    """Code generation has no arc tangent of half floats, and one of others."""
    half = shortest("atan", "InternalError: unknown intrinsic", kind=TensorType((), "float16"))
    assert "dataflow" not in half and half.rstrip().endswith("return R.atan(x0)")
    single = shortest("atan", "InternalError: unknown intrinsic")
    assert "dataflow" in single, "nothing fails"


def test_a_text_that_kills_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search goes on behind it."""

    def failure(finding: Finding, model: Model, text: str) -> str:
        if "return x0" in text:
            os.kill(os.getpid(), signal.SIGFPE)
        return "fails" * ("R.atan" in text)

    monkeypatch.setattr(failing, "_failure", failure)
    assert shortest("atan", "fails").rstrip().endswith("return R.atan(x0)")


MADE = """\
@I.ir_module
class Module:
    @R.function(private=True)
    def maker0():
        @R.function
        def gv(p0: R.Tensor((), dtype="float32")):
            return R.negative(p0)

        return gv

    @R.function
    def main(x0: R.Tensor((), dtype="float32")):
        cls = Module
        lv1 = cls.maker0()
        return lv1(x0)
"""


def test_a_function_takes_the_place_of_the_one_that_makes_it() -> None:
    found = with_fewer_lines(MADE, lambda text: "fails" * ("cls." in text and "return R.negative(p0)" in text))
    assert found == (
        """\
@I.ir_module
class Module:
    @R.function(private=True)
    def maker0(p0: R.Tensor((), dtype="float32")):
        return R.negative(p0)

    @R.function
    def main(x0: R.Tensor((), dtype="float32")):
        cls = Module
        return cls.maker0(x0)
"""
    )


def test_a_call_that_kills_is_made_alone_in_a_test() -> None:
    channels = TensorType((1, 3, 2, 2), "float32")
    call = Vertex("nn.pixel_shuffle", (0,), {"upscale_factor": 1}, (channels,))
    model = Model((Origin(channels),), (call,), (1,), variables=((3, 4, 5),), written=(VaryingExtent(3, (0,)),))
    dies = Observation(Exit.CRASH, Stage.LOAD, "SIGSEGV", signal=11)
    finding = Finding("crash", ("x",), Case(model_text(model), harness="graph"), dies)
    test = regression_test(finding, model, "", None)
    assert test.text.count("relax.op.nn.pixel_shuffle(x0") == 1
    assert 'relax.TensorType([1, n, 2, 2], "float32")' in test.text and "relax.build" not in test.text
    scope: dict[str, object] = {"__name__": "loaded"}
    exec(test.cured, scope)
    scope["test_block_builder_crash"]()  # type: ignore[operator]


def test_an_item_takes_the_place_of_a_tuple_wherever_that_is_made() -> None:
    text = "if c:\n    v = a, b\nelse:\n    v = b, b\nreturn v[0]"
    made = "if c:\n    v = a\nelse:\n    v = b\nreturn v"
    assert with_fewer_lines(text, lambda one: "fails" * (one in (text, made))) == made
