"""Simpler expressions: constants and parts in place of whole expressions, smaller numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import copysign, inf
from operator import add, mul, sub
from typing import Any

from tzerlike.core.dtypes import parse
from tzerlike.core.shrink import spans
from tzerlike.systems.tvm_api import (
    array_items,
    call_with,
    operator_name,
    source_of,
    structural_hash,
    structural_map,
    structural_walk,
    tirx,
    tvm,
    type_of,
)
from tzerlike.tir.hole import IMMEDIATES, needs_constant
from tzerlike.tir.node import dtype_of, key
from tzerlike.tir.order import simpler_numbers
from tzerlike.tir.reducers.program import Make, mapped, number, scalar_type
from tzerlike.tir.tree import Kind, Site, Tree

_FOLDED: Mapping[Any, Callable[[int, int], int]] = {tirx.Add: add, tirx.Sub: sub, tirx.Mul: mul}
_DIVISIONS = (tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod)


def constant_values(tree: Tree) -> Iterator[Make]:
    """0 in place of what runs of statements store or bind, and 0 for the indices of what they read and write; an index
    in place of the 0 that is stored there."""
    for roles in (("value",), ("indices",)):
        tops = [site for site in _tops(tree) if site.role in roles and not is_constant(site.node)]
        for start, stop in spans(len(tops)):
            yield partial(_zeroed, tree, tops[start:stop])
    stores = [site for site in tree.of_type(tirx.BufferStore) if is_constant(site.node.value)]
    for start, stop in spans(len(stores)):
        yield partial(_storing_indices, tree, stores[start:stop])


def _storing_indices(tree: Tree, stores: list[Site]) -> Any:
    """The function with stores of an index at 0, in place of a number at the index: what is one node for each round
    stays that, and is in bounds."""
    changes = []
    for site in stores:
        node, indices = site.node, array_items(site.node.indices)
        named = [index for index in indices if not is_constant(index) and dtype_of(index) == dtype_of(node.value)]
        if named:
            zeros = [tirx.IntImm(dtype_of(index), 0) for index in indices]
            changes.append((site, tirx.BufferStore(node.buffer, named[0], zeros)))
    return tree.replace_all(changes) if changes else None


def constant_bounds(tree: Tree) -> Iterator[Make]:
    """Numbers for the bounds of loops and for divisors, which say little of a bug and are hard to read."""
    sites = [site for site in tree.expressions() if _bounds(site) and not is_constant(site.node)]
    # What is in another one goes with it.
    numbers = {site.number for site in sites}
    tops = [site for site in sites if not any(above.number in numbers for above in site.ancestors())]
    for start, stop in spans(len(tops)):
        for value in (1, 2):
            yield partial(_numbers_for, tree, tops[start:stop], value)


def _bounds(site: Site) -> bool:
    above = None if site.parent is None else type(site.parent.node)
    return site.role in ("min", "extent", "step") or (site.role == "b" and above in _DIVISIONS)


def _numbers_for(tree: Tree, sites: list[Site], value: int) -> Any:
    """The function with a number for what bounds and divides, 0 where a loop starts."""
    changes = [(site, number(site.dtype, 0 if site.role == "min" else value)) for site in sites]
    return tree.replace_all([(site, node) for site, node in changes if node is not None])


def _tops(tree: Tree) -> list[Site]:
    return [site for site in tree.expressions() if site.parent is not None and site.parent.kind is Kind.STMT]


def is_constant(node: Any) -> bool:
    """Whether an expression is a number, or a vector of one number."""
    return type(node.value if type(node) is tirx.Broadcast else node) in (tirx.IntImm, tirx.FloatImm)


def _zeroed(tree: Tree, sites: list[Site]) -> Any:
    changes = [(site, zero) for site in sites if (zero := number(site.dtype, 0)) is not None]
    return tree.replace_all(changes) if changes else None


def simpler_expressions(tree: Tree) -> Iterator[Make]:
    """For each expression, the largest first: a constant, or one of the expressions of its dtype that it is made of.

    What stands in several places is replaced in all of them first; then each expression by those just below it, and
    only then by what is deeper, which is a lot.
    """
    sites = [site for site in tree.expressions() if not is_constant(site.node) and site.dtype]
    sites.sort(key=lambda site: -site.size)
    made: dict[int, tuple[list[Any], list[Any]]] = {}

    def parts(site: Site) -> tuple[list[Any], list[Any]]:
        if site.number not in made:
            made[site.number] = _parts(tree, site)
        return made[site.number]

    for alike in _repeated(sites):
        for node in (*_constants(alike[0]), *parts(alike[0])[0]):
            yield partial(tree.replace_all, [(site, node) for site in alike])
    for site in sites:
        for node in (*_constants(site), *parts(site)[0]):
            yield partial(tree.replace, site, node)
    for site in sites:
        for node in parts(site)[1]:
            yield partial(tree.replace, site, node)


def casts_of_parts(tree: Tree) -> Iterator[Make]:
    """For each expression, the largest first: a cast of something that it is made of, smallest first. Where what
    stands between them changes the dtype, no part is of the expression's own."""
    for site in sorted(tree.expressions(), key=lambda site: -site.size):
        if needs_constant(site):
            continue
        parts = {structural_hash(below.node): below for below in tree.below(site)[1:] if _castable(below, site)}
        for below in sorted(parts.values(), key=lambda below: below.size):
            yield partial(_cast, tree, site, below.node)


def _castable(part: Site, whole: Site) -> bool:
    """Whether a cast of `part` to the dtype of `whole` is smaller than that, and keeps numbers as they are mostly."""
    source, target = parse(part.dtype), parse(whole.dtype)
    if source is None or target is None or source == target or source.lanes != target.lanes:
        return False
    kept = (source.is_int and (target.is_int or target.is_float)) or (source.is_float and target.is_float)
    return kept and part.size + 1 < whole.size and not is_constant(part.node)


def _cast(tree: Tree, site: Site, part: Any) -> Any:
    return tree.replace(site, tirx.Cast(site.dtype, part))


def folded(tree: Tree) -> Iterator[Make]:
    """Numbers in place of sums and products of numbers, in shapes and regions too, which are no places of the tree."""
    yield lambda: mapped(tree.func, *((kind, partial(_of_numbers, by)) for kind, by in _FOLDED.items()))


def _of_numbers(by: Callable[[int, int], int], node: Any) -> Any:
    if type(node.a) is not tirx.IntImm or type(node.b) is not tirx.IntImm:
        return node
    made = number(dtype_of(node), by(int(node.a.value), int(node.b.value)))
    return node if made is None else made


def _repeated(sites: list[Site]) -> Iterator[list[Site]]:
    """Places of one and the same expression, where there are several and it is more than a name."""
    places: dict[int, list[Site]] = {}
    for site in sites:
        if site.size > 1 and not needs_constant(site):
            places.setdefault(structural_hash(site.node), []).append(site)
    return (alike for alike in places.values() if len(alike) > 1)


def _constants(site: Site) -> list[Any]:
    return [node for value in _values(site) if (node := number(site.dtype, value)) is not None]


def _parts(tree: Tree, site: Site) -> tuple[list[Any], list[Any]]:
    """The expressions of its dtype that an expression is made of, each once: the nearest, and those in them. Numbers
    are such only of an extent, where size may be what matters."""
    nearest: dict[int, Any] = {}
    deeper: dict[int, Any] = {}
    end = site.number
    for below in [] if needs_constant(site) else tree.below(site)[1:]:
        if below.dtype == site.dtype and (site.role == "extent" or not is_constant(below.node)):
            near = below.number >= end
            (nearest if near else deeper).setdefault(structural_hash(below.node), below.node)
            end = below.end if near else end
    return list(nearest.values()), [node for known, node in deeper.items() if known not in nearest]


def _values(site: Site) -> tuple[int, ...]:
    """The constants worth trying at a place: no loop without an iteration, and blocks that run."""
    if site.role == "extent":
        return (1, 2)
    return (1, 0) if site.dtype == "bool" else (0, 1)


def smaller_sizes(tree: Tree) -> Iterator[Make]:
    """A smaller number wherever one stands, in shapes and loops at once, the largest first."""
    found: set[int] = set()
    structural_walk(tree.func, (tirx.IntImm, lambda node: found.add(int(node.value))))
    for value in sorted((value for value in found if value > 1), reverse=True):
        for nearer in (1, 2, 4, value // 2):
            if nearer < value:
                yield partial(_everywhere, tree, value, nearer)


def smaller_numbers(tree: Tree) -> Iterator[Make]:
    """Each number closer to zero, place by place."""
    for site in tree.of_type(tirx.IntImm):
        for nearer in (1,) if site.dtype == "bool" else simpler_numbers(int(site.node.value)):
            if nearer > 0 or site.role != "extent":
                yield partial(_numbered, tree, site, nearer)
    for site in tree.of_type(tirx.FloatImm):
        value = float(site.node.value)
        powers = (copysign(10.0**power, value) for power in _POWERS if 10.0**power < abs(value) < inf)
        for simple in (0.0, 1.0, *powers):
            yield partial(tree.replace, site, tirx.FloatImm(site.dtype, simple))


_POWERS = (1, 4, 16, 39, 128)
"""Of ten: the fourth is the first one that float32 has not."""


def _everywhere(tree: Tree, old: int, new: int) -> Any:
    def change(node: Any) -> Any:
        return tirx.IntImm(type_of(node).dtype, new) if int(node.value) == old else node

    return mapped(tree.func, (tirx.IntImm, change))


def _numbered(tree: Tree, site: Site, value: int) -> Any:
    node = number(site.dtype, value)
    return None if node is None else tree.replace(site, node)


def usual_dtypes(tree: Tree) -> Iterator[Make]:
    """One dtype wherever another one stands: int32 for integers, float32 for floats, one lane for several.

    Not where a call depends on the dtypes of its operands in its own way, nor for dtypes whose bits are read as those
    of another.
    """
    calls = [site.node for site in tree.of_type(tvm.ir.Call)]
    if any(_particular(call) for call in calls):
        return
    found: set[str] = set()
    types = (tvm.ir.PrimType, lambda ty: found.add(str(ty.dtype)))
    structural_walk(tree.func, (types, (tirx.IntImm, lambda node: found.add(dtype_of(node)))))
    for call in calls:
        if operator_name(call) == "tirx.reinterpret":
            found -= {dtype_of(call), *(dtype_of(given) for given in array_items(call.args))}
    for old in sorted(found):
        for new in _usual(old):
            yield partial(_retyped, tree, old, new)


def _particular(call: Any) -> bool:
    name = operator_name(call)
    return name in IMMEDIATES or name in ("tirx.call_extern", "tirx.call_pure_extern")


def _usual(dtype: str) -> Iterator[str]:
    base = dtype.partition("x")[0]
    if base != dtype:
        yield base
    elif dtype.startswith(("float", "bfloat")) and dtype != "float32":
        yield "float32"
    elif dtype.startswith(("int", "uint")) and dtype != "int32":
        yield "int32"


def _retyped(tree: Tree, old: str, new: str) -> Any:
    into = tvm.ir.PrimType(new)
    made: dict[int, Any] = {}

    def of_var(var: Any) -> Any:
        return made.setdefault(key(var), tirx.Var(str(var.name), into)) if scalar_type(var) == old else var

    types = (tvm.ir.PrimType, lambda ty: into if str(ty.dtype) == old else ty)
    # Shapes and extents are no places of the tree.
    func = structural_map(tree.func, (types, (tirx.IntImm, lambda node: _typed(node, old, into)), (tirx.Var, of_var)))
    # The map does not come to the types of expressions.
    return Tree(func).rewrite(lambda site, node: _typed(node, old, into))


def _typed(node: Any, old: str, into: Any) -> Any:
    """An expression of the dtype `into` where it says that it is of the old one; what is loaded is of its buffer's."""
    kind = type(node)
    if kind is tvm.ir.TensorLoad:
        return tirx.BufferLoad(source_of(node), array_items(node.indices))
    if kind not in (tirx.IntImm, tirx.FloatImm, tirx.Cast, tvm.ir.Call) or dtype_of(node) != old:
        return node
    if kind is tvm.ir.Call:
        return call_with(node, array_items(node.args), into)
    if kind is tirx.Cast:
        return tirx.Cast(into, node.value)
    text = str(into.dtype)
    return tirx.FloatImm(text, float(node.value)) if "float" in text else tirx.IntImm(text, int(node.value))
