"""Buffers in C: their memory, how an element is accessed, and the regions that blocks declare."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tzerlike.tir.witness.graph import Node, NotCovered
from tzerlike.tir.witness.scalars import CScalar, scalar_of
from tzerlike.tir.witness.text import CText

Region = Sequence[tuple[str, str]]
"""First index and extent of each dimension, named in C."""


@dataclass(frozen=True, slots=True)
class CBuffer:
    """A buffer: `length` elements (vectors count as one) at `pointer`, of which it reaches those at its strides.

    All but `scalar` and `lanes` are names or numbers of C.
    """

    pointer: str
    length: str
    offset: str
    shape: Sequence[str]
    strides: Sequence[str]
    scalar: CScalar
    lanes: int


@dataclass(frozen=True, slots=True)
class OpenBlock:
    """A block that is being written: the regions that it declares, and the buffers that exist outside of it.

    What a reduction writes it may read, and so may the blocks around it.
    """

    outside: frozenset[int]
    reduces: bool
    reads: Mapping[int, list[Region]]
    writes: Mapping[int, list[Region]]


@dataclass(slots=True)
class Buffers:
    """The buffers of a program by the place of their variable; `whole` computes an integer expression."""

    text: CText
    whole: Callable[[Node], str]
    views: dict[int, CBuffer] = field(default_factory=dict)
    frames: list[OpenBlock] = field(default_factory=list)

    def of(self, var: Node) -> CBuffer:
        found = self.views.get(var.place)
        if found is None:
            raise NotCovered("memory that is no buffer of the program")
        return found

    def _sizes(self, exprs: Sequence[Node]) -> list[str]:
        return [self.text.value("int64_t", f"extent_of({self.whole(expr)})") for expr in exprs]

    def _layout(self, ty: Node) -> tuple[list[str], list[str]]:
        """The shape and the strides of a buffer; no strides where it is compact."""
        shape, strides = self._sizes(ty.list("shape")), self._sizes(ty.list("strides"))
        if strides and len(strides) != len(shape):
            raise NotCovered("more or fewer strides than dimensions")
        return shape, strides

    def allocate(self, var: Node) -> None:
        """Fresh memory for a buffer, each time anew."""
        ty = var.at("ty")
        shape, strides = self._layout(ty)
        offset = self._offset(ty)
        if strides:
            steps = "".join(f" + (wide)({n} - 1) * {stride}" for n, stride in zip(shape, strides, strict=True))
            length = f"{' && '.join(shape)} ? {offset} + 1{steps} : 0"
        else:
            length = f"(wide){offset} + (wide)1" + "".join(f" * {n}" for n in shape)
        self._lay(var, self.text.value("int64_t", length), shape, strides, offset)

    def _lay(self, var: Node, length: str, shape: list[str], strides: list[str], offset: str) -> None:
        scalar, lanes = scalar_of(var.dtype), var.dtype.lanes
        cell, pointer = self.text.name("cell"), self.text.name("p")
        self.text.memories.append(cell)
        size = f"{lanes} * sizeof({scalar.memory})"
        self.text.line(f"{scalar.memory} *{pointer} = fresh(&{cell}, {length}, {size});")
        self.views[var.place] = CBuffer(pointer, length, offset, shape, strides or self._compact(shape), scalar, lanes)

    def _compact(self, shape: Sequence[str]) -> list[str]:
        strides = ["1"] * len(shape)
        for place in reversed(range(len(shape) - 1)):
            strides[place] = self.text.value("int64_t", f"{strides[place + 1]} * {shape[place + 1]}")
        return strides

    def _offset(self, ty: Node) -> str:
        offset = ty.at("elem_offset")
        if offset.kind == "ir.Var" and offset.place not in self.text.variables:
            self.text.bind(offset, [f"(({scalar_of(offset.dtype).c})0)"])
        return self.whole(offset)

    def declare(self, var: Node, source: CBuffer) -> None:
        """Another view of the memory of `source`."""
        ty, dtype = var.at("ty"), var.dtype
        if scalar_of(dtype) != source.scalar or dtype.lanes != source.lanes:
            raise NotCovered("a view of another dtype")
        shape, strides = self._layout(ty)
        offset = self._offset(ty)
        self.views[var.place] = replace(source, offset=offset, shape=shape, strides=strides or self._compact(shape))

    def match(self, var: Node, source: CBuffer, region: Region) -> None:
        """A view of a region: the source's strides, and the last dimensions of the region."""
        ty, dtype = var.at("ty"), var.dtype
        if scalar_of(dtype) != source.scalar or dtype.lanes != source.lanes:
            raise NotCovered("a view of another dtype")
        for (least, extent), n in zip(region, source.shape, strict=True):
            self.text.line(f"if ({extent} > 0) at({least}, {n}), at((wide){least} + {extent} - 1, {n});")
        moves = "".join(f" + {least} * {stride}" for (least, _), stride in zip(region, source.strides, strict=True))
        offset = self.text.value("int64_t", source.offset + moves)
        dropped = len(region) - len(ty.list("shape"))
        if dropped < 0:
            raise NotCovered("a view of more dimensions than its source")
        strides = list(source.strides[dropped:])
        for declared, actual in (*zip(ty.list("strides"), strides, strict=False), (ty.at("elem_offset"), offset)):
            self._agree(declared, actual)
        for declared, (_, extent) in zip(ty.list("shape"), region[dropped:], strict=True):
            self._agree(declared, extent)
        shape = [extent for _, extent in region[dropped:]]
        self.views[var.place] = replace(source, offset=offset, shape=shape, strides=strides)

    def _agree(self, declared: Node, actual: str) -> None:
        """A variable takes the value that the view has; a number that differs is what lowering refuses."""
        if declared.kind == "ir.Var" and declared.place not in self.text.variables:
            self.text.bind(declared, [self.text.value(scalar_of(declared.dtype).c, actual)])
        elif declared.kind != "ir.IntImm" or declared.integer:
            self.text.line(f'if ({self.whole(declared)} != {actual}) undefined("assert");')

    def element(self, var: Node, indices: Sequence[str], lane: int, *, stores: bool) -> str:
        """An element, or a lane of it, as C reaches it; here its indices are judged."""
        view = self.of(var)
        if len(indices) != len(view.shape):
            raise NotCovered("as many indices as dimensions are wanted")
        places = [self.text.value("int64_t", f"at({index}, {n})") for index, n in zip(indices, view.shape, strict=True)]
        for depth, frame in enumerate(self.frames):
            if var.place in frame.outside:
                regions = (frame.writes if stores else frame.reads).get(var.place, [])
                if not stores and any(inner.reduces for inner in self.frames[depth:]):
                    regions = [*regions, *frame.writes.get(var.place, [])]
                inside = " || ".join(f"({_within(places, region)})" for region in regions)
                self.text.line(f'if (!({inside or 0})) undefined("block-region");')
        flat = " + ".join([view.offset, *(f"{i} * {s}" for i, s in zip(places, view.strides, strict=True))])
        place = f"at({flat}, {view.length})"
        return f"{view.pointer}[{place if view.lanes == 1 else f'{place} * {view.lanes} + {lane}'}]"


def _within(places: Sequence[str], region: Region) -> str:
    return (
        " && ".join(
            f"{place} >= {least} && (wide){place} < (wide){least} + {extent}"
            for place, (least, extent) in zip(places, region, strict=True)
        )
        or "1"
    )
