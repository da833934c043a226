"""A model: input tensors, and operator calls, each after those whose results it takes.

Tensors are numbered: first the sources, then the outputs of each vertex in turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from tzerlike.core.schema import Count, Schema, Text
from tzerlike.core.untrusted import parse_json

SCHEMA_VERSION = 1

Extent = Annotated[int, Meta(ge=0, le=1 << 31)]
TensorNumber = Annotated[int, Meta(ge=0, le=1 << 20)]
"""The number of a tensor."""

MANY = Meta(max_length=1 << 16)

PLAINEST = ("negative", "logical_not", "add")
"""Operators of which there is least to say, the plainest first: reductions put them in the place of others."""

Attribute = None | bool | int | float | Text | Annotated[tuple[int | float, ...], MANY]


class TensorType(msgspec.Struct, frozen=True, array_like=True):
    """A shape and a dtype."""

    shape: Annotated[tuple[Extent, ...], Meta(max_length=64)]
    dtype: Annotated[str, Meta(pattern=r"^(bool|bfloat16|(float|u?int)(8|16|32|64))$")]

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


class Origin(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tensor that comes in: an argument of the model, or a constant whose values `seed` draws.

    Its elements lie from `low` to `high`, and are whole numbers where it says so.
    """

    type: TensorType
    kind: Literal["input", "constant"] = "input"
    low: float = -4.0
    high: float = 4.0
    seed: Count = 0
    whole: bool = False


Mark = Annotated[str, Meta(pattern=r"^(function|packed|closure|maker)[0-9]{1,3}$")]
"""A function that a call stands in: of so many tensors, of one tuple, a local one that captures the first half of what
it takes, or such a one that another function makes and returns."""

CLOSURES = ("closure", "maker")

KERNEL = "call_tir"
"""The operator that calls a function of tensor IR; a row has the name of the function behind a colon."""


class Vertex(msgspec.Struct, frozen=True, omit_defaults=True):
    """A call of the operator that has the row `row`.

    Calls that follow each other and are within the same mark are in a function of their own, from the outermost in.
    """

    row: Text
    inputs: Annotated[tuple[TensorNumber, ...], MANY]
    attributes: dict[str, Attribute]
    outputs: Annotated[tuple[TensorType, ...], MANY]
    within: Annotated[tuple[Mark, ...], Meta(max_length=4)] = ()
    broken: Text = ""
    """What of the call breaks its row, of a model that is to be refused (tzerlike.graph.disrupt)."""

    @property
    def is_kernel(self) -> bool:
        """Whether it calls a function of tensor IR (tzerlike.graph.kernels)."""
        return self.row.startswith(f"{KERNEL}:")

    @property
    def operator(self) -> str:
        """What it calls: TVM's name of the operator, without `relax.`; of a kernel the row, which names it."""
        return self.row if self.is_kernel else self.row.partition(":")[0]


Small = Annotated[int, Meta(ge=0, le=64)]


class VaryingExtent(msgspec.Struct, frozen=True, array_like=True):
    """An extent of what comes in that varies: `factor` times the product of some variables, and `plus`."""

    extent: Extent
    variables: Annotated[tuple[Small, ...], Meta(min_length=1, max_length=2)]
    factor: Small = 1
    plus: Small = 0


class Model(msgspec.Struct, frozen=True, omit_defaults=True):
    """A model, and which of its tensors come out.

    Its sources have the values that are drawn, or, `searched`, those that are found from there on
    (tzerlike.graph.valid).

    `variables` has what each variable is in each run: first what the extents of the model say. Where `written` has an
    extent, it varies wherever it stands in inputs and shapes that are attributes (tzerlike.graph.symbols).
    """

    sources: Annotated[tuple[Origin, ...], MANY]
    vertices: Annotated[tuple[Vertex, ...], MANY]
    outputs: Annotated[tuple[TensorNumber, ...], MANY]
    searched: bool = False
    variables: Annotated[tuple[Annotated[tuple[Small, ...], Meta(min_length=3, max_length=3)], ...], MANY] = ()
    written: Annotated[tuple[VaryingExtent, ...], MANY] = ()

    @property
    def disrupted(self) -> bool:
        """Whether the compiler is to refuse it."""
        return any(vertex.broken for vertex in self.vertices)

    @property
    def has_closures(self) -> bool:
        """Whether a call stands in a function that is a value of the model."""
        return any(mark.startswith(CLOSURES) for vertex in self.vertices for mark in vertex.within)

    def types(self) -> list[TensorType]:
        """The type of each tensor by its number."""
        found = [source.type for source in self.sources]
        for vertex in self.vertices:
            found.extend(vertex.outputs)
        return found

    def first_outputs(self) -> Iterator[tuple[int, Vertex]]:
        """Each vertex with the number of its first output."""
        number = len(self.sources)
        for vertex in self.vertices:
            yield number, vertex
            number += len(vertex.outputs)

    def __str__(self) -> str:
        lines = [f"%{number}: {one.type} = {one.kind}" for number, one in enumerate(self.sources)]
        for number, vertex in self.first_outputs():
            outputs = ", ".join(f"%{number + i}: {one}" for i, one in enumerate(vertex.outputs))
            inputs = [f"%{one}" for one in vertex.inputs] + [f"{k}={v!r}" for k, v in vertex.attributes.items()]
            lines.append(f"{'/'.join((*vertex.within, ''))}{outputs} = {vertex.row}({', '.join(inputs)})")
        runs = (f"{[one.extent, one.factor, *one.variables, one.plus]}" for one in self.written)
        if self.variables:
            lines.insert(0, f"variables {self.variables}, extents {', '.join(runs)}")
        return "\n".join([*lines, f"return {', '.join(f'%{one}' for one in self.outputs)}"])


def varied(model: Model) -> set[int]:
    """Return the tensors that depend on inputs."""
    found = {number for number, one in enumerate(model.sources) if one.kind == "input"}
    for first, vertex in model.first_outputs():
        if not found.isdisjoint(vertex.inputs):
            found.update(range(first, first + len(vertex.outputs)))
    return found


class _File(Model, frozen=True, kw_only=True):
    schema_version: int


_SCHEMA = Schema(_File, "model", SCHEMA_VERSION)


def model_text(model: Model) -> str:
    """Return the canonical JSON text of a model."""
    return msgspec.json.encode(_SCHEMA.stamped(msgspec.to_builtins(model)), order="sorted").decode()


def read_model(text: str) -> Model:
    """Return the model that `model_text` wrote; UserError that names the first place that does not fit."""
    found = _SCHEMA.of(parse_json(text.encode()))
    return Model(found.sources, found.vertices, found.outputs, found.searched, found.variables, found.written)
