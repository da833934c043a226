"""Properties of a program's form that passes preserve and later ones rely on; programs are well-formed and well-typed
without them.

A pass that does not keep it is under suspicion of what a later one fails on, no more: of a failure it is to blame where
that is gone without it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tzerlike.systems.tvm_api import array_items, name_of, s_tir, source_of, tirx, type_of
from tzerlike.tir.node import accessed_by, declares_nothing, key
from tzerlike.tir.tree import Site, Tree

MOST_ELEMENTS = (1 << 31) - 1
"""What has as many elements, or more, was never meant: such an extent stands for a bound that is not known."""

_BY_PLACE = ("buffer_dim_align", "double_buffer_scope")
"""Annotations of a block that name buffers by their places among those that it writes."""


@dataclass(frozen=True, slots=True)
class KeptForm:
    """What counts of a function's form, as text: nothing here keeps a program from being changed in its place.

    `boundless` are buffers that no memory holds, `fixed` those of a size that is known, `changing` the others in
    memory of threads and blocks, with their shapes. `meant` says what buffer a place in an annotation of a block means,
    "" for none. `undeclared` are blocks, other than the root, that access what they do not declare. `misfits` are views
    with constant strides that the memory which they view does not have.
    """

    boundless: tuple[str, ...]
    fixed: frozenset[str]
    changing: Mapping[str, str]
    meant: Mapping[tuple[str, str, int], str]
    undeclared: tuple[str, ...]
    misfits: tuple[str, ...]


def form_of(func: Any) -> KeptForm:
    """Return the form of a function."""
    tree = Tree(func)
    buffers = list(_allocated(tree))
    fixed = [buffer for buffer in buffers if _is_fixed(buffer)]
    changing = [buffer for buffer in buffers if not _is_fixed(buffer) and _is_of_threads(buffer)]
    return KeptForm(
        tuple(_text(buffer) for buffer in buffers if _elements(buffer) >= MOST_ELEMENTS),
        frozenset(map(name_of, fixed)),
        {name_of(buffer): _text(buffer) for buffer in changing},
        _named_by_place(tree),
        tuple(_undeclared(tree)),
        tuple(_misfits(tree)),
    )


def not_kept(before: KeptForm, after: KeptForm) -> tuple[str, str]:
    """The first rule that a pass has not kept, by what a function was and is, and what shows it; ("", "") for none."""
    found = ((rule, broken(before, after)) for rule, broken in KEEPING.items())
    return next(((rule, where) for rule, where in found if where), ("", ""))


def _boundless_made(before: KeptForm, after: KeptForm) -> str:
    """A buffer that no memory holds, where there was none."""
    return "" if before.boundless else next(iter(after.boundless), "")


def _size_left_to_run_time(before: KeptForm, after: KeptForm) -> str:
    """Memory of threads or blocks that had a fixed size."""
    return next((text for name, text in after.changing.items() if name in before.fixed), "")


def _place_taken(before: KeptForm, after: KeptForm) -> str:
    """An annotation that means another buffer than before, or none."""
    for (name, block, place), buffer in before.meant.items():
        now = after.meant.get((name, block, place), buffer)
        if buffer and now != buffer:
            return f"{name} of {block}, which meant {buffer} and means {now or 'nothing'}"
    return ""


def _region_dropped(before: KeptForm, after: KeptForm) -> str:
    """A block that no longer declares what it accesses, where all did."""
    return "" if before.undeclared else next(iter(after.undeclared), "")


def _strides_lost(before: KeptForm, after: KeptForm) -> str:
    """A view whose strides are not those of its memory, as they were."""
    return next((view for view in after.misfits if view not in before.misfits), "")


KEEPING: Mapping[str, Callable[[KeptForm, KeptForm], str]] = MappingProxyType(
    {
        "extent": _boundless_made,
        "fixed size": _size_left_to_run_time,
        "annotation": _place_taken,
        "region": _region_dropped,
        "strides": _strides_lost,
    }
)
"""Rule -> what a pass has not kept; "" where it has."""


def _allocated(tree: Tree) -> Iterator[Any]:
    for site in tree.of_type(tirx.AllocBuffer):
        yield site.node.buffer
    for site in tree.of_type(s_tir.SBlock):
        yield from array_items(site.node.alloc_buffers)


def _is_fixed(buffer: Any) -> bool:
    return all(type(extent) is tirx.IntImm for extent in array_items(type_of(buffer).shape))


def _is_of_threads(buffer: Any) -> bool:
    """Whether each thread, or block of threads, has a buffer of its own."""
    return str(type_of(buffer).storage_scope) not in ("", "global")


def _elements(buffer: Any) -> int:
    """How many elements there are at least."""
    extents = array_items(type_of(buffer).shape)
    return math.prod(int(extent.value) for extent in extents if type(extent) is tirx.IntImm)


def _text(buffer: Any) -> str:
    shape = ", ".join(map(str, array_items(type_of(buffer).shape)))
    return f"{name_of(buffer)} of shape ({shape})"


def _named_by_place(tree: Tree) -> dict[tuple[str, str, int], str]:
    found: dict[tuple[str, str, int], str] = {}
    for site in tree.of_type(s_tir.SBlock):
        written = [name_of(source_of(region)) for region in array_items(site.node.writes)]
        annotations = dict(site.node.annotations or {})
        for name in _BY_PLACE:
            for place in _places(annotations.get(name)):
                meant = written[place] if 0 <= place < len(written) else ""
                found[name, str(site.node.name_hint), place] = meant
    return found


def _places(value: Any) -> Iterator[int]:
    """The places that an annotation begins with: it is a number, or a list of lists."""
    if type(value) in (int, tirx.IntImm):
        yield int(value)
    elif value is not None:
        try:
            yield from [int(array_items(entry)[0]) for entry in array_items(value)]
        except (TypeError, ValueError, IndexError):
            return


def _undeclared(tree: Tree) -> Iterator[str]:
    for site in tree.of_type(s_tir.SBlock):
        block = site.node
        if declares_nothing(block):
            continue
        known = {key(source_of(region)) for region in (*array_items(block.reads), *array_items(block.writes))}
        below = list(tree.below(site))
        known |= {key(buffer) for inner in (site, *below) for buffer in _own(inner)}
        for inner in below:
            accessed = accessed_by(inner.node)
            if accessed is not None and key(accessed) not in known:
                yield f"{str(block.name_hint) or 'a block'} that does not declare {name_of(accessed)}"


def _misfits(tree: Tree) -> Iterator[str]:
    for site in tree.of_type(s_tir.SBlock):
        for match in array_items(site.node.match_buffers):
            source = source_of(match.source)
            had, wanted = _strides(source), _strides(match.buffer, packed=False)
            if wanted and had and had[-len(wanted) :] != wanted:
                yield f"{name_of(match.buffer)}, a view of {name_of(source)} with strides that it does not have"


def _strides(buffer: Any, *, packed: bool = True) -> list[int]:
    """The strides of a buffer in elements, those that follow from its shape where it is `packed`; none where one is
    not known."""
    ty = type_of(buffer)
    own, shape = array_items(ty.strides), array_items(ty.shape)
    if any(type(number) is not tirx.IntImm for number in own or shape):
        return []
    if own or not packed:
        return [int(stride.value) for stride in own]
    return [math.prod(int(extent.value) for extent in shape[place + 1 :]) for place in range(len(shape))]


def _own(site: Site) -> list[Any]:
    """The buffers that a node brings about."""
    node = site.node
    if type(node) is s_tir.SBlock:
        return [*array_items(node.alloc_buffers), *(match.buffer for match in array_items(node.match_buffers))]
    return [node.buffer] if type(node) in (tirx.AllocBuffer, tirx.DeclBuffer) else []
