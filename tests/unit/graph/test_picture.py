"""Models as pictures: all of a model is in its SVG, and no box lies on another."""

from __future__ import annotations

import re
from itertools import combinations
from random import Random
from xml.etree import ElementTree

import pytest

from tests.models import Drafted, floats
from tzerlike.graph.dice import Dice
from tzerlike.graph.enclose import enclosed
from tzerlike.graph.evolve import MODEL_LIMITS
from tzerlike.graph.generate import random_model
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import Model, model_text
from tzerlike.graph.picture import MOST_CALLS, model_svg, picture_of
from tzerlike.graph.spec import ROWS

_SVG = "{http://www.w3.org/2000/svg}"


def _parsed(model: Model) -> ElementTree.Element:
    return ElementTree.fromstring(model_svg(model).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))


def _boxes(svg: ElementTree.Element) -> list[tuple[float, float, float, float]]:
    names = ("x", "y", "width", "height")
    return [tuple(float(rect.attrib[name]) for name in names) for rect in svg.iter(f"{_SVG}rect")]  # type: ignore[misc]


def _random(number: int) -> Model:
    model = random_model(Random(number), 1 + number, Menu(list(ROWS.values())), MODEL_LIMITS)
    return (enclosed(model, Dice(Random(number))) or model) if number % 2 else model


@pytest.mark.parametrize("number", range(24))
def test_each_call_is_in_a_box_of_its_own_within_the_picture(number: int) -> None:
    model = _random(number)
    svg = _parsed(model)
    boxes = _boxes(svg)
    assert len(boxes) == len(model.sources) + len(model.vertices) + len(model.outputs)
    width, height = float(svg.attrib["width"]), float(svg.attrib["height"])
    assert all(x >= 0 and y >= 0 and x + w <= width and y + h <= height for x, y, w, h in boxes)
    for (x, y, w, h), (a, b, c, d) in combinations(boxes, 2):
        assert x + w < a or a + c < x or y + h < b or b + d < y
    named = [text.text for text in svg.iter(f"{_SVG}text") if text.attrib.get("class") == "name"]
    for vertex in model.vertices:
        assert vertex.operator in named


def test_what_takes_a_tensor_is_below_what_gives_it_and_an_edge_ends_there() -> None:
    draft = Drafted(floats(2, 3), floats(3))
    first = draft.call("exp", 0)
    last = draft.call("add", draft.call("sigmoid", first), 1)
    svg = _parsed(draft.model(last, first))
    tops = {}
    for group in svg.iter(f"{_SVG}g"):
        rect, name = group.find(f"{_SVG}rect"), group.find(f"{_SVG}text")
        assert rect is not None and name is not None
        tops[name.text] = float(rect.attrib["y"])
    assert tops["x0"] < tops["exp"] < tops["sigmoid"] < tops["add"] < tops["output 0"] and tops["x1"] < tops["add"]
    ends = {
        float(re.findall(r",([\d.]+)$", path.attrib["d"])[0])
        for path in svg.iter(f"{_SVG}path")
        if path.attrib["class"] == "edge"
    }
    assert ends == {tops[name] for name in ("exp", "sigmoid", "add", "output 0", "output 1")}


def test_there_is_none_of_what_is_no_model_or_too_large() -> None:
    assert picture_of("{}") == picture_of("no JSON") == ""
    draft = Drafted(floats(3))
    number = 0
    for _ in range(MOST_CALLS):
        number = draft.call("exp", number)
    assert picture_of(model_text(draft.model(number))).startswith("<svg")
    assert picture_of(model_text(draft.model(draft.call("exp", number)))) == ""


def test_words_of_a_stranger_are_text() -> None:
    model = model_text(_random(3)).replace('"row":"', '"row":"<script>')
    assert "<script>" not in picture_of(model) and "&lt;script&gt;" in picture_of(model)
