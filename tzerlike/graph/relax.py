"""Models as Relax: built through BlockBuilder, which infers the type of each call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from tzerlike.graph.model import Model, Origin, TensorType, Vertex
from tzerlike.systems import tvm_api

_relax = tvm_api.part("relax")

CallMaker = Callable[..., Any]


def _of_list(operator: CallMaker) -> CallMaker:
    return lambda *tensors, **attributes: operator(list(tensors), **attributes)


def _filled(operator: CallMaker) -> CallMaker:
    """Operators that take the value to fill with as a constant of the dtype."""

    def call(*inputs: Any, fill_value: float, **attributes: Any) -> Any:
        dtype = attributes.get("dtype") or str(tvm_api.type_of(inputs[0]).dtype)
        fill = _relax.const(fill_value, dtype)
        shape = [attributes.pop("shape")] if "shape" in attributes else []
        return operator(*inputs, *shape, fill, **attributes)

    return call


_MAKERS: Mapping[str, CallMaker] = {
    **{name: _of_list(getattr(_relax.op, name)) for name in ("concat", "stack", "meshgrid", "einsum")},
    **{name: _filled(getattr(_relax.op, name)) for name in ("full", "full_like")},
    "index_tensor": lambda data, *indices: _relax.op.index_tensor(data, list(indices)),
    "index_put": lambda data, *others, accumulate: _relax.op.index_put(data, others[:-1], others[-1], accumulate),
}
"""Operators that TVM's Python functions take otherwise than: inputs in their order, attributes by name."""


_OF_VARIABLES = {"grad.start_checkpoint", "grad.end_checkpoint"}
"""Operators that take no constants but variables bound to them."""


def operators_of_tvm() -> list[str]:
    """Return the names of all Relax operators that this TVM has, without `relax.`."""
    names = map(str, tvm_api.tvm.ir.Op.list_op_names())
    return sorted(name.removeprefix("relax.") for name in names if name.startswith("relax."))


def relax_call(vertex: Vertex, inputs: Sequence[Any]) -> Any:
    """Return the call of a vertex; TVM's own exceptions on what it refuses."""
    name = vertex.row.partition(":")[0]
    maker = _MAKERS.get(name) or attrgetter(name)(_relax.op)
    attributes = {key: list(value) if isinstance(value, tuple) else value for key, value in vertex.attributes.items()}
    return maker(*inputs, **attributes)


def variable_of(name: str, kind: TensorType) -> Any:
    return _relax.Var(name, _relax.TensorType(kind.shape, kind.dtype))


def inferred_types(call: Any) -> list[TensorType]:
    """Return what type inference found: a tensor's type, or those of a tuple."""
    found = tvm_api.type_of(call)
    parts = [found] if isinstance(found, _relax.TensorType) else list(found.fields)
    return [_tensor_type(part) for part in parts]


def relax_module(model: Model, constant: Callable[[Origin], Any]) -> Any:
    """Return the module whose `main` is the model; constants hold what `constant` makes of their origins.

    TVM's own exceptions where it refuses a call.
    """
    builder = _relax.BlockBuilder()
    tensors = [
        variable_of(f"x{number}", one.type) if one.kind == "input" else _relax.const(constant(one), one.type.dtype)
        for number, one in enumerate(model.sources)
    ]
    inputs = [tensor for tensor, one in zip(tensors, model.sources, strict=True) if one.kind == "input"]
    with builder.function(tvm_api.ENTRY, inputs):
        with builder.dataflow():
            for vertex in model.vertices:
                tensors += _emitted(builder, vertex, [tensors[number] for number in vertex.inputs])
            result = builder.emit_output(_relax.Tuple([tensors[number] for number in model.outputs]))
        builder.emit_func_output(result)
    return builder.finalize()


def relax_accepts(module: Any) -> bool:
    """Whether the verifier of Relax accepts a module."""
    return bool(_relax.analysis.check_well_formed(module))


def _emitted(builder: Any, vertex: Vertex, inputs: Sequence[Any]) -> list[Any]:
    if vertex.row in _OF_VARIABLES:
        inputs = [one if isinstance(one, _relax.Var) else builder.emit(one) for one in inputs]
    call = builder.emit(relax_call(vertex, inputs))
    if isinstance(tvm_api.type_of(call), _relax.TensorType):
        return [call]
    return [builder.emit(_relax.TupleGetItem(call, index)) for index in range(len(vertex.outputs))]


def _tensor_type(found: Any) -> TensorType:
    """A type without variables in it; ValueError for any other."""
    if not isinstance(found, _relax.TensorType) or not isinstance(found.shape, _relax.ShapeExpr):
        raise ValueError(f"no tensor of a known shape: {found}")
    return TensorType(tuple(int(extent) for extent in found.shape.values), str(found.dtype))
