"""Calls in ONNX's words: what is written hangs together. ONNX itself is not needed for that."""

from __future__ import annotations

from random import Random

import pytest

from tzerlike.graph.dice import Dice
from tzerlike.graph.exchange.onnx.only import ONNX_CALLS
from tzerlike.graph.exchange.onnx.rows import ONNX_FORMS
from tzerlike.graph.exchange.writing import OnnxCall, OnnxFile, Writing
from tzerlike.graph.place import SizeLimits, Wanted
from tzerlike.graph.solve import draw_call
from tzerlike.graph.spec import ROWS

OPSETS = (11, 13, 18, 23)


def _unknown(to: Writing | OnnxFile, names: set[str]) -> set[str]:
    """Names that a node takes before there is anything by them."""
    unknown, known = set(), {"", *names, *to.constants}
    for node in to.nodes:
        unknown |= {name for name in node.inputs if name not in known}
        known |= {*node.outputs}
    return unknown


def test_forms_are_of_rows() -> None:
    assert ONNX_FORMS.keys() <= ROWS.keys()
    assert len({ROWS[name].operator for name in ONNX_FORMS}) >= 120


@pytest.mark.parametrize("name", sorted(ONNX_FORMS))
def test_each_form_says_a_call(name: str) -> None:
    dice, said = Dice(Random(name)), set()
    for number in range(60):
        drawn = draw_call(ROWS[name], dice, SizeLimits(rank=4, extent=6, elements=128))
        kinds = tuple(one.type for one in drawn.inputs if isinstance(one, Wanted))
        names = tuple(f"x{place}" for place in range(len(kinds)))
        for place, form in enumerate(ONNX_FORMS[name]):
            to = Writing(OPSETS[number % len(OPSETS)])
            found = form(OnnxCall(names, kinds, drawn.outputs, to), **drawn.attributes)
            if found is not None:
                said.add(place)
                assert len(found) == len(drawn.outputs)
                made = {output for node in to.nodes for output in node.outputs}
                assert _unknown(to, {*names}) == set() and made >= {*found}
    assert said == {*range(len(ONNX_FORMS[name]))}, "a form that never says anything"


def test_an_older_opset_has_axes_as_attributes() -> None:
    row = ROWS["sum"]
    drawn = draw_call(row, Dice(Random(1)), SizeLimits(rank=3, extent=4, elements=64))
    kinds = tuple(one.type for one in drawn.inputs if isinstance(one, Wanted))
    attributes = {"axis": (0,), "keepdims": True}
    old, new = Writing(11), Writing(13)
    for to in (old, new):
        ONNX_FORMS["sum"][0](OnnxCall(("x0",), kinds, drawn.outputs, to), **attributes)
    assert old.nodes[0].attributes["axes"] == [0] and len(old.nodes[0].inputs) == 1
    assert "axes" not in new.nodes[0].attributes and len(new.nodes[0].inputs) == 2


@pytest.mark.parametrize("call", ONNX_CALLS, ids=lambda call: f"{call.operator}-{call.opset}")
def test_calls_without_a_row_hang_together(call: object) -> None:
    file = call.file  # type: ignore[attr-defined]
    assert _unknown(file, {name for name, _ in file.inputs}) == set()
