"""Models that are drawn keep to the rows; nothing here asks TVM."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from math import prod
from random import Random

import pytest

from tzerlike.core.errors import UserError
from tzerlike.graph.backward import draw_producer, draws_backward
from tzerlike.graph.dice import Dice
from tzerlike.graph.generate import USUAL_MANNER, Manner, random_model
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import KERNEL, Model, Origin, TensorType, Vertex, model_text, read_model
from tzerlike.graph.novelty import Novelty
from tzerlike.graph.place import SizeLimits, Wanted
from tzerlike.graph.solve import draw_call, output_types, plan_of, recognise
from tzerlike.graph.spec import ROWS, kernels
from tzerlike.graph.spec.language import Specification
from tzerlike.graph.verify import wrong_vertex

EVERY = Menu(list(ROWS.values()))


@pytest.mark.parametrize("seed", range(20))
def test_each_vertex_keeps_to_its_row(seed: int) -> None:
    model = random_model(Random(seed), 40, EVERY)
    assert len(model.vertices) == 40
    assert wrong_vertex(model, ROWS) == ""


def test_a_seed_draws_one_model() -> None:
    assert random_model(Random(4), 30, EVERY) == random_model(Random(4), 30, EVERY)
    assert random_model(Random(4), 30, EVERY) != random_model(Random(5), 30, EVERY)


IN_ANOTHER_PROCESS = """
from random import Random
from tzerlike.graph.generate import random_model
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import model_text
from tzerlike.graph.spec import ROWS
print(model_text(random_model(Random(7), 60, Menu(list(ROWS.values())))))
"""


def test_a_seed_draws_one_model_in_every_process() -> None:
    command = [sys.executable, "-c", IN_ANOTHER_PROCESS]
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout == model_text(random_model(Random(7), 60, EVERY)) + "\n"


def test_vertices_take_what_others_give() -> None:
    models = [random_model(Random(seed), 50, EVERY) for seed in range(10)]
    taken = [one >= len(model.sources) for model in models for vertex in model.vertices for one in vertex.inputs]
    assert sum(taken) > 0.4 * len(taken)


def test_every_result_is_used_or_comes_out() -> None:
    model = random_model(Random(1), 30, EVERY)
    used = {one for vertex in model.vertices for one in vertex.inputs} | set(model.outputs)
    assert set(range(len(model.types()))) <= used
    assert len(model.outputs) > 1


def test_where_values_must_lie_somewhere_they_are_made() -> None:
    """Indices, and divisors of whole numbers, come from outside, where their limits are stated."""
    seen = 0
    few = Menu([ROWS[name] for name in ("take", "argmax", "floor_divide", "astype", "add")])
    for seed in range(60):
        model = random_model(Random(seed), 40, few)
        types = model.types()
        for vertex in model.vertices:
            if vertex.row == "take" or (vertex.row == "floor_divide" and "int" in types[vertex.inputs[1]].dtype):
                source = model.sources[vertex.inputs[1]]
                assert source.low >= (1 if vertex.row == "floor_divide" else 0)
                seen += 1
    assert seen > 100


def test_every_row_is_reached() -> None:
    drawn = {vertex.row for seed in range(100) for vertex in random_model(Random(seed), 60, EVERY).vertices}
    assert {name for name in ROWS if not name.startswith(KERNEL)} <= drawn
    menus = (Menu([row]) for row in kernels.ROWS)
    drawn |= {vertex.row for menu in menus for vertex in random_model(Random(0), 2, menu).vertices}
    assert drawn == set(ROWS)


def test_limits_hold_for_what_is_made() -> None:
    limits = SizeLimits(rank=3, extent=4, elements=24)
    elementwise = Menu([ROWS[name] for name in ("add", "exp", "where", "sum", "reshape", "concat", "stack")])
    for source in random_model(Random(2), 60, elementwise, limits).sources:
        assert len(source.type.shape) <= 3
        assert prod(source.type.shape) <= 24


def test_a_model_is_read_from_its_text() -> None:
    model = random_model(Random(3), 25, EVERY)
    text = model_text(model)
    assert read_model(text) == model
    assert model_text(read_model(text)) == text


def test_a_text_that_is_no_model_is_refused_with_its_place() -> None:
    with pytest.raises(UserError, match=r"model\.vertices\[0\]"):
        read_model('{"schema_version": 1, "sources": [], "vertices": [{}], "outputs": []}')
    with pytest.raises(UserError, match="schema_version"):
        read_model('{"sources": [], "vertices": [], "outputs": []}')


def _add(shape: tuple[int, ...], outputs: tuple[TensorType, ...], row: str = "add") -> Model:
    sources = (Origin(TensorType((2, 3), "float32")), Origin(TensorType(shape, "float32")))
    return Model(sources, (Vertex(row, (0, 1), {}, outputs),), (2,))


def test_what_does_not_keep_to_a_row_is_named() -> None:
    right = (TensorType((2, 3), "float32"),)
    assert wrong_vertex(_add((3,), right), ROWS) == ""
    assert wrong_vertex(_add((2,), right), ROWS) == "%2: add does not take these inputs and attributes"
    assert wrong_vertex(_add((3,), (TensorType((3,), "float32"),)), ROWS) == "%2: add does not give these outputs"
    assert wrong_vertex(_add((3,), right, "sum"), ROWS) == "%2: sum does not take these inputs and attributes"
    assert wrong_vertex(_add((3,), right, "nothing"), ROWS) == "%2: no operator nothing"


FORWARD = replace(USUAL_MANNER, backward=0.0)
BACKWARD = replace(USUAL_MANNER, backward=1.0)


def test_vertices_are_put_before_what_comes_in() -> None:
    models = [random_model(Random(seed), 30, EVERY, manner=BACKWARD) for seed in range(20)]
    assert [wrong_vertex(model, ROWS) for model in models] == [""] * 20
    taken = [one < len(model.sources) for model in models for vertex in model.vertices for one in vertex.inputs]
    forward = [random_model(Random(seed), 30, EVERY, manner=FORWARD) for seed in range(20)]
    outputs = sum(len(model.outputs) for model in models)
    assert outputs < sum(len(model.outputs) for model in forward)
    assert sum(taken) > 100


@pytest.mark.parametrize("row", [row for row in EVERY.rows if draws_backward(row)], ids=lambda row: row.name)
def test_a_call_drawn_from_its_output_gives_that_output(row: Specification) -> None:
    dice = Dice(Random(row.name))
    found = 0
    for _ in range(60):
        wanted = draw_call(row, dice, SizeLimits()).outputs[0]
        drawn = draw_producer(row, wanted, dice, SizeLimits())
        if drawn is not None:
            found += 1
            types = [one.type for one in drawn.inputs if isinstance(one, Wanted)]
            known = recognise(row, types, drawn.attributes)
            assert known is not None
            assert output_types(row, known)[0] == wanted
    assert found > 5


def test_nothing_is_drawn_from_an_output_that_a_row_cannot_give() -> None:
    dice = Dice(Random(0))
    assert draw_producer(ROWS["equal"], TensorType((2,), "float32"), dice, SizeLimits()) is None
    assert draw_producer(ROWS["nn.conv2d"], TensorType((2, 3), "float32"), dice, SizeLimits()) is None


def test_novelty_brings_new_edges_and_calls() -> None:
    """Models that remember what others had repeat it less."""
    menu = Menu([ROWS[name] for name in ("exp", "add", "tanh", "sum", "softmax", "reshape") if name in ROWS])
    small = SizeLimits(rank=3, extent=3, elements=27, dtypes=("float32",))

    def triples(manner: Manner) -> int:
        novelty = Novelty()
        models = [random_model(Random(seed), 5, menu, small, manner, novelty) for seed in range(20)]
        return len({triple for model in models for triple in _triples(model)})

    assert triples(FORWARD) > 1.05 * triples(replace(FORWARD, looks=1))


def _triples(model: Model) -> Iterator[tuple[str, str, str]]:
    makers = {number: vertex for number, vertex in model.first_outputs()}
    for last in model.vertices:
        for middle in (makers[number] for number in last.inputs if number in makers):
            for first in (makers[number] for number in middle.inputs if number in makers):
                yield first.row, middle.row, last.row


def test_what_was_seen_goes_on_in_another_process() -> None:
    novelty = Novelty()
    random_model(Random(1), 20, EVERY, novelty=novelty)
    again = Novelty(bytes(novelty.seen))
    assert random_model(Random(2), 20, EVERY, novelty=again) == random_model(Random(2), 20, EVERY, novelty=novelty)
    assert random_model(Random(2), 20, EVERY) != random_model(Random(2), 20, EVERY, novelty=again)


def test_a_huge_call_is_judged_at_once() -> None:
    """A stored model may come from anybody."""
    huge = TensorType((1 << 31,) * 3, "float32")
    deep = TensorType((1,) * 64, "float32")
    assert recognise(ROWS["split:at"], [huge], {"indices_or_sections": (5, 9), "axis": 0}) is not None
    assert recognise(ROWS["split:at"], [huge], {"indices_or_sections": (9, 5), "axis": 0}) is None
    assert recognise(ROWS["squeeze"], [deep], {"axis": tuple(range(63))}) is not None
    assert recognise(ROWS["sum"], [deep], {"axis": (3, -3, 3), "keepdims": True}) is None
    assert recognise(ROWS["permute_dims"], [deep], {"axes": tuple(range(64))}) is not None
    assert recognise(ROWS["reshape"], [huge], {"shape": (1 << 62, 1 << 31)}) is not None


def test_plans_are_made_once() -> None:
    assert plan_of(ROWS["add"]) is plan_of(ROWS["add"])
