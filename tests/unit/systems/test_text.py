"""Programs as older TVMs write them down: constants hold their values themselves."""

from __future__ import annotations

import json
from typing import Any

import numpy
import pytest

from tzerlike.arith.repro import EVALUATOR
from tzerlike.systems.text import integer_in, script_for, with_integer
from tzerlike.tir.extents import halved
from tzerlike.tir.witness.verdict import WitnessQuestion, WitnessWord, depositions


def graph_of(version: str, value: int, *more: dict[str, Any]) -> dict[str, Any]:
    """A loop with a constant extent; `value` is what the constant's field holds."""
    loop = {"type": "tirx.For", "data": {"extent": 1}}
    constant = {"type": "ir.IntImm", "data": {"value": value}}
    return {"root_index": 0, "nodes": [loop, constant, *more], "metadata": {"tvm_version": version}}


OLD = graph_of("0.26.0", 2)
NEW = graph_of("0.27.0.post1", 2, {"type": "int", "data": 64})


@pytest.mark.parametrize(("graph", "value"), [(OLD, 2), (NEW, 64), (graph_of("0.25.dev0", 9), 9)])
def test_the_value_of_a_constant(graph: dict[str, Any], value: int) -> None:
    assert integer_in(graph, graph["nodes"][1]) == value
    assert integer_in(graph, graph["nodes"][0]) is None
    copy = json.loads(json.dumps(graph))
    copy["nodes"].append(with_integer(copy, copy["nodes"][1], 5))
    assert integer_in(copy, copy["nodes"][-1]) == 5
    assert integer_in(copy, copy["nodes"][1]) == value


@pytest.mark.parametrize("graph", [graph_of("0.26.0", 8), graph_of("0.27.0", 2, {"type": "int", "data": 8})])
def test_loops_are_halved_in_the_text_of_any_version(graph: dict[str, Any]) -> None:
    extents = []
    for text in halved(json.dumps(graph)):
        made = json.loads(text)
        extents.append(integer_in(made, made["nodes"][made["nodes"][0]["data"]["extent"]]))
    assert extents == [4, 2]


def test_the_witness_says_nothing_of_an_older_text() -> None:
    (said,) = depositions([WitnessQuestion(json.dumps(OLD), {"argument0": numpy.zeros(1)})])
    assert (said.word, said.reason) == (WitnessWord.CANNOT_SAY, "the text of an older TVM")


def test_a_script_is_one_that_its_version_runs() -> None:
    script = "analyzer = tvm.sym.Analyzer(); str(expr.ty.dtype)"
    assert script_for("0.25.0.post1", script) == "analyzer = tvm.arith.Analyzer(); str(expr.dtype)"
    assert script_for("0.26.0", script) == "analyzer = tvm.arith.Analyzer(); str(expr.ty.dtype)"
    assert script_for("0.27.0.post1", script) == script_for("", script) == script


class Node:
    """An expression of a TVM of before, as an evaluator sees it."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


def test_an_evaluator_knows_the_operators_on_bits_by_their_calls() -> None:
    """They are no nodes before 0.27."""
    number, call = type("IntImm", (Node,), {}), type("Call", (Node,), {})
    here: dict[str, Any] = {}
    exec(script_for("0.26.0", EVALUATOR), here)

    def value(name: str, *operands: int) -> int:
        args = [number(value=operand) for operand in operands]
        return int(here["value_of"](call(op=Node(name=f"tirx.{name}"), args=args, ty=Node(dtype="int8")), {}))

    assert value("bitwise_and", 6, 3) == 2 and value("bitwise_or", 6, 3) == 7 and value("bitwise_xor", 6, 3) == 5
    assert value("shift_left", 3, 2) == 12 and value("shift_right", 12, 2) == 3
    assert value("bitwise_not", 6) == -7 and value("if_then_else", 1, 2, 3) == 2
    assert script_for("0.26.0", "tirx.LShift(tirx.BitwiseNot(a), b)") == "tirx.shift_left(tirx.bitwise_not(a), b)"
