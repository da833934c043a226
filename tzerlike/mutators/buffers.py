"""Mutators of whole buffers: their dtype, shape, symbolic extents, memory and layout. Every access follows.

Where the mutation is done in defined mode the function computes the same, up to the precision of the
new dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from tzerlike.mutators.protocol import MutationEnv
from tzerlike.systems.tvm_api import array_items, params_of, s_tir, source_of, tirx, tvm, type_of
from tzerlike.tir import dtypes
from tzerlike.tir.buffers import like
from tzerlike.tir.node import key
from tzerlike.tir.reducers.program import with_domains
from tzerlike.tir.scope import PARALLEL, SERIAL, Names, constant_int, names_in
from tzerlike.tir.tree import Site, Tree, refresh_regions

_Indices = list[Any]

VECTOR_ODDS = 6
"""One in so many changes of a buffer's dtype is to vectors."""

VECTOR_LANES = (2, 4)
"""Lanes of an element that the code generators for llvm and cuda both have a type for, whatever the dtype."""


def buffer_dtype(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Keep a buffer in another dtype, cast at every access: low precision, narrow and wide integers, float8, int4.

    Or in vectors of its dtype: every lane is written, one is read.
    """
    tree = Tree(func)
    defined = rng.random() < env.defined_weight
    dtypes_of = [(b, d) for b in all_buffers(tree) if (d := dtypes.parse(_dtype(b))) is not None and d.lanes == 1]
    candidates = [(b, d) for b, d in dtypes_of if only_accessed(tree, b)]
    if not candidates:
        return None
    old, have = rng.choice(candidates)
    if rng.randrange(VECTOR_ODDS) == 0 and not have.is_bool and scalar_accesses(tree, old):
        return _in_vectors(tree, old, have, rng)
    chosen = rng.choice([d for d in _dtypes_for(have, defined, rng) if d != have.scalar])
    new = like(old, dtype=chosen)

    def lanes(expr: Any, scalar: str) -> str:
        parsed = dtypes.parse(str(type_of(expr).dtype))
        return dtypes.with_lanes(scalar, parsed.lanes, parsed.scalable) if parsed is not None else scalar

    return retarget(
        tree,
        old,
        new,
        read=lambda load: tirx.Cast(lanes(load, have.scalar), load),
        write=lambda value: tirx.Cast(lanes(value, chosen), value),
    )


def _in_vectors(tree: Tree, old: Any, have: dtypes.DType, rng: Random) -> Any:
    """The function with vectors for the elements of the buffer `old`, which is accessed one element at a time."""
    lanes = rng.choice(VECTOR_LANES)
    lane = tirx.IntImm("int32", rng.randrange(lanes))
    return retarget(
        tree,
        old,
        like(old, dtype=dtypes.with_lanes(have.scalar, lanes)),
        read=lambda load: tirx.Shuffle([load], [lane]),
        write=lambda value: tirx.Broadcast(value, tirx.IntImm("int32", lanes)),
    )


def buffer_shape(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Give a buffer another shape and rewrite its indices: unit, padded, permuted, merged or split dimensions."""
    tree = Tree(func)
    candidates = [b for b in all_buffers(tree) if _plain(b) and scalar_accesses(tree, b)]
    if not candidates:
        return None
    old = rng.choice(candidates)
    shape = array_items(type_of(old).shape)
    changes = [change for change in _SHAPE_CHANGES if change(shape, Random(0)) is not None]
    made = rng.choice(changes)(shape, rng)
    if made is None:
        return None
    extents, indices = made
    return retarget(tree, old, like(old, shape=extents), indices=indices)


def symbolic_shape(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Turn one constant extent into a symbolic one: in the shapes of parameters, in the loops that have it, and in the
    axes of blocks that are such a loop."""
    tree = Tree(func)
    params = params_of(func)
    buffers = [p for p in params if tirx.is_buffer_var(p) and _plain(p) and only_accessed(tree, p)]
    constants = sorted(
        {n for p in buffers for e in array_items(type_of(p).shape) if (n := constant_int(e)) is not None and n > 1}
    )
    if not constants:
        return None
    number = rng.choice(constants)
    var = tirx.Var(Names(names_in(func, tree)).fresh("n"), "int32")
    renewed: dict[int, Any] = {}
    for param in buffers:
        extents = array_items(type_of(param).shape)
        if any(constant_int(e) == number and str(type_of(e).dtype) == "int32" for e in extents):
            shape = [var if constant_int(e) == number and str(type_of(e).dtype) == "int32" else e for e in extents]
            renewed[key(param)] = like(param, shape=shape)
    if not renewed:
        return None
    every = rng.randrange(3) > 0
    loops = [s.node for s in tree.of_type(tirx.For) if every and int(s.node.kind) in (SERIAL, PARALLEL)]
    stretched = {key(loop.loop_var) for loop in loops if _has_extent(loop.extent, number)}

    def change(site: Site, node: Any) -> Any:
        if site.role == "extent" and site.parent is not None and key(site.parent.node.loop_var) in stretched:
            return var
        if type(node) is s_tir.SBlockRealize:
            return _with_axes_of(node, stretched, number, var)
        return _moved(node, renewed)

    return tree.rewrite(change, [renewed.get(key(p), p) for p in params])


def _has_extent(node: Any, number: int) -> bool:
    return constant_int(node) == number and str(type_of(node).dtype) == "int32"


def _with_axes_of(realize: Any, loops: set[int], number: int, extent: Any) -> Any:
    """A block whose axes that are such loops, with `number` iterations, have another extent."""
    bound = zip(array_items(realize.block.iter_vars), array_items(realize.iter_values), strict=True)
    places = [
        place
        for place, (axis, value) in enumerate(bound)
        if type(value) is tirx.Var and key(value) in loops and _has_extent(axis.dom.extent, number)
    ]
    return with_domains(realize, dict.fromkeys(places, extent)) if places else realize


def buffer_layout(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Change where a buffer lies: storage scope, strides, element offset, alignment, or drop its tile layout."""
    tree = Tree(func)
    defined = rng.random() < env.defined_weight
    candidates = [b for b in all_buffers(tree) if only_accessed(tree, b)]
    if not candidates:
        return None
    old = rng.choice(candidates)
    ty = type_of(old)
    param = any(p.same_as(old) for p in params_of(func))
    constant = [constant_int(e) for e in array_items(ty.shape)]
    layout = ("layout",) if ty.layout is not None else ()
    choice = rng.choice(("align", "offset" if param else "scope", "strides", *layout))
    if choice == "align":
        new = like(old, alignment=rng.choice((1, 2, 4, 8, 16, 32, 64) if param or defined else (3, 128, 256, 4096)))
    elif choice == "offset":
        # TVMScript takes it for granted that an offset has the dtype of the extents.
        index = str(type_of(array_items(ty.shape)[0]).dtype) if array_items(ty.shape) else "int32"
        new = like(old, offset=tirx.Var(f"{old.name}_offset", index), factor=rng.choice((1, 1, 4, 16)))
    elif choice == "scope":
        scopes = ("global", "local") if env.target == "llvm" and defined else _SCOPES
        new = like(old, scope=rng.choice([s for s in scopes if s != str(ty.storage_scope)]))
    elif choice == "layout":
        new = like(old, layout=None)
    else:
        if not constant or any(extent is None for extent in constant):
            return None
        padding = 0 if defined or param else rng.choice((0, 1, 3))
        strides, step = [], 1
        for extent in reversed(constant):
            strides.append(step)
            step = step * (extent or 1) + padding
        new = like(old, strides=[tirx.IntImm("int32", s) for s in reversed(strides)])
    return retarget(tree, old, new)


def all_buffers(tree: Tree) -> list[Any]:
    """The buffers that a function defines by itself: parameters and allocations, in order."""
    found = [p for p in params_of(tree.func) if tirx.is_buffer_var(p)]
    for site in tree.sites:
        if type(site.node) is tirx.AllocBuffer:
            found.append(site.node.buffer)
        elif type(site.node) is s_tir.SBlock:
            found.extend(array_items(site.node.alloc_buffers))
    return found


def only_accessed(tree: Tree, buffer: Any) -> bool:
    """Whether `buffer` is used by loads and stores alone: by no pointer, view, region match or intrinsic."""
    identity = key(buffer)
    for site in tree.sites:
        kind = type(site.node)
        if kind is tirx.Var and key(site.node) == identity:
            return False
        if kind is s_tir.SBlock and any(
            key(source_of(m.source)) == identity for m in array_items(site.node.match_buffers)
        ):
            return False
        if kind is tvm.ir.Call and str(getattr(site.node.op, "name", "")) == "tirx.address_of":
            return False
    return True


def scalar_accesses(tree: Tree, buffer: Any) -> bool:
    """Whether `buffer` is only accessed, and that one element at a time."""
    identity = key(buffer)
    if not only_accessed(tree, buffer):
        return False
    for site in tree.sites:
        kind = type(site.node)
        if (kind is tvm.ir.TensorLoad and key(source_of(site.node)) == identity) or (
            kind is tirx.BufferStore and key(site.node.buffer) == identity
        ):
            for index in array_items(site.node.indices):
                dtype = dtypes.parse(str(type_of(index).dtype))
                if dtype is None or dtype.lanes != 1 or dtype.scalable:
                    return False
    return True


def retarget(
    tree: Tree,
    old: Any,
    new: Any,
    *,
    indices: Callable[[_Indices], _Indices] = lambda given: given,
    read: Callable[[Any], Any] = lambda load: load,
    write: Callable[[Any], Any] = lambda value: value,
) -> Any:
    """The function with `new` for `old`.

    `indices` maps the indices of an access, `read` wraps a load, `write` a stored value.
    """
    identity = key(old)

    def change(site: Site, node: Any) -> Any:
        kind = type(node)
        if kind is tvm.ir.TensorLoad and key(source_of(node)) == identity:
            return read(tirx.BufferLoad(new, indices(array_items(node.indices))))
        if kind is tirx.BufferStore and key(node.buffer) == identity:
            return tirx.BufferStore(new, write(node.value), indices(array_items(node.indices)))
        return _moved(node, {identity: new})

    return tree.rewrite(change, [new if key(p) == identity else p for p in params_of(tree.func)])


def _moved(node: Any, renewed: dict[int, Any]) -> Any:
    """`node` with other buffers at its accesses and definitions."""
    kind = type(node)
    if kind is tvm.ir.TensorLoad and key(source_of(node)) in renewed:
        return tirx.BufferLoad(renewed[key(source_of(node))], array_items(node.indices))
    if kind is tirx.BufferStore and key(node.buffer) in renewed:
        return tirx.BufferStore(renewed[key(node.buffer)], node.value, array_items(node.indices))
    if kind is tirx.AllocBuffer and key(node.buffer) in renewed:
        return tirx.AllocBuffer(renewed[key(node.buffer)], node.annotations)
    if kind is s_tir.SBlock:
        allocated = array_items(node.alloc_buffers)
        if any(key(b) in renewed for b in allocated):
            allocated = [renewed.get(key(b), b) for b in allocated]
            return refresh_regions(
                s_tir.SBlock(
                    node.iter_vars,
                    node.reads,
                    node.writes,
                    node.name_hint,
                    node.body,
                    node.init,
                    allocated,
                    node.match_buffers,
                    node.annotations,
                )
            )
    return node


_SCOPES = ("global", "local", "shared", "shared.dyn", "warp", "global.vtcm", "wmma.accumulator")


def _dtype(buffer: Any) -> str:
    return str(type_of(buffer).dtype.dtype)


def _plain(buffer: Any) -> bool:
    """Whether a buffer has no strides and no offset of its own."""
    ty = type_of(buffer)
    return not array_items(ty.strides) and constant_int(ty.elem_offset) == 0


def _dtypes_for(have: dtypes.DType, defined: bool, rng: Random) -> Sequence[str]:
    """What a buffer of dtype `have` may become; defined mode keeps to what holds the values."""
    if have.is_float:
        wild: Sequence[str] = (*dtypes.FLOATS, "float8_e4m3fn", "float8_e5m2", "int8", "int32", "uint8")
        return dtypes.FLOATS if defined else wild
    if have.is_bool:
        return ("int8", "uint8", "int32")
    if defined:
        return ("int64", "int32") if have.base == "int" else ("uint64", "uint32")
    return (*dtypes.INTEGERS, *dtypes.UNSIGNED, "int4", "uint4", "float32", "float16")


def _unit(shape: _Indices, rng: Random) -> tuple[_Indices, Callable[[_Indices], _Indices]] | None:
    """A dimension of extent one, somewhere."""
    place = rng.randint(0, len(shape))
    zero, one = tirx.IntImm("int32", 0), tirx.IntImm("int32", 1)
    return [*shape[:place], one, *shape[place:]], lambda given: [*given[:place], zero, *given[place:]]


def _padded(shape: _Indices, rng: Random) -> tuple[_Indices, Callable[[_Indices], _Indices]] | None:
    """A dimension that is longer than what is used of it; accesses may be shifted into it."""
    if not shape or any(constant_int(e) is None for e in shape):
        return None
    place, extra = rng.randrange(len(shape)), rng.choice((1, 1, 2, 7))
    shift = rng.choice((0, 0, 1))
    old = shape[place]
    longer = tirx.IntImm(type_of(old).dtype, int(old.value) + extra)

    def moved(given: _Indices) -> _Indices:
        if not shift:
            return given
        index = given[place]
        return [*given[:place], tirx.Add(index, tirx.IntImm(type_of(index).dtype, 1)), *given[place + 1 :]]

    return [*shape[:place], longer, *shape[place + 1 :]], moved


def _permuted(shape: _Indices, rng: Random) -> tuple[_Indices, Callable[[_Indices], _Indices]] | None:
    """The dimensions in another order."""
    if len(shape) < 2:
        return None
    order = list(range(len(shape)))
    rng.shuffle(order)
    return [shape[i] for i in order], lambda given: [given[i] for i in order]


def _merged(shape: _Indices, rng: Random) -> tuple[_Indices, Callable[[_Indices], _Indices]] | None:
    """Two neighbouring dimensions as one."""
    places = [p for p in range(len(shape) - 1) if constant_int(shape[p]) and constant_int(shape[p + 1])]
    if not places:
        return None
    place = rng.choice(places)
    outer, inner = shape[place], shape[place + 1]
    total = tirx.IntImm("int32", int(outer.value) * int(inner.value))

    def flat(given: _Indices) -> _Indices:
        index = given[place + 1]
        width = tirx.IntImm(type_of(index).dtype, int(inner.value))
        joined = tirx.Add(tirx.Mul(tirx.Cast(str(type_of(index).dtype), given[place]), width), index)
        if type_of(given[place]) == type_of(index):
            joined = tirx.Add(tirx.Mul(given[place], width), index)
        return [*given[:place], joined, *given[place + 2 :]]

    return [*shape[:place], total, *shape[place + 2 :]], flat


def _split(shape: _Indices, rng: Random) -> tuple[_Indices, Callable[[_Indices], _Indices]] | None:
    """One dimension as two, where its extent has a divisor."""
    places = [
        (p, f)
        for p, extent in enumerate(shape)
        for f in (2, 3, 4, 8)
        if (n := constant_int(extent)) and n > f and n % f == 0
    ]
    if not places:
        return None
    place, factor = rng.choice(places)
    outer = tirx.IntImm("int32", int(shape[place].value) // factor)

    def divided(given: _Indices) -> _Indices:
        index = given[place]
        by = tirx.IntImm(type_of(index).dtype, factor)
        return [*given[:place], tirx.FloorDiv(index, by), tirx.FloorMod(index, by), *given[place + 1 :]]

    return [*shape[:place], outer, tirx.IntImm("int32", factor), *shape[place + 1 :]], divided


_SHAPE_CHANGES = (_unit, _padded, _permuted, _merged, _split)
