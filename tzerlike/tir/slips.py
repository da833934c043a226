"""What a schedule primitive did wrong, by the form of a program before and after: the effect on values is chance.

It says nothing of whether the outcome is wrong; of one that is, it tells causes apart.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from types import MappingProxyType
from typing import Any

from tzerlike.systems import tvm_api
from tzerlike.systems.tvm_api import array_items, is_buffer, name_of, params_of, s_tir, source_of, tirx, tvm
from tzerlike.tir.node import accessed_by, dtype_of, is_choice, key, substitute, variables_in
from tzerlike.tir.scope import constant_int
from tzerlike.tir.tree import Site, Tree, in_init

_ITERATIONS = 256
"""Of loops that are looked at one by one, at most."""

_CHOICES = {tirx.IfThenElse: ("then_case", "else_case"), tirx.Select: ("true_value", "false_value")}


def slips_of(before: Any, after: Any) -> tuple[tuple[str, str], ...]:
    """Return what a primitive did wrong, in a word each, and the name of a buffer or a block that shows it."""
    trees = Tree(before), Tree(after)
    found = ((word, next(iter(sorted(slip(*trees))), "")) for word, slip in SLIPS.items())
    return tuple((word, name) for word, name in found if name)


def _writer_lost(before: Tree, after: Tree) -> set[str]:
    """Memory that is still read, and that nothing writes any more, be it through a view."""
    params = {name_of(param) for param in params_of(after.func) if is_buffer(param)}
    blocks = (site.node for site in after.of_type(s_tir.SBlock))
    viewed = {name_of(source_of(match.source)) for block in blocks for match in array_items(block.match_buffers)}
    stored, left = (
        {name_of(accessed_by(site.node)) for site in tree.of_type(tirx.BufferStore)} for tree in (before, after)
    )
    read = {name_of(accessed_by(site.node)) for site in after.of_type(tvm.ir.TensorLoad)}
    return (read & stored) - left - viewed - params


def _read_too_early(before: Tree, after: Tree) -> set[str]:
    """Memory that is read before anything writes it, and was not."""
    return _early(after) - _early(before)


def _early(tree: Tree) -> set[str]:
    """The memory of a program that the first statement to access it reads, and a later one writes."""
    params = {name_of(param) for param in params_of(tree.func) if is_buffer(param)}
    reads: dict[str, int] = {}
    writes: dict[str, int] = {}
    for site, name in _accesses(tree):
        block = _block_of(site)
        known = writes if type(site.node) is tirx.BufferStore else reads
        known.setdefault(name, -1 if block is None else block.number)
    return {name for name, place in writes.items() if name not in params and reads.get(name, place) < place}


def _guard_lost(before: Tree, after: Tree) -> set[str]:
    """Buffers that some access is made to without a condition, where all had one, and that is what is wrong."""
    lost = (_guarded(before, True) - _guarded(before, False)) & _guarded(after, False)
    return {name for name in lost if not _astray_within(before, after, name)}


def _astray_within(before: Tree, after: Tree, name: str) -> bool:
    """Whether a buffer is accessed out of its bounds in some iteration in which the conditions on it did hold."""
    conditions = [one for site, at in _accesses(before) if at == name for one in _conditions(site)]
    for site, at in _accesses(after):
        for point in _iterations(site) if at == name else ():
            buffer: Any = accessed_by(site.node)
            places = zip(_places_of(site), array_items(buffer.shape), strict=True)
            inside = all(_within(_at(place, site, point), extent) for place, extent in places)
            if not inside and all(_holds(_at(condition, above, point)) for condition, above in conditions):
                return True
    return False


def _iterations(site: Site) -> Iterator[Mapping[str, int]]:
    """The iterations of the loops around a site, by the names of their variables; none where they are too many, or not
    known."""
    loops = [above.node for above in site.ancestors() if type(above.node) is tirx.For]
    extents = [constant_int(loop.extent) if constant_int(loop.min) == 0 else None for loop in loops]
    known = [extent for extent in extents if extent is not None]
    names = [str(loop.loop_var.name) for loop in loops]
    if len(known) == len(loops) and len(set(names)) == len(names) and math.prod(known) <= _ITERATIONS:
        for numbers in product(*map(range, known)):
            yield dict(zip(names, numbers, strict=True))


def _at(expr: Any, site: Site, point: Mapping[str, int]) -> Any:
    """An expression at a site in an iteration."""
    for above in site.ancestors():
        if type(above.node) is s_tir.SBlockRealize:
            expr = substitute(expr, _bound(above.node))
        elif type(above.node) is tirx.For and (number := point.get(str(above.node.loop_var.name))) is not None:
            expr = substitute(expr, {key(above.node.loop_var): tirx.IntImm(dtype_of(above.node.loop_var), number)})
    return tvm_api.part("sym").Analyzer().simplify(expr)


def _within(place: Any, extent: Any) -> bool:
    """Whether an index is in bounds, or is not known."""
    index, size = constant_int(place), constant_int(extent)
    return index is None or size is None or 0 <= index < size


def _holds(condition: Any) -> bool:
    return bool(constant_int(condition))


def _guarded(tree: Tree, wanted: bool) -> set[str]:
    return {name for site, name in _accesses(tree) if _is_guarded(site) is wanted}


def _is_guarded(site: Site) -> bool:
    """Whether an access is made under a condition on what it accesses that may be false: one on other loops decides how
    often."""
    return any(
        _loops_in([condition], above) & _loops_in(_places_of(site), site) and not _always(condition, above)
        for condition, above in _conditions(site)
    )


def _always(condition: Any, site: Site) -> bool:
    """Whether a condition at a site holds in all iterations of the loops and blocks that it is in."""
    analyzer = tvm_api.part("sym").Analyzer()
    for above in site.ancestors():
        if type(above.node) is tirx.For:
            analyzer.bind(above.node.loop_var, tvm.ir.Range.from_min_extent(above.node.min, above.node.extent))
        elif type(above.node) is s_tir.SBlock:
            for axis in array_items(above.node.iter_vars):
                analyzer.bind(axis.var, axis.dom)
    return bool(analyzer.can_prove(condition))


def _conditions(site: Site) -> Iterator[tuple[Any, Site]]:
    """The conditions above a site, and where they are made."""
    below = site
    for above in site.ancestors():
        node = above.node
        if below.role in _CHOICES.get(type(node), ()):
            yield node.condition, above
        elif is_choice(node) and below.index > 0:
            yield node.args[0], above
        elif type(node) is s_tir.SBlockRealize and type(node.predicate) is not tirx.IntImm:
            yield node.predicate, above
        below = above


def _places_of(site: Site) -> list[Any]:
    return list(array_items(site.node.indices))


def _loops_in(exprs: Iterable[Any], site: Site) -> set[int]:
    """The variables in expressions at a site, the loops that blocks bind their axes to in place of the axes."""
    found = {key(var) for expr in exprs for var in variables_in(expr)}
    for above in site.ancestors():
        if type(above.node) is s_tir.SBlockRealize:
            bound = _bound(above.node)
            inner = found & bound.keys()
            found = (found - inner) | {key(var) for axis in inner for var in variables_in(bound[axis])}
    return found


def _bound(realize: Any) -> dict[int, Any]:
    """What each axis of a block is bound to."""
    axes = zip(array_items(realize.block.iter_vars), array_items(realize.iter_values), strict=True)
    return {key(axis.var): value for axis, value in axes}


def _fewer_iterations(before: Tree, after: Tree) -> set[str]:
    """Blocks with the axes that they had that loops run over fewer times, by the numbers that they have for extents."""
    runs, left = _runs(before), _runs(after)
    same = (name for name in runs.keys() & left.keys() if runs[name][1] == left[name][1])
    return {name for name in same if left[name][0] < runs[name][0]}


def _runs(tree: Tree) -> dict[str, tuple[int, Counter[str]]]:
    """How often each block is run at most, and its axes, where it has a name of its own and all loops around it have
    numbers."""
    found: dict[str, tuple[int, Counter[str]]] = {}
    names = Counter(str(site.node.name_hint) for site in tree.of_type(s_tir.SBlock))
    for site in tree.of_type(s_tir.SBlock):
        extents = [above.node.extent for above in site.ancestors() if type(above.node) is tirx.For]
        if names[str(site.node.name_hint)] == 1 and all(type(extent) is tirx.IntImm for extent in extents):
            axes = Counter(f"{axis.iter_type} of {axis.dom}" for axis in array_items(site.node.iter_vars))
            found[str(site.node.name_hint)] = math.prod(int(extent.value) for extent in extents), axes
    return found


def _begun_again(before: Tree, after: Tree) -> set[str]:
    """What more blocks than before begin to sum up."""
    return set((_begun(after) - _begun(before)) & _begun(before))


def _begun(tree: Tree) -> Counter[str]:
    """How many blocks begin to sum up in a buffer, by its name; of those of one name, in the one with the most."""
    buffers = (accessed_by(site.node) for site in tree.of_type(tirx.BufferStore) if in_init(site))
    most: Counter[str] = Counter()
    for (name, _), count in Counter((name_of(buffer), key(buffer)) for buffer in buffers).items():
        most[name] = max(most[name], count)
    return most


def _accesses(tree: Tree) -> Iterator[tuple[Site, str]]:
    for site in tree.of_type(tvm.ir.TensorLoad, tirx.BufferStore):
        yield site, name_of(accessed_by(site.node))


def _block_of(site: Site) -> Site | None:
    return next((above for above in site.ancestors() if type(above.node) is s_tir.SBlock), None)


SLIPS: Mapping[str, Callable[[Tree, Tree], set[str]]] = MappingProxyType(
    {
        "writer": _writer_lost,
        "order": _read_too_early,
        "guard": _guard_lost,
        "iterations": _fewer_iterations,
        "beginning": _begun_again,
    }
)
"""Word -> the names that show it, none where a primitive did not do that."""

UNSIGNED = "writer"
"""The word that came after scheme 8 of signatures, and is in none. Where it is said, the others follow from it."""
