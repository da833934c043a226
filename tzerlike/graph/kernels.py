"""The functions of tensor IR that models call, as TVMScript.

Extents are source: numbers of 64 bits, as those of Relax are, or the names of variables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tzerlike.graph.model import Vertex

Extents = Sequence[str]
Lines = list[str]

_INDENT = "    "


@dataclass(frozen=True)
class KernelSource:
    """A function, and the shapes of what it gives."""

    name: str
    source: str
    outputs: tuple[Extents, ...]


@dataclass(frozen=True)
class _Call:
    """What a function is made for: the shapes and dtypes of what it takes and gives, and the attributes.

    `shape` is the attribute of that name.
    """

    shapes: tuple[Extents, ...]
    dtypes: tuple[str, ...]
    given: tuple[str, ...]
    attributes: Mapping[str, Any]
    shape: Extents

    @property
    def axis(self) -> int:
        axis: int = self.attributes["axis"]
        return axis % len(self.shapes[0])


def kernel_of(
    vertex: Vertex, shapes: Sequence[Extents], dtypes: Sequence[str], shape: Extents, variables: Sequence[str]
) -> KernelSource:
    """Return the function that a call is of, on inputs of these types; `shape` is the attribute of that name, and
    `variables` are the names in all of that."""
    call = _Call(
        tuple(shapes), tuple(dtypes), tuple(one.dtype for one in vertex.outputs), vertex.attributes, tuple(shape)
    )
    name = vertex.row.partition(":")[2]
    outputs, body = _BODIES[name](call)
    buffers = [*zip("AB", shapes, dtypes, strict=False), *zip("OP", outputs, call.given, strict=False)]
    bound = [f'{buffer} = T.match_buffer({buffer.lower()}, {_tuple(of)}, "{dtype}")' for buffer, of, dtype in buffers]
    taken = ", ".join(f"{buffer.lower()}: T.handle" for buffer, *_ in buffers)
    lines = [f"{one} = T.int64()" for one in variables] + bound + body
    source = "\n".join(["@T.prim_func(private=True, s_tir=True)", f"def {name}({taken}):", *_within(lines)])
    return KernelSource(name, source, tuple(outputs))


def _tuple(extents: Extents) -> str:
    return f"({', '.join(extents)}{',' * (len(extents) == 1)})"


def _within(lines: Lines) -> Lines:
    return [f"{_INDENT}{line}" for line in lines]


def _at(indices: Sequence[str]) -> str:
    return ", ".join(indices) or "()"


def _loops(extents: Extents, names: Sequence[str], body: Lines) -> Lines:
    return [f"for {', '.join(names)} in T.grid({', '.join(extents)}):", *_within(body)] if extents else body


def _block(
    name: str,
    extents: Extents,
    body: Callable[[Sequence[str]], Lines],
    order: Sequence[int] | None = None,
    reduced: Sequence[int] = (),
) -> Lines:
    """A block with an axis for each extent; `order` has the loops from the outermost in, `reduced` the axes that are
    reduced."""
    loops, axes = [f"i{axis}" for axis in range(len(extents))], [f"v{axis}" for axis in range(len(extents))]
    kinds = "".join("R" if axis in reduced else "S" for axis in range(len(extents)))
    bound = [f'{", ".join(axes)} = T.axis.remap("{kinds}", [{", ".join(loops)}])'] if extents else []
    inside = [f'with T.sblock("{name}"):', *_within([*bound, *body(axes)])]
    outermost_first = range(len(extents)) if order is None else order
    return _loops([extents[axis] for axis in outermost_first], [loops[axis] for axis in outermost_first], inside)


def _replaced(indices: Sequence[str], axis: int, other: str) -> str:
    return _at([*indices[:axis], other, *indices[axis + 1 :]])


def _without(items: Sequence[str], axis: int) -> list[str]:
    return [*items[:axis], *items[axis + 1 :]]


def _mirrored(indices: Sequence[str], axis: int, extent: str) -> str:
    return _replaced(indices, axis, f"{extent} - 1 - {indices[axis]}")


_Body = tuple[list[Extents], Lines]


def _elementwise(call: _Call, store: Callable[[Sequence[str]], str], order: Sequence[int] | None = None) -> _Body:
    """One block over the shape of the first input, with one statement."""
    return [call.shapes[0]], _block("kernel", call.shapes[0], lambda v: [store(v)], order)


def _reordered(call: _Call) -> _Body:
    return _elementwise(call, lambda v: f"O[{_at(v)}] = A[{_at(v)}] + A[{_at(v)}]", order=call.attributes["order"])


def _mirrored_sum(call: _Call) -> _Body:
    extent = call.shapes[0][call.axis]
    return _elementwise(call, lambda v: f"O[{_at(v)}] = A[{_at(v)}] + A[{_mirrored(v, call.axis, extent)}]")


def _neighbours(call: _Call) -> _Body:
    def store(v: Sequence[str]) -> str:
        before = _replaced(v, call.axis, f"T.max({v[call.axis]} - 1, 0)")
        return f"O[{_at(v)}] = A[{_at(v)}] + A[{before}]"

    return _elementwise(call, store)


def _running_sum(call: _Call) -> _Body:
    extents = call.shapes[0]
    rest = [f"i{axis}" for axis in range(1, len(extents))]
    first, here, there = (_at([index, *rest]) for index in ("0", "j", "j + 1"))
    body = [f"O[{first}] = A[{first}]", f"for j in range({extents[0]} - 1):"]
    body += _within([f"O[{there}] = O[{here}] + A[{there}]"])
    return [extents], ['with T.sblock("scan"):', *_within(_loops(extents[1:], rest, body))]


def _stored_transposed(call: _Call) -> _Body:
    extents = call.shapes[0]
    return [extents[::-1]], _block("kernel", extents, lambda v: [f"O[{_at(v[::-1])}] = A[{_at(v)}]"])


def _two_pass_sum(call: _Call) -> _Body:
    extents, axis = call.shapes[0], call.axis
    left = _without(extents, axis)
    zero = _block("zero", left, lambda v: [f"O[{_at(v)}] = T.{call.dtypes[0]}(0)"])

    def add(v: Sequence[str]) -> Lines:
        there = _at(_without(v, axis))
        return [f"O[{there}] = O[{there}] + A[{_at(v)}]"]

    return [left], [*zero, *_block("add", extents, add, reduced=(axis,))]


def _outermost_max(call: _Call) -> _Body:
    extents, axis = call.shapes[0], call.axis

    def update(v: Sequence[str]) -> Lines:
        there = _at(_without(v, axis))
        start = f'O[{there}] = T.min_value("{call.dtypes[0]}")'
        return ["with T.init():", *_within([start]), f"O[{there}] = T.max(O[{there}], A[{_at(v)}])"]

    order = [axis, *(other for other in range(len(extents)) if other != axis)]
    return [_without(extents, axis)], _block("max", extents, update, order=order, reduced=(axis,))


def _sum_and_difference(call: _Call) -> _Body:
    extents = call.shapes[0]

    def both(v: Sequence[str]) -> Lines:
        return [f"{name}[{_at(v)}] = A[{_at(v)}] {sign} B[{_at(v)}]" for name, sign in ("O+", "P-")]

    return [extents, extents], _block("kernel", extents, both)


def _strided(call: _Call) -> _Body:
    extent, step = call.shapes[0][0], call.attributes["step"]
    return _elementwise(call, lambda v: f"O[{_at(v)}] = A[{_replaced(v, 0, f'{v[0]} * {step} % {extent}')}]")


def _row(call: _Call) -> _Body:
    return _elementwise(call, lambda v: f"O[{_at(v)}] = A[{_at(v)}] * B[{v[-1]}] - B[0]")


def _staged(call: _Call) -> _Body:
    extents = call.shapes[0]
    held = [f'S = T.sblock_alloc_buffer({_tuple(extents)}, "{call.dtypes[0]}")']
    twice = _block("twice", extents, lambda v: [f"S[{_at(v)}] = A[{_at(v)}] + A[{_at(v)}]"])
    back = _block("mirror", extents, lambda v: [f"O[{_at(v)}] = S[{_mirrored(v, 0, extents[0])}]"])
    return [extents], [*held, *twice, *back]


def _halves(call: _Call) -> _Body:
    half = f"{call.shapes[0][0]} // 2"
    return _elementwise(call, lambda v: f"O[{_at(v)}] = T.if_then_else({v[0]} < {half}, A[{_at(v)}], B[{_at(v)}])")


def _scattered(call: _Call) -> _Body:
    return _elementwise(call, lambda v: f"O[{_mirrored(v, 0, call.shapes[0][0])}] = A[{_at(v)}]")


def _tiled(call: _Call) -> _Body:
    first, *rest = call.shapes[0]
    axes = [f"v{axis}" for axis in range(1 + len(rest))]
    place = "o * 2 + j"
    bound = [f"v0 = T.axis.spatial({first}, {place})"]
    bound += [f"v{axis} = T.axis.spatial({extent}, i{axis})" for axis, extent in enumerate(rest, 1)]
    store = f"O[{_at(axes)}] = A[{_at(axes)}] + A[{_at(axes)}]"
    inside = ['with T.sblock("kernel"):', *_within([*bound, f"T.where({place} < {first})", store])]
    loops = [f"i{axis}" for axis in range(1, 1 + len(rest))]
    return [call.shapes[0]], _loops([f"({first} + 1) // 2", "2", *rest], ["o", "j", *loops], inside)


def _loops_inside(call: _Call) -> _Body:
    extents = call.shapes[0]
    names = [f"i{axis}" for axis in range(len(extents))]
    body = _loops(extents, names, [f"O[{_at(names)}] = A[{_at(names)}] + A[{_at(names)}]"])
    return [extents], ['with T.sblock("loops"):', *_within(body)]


def _first(call: _Call) -> _Body:
    return _elementwise(call, lambda v: f"O[{_at(v)}] = A[{_replaced(v, 0, '0')}]")


def _reshaped(call: _Call) -> _Body:
    extents = list(call.shapes[0])
    axes = range(len(extents))

    def move(v: Sequence[str]) -> Lines:
        flat = "0"
        for index, extent in zip(v, call.shape, strict=True):
            flat = index if flat == "0" else f"({flat}) * {extent} + {index}"
        inner = [extents[:axis] if call.attributes["columns"] else extents[axis + 1 :] for axis in axes]
        found = [f"({flat}) // ({' * '.join(inner[axis]) or '1'}) % {extents[axis]}" for axis in axes]
        return [f"O[{_at(v)}] = A[{_at(found)}]"]

    return [call.shape], _block("kernel", call.shape, move)


def _counted(call: _Call) -> _Body:
    def store(v: Sequence[str]) -> Lines:
        return [f'O[{_at(v)}] = T.Cast("{call.given[0]}", {v[0]} * {call.attributes["step"]})']

    return [call.shape], _block("kernel", call.shape, store)


def _rows_product(call: _Call) -> _Body:
    (rows, inner), (columns, _) = call.shapes

    def update(v: Sequence[str]) -> Lines:
        start = f"O[v0, v1] = T.{call.dtypes[0]}(0)"
        return ["with T.init():", *_within([start]), "O[v0, v1] = O[v0, v1] + A[v0, v2] * B[v1, v2]"]

    return [(rows, columns)], _block("product", (rows, columns, inner), update, reduced=(2,))


_BODIES: Mapping[str, Callable[[_Call], _Body]] = {
    "reordered": _reordered,
    "mirrored_sum": _mirrored_sum,
    "neighbours": _neighbours,
    "running_sum": _running_sum,
    "stored_transposed": _stored_transposed,
    "two_pass_sum": _two_pass_sum,
    "outermost_max": _outermost_max,
    "sum_and_difference": _sum_and_difference,
    "strided": _strided,
    "row": _row,
    "staged": _staged,
    "halves": _halves,
    "scattered": _scattered,
    "tiled": _tiled,
    "loops_inside": _loops_inside,
    "first": _first,
    "reshaped": _reshaped,
    "counted": _counted,
    "rows_product": _rows_product,
}
"""By name: what comes out of a function, and its body, in which A and B come in and O and P go out."""
