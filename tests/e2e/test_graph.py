"""Rows against the installed TVM: its registry, its type inference, its verifier, and what its builds compute."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.models import drawn_module
from tzerlike.graph.answer import answers, differs
from tzerlike.graph.calls import inferred_types, operators_of_tvm, relax_call, variable_of
from tzerlike.graph.dice import Dice
from tzerlike.graph.generate import random_model
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import Model, Origin, Vertex
from tzerlike.graph.place import SizeLimits, Wanted
from tzerlike.graph.relax import relax_accepts, relax_module
from tzerlike.graph.solve import draw_call, recognise
from tzerlike.graph.spec import OPERATOR_ROWS, ROWS
from tzerlike.graph.spec.language import Specification
from tzerlike.graph.spec.left_out import LEFT_OUT
from tzerlike.graph.values import drawn_values
from tzerlike.processes.forked import each_in_child
from tzerlike.systems import tvm_api

SMALL = SizeLimits(rank=4, extent=6, elements=128)

REFUSED_BY_BUILDS = {
    "unknown intrinsic": "no code for a function of mathematics in this width",
    "Invalid operand types for FCmp": "bools are compared as floats",
    "cannot emit this Relax operator": "no legalisation",
    "not supported for finiteness": "no legalisation for bfloat16",
    "not supported for isnan": "no legalisation for bfloat16",
    "only support float32 and float16": "no legalisation for float64",
    "has no attribute 'pixel_shuffle'": "the legalisation calls what is not there",
    "Tensor dimension mismatch in read": "rms_norm over axes that are not the last ones",
    "Divide by zero": "resize with aligned corners to one pixel",
    "Cannot convert from type `None` to `int`": "concat without an axis",
    "Index out of range": "repeat of a scalar",
    "out of bounds": "one_hot on an axis counted from the right, but not the last",
    "The type of Tuple must be TupleType": "meshgrid of one tensor",
}
"""What builds of this TVM say to calls that its type inference takes: messages, and what is missing."""


WRONG = {
    ("nn.rms_norm", "float64"): "it is computed in float32",
    ("argmax", "uint8"): "-1 for zeros alone",
    ("argmax:all", "uint8"): "-1 for zeros alone",
    ("grad.max_pool2d_backward", "float32"): "reads behind the end of its gradient",
}
"""Operators and dtypes that builds of this TVM compute otherwise."""


def _call(row: Specification, dice: Dice) -> Model:
    drawn = draw_call(row, dice, SMALL)
    wanted = [one for one in drawn.inputs if isinstance(one, Wanted)]
    origins = tuple(Origin(one.type, "input", float(one.low), float(one.high), i) for i, one in enumerate(wanted))
    vertex = Vertex(row.name, tuple(range(len(origins))), drawn.attributes, drawn.outputs)
    return Model(origins, (vertex,), tuple(len(origins) + i for i in range(len(drawn.outputs))))


def test_every_operator_has_a_row_or_a_reason() -> None:
    rows = {row.operator for row in OPERATOR_ROWS.values()}
    assert rows & LEFT_OUT.keys() == set()
    assert rows | LEFT_OUT.keys() == set(operators_of_tvm())


@pytest.mark.parametrize("row", OPERATOR_ROWS.values(), ids=OPERATOR_ROWS.keys())
def test_type_inference_finds_what_the_output_rule_says(row: Specification) -> None:
    dice = Dice(Random(row.name))
    builder = tvm_api.part("relax").BlockBuilder()
    for _ in range(6):
        model = _call(row, dice)
        inputs = [variable_of(f"x{i}", one.type) for i, one in enumerate(model.sources)]
        call = builder.normalize(relax_call(model.vertices[0], inputs))
        assert tuple(inferred_types(call)) == model.vertices[0].outputs, model


def test_a_wrong_meaning_is_seen() -> None:
    wrong = replace(ROWS["subtract"], meaning=np.add)
    assert _compared(wrong, 4)
    barely = replace(ROWS["exp"], meaning=lambda x: np.exp(x) * (1 + 2e-1))
    assert _compared(barely, 4)


def test_models_pass_type_inference_and_verifier() -> None:
    for seed in range(12):
        model = random_model(Random(seed), 32, Menu(list(ROWS.values())))
        assert relax_accepts(drawn_module(model)), model


CHEAP = ("add", "matmul", "sum", "concat", "nn.conv2d", "take", "nn.softmax", "strided_slice")


@pytest.mark.parametrize("name", CHEAP)
def test_a_build_computes_what_the_row_means(name: str) -> None:
    assert _compared(ROWS[name], 2) == ""


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(ROWS))
def test_a_build_of_every_row_computes_what_it_means(name: str) -> None:
    assert _compared(ROWS[name], 12) == ""


def _compared(row: Specification, count: int) -> str:
    """Models of whose call a build computes something else, "" for none; each runs in a child."""
    dice = Dice(Random(row.name))
    found = each_in_child([_call(row, dice) for _ in range(count)], lambda model: _differing(row, model))
    return "".join(f"signal {died}" if died else text or "" for text, died in found)


def _differing(row: Specification, model: Model) -> str:
    vertex = model.vertices[0]
    inputs = [drawn_values(origin, 0) for origin in model.sources]
    known = recognise(row, [origin.type for origin in model.sources], vertex.attributes)
    assert known is not None
    with np.errstate(all="ignore"):
        expected = answers(row, known, inputs, vertex.attributes, vertex.outputs)
    wrong = (row.name, model.sources[0].type.dtype if model.sources else "") in WRONG
    results = zip(expected, _run(model, inputs), strict=False)
    return "" if wrong or not any(differs(answer, bound, built) for (answer, bound), built in results) else str(model)


def _run(model: Model, inputs: list[Any]) -> list[Any]:
    """What a build of the model computes; nothing where the build refuses in a way that is known."""
    tvm, relax = tvm_api.tvm, tvm_api.part("relax")
    try:
        built = relax.build(relax_module(model, None), tvm.target.Target({"kind": "llvm", "opt-level": 0}))
    except (tvm.error.InternalError, ValueError, TypeError, AttributeError, IndexError, RuntimeError) as error:
        assert any(message in str(error) for message in REFUSED_BY_BUILDS), model
        return []
    outputs = relax.VirtualMachine(built.mod, tvm.cpu())["main"](*map(tvm.runtime.tensor, inputs))
    return [output.numpy().copy() for output in outputs]
