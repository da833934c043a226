"""Compiled intrinsics stay within the bound that the interpreter computes, and that bound is not idle."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy
import pytest
from numpy.typing import NDArray

from tests.semantics.corpus import script
from tzerlike.core.case import ContextConfig
from tzerlike.core.dtypes import parse
from tzerlike.mutators.intrinsics import INTRINSICS

ACCURACY: dict[str, dict[str, dict[str, float]]] = json.loads(
    (Path(__file__).parents[1] / "data" / "intrinsic_accuracy.json").read_text(encoding="utf-8")
)
COUNT = 1024
LOOSE = 256
"""A bound may be this many times the largest error that was measured, and as many units of the dtype."""

Draw = Callable[[numpy.random.Generator], NDArray[numpy.float64]]


def _signed(generator: numpy.random.Generator) -> NDArray[numpy.float64]:
    return numpy.exp(generator.uniform(-14, 2.9, COUNT)) * generator.choice((-1.0, 1.0), COUNT)


DOMAINS: Mapping[str, Draw] = {
    "any": _signed,
    "small": lambda generator: generator.uniform(-4, 4, COUNT),
    "positive": lambda generator: numpy.exp(generator.uniform(-7, 2, COUNT)),
    "unit": lambda generator: numpy.clip(_signed(generator), -0.99, 0.99),
    "above-one": lambda generator: 1 + numpy.exp(generator.uniform(-4, 3, COUNT)),
}

MEASURED = [
    pytest.param(entry, dtype, id=f"{entry.op} {dtype}") for entry in INTRINSICS for dtype in ACCURACY.get(entry.op, ())
]


@pytest.mark.parametrize(("entry", "dtype"), MEASURED)
def test_compiled_code_is_within_the_bound(entry: Any, dtype: str) -> None:
    from tests.builds import compile_module
    from tzerlike.execution.compare.storage import BufferCell, representable
    from tzerlike.systems import tvm_api
    from tzerlike.systems.baseline import REFERENCE_TARGET, baseline_config
    from tzerlike.tir.interpreter import interpret

    kind = parse(dtype)
    assert kind is not None
    names = "ABC"[: len(entry.args)]
    parameters = ", ".join(f'{name}: T.Buffer(({COUNT},), "{dtype}")' for name in f"{names}R")
    operands = ", ".join(f"{name}[i]" for name in names)
    text = script(
        parameters, f'for i in range({COUNT}):\n    R[i] = T.call_intrin("{dtype}", "{entry.op}", {operands})'
    )
    func = tvm_api.parse_script(text)
    generator = numpy.random.default_rng(0)
    arguments = [representable(DOMAINS[entry.domain](generator), kind) for _ in names]
    if entry.op in ("tirx.round", "tirx.nearbyint"):
        arguments = [numpy.where(values % 1 == 0.5, 0.25, values) for values in arguments]
    judged = interpret(func, [*arguments, numpy.zeros(COUNT)], max_steps=1_000_000)
    assert judged.verdict == "defined", (judged.rule, judged.where)
    expected = judged.expected[len(names)]
    for target, config in ((REFERENCE_TARGET, baseline_config()), ("llvm", ContextConfig())):
        function = compile_module(tvm_api.module_of(func), target, config)
        cells = [BufferCell(values, kind, (COUNT,), ()) for values in [*arguments, numpy.zeros(COUNT)]]
        function(*[cell.tensor for cell in cells])
        error = numpy.abs(cells[-1].values() - expected.values)
        assert (error <= expected.bound).all(), worst(arguments, error - expected.bound)
    limits = ACCURACY[entry.op][dtype]
    unit = 2.0 ** (1 - {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}[dtype])
    allowed = LOOSE * (
        max(limits["ulp"], 1.0) * unit * numpy.maximum(numpy.abs(expected.values), 1.0) + limits["absolute"]
    )
    assert (expected.bound <= allowed).all(), worst(arguments, expected.bound / allowed)


def worst(arguments: list[NDArray[numpy.float64]], by: NDArray[numpy.float64]) -> str:
    """The operands where `by` is largest."""
    place = int(numpy.argmax(by))
    return f"at {[float(values[place]) for values in arguments]}"
