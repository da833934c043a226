"""Whether a pass that made an index wrong was misled by the simplification of iterators that it relies on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice, product
from typing import Any

from tzerlike.systems.refusal import CompilerRefused, ask_compiler
from tzerlike.systems.tvm_api import array_items, part, source_of, tirx, tvm, type_of
from tzerlike.tir.node import key, substitute, variables_in
from tzerlike.tir.tree import Site, Tree

GOES_BY: Mapping[str, str] = {"tirx.FlattenBuffer": "sym.iter_map_simplify"}
"""By its name in TVM, what a pass has its indices simplified by (src/tirx/transform/flatten_buffer.cc)."""

_POINTS = 256
"""How many points of the loops are looked at."""


def misled(pass_name: str, given: Any) -> tuple[str, str, str] | None:
    """Return what misled a pass about an index of the function that it is given: its name, an index, and what it makes
    of that, which has another value at some point of the loops around.

    None where it is right about all indices, or the pass goes by nothing of the kind.
    """
    if pass_name not in GOES_BY:
        return None
    for site in Tree(given).of_type(tvm.ir.TensorLoad, tirx.BufferStore):
        loops = dict(_loops(site))
        for index in _indices(site.node):
            variables = {key(var): var for var in variables_in(index)}
            if variables and variables.keys() <= loops.keys():
                made = _simplified(index, {var: loops[name].extent for name, var in variables.items()}, loops)
                if made is not None and _differ(index, made, {name: loops[name] for name in variables}):
                    return GOES_BY[pass_name], str(index), str(made)
    return None


@dataclass(frozen=True, slots=True)
class _Loop:
    """A variable, and the IntImms that it starts from and goes through so many numbers from."""

    var: Any
    min: Any
    extent: Any

    @property
    def numbers(self) -> range:
        return range(int(self.min), int(self.min) + int(self.extent))

    def at(self, number: int) -> Any:
        return tirx.IntImm(str(type_of(self.var).dtype), number)


def _loops(site: Site) -> Iterator[tuple[int, _Loop]]:
    """The loops and the launches of threads around a site whose bounds are numbers, by their variables."""
    for above in site.ancestors():
        node = above.node
        if type(node) is tirx.For and type(node.min) is type(node.extent) is tirx.IntImm:
            yield key(node.loop_var), _Loop(node.loop_var, node.min, node.extent)
        elif type(node) is tirx.AttrStmt and str(node.attr_key) == "thread_extent" and type(node.value) is tirx.IntImm:
            yield key(node.node.var), _Loop(node.node.var, tirx.IntImm(str(type_of(node.value).dtype), 0), node.value)


def _indices(node: Any) -> Iterator[Any]:
    """The indices of an access, and the offset that they come to where the buffer is compact."""
    buffer = node.buffer if type(node) is tirx.BufferStore else source_of(node)
    indices, shape = array_items(node.indices), array_items(type_of(buffer).shape)
    yield from indices
    if len(indices) == len(shape) > 1:
        yield sum(index * math.prod(shape[axis + 1 :]) for axis, index in enumerate(indices))


def _simplified(index: Any, extents: Mapping[Any, Any], loops: Mapping[int, _Loop]) -> Any | None:
    ranges = {var: tvm.ir.Range.from_min_extent(loops[key(var)].min, extent) for var, extent in extents.items()}
    with suppress(CompilerRefused):
        return ask_compiler(lambda: part("sym").iter_map_simplify([index], ranges)[0])
    return None


def _differ(first: Any, second: Any, loops: Mapping[int, _Loop]) -> bool:
    """Whether two expressions have other values at one of the first points of the loops that TVM can put in."""
    simplify = part("sym").Analyzer().simplify
    for point in islice(product(*(loop.numbers for loop in loops.values())), _POINTS):
        at = {name: loop.at(number) for (name, loop), number in zip(loops.items(), point, strict=True)}
        try:
            values = [ask_compiler(partial(simplify, substitute(expr, at))) for expr in (first, second)]
        except CompilerRefused:
            continue
        if all(type(value) is tirx.IntImm for value in values) and int(values[0].value) != int(values[1].value):
            return True
    return False
