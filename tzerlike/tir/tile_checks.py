"""Whether the operators of a kernel in TileLang's dialect get tiles that fit, according to the language's
documentation.
"""

from __future__ import annotations

from typing import Any, Final

from tzerlike.systems.tvm_api import array_items, tirx
from tzerlike.tir.scope import PARALLEL, constant_int
from tzerlike.tir.tree import Site, Tree

OPERATOR: Final = "tl.tileop."
"""How the names of operators on tiles begin."""

_ALIKE: Final = ("copy", "atomicadd", "atomicmax", "atomicmin", "cumsum", "cummax")
"""Operators whose two tiles have one shape, but for dimensions of one element."""


def tile_operator(node: Any) -> str:
    """Return the name of the operator on tiles that a node calls, "copy"; "" where it calls none."""
    name = str(getattr(node.op, "name", "")) if type(node) is tirx.Call else ""
    return name.removeprefix(OPERATOR) if name.startswith(OPERATOR) else ""


def tiles_fit(func: Any) -> bool:
    """Whether the tiles of each operator lie within their buffers and are of shapes that go together.

    Tensors in global memory may end within a tile. Says no where an operator is not known here.
    """
    tree = Tree(func)
    return all(_fits(site) for site in tree.sites if tile_operator(site.node))


def _fits(site: Site) -> bool:
    name = tile_operator(site.node)
    if any(type(above.node) is tirx.For and int(above.node.kind) == PARALLEL for above in site.ancestors()):
        return False
    arguments = array_items(site.node.args)
    regions = [argument for argument in arguments if _is_region(argument)]
    if not all(map(_lies_within, regions)):
        return False
    extents = [[constant_int(extent) for extent in array_items(region.args)[2:]] for region in regions]
    if any(None in shape for shape in extents):
        return False
    if name in _ALIKE:
        return _long(extents[0]) == _long(extents[1])
    if name == "reduce":
        dim = constant_int(arguments[3])
        if dim is None or not 0 <= dim < len(extents[0]):
            return False
        return _long(extents[0][:dim] + extents[0][dim + 1 :]) == _long(extents[1])
    return name == "fill"


def _is_region(argument: Any) -> bool:
    return type(argument) is tirx.Call and str(argument.op.name) == "tl.region"


def _long(shape: list[int | None]) -> list[int | None]:
    return [extent for extent in shape if extent != 1]


def _lies_within(region: Any) -> bool:
    load, _, *extents = array_items(region.args)
    mins, shape = array_items(load.indices), array_items(load.buffer.shape)
    if len(extents) != len(shape):
        return False
    if str(load.buffer.scope()) in ("", "global"):
        return True
    for low, extent, size in zip(mins, extents, shape, strict=True):
        first, count, most = constant_int(low), constant_int(extent), constant_int(size)
        if count is None or most is None or count > most or (first is not None and first + count > most):
            return False
    return True
