"""A program and its inputs as one C function."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from tzerlike.tir.witness.buffers import CBuffer
from tzerlike.tir.witness.graph import Node, NotCovered, entry
from tzerlike.tir.witness.scalars import CScalar, elements_of, scalar_of, values_of
from tzerlike.tir.witness.statements import Statements
from tzerlike.tir.witness.text import literal

Arrays = Mapping[str, NDArray[Any]]
"""What an inputs.npz holds: `argumentN`, and `expectedN` and `boundN` of buffers."""


@dataclass(frozen=True, slots=True)
class CParameter:
    """A buffer parameter in memory: `elements` elements, of which the logical array takes those at `strides`."""

    position: int
    scalar: CScalar
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def elements(self) -> int:
        return (
            1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)) if math.prod(self.shape) else 0
        )

    def _seen(self, flat: NDArray[Any]) -> NDArray[Any]:
        steps = tuple(stride * flat.itemsize for stride in self.strides)
        return numpy.lib.stride_tricks.as_strided(flat, self.shape, steps)

    def to_memory(self, values: NDArray[Any]) -> bytes:
        flat = numpy.zeros(self.elements, self.scalar.stored)
        self._seen(flat)[...] = elements_of(values, self.scalar)
        return flat.tobytes()

    def from_memory(self, data: bytes) -> NDArray[Any]:
        return values_of(self._seen(numpy.frombuffer(data, self.scalar.stored)).copy(), self.scalar)


@dataclass(frozen=True, slots=True)
class Written:
    """A program in C: the declarations, the body of a function of `void **p`, and its parameters."""

    memories: list[str]
    lines: list[str]
    parameters: list[CParameter]


def write_program(ir: str, arrays: Arrays, name_of_intrinsic: Callable[[int], str | None]) -> Written:
    """Write `main` of a module out for the arguments in `arrays`; NotCovered where that cannot be done."""
    func, writer = entry(ir), Statements(name_of_intrinsic)
    params = func.list("params")
    parameters: list[CParameter] = []
    sizes = _sizes(params, arrays)
    for position, param in enumerate(params):
        if not param.is_buffer:
            scalar = scalar_of(param.dtype)
            argument = arrays[f"argument{position}"].item()
            writer.text.bind(param, [writer.text.value(scalar.c, literal(argument, scalar))])

    def bind_sizes() -> None:
        for place in sizes.keys() - writer.text.variables.keys():
            var = Node(func.nodes, place)
            writer.text.bind(
                var, [writer.text.value(scalar_of(var.dtype).c, literal(sizes[place], scalar_of(var.dtype)))]
            )

    bind_sizes()
    for position, param in enumerate(params):
        if param.is_buffer:
            parameter = _parameter(position, param, sizes, arrays[f"argument{position}"].shape)
            bind_sizes()  # strides too, now
            pointer = writer.text.name("p")
            writer.text.line(f"{parameter.scalar.memory} *{pointer} = p[{len(parameters)}];")
            lanes = param.dtype.lanes
            logical = len(parameter.shape) - (lanes > 1)
            writer.buffers.views[param.place] = CBuffer(
                pointer,
                str(parameter.elements // lanes),
                "0",
                [str(extent) for extent in parameter.shape[:logical]],
                [str(stride // lanes) for stride in parameter.strides[:logical]],
                parameter.scalar,
                lanes,
            )
            parameters.append(parameter)
            offset = param.at("ty").at("elem_offset")
            if offset.kind == "ir.Var" and offset.place not in writer.text.variables:
                writer.text.bind(offset, [literal(0, scalar_of(offset.dtype))])
            writer.text.line(f'if ({writer.whole(offset)} != 0) undefined("assert");')
    writer.write(func.at("body"))
    return Written(writer.text.memories, writer.text.lines, parameters)


def _sizes(params: list[Node], arrays: Arrays) -> dict[int, int]:
    """The values of the variables in shapes, by their place."""
    sizes: dict[int, int] = {}
    for position, param in enumerate(params):
        if f"argument{position}" not in arrays:
            raise NotCovered("no inputs")
        if param.is_buffer:
            extents = param.at("ty").list("shape")
            for extent, size in zip(extents, arrays[f"argument{position}"].shape, strict=False):
                if extent.kind == "ir.Var":
                    sizes.setdefault(extent.place, int(size))
    return sizes


def _parameter(position: int, param: Node, sizes: dict[int, int], shape: tuple[int, ...]) -> CParameter:
    """Where a buffer lies: a stride or an offset that is a variable of its own is the compact buffer's."""
    ty, lanes = param.at("ty"), param.dtype.lanes
    logical = shape[:-1] if lanes > 1 else shape
    compact = [math.prod(logical[place + 1 :]) for place in range(len(logical))]
    declared = ty.list("strides")
    strides = []
    for place, plain in enumerate(compact):
        stride = declared[place] if declared else None
        if stride is None or (stride.kind == "ir.Var" and stride.place not in sizes):
            strides.append(plain)
            if stride is not None:
                sizes[stride.place] = plain
        else:
            strides.append(_number(stride, sizes))
    return CParameter(
        position, scalar_of(param.dtype), shape, (*(s * lanes for s in strides), *((1,) if lanes > 1 else ()))
    )


def _number(node: Node, sizes: Mapping[int, int]) -> int:
    if node.kind == "ir.IntImm":
        return node.integer
    if node.kind == "ir.Var" and node.place in sizes:
        return sizes[node.place]
    first, second = (_number(node.at(name), sizes) for name in "ab") if node.kind.startswith("prim.") else (0, 0)
    if node.kind == "prim.Add":
        return first + second
    if node.kind == "prim.Sub":
        return first - second
    if node.kind == "prim.Mul":
        return first * second
    raise NotCovered("a stride that is no number")
