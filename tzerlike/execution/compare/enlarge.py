"""Programs with larger shapes, changed in their text: a run of a microsecond says nothing about speed.

Every integer that is a multiple of the extent of a loop grows by one factor: extents of other loops and of buffers,
strides, bounds of conditions. What comes out is another program. The interpreter says whether it is defined.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tzerlike.core.effort import THOROUGH_STEPS, Effort
from tzerlike.core.rng import rng_for
from tzerlike.execution.compare.inputs import parameters_of
from tzerlike.execution.compare.results import interpret_seeded
from tzerlike.systems import tvm_api
from tzerlike.systems.refusal import CompilerRefused, ask_compiler
from tzerlike.systems.text import integer_in, with_integer
from tzerlike.tir import interpreter

_STEPS = (THOROUGH_STEPS // 5, THOROUGH_STEPS)
"""Scalar operations of a large program: what takes more cannot be judged."""

_TRIAL = Effort(steps=400_000)
"""What a program twice as large is interpreted with."""

_SERIAL = 0


@dataclass(frozen=True, slots=True)
class Large:
    """A program, and which of the inputs that a seed gives it is defined on, counted from 1."""

    ir: str
    attempt: int


def enlarged(ir: str, input_seed: int) -> Large | None:
    """Return a program of the kind of `ir` that takes long enough to be timed; None where there is none."""
    for unit in _units(json.loads(ir)):
        twice = scaled(ir, unit, 2)
        small, cost = _cost(ir, input_seed), _cost(twice, input_seed)
        if not small or not cost or cost <= small:
            continue
        _, _, results = interpret_seeded(tvm_api.entry_of(tvm_api.load_ir(twice)), input_seed, _TRIAL)
        if not results.defined:
            continue
        doublings = math.log(0.9 * _STEPS[1] / small) / math.log(cost / small)
        if doublings > math.log2(_STEPS[1]):  # the loop has next to no part in the cost
            continue
        large = scaled(ir, unit, int(2**doublings))
        if _STEPS[0] <= (_cost(large, input_seed) or 0) <= _STEPS[1]:
            return Large(large, results.attempts)
    return None


_WIDTHS = {"tirx.For": "extent"} | {
    f"{own}.{node}": "lanes" for own in ("prim", "tirx") for node in ("Ramp", "Broadcast")
}
"""The fields that hold a width, by the names of nodes in all versions."""


def scaled(ir: str, unit: int, factor: int) -> str:
    """Return the program with each index that is a multiple of `unit` times `factor`."""
    graph = json.loads(ir)
    nodes = graph["nodes"]
    for node in list(nodes):
        value = _integer(graph, node)
        if value and value % unit == 0:
            node["data"] = with_integer(graph, node, value * factor)["data"]
    return json.dumps(graph)


def _integer(graph: Any, node: Any) -> int | None:
    """The value of a node that is a constant index; None of any other."""
    if node["type"] != "ir.IntImm":
        return None
    data = node["data"]
    # An older TVM has the dtype in the node itself.
    dtype = graph["nodes"][data["ty"]]["data"].get("dtype") if "ty" in data else data["dtype"]
    return integer_in(graph, node) if dtype in ("int32", "int64") else None


def _units(graph: Any) -> Iterator[int]:
    """Extents of serial loops, the largest first, that divide no extent of another loop and no number of lanes."""
    nodes = graph["nodes"]
    serial: set[int] = set()
    fixed: set[int] = set()
    for node in nodes:
        field = _WIDTHS.get(node["type"])
        value = _integer(graph, nodes[node["data"][field]]) if field else None
        if value:
            (serial if node["data"].get("kind") == _SERIAL else fixed).add(value)
    yield from (unit for unit in sorted(serial, reverse=True) if unit > 1 and all(n % unit for n in fixed))


def _cost(ir: str, input_seed: int) -> int | None:
    """A bound on the scalar operations of a program; None where there is none, or no room for its arguments."""
    try:
        func = tvm_api.entry_of(ask_compiler(lambda: tvm_api.load_ir(ir)))
    except CompilerRefused:
        return None
    if parameters_of(func, rng_for(input_seed, "inputs")) is None:
        return None
    return interpreter.prepare(func).cost
