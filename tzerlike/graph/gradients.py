"""Gradients that the pass `Gradient` of Relax makes, beside those that numerical differences give.

The loss of a model is a weighted sum of the float64 that comes out of it. Where steps of two lengths disagree, as at an
edge, nothing is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tzerlike.graph.calls import relax_call, variable_of
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import Model
from tzerlike.graph.spec import OPERATOR_ROWS, ROWS
from tzerlike.systems import tvm_api

_DIRECTIONS = 4
_STEPS = (1e-4, 1e-5)
_NEAR = 1e-4
"""How far a gradient may be off, as a share of its size, or of 1."""


def differentiable() -> list[str]:
    """The operators that have a rule for gradients, and a row."""
    get = tvm_api.tvm.ir.Op.get
    operators = {one.operator for one in OPERATOR_ROWS.values()}
    return sorted(name for name in operators if get(f"relax.{name}").get_attr("FPrimalGradient"))


def _weights_of(model: Model) -> Array:
    return np.random.default_rng(1).uniform(0.5, 2, model.types()[model.outputs[0]].shape)


def _loss(model: Model, values: Sequence[Array]) -> float:
    tensors = list(values)
    for vertex in model.vertices:
        made = ROWS[vertex.row].meaning(*(tensors[one] for one in vertex.inputs), **vertex.attributes)
        parts = made if isinstance(made, tuple) else (made,)
        tensors += [np.asarray(one).astype(kind.dtype) for one, kind in zip(parts, vertex.outputs, strict=True)]
    return float(np.sum(tensors[model.outputs[0]] * _weights_of(model)))


def _module_with_loss(model: Model) -> Any:
    relax = tvm_api.part("relax")
    builder = relax.BlockBuilder()
    tensors = [variable_of(f"x{number}", one.type) for number, one in enumerate(model.sources)]
    with builder.function("main", tensors[:]):
        with builder.dataflow():
            for vertex in model.vertices:
                call = builder.emit(relax_call(vertex, [tensors[number] for number in vertex.inputs]))
                several = not isinstance(tvm_api.type_of(call), relax.TensorType)
                tensors += [builder.emit(call[i]) for i in range(len(vertex.outputs))] if several else [call]
            product = builder.emit(
                relax.op.multiply(tensors[model.outputs[0]], relax.const(_weights_of(model), "float64"))
            )
            result = builder.emit_output(relax.op.sum(product))
        builder.emit_func_output(result)
    return builder.finalize()


def gradients(model: Model, values: Sequence[Array]) -> list[Array]:
    """What the build of the pass's function says, for each tensor of floats that comes in."""
    relax, tvm = tvm_api.part("relax"), tvm_api.tvm
    module = _module_with_loss(model)
    wanted = [
        one for one, origin in zip(module["main"].params, model.sources, strict=True) if origin.type.dtype == "float64"
    ]
    module = relax.transform.Gradient("main", require_grads=wanted)(module)
    built = relax.build(module, tvm.target.Target({"kind": "llvm", "opt-level": 0}))
    _, found = relax.VirtualMachine(built, tvm.cpu())["main_adjoint"](*map(tvm.runtime.tensor, values))
    return [one.numpy().copy() for one in found]


def disagreements(model: Model, values: Sequence[Array], found: Sequence[Array]) -> list[str]:
    """Say of which tensors the gradients are not what differences give."""
    floats = [number for number, one in enumerate(model.sources) if one.type.dtype == "float64"]
    rng, wrong = np.random.default_rng(0), []
    for number, gradient in zip(floats, found, strict=True):
        for _ in range(_DIRECTIONS):
            way = np.asarray(rng.uniform(-1, 1, values[number].shape))
            slopes = [_slope(model, values, number, way * step) / step for step in _STEPS]
            size = max(1.0, abs(slopes[1]))
            given = float(np.sum(gradient * way))
            if abs(slopes[0] - slopes[1]) <= _NEAR * size < abs(given - slopes[1]) or np.isnan(given):
                wrong.append(f"%{number}: {given:.8g}, not {slopes[1]:.8g}")
                break
    return wrong


def _slope(model: Model, values: Sequence[Array], number: int, step: Array) -> float:
    up, down = ([value + sign * step if at == number else value for at, value in enumerate(values)] for sign in (1, -1))
    with np.errstate(all="ignore"):
        return (_loss(model, up) - _loss(model, down)) / 2
