"""Fewer and simpler buffers and parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from tzerlike.core.shrink import spans
from tzerlike.systems.tvm_api import (
    array_items,
    function_with,
    is_buffer,
    is_variable,
    params_of,
    s_tir,
    source_of,
    tirx,
    tvm,
    type_of,
)
from tzerlike.tir.buffers import has_usual_offset, like, usual_offset
from tzerlike.tir.node import dtype_of, key, seq, variables_in
from tzerlike.tir.order import USUAL_ALIGNMENT, extents_below
from tzerlike.tir.reducers.program import (
    Make,
    block_with,
    buffers_of,
    mapped,
    number,
    scalar_type,
    unusually_laid_out,
    with_layout,
    with_values,
    without,
)
from tzerlike.tir.scope import constant_int, shape_variables
from tzerlike.tir.tree import Site, Tree


def without_buffers(tree: Tree) -> Iterator[Make]:
    """Leave out buffers with all that is done with them, several at a time, and numbers that are parameters; of one
    input its sizes stay, or the indices that are read."""
    buffers = buffers_of(tree)
    for start, stop in spans(len(buffers)):
        yield partial(without, tree, (), buffers[start:stop])
    for param in filter(is_buffer, params_of(tree.func)):
        if list(shape_variables(param)):
            yield partial(_sizes_alone, tree, param)
        yield partial(_without_input, tree, param)
    for var, values in _numbers(tree):
        for value in values:
            if (constant := number(scalar_type(var), value)) is not None:
                yield partial(_with_number, tree, var, constant)


def _without_input(tree: Tree, buffer: Any) -> Any:
    """The function with the last index of what is read of a parameter in place of that; None where it is written."""
    if any(key(site.node.buffer) == key(buffer) for site in tree.of_type(tirx.BufferStore)):
        return None

    def change(site: Site, node: Any) -> Any:
        if type(node) is not tvm.ir.TensorLoad or key(source_of(node)) != key(buffer) or not node.indices:
            return node
        index = array_items(node.indices)[-1]
        return index if dtype_of(index) == site.dtype else tirx.Cast(site.dtype, index)

    return without(Tree(tree.rewrite(change)), (), [buffer])


def _sizes_alone(tree: Tree, buffer: Any) -> Any:
    """The function with the sizes of a parameter as parameters in its place, those that no other parameter defines."""
    func = without(tree, (), [buffer])
    left = params_of(func)
    known = {key(var) for param in left for var in (shape_variables(param) if is_buffer(param) else [param])}
    sizes = {key(var): var for var in shape_variables(buffer) if key(var) not in known}
    return function_with(func, func.body, params=[*sizes.values(), *left])


def _numbers(tree: Tree) -> list[tuple[Any, tuple[int, ...]]]:
    """The parameters that are numbers, and the variables that shapes of parameters define, with values to try."""
    params = params_of(tree.func)
    sizes = {key(var): var for param in params if is_buffer(param) for var in shape_variables(param)}
    found = [(param, (0, 1)) for param in params if not is_buffer(param) and key(param) not in sizes]
    return found + [(var, (1, 2, 4)) for var in sizes.values()]


def _with_number(tree: Tree, var: Any, constant: Any) -> Any:
    params = [param for param in params_of(tree.func) if key(param) != key(var)]
    return with_values(tree.func, {key(var): constant}, params)


def given_buffers(tree: Tree) -> Iterator[Make]:
    """A parameter in place of memory that the function allocates: what fills it may then go, at once or later."""
    for site in tree.of_type(tirx.AllocBuffer, s_tir.SBlock):
        allocated = [site.node.buffer] if type(site.node) is tirx.AllocBuffer else array_items(site.node.alloc_buffers)
        for buffer in allocated:
            ty = type_of(buffer)
            known = all(constant_int(extent) is not None for extent in array_items(ty.shape))
            if known and str(ty.storage_scope) == "global":
                yield partial(_given, tree, buffer, filled=True)
                yield partial(_given, tree, buffer, filled=False)


def _given(tree: Tree, buffer: Any, *, filled: bool) -> Any:
    """The function with a parameter for a buffer, and with the blocks that only write to it unless it is `filled`."""

    def change(site: Site, node: Any) -> Any:
        if type(node) is s_tir.SBlockRealize and not filled:
            written = {key(source_of(region)) for region in array_items(node.block.writes)}
            return seq([]) if written == {key(buffer)} else node
        if type(node) is tirx.AllocBuffer and key(node.buffer) == key(buffer):
            return seq([])
        if type(node) is s_tir.SBlock:
            kept = [one for one in array_items(node.alloc_buffers) if key(one) != key(buffer)]
            return node if len(kept) == len(node.alloc_buffers) else block_with(node, alloc_buffers=kept)
        return node

    return tree.rewrite(change, [*params_of(tree.func), buffer])


def plainer_buffers(tree: Tree) -> Iterator[Make]:
    """Buffers without strides, offset, alignment or memory of their own, with the usual layout."""
    if unusual := unusually_laid_out(tree):
        yield lambda: with_values(tree.func, {key(buffer): with_layout(buffer) for buffer in unusual})
    for buffer in buffers_of(tree):
        ty = type_of(buffer)
        plain = dict(strides=[], offset=usual_offset(buffer), factor=1, alignment=USUAL_ALIGNMENT, scope="global")
        odd = {
            "strides": bool(array_items(ty.strides)),
            "offset": not has_usual_offset(buffer),
            "factor": int(ty.offset_factor) != 1,
            "alignment": int(ty.data_alignment) != USUAL_ALIGNMENT,
            "scope": str(ty.storage_scope) != "global",
        }
        chosen = [name for name in plain if odd[name]]
        for start, stop in spans(len(chosen)):
            changes = {name: plain[name] for name in chosen[start:stop]}
            yield partial(_like, tree, buffer, changes)


def _like(tree: Tree, buffer: Any, changes: dict[str, Any]) -> Any:
    return with_values(tree.func, {key(buffer): like(buffer, **changes)})


def smaller_buffers(tree: Tree) -> Iterator[Make]:
    """Buffers of fewer dimensions, whose indices go with them, and of smaller extents."""
    for buffer in buffers_of(tree):
        shape = array_items(type_of(buffer).shape)
        for start, stop in spans(len(shape)):
            yield partial(with_dimensions, tree.func, buffer, [p for p in range(len(shape)) if not start <= p < stop])
        for place, extent in enumerate(shape):
            for shorter in extents_below(extent):
                yield partial(_with_number_for_extent, tree, buffer, place, shorter)
            for var in () if is_variable(extent) else variables_in(extent):
                if dtype_of(var) == dtype_of(extent):
                    yield partial(_with_extent, tree, buffer, place, var)


def _with_number_for_extent(tree: Tree, buffer: Any, place: int, extent: int) -> Any:
    # Passes leave buffers with vectors for extents, of which there are no constants.
    dtype = type_of(array_items(type_of(buffer).shape)[place]).dtype
    return _with_extent(tree, buffer, place, tirx.IntImm(dtype, extent))


def _with_extent(tree: Tree, buffer: Any, place: int, extent: Any) -> Any:
    shape = array_items(type_of(buffer).shape)
    shape[place] = extent
    return _like(tree, buffer, {"shape": shape, "strides": array_items(type_of(buffer).strides)})


def with_dimensions(func: Any, buffer: Any, kept: Sequence[int]) -> Any:
    """Return the function with only the dimensions `kept` of a buffer; None where there are none.

    TVM makes buffers of fewer strides than dimensions too.
    """
    if not kept:
        return None

    def chosen(given: Any) -> list[Any]:
        items = array_items(given)
        return [items[p] for p in kept if p < len(items)]

    ty = type_of(buffer)
    new = like(buffer, shape=chosen(ty.shape), strides=chosen(ty.strides))

    # Nodes come children first: by the time an access is seen, it is one of the new buffer.
    return mapped(
        func,
        (tirx.Var, lambda var: new if key(var) == key(buffer) else var),
        (tvm.ir.TensorLoad, lambda n: tirx.BufferLoad(new, chosen(n.indices)) if source_of(n).same_as(new) else n),
        (tirx.BufferStore, lambda n: tirx.BufferStore(new, n.value, chosen(n.indices)) if n.buffer.same_as(new) else n),
        (tvm.ir.TensorRegion, lambda n: tirx.BufferRegion(new, chosen(n.region)) if source_of(n).same_as(new) else n),
    )
