"""Rows against PyTorch, in every form of theirs. It needs the extra `torch`."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tzerlike.graph.answer import answers, differs
from tzerlike.graph.dice import Dice
from tzerlike.graph.exchange.torch.module import torch
from tzerlike.graph.exchange.torch.rows import TORCH_FORMS
from tzerlike.graph.exchange.torch.words import TORCH_DTYPES
from tzerlike.graph.exchange.writing import WrittenCall
from tzerlike.graph.model import Origin
from tzerlike.graph.place import SizeLimits, Wanted
from tzerlike.graph.solve import draw_call, recognise
from tzerlike.graph.spec import ROWS
from tzerlike.graph.values import drawn_values

pytest.importorskip("torch", reason="needs the extra `torch`")

BEYOND = {"nn.gelu"}
"""What PyTorch does not compute as exactly as our bounds have it."""

REFUSED = ("Expected more than 1",)
"""What it says of a norm over a single element."""


@pytest.mark.parametrize("name", sorted(TORCH_FORMS.keys() - BEYOND))
def test_pytorch_computes_what_a_row_means_in_each_form(name: str) -> None:
    row, dice, compared = ROWS[name], Dice(Random(name)), set()
    for number in range(40):
        drawn = draw_call(row, dice, SizeLimits(rank=4, extent=6, elements=128))
        wanted = [one for one in drawn.inputs if isinstance(one, Wanted)]
        kinds = tuple(one.type for one in wanted)
        if any(kind.dtype not in TORCH_DTYPES for kind in (*kinds, *drawn.outputs)):
            continue
        origins = [Origin(one.type, "input", float(one.low), float(one.high), i) for i, one in enumerate(wanted)]
        inputs = [drawn_values(origin, number) for origin in origins]
        known = recognise(row, kinds, drawn.attributes)
        assert known is not None
        with np.errstate(all="ignore"):
            expected = answers(row, known, inputs, drawn.attributes, drawn.outputs)
        names = tuple(f"x{place}" for place in range(len(kinds)))
        for place, form in enumerate(TORCH_FORMS[name]):
            source = form(WrittenCall(names, kinds, drawn.outputs), **drawn.attributes)
            if source is None:
                continue
            tensors = {name: torch().from_numpy(np.array(one)) for name, one in zip(names, inputs, strict=True)}
            try:
                found = eval(source, {"torch": torch(), **tensors})
            except ValueError as error:
                assert str(error).startswith(REFUSED), source
                continue
            compared.add(place)
            outputs = [found] if len(drawn.outputs) == 1 else [*found]
            for (value, bound), one, kind in zip(expected, outputs, drawn.outputs, strict=True):
                assert str(one.numpy().dtype) == kind.dtype, source
                assert not differs(value, bound, one.numpy()), (source, kinds, value, one)
    assert compared == {*range(len(TORCH_FORMS[name]))}
