"""A file of ONNX, and one under construction, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import TensorType

_T = TypeVar("_T")

AttributeOfNode = int | float | str | list[int] | Array
"""An array is a tensor."""


@dataclass(frozen=True)
class OnnxNode:
    """A call of an operator; an input "" is one that is left out."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, AttributeOfNode]
    domain: str = ""


@dataclass(frozen=True)
class OnnxFile:
    """A graph with names and types of what comes in and out, and constants by name; a type that is None is not said."""

    opset: int
    nodes: tuple[OnnxNode, ...]
    inputs: tuple[tuple[str, TensorType], ...]
    outputs: tuple[tuple[str, TensorType | None], ...]
    constants: Mapping[str, Array]


@dataclass
class Writing:
    """Nodes and constants so far. What a newer `opset` takes as an input, an older one has as an attribute."""

    opset: int
    nodes: list[OnnxNode] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)

    def node(self, operator: str, *inputs: str, **attributes: AttributeOfNode) -> str:
        return self.nodes_of(operator, 1, *inputs, **attributes)[0]

    def nodes_of(self, operator: str, count: int, *inputs: str, **attributes: AttributeOfNode) -> tuple[str, ...]:
        """Add a node with so many outputs, and return their names."""
        name = f"t{len(self.nodes)}"
        outputs = (name,) if count == 1 else tuple(f"{name}_{index}" for index in range(count))
        self.nodes.append(OnnxNode(operator, inputs, outputs, attributes))
        return outputs

    def constant(self, values: object, dtype: str | np.dtype[np.generic] = "int64") -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(values, dtype)
        return name


@dataclass(frozen=True)
class WrittenCall:
    """One call to write: the names and types of its inputs, the types of its outputs."""

    names: tuple[str, ...]
    kinds: tuple[TensorType, ...]
    outputs: tuple[TensorType, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the first input."""
        return self.kinds[0].shape

    @property
    def dtype(self) -> str:
        return self.kinds[0].dtype

    @property
    def output(self) -> TensorType:
        return self.outputs[0]


@dataclass(frozen=True)
class OnnxCall(WrittenCall):
    """One that is written to a file."""

    to: Writing


def of_dtypes(form: Callable[..., _T | None], *dtypes: str) -> Callable[..., _T | None]:
    """A form of calls whose first input is of some dtypes alone."""

    def only(call: WrittenCall, **attributes: object) -> _T | None:
        return form(call, **attributes) if call.dtype in dtypes else None

    return only
