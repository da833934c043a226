"""Calls of functions of tensor IR in Relax."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tzerlike.graph.kernels import kernel_of
from tzerlike.graph.model import Vertex
from tzerlike.systems import tvm_api

_relax = tvm_api.part("relax")


def kernel_call(
    vertex: Vertex, inputs: Sequence[Any], shape: Sequence[Any], add_function: Callable[[Any, str], Any]
) -> Any:
    """Return a call by `call_tir` on inputs of known shapes; `shape` is the attribute of that name, () without.

    `add_function` puts a function into the module, and returns its variable. Extents that vary are variables of its
    own.
    """
    extents = _Extents()
    shapes = [extents.written(known_shape(one) or ()) for one in inputs]
    kinds = [str(tvm_api.type_of(one).dtype) for one in inputs]
    wanted = extents.written(shape)
    kernel = kernel_of(vertex, shapes, kinds, wanted, extents.variables)
    outputs = [
        _relax.TensorType([extents.values[extent] for extent in written], one.dtype)
        for written, one in zip(kernel.outputs, vertex.outputs, strict=True)
    ]
    function = add_function(tvm_api.parse_script(kernel.source), kernel.name)
    return _relax.call_tir(function, _relax.Tuple(inputs), outputs if len(outputs) > 1 else outputs[0])


def known_shape(tensor: Any) -> Sequence[Any] | None:
    """Return the extents of a tensor; None where they are not known."""
    found = tvm_api.type_of(tensor).shape
    return found.values if isinstance(found, _relax.ShapeExpr) else None


class _Extents:
    """How a function writes extents, and which these are: numbers as they are, others as a variable each."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self._names: dict[str, str] = {}

    @property
    def variables(self) -> list[str]:
        return [*self._names.values()]

    def written(self, shape: Sequence[Any]) -> list[str]:
        found = [self._written(extent) for extent in shape]
        self.values.update(zip(found, shape, strict=True))
        return found

    def _written(self, extent: Any) -> str:
        if isinstance(extent, int | tvm_api.part("tirx").IntImm):
            return f"T.int64({int(extent)})"
        return self._names.setdefault(str(extent), f"e{len(self._names)}")
