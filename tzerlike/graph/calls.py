"""Calls of operators in Relax."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from tzerlike.graph.model import TensorType, Vertex
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


_OF_LISTS = ("concat", "stack", "meshgrid", "einsum")
_OF_FILLS = ("full", "full_like")

_MAKERS: Mapping[str, CallMaker] = {
    **{name: _of_list(getattr(_relax.op, name)) for name in _OF_LISTS},
    **{name: _filled(getattr(_relax.op, name)) for name in _OF_FILLS},
    "index_tensor": lambda data, *indices: _relax.op.index_tensor(data, list(indices)),
    "index_put": lambda data, *others, accumulate: _relax.op.index_put(data, others[:-1], others[-1], accumulate),
}
"""Operators that TVM's Python functions take otherwise than: inputs in their order, attributes by name."""


OF_VARIABLES = {"grad.start_checkpoint", "grad.end_checkpoint"}
"""Operators that take no constants but variables bound to them."""


def operators_of_tvm() -> list[str]:
    """Return the names of all Relax operators that this TVM has, without `relax.`."""
    names = map(str, tvm_api.tvm.ir.Op.list_op_names())
    return sorted(name.removeprefix("relax.") for name in names if name.startswith("relax."))


def relax_call(vertex: Vertex, inputs: Sequence[Any], **others: Any) -> Any:
    """Return the call of a vertex, with `others` for some of its attributes; what TVM raises where it refuses that."""
    name = vertex.operator
    maker = _MAKERS.get(name) or attrgetter(name)(_relax.op)
    attributes = {key: list(value) if isinstance(value, tuple) else value for key, value in vertex.attributes.items()}
    return maker(*inputs, **(attributes | others))


def call_source(vertex: Vertex, inputs: Sequence[str], **others: str) -> str:
    """Return source of the call of a vertex, as TVM's Python functions take it; `others` is that of some attributes."""
    name = vertex.operator
    attributes = {
        key: f'"{value}"' if isinstance(value, str) else repr(list(value) if isinstance(value, tuple) else value)
        for key, value in vertex.attributes.items()
    } | others
    given = [f"[{', '.join(inputs)}]"] if name in _OF_LISTS else list(inputs)
    if name in _OF_FILLS:
        fill = attributes.pop("fill_value")
        shape = [attributes.pop("shape")] if "shape" in attributes else []
        dtype = attributes.get("dtype", '"float32"')
        given += [*shape, f"relax.const({fill}, {dtype})"]
    if name == "index_tensor":
        given = [inputs[0], f"[{', '.join(inputs[1:])}]"]
    if name == "index_put":
        given = [inputs[0], f"({', '.join(inputs[1:-1])},)", inputs[-1]]
    return f"relax.op.{name}({', '.join([*given, *(f'{key}={value}' for key, value in attributes.items())])})"


def variable_of(name: str, kind: TensorType) -> Any:
    return _relax.Var(name, _relax.TensorType(kind.shape, kind.dtype))


def inferred_types(call: Any) -> list[TensorType]:
    """Return what type inference found: a tensor's type, or those of a tuple."""
    found = tvm_api.type_of(call)
    parts = [found] if isinstance(found, _relax.TensorType) else list(found.fields)
    return [_tensor_type(part) for part in parts]


def shapes_of(found: Any) -> list[tuple[int | None, ...] | None]:
    """Return the shapes in a type, None for one that is not known, or for an extent that varies."""
    parts = [found] if isinstance(found, _relax.TensorType) else list(found.fields)
    return [
        tuple(int(one) if isinstance(one, tvm_api.part("tirx").IntImm) else None for one in part.shape.values)
        if isinstance(part.shape, _relax.ShapeExpr)
        else None
        for part in parts
    ]


def _tensor_type(found: Any) -> TensorType:
    """A type without variables in it; ValueError for any other."""
    if not isinstance(found, _relax.TensorType) or not isinstance(found.shape, _relax.ShapeExpr):
        raise ValueError(f"no tensor of a known shape: {found}")
    return TensorType(tuple(int(extent) for extent in found.shape.values), str(found.dtype))
