"""Calls in PyTorch's words: they are expressions of their inputs. PyTorch itself is not needed for that."""

from __future__ import annotations

import ast
from random import Random

import numpy as np
import pytest

from tzerlike.graph.dice import Dice
from tzerlike.graph.exchange.torch.module import torch_module
from tzerlike.graph.exchange.torch.rows import TORCH_FORMS
from tzerlike.graph.exchange.writing import WrittenCall
from tzerlike.graph.importers import TORCH
from tzerlike.graph.model import Model, Origin, TensorType, Vertex
from tzerlike.graph.place import SizeLimits, Wanted
from tzerlike.graph.solve import draw_call
from tzerlike.graph.spec import ROWS

SMALL = SizeLimits(rank=4, extent=6, elements=128)


def test_forms_are_of_rows() -> None:
    assert TORCH_FORMS.keys() <= ROWS.keys()
    assert len({ROWS[name].operator for name in TORCH_FORMS}) >= 150
    assert {manner.form for manner in TORCH.manners.values()} == {*range(max(map(len, TORCH_FORMS.values())))}


@pytest.mark.parametrize("name", sorted(TORCH_FORMS))
def test_each_form_says_a_call(name: str) -> None:
    dice, said = Dice(Random(name)), set()
    for _ in range(60):
        drawn = draw_call(ROWS[name], dice, SMALL)
        kinds = tuple(one.type for one in drawn.inputs if isinstance(one, Wanted))
        names = tuple(f"x{place}" for place in range(len(kinds)))
        for place, form in enumerate(TORCH_FORMS[name]):
            source = form(WrittenCall(names, kinds, drawn.outputs), **drawn.attributes)
            if source is not None:
                said.add(place)
                used = {node.id for node in ast.walk(ast.parse(source, mode="eval")) if isinstance(node, ast.Name)}
                assert used <= {*names, "torch", "float"}, source
    assert said == {*range(len(TORCH_FORMS[name]))}, "a form that never says anything"


def test_a_model_is_a_module_that_holds_its_constants() -> None:
    kind, whole = TensorType((2,), "float32"), TensorType((2,), "int64")
    sources = (Origin(kind), Origin(kind, "constant"), Origin(whole, "constant"))
    calls = (Vertex("add", (0, 1), {}, (kind,)), Vertex("index_tensor", (3, 2), {}, (kind,)))
    values = {1: np.zeros(2, "float32"), 2: np.zeros(2, "int64")}
    module = torch_module(Model(sources, calls, (4, 0)), values)
    assert module is not None
    source = module.source({"x1": "ONE", "x2": "TWO"})
    for line in (
        "self.x1 = torch.nn.Parameter(torch.from_numpy(ONE))",
        'self.register_buffer("x2", torch.from_numpy(TWO))',
        "def forward(self, x0):",
        "x3 = torch.add(x0, self.x1)",
        "return x4, x0",
        "args = (torch.zeros((2,), dtype=torch.float32),)",
        "program = torch.export.export(Model().eval(), args)",
    ):
        assert line in source


def test_there_are_no_words_for_dtypes_that_few_operators_have() -> None:
    for dtype in ("uint16", "bfloat16"):
        kind = TensorType((2,), dtype)
        assert torch_module(Model((Origin(kind),), (Vertex("abs", (0,), {}, (kind,)),), (1,)), {}) is None
