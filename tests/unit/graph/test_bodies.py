"""Which calls of a model stand in functions, and which in a branch."""

from __future__ import annotations

from random import Random

from tzerlike.graph.bodies import Branches, LocalFunction, SingleCall, body_of, content_of
from tzerlike.graph.dice import Dice
from tzerlike.graph.enclose import enclosed, repeated
from tzerlike.graph.model import Model, Origin, TensorType, Vertex

ROW, CONDITION = TensorType((6,), "float32"), TensorType((), "bool")


def _model(*calls: tuple[str, tuple[int, ...]], outputs: tuple[int, ...] = (), marks: str = "") -> Model:
    """A model of a condition %0, a row %1, and calls that give rows; a letter of `marks` is the function of a call."""
    within = [() if mark == " " else (f"function{mark}",) for mark in marks.ljust(len(calls))]
    made = tuple(Vertex(row, inputs, {}, (ROW,), mark) for (row, inputs), mark in zip(calls, within, strict=True))
    return Model((Origin(CONDITION), Origin(ROW)), made, outputs or (1 + len(calls),))


def test_what_one_branch_alone_takes_is_in_that_branch() -> None:
    model = _model(("exp", (1,)), ("sin", (2,)), ("cos", (2,)), ("if", (0, 3, 4)))
    shared, chosen = body_of(model).items
    assert isinstance(shared, SingleCall) and isinstance(chosen, Branches)
    assert [one.vertex.row for one in chosen.then.items if isinstance(one, SingleCall)] == ["sin"]
    assert [one.vertex.row for one in chosen.other.items if isinstance(one, SingleCall)] == ["cos"]


def test_what_comes_out_or_decides_is_in_no_branch() -> None:
    model = _model(("exp", (1,)), ("if", (0, 2, 1)), outputs=(2, 3))
    assert [type(one) for one in body_of(model).items] == [SingleCall, Branches]


def test_a_choice_in_a_branch_of_another_one() -> None:
    model = _model(("exp", (1,)), ("if", (0, 2, 1)), ("if", (0, 3, 1)))
    (outer,) = body_of(model).items
    assert isinstance(outer, Branches)
    (inner,) = outer.then.items
    assert isinstance(inner, Branches)
    assert set(inner.takes) == {0, 1}


def test_calls_with_one_mark_that_follow_each_other_are_a_function() -> None:
    model = _model(("exp", (1,)), ("sin", (2,)), ("cos", (3,)), ("add", (3, 4)), marks=" 11 ")
    first, region, last = body_of(model).items
    assert isinstance(region, LocalFunction)
    assert (region.takes, region.gives, first.gives, last.takes) == ((2,), (3, 4), (2,), (3, 4))


def test_functions_that_are_alike_have_the_same_content() -> None:
    model = _model(("exp", (1,)), ("exp", (2,)), ("sin", (2,)), marks="123")
    one, other, third = (item for item in body_of(model).items if isinstance(item, LocalFunction))
    assert content_of(one.body) == content_of(other.body) != content_of(third.body)


def test_calls_are_put_into_functions_and_functions_are_called_again() -> None:
    model = _model(("exp", (1,)), ("sin", (2,)), ("cos", (3,)))
    for seed in range(20):
        inside = enclosed(model, Dice(Random(seed)))
        assert inside is not None
        assert any(isinstance(item, LocalFunction) for item in body_of(inside).items)
        again = repeated(model, Dice(Random(seed)))
        assert again is not None and len(again.vertices) > 3
        contents = [content_of(item.body) for item in body_of(again).items if isinstance(item, LocalFunction)]
        assert len(contents) == 2
