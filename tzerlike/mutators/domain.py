"""The paper's domain-specific mutators (section 3.3): loop nesting, memory operations, thread binding."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from tzerlike.core.dtypes import DType
from tzerlike.mutators.general import beside, budget
from tzerlike.mutators.generate import make_generator
from tzerlike.mutators.generator import INT32, Generator
from tzerlike.mutators.protocol import MutationEnv
from tzerlike.mutators.statements import THREAD_TAGS, allocate, loop_around, masked_store, store, view
from tzerlike.systems.tvm_api import array_items, op_call, s_tir, source_of, tirx, tvm, type_of
from tzerlike.tir import dtypes
from tzerlike.tir.hole import needs_constant
from tzerlike.tir.node import DEFINING, key, loop_with, seq, substitute
from tzerlike.tir.scope import (
    PARALLEL,
    SERIAL,
    THREAD_BINDING,
    UNROLLED,
    VECTORIZED,
    Names,
    Scope,
    constant_int,
    names_in,
    scope_at,
)
from tzerlike.tir.tree import Site, Tree, jumps_out, left_early, renamed


def loop_nesting(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Put one to three loops of any kind around a statement, with constant or variable extents, and
    sometimes an index that uses the new variables into an access below; or split, peel or divide a loop."""
    tree = Tree(func)
    defined = rng.random() < env.defined_weight
    loops = [s for s in tree.of_type(tirx.For) if not left_early(tree, s)]
    if loops and rng.randrange(2):
        return _reshaped(tree, rng.choice(loops), rng)
    sites = [s for s in wrappable(tree) if not defined or not _accumulates(s)]
    if not sites:
        return None
    site = rng.choice(sites)
    generator = make_generator(tree, rng, env.target, defined)
    scope = scope_at(tree, site)
    kinds = (SERIAL, SERIAL, UNROLLED) if defined else (SERIAL, SERIAL, UNROLLED, VECTORIZED, PARALLEL)
    return tree.replace(site, _wrapped(generator, scope, tree, site, rng.choice((1, 1, 2, 3)), kinds))


def memory_operations(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Add an allocation, a store, a view or a predicated store beside a statement, mix a load into an expression, or
    pass a stored value through a buffer of its own."""
    tree = Tree(func)
    generator = make_generator(tree, rng, env.target, rng.random() < env.defined_weight)
    choice = rng.randrange(6)
    if choice == 0:
        return _staged_store(tree, generator)
    if choice in (1, 2):
        return _mixed_load(tree, generator)
    sites = tree.statements()
    site = rng.choice(sites[1:] or sites)
    scope = scope_at(tree, site)
    make = rng.choice((store, store, allocate, view, masked_store))
    made = make(generator, scope, budget(tree, rng, env))
    return None if made is None else tree.replace(site, beside(site, made, rng))


def predicated_access(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Put a vector load or store under a mask, or guard a store and vectorise the loop around it.

    TVM turns a guard in a vectorised loop into a mask where buffer-level predication is on.
    """
    tree = Tree(func)
    generator = make_generator(tree, rng, env.target, rng.random() < env.defined_weight)
    vectors = [s for s in tree.of_type(tirx.BufferStore, tvm.ir.TensorLoad) if _vector_access(s.node)]
    if vectors and rng.randrange(3):
        return _masked(tree, rng.choice(vectors), generator)
    loops = [s for s in tree.of_type(tirx.For) if not left_early(tree, s) and type(s.node.body) is tirx.BufferStore]
    loops = [s for s in loops if 1 < (constant_int(s.node.extent) or 0) <= 64]
    if generator.defined:
        loops = [s for s in loops if _elementwise(tree, s)]
    if not loops:
        return None
    site = rng.choice(loops)
    node = site.node
    bound = tirx.Add(node.min, tirx.IntImm(type_of(node.loop_var).dtype, rng.randint(1, int(node.extent.value))))
    guarded = tirx.IfThenElse(tirx.LT(node.loop_var, bound), node.body, None)
    return tree.replace(site, loop_with(node, kind=VECTORIZED, body=guarded, thread_binding=None, annotations={}))


def thread_binding(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Bind a statement or a loop to a GPU thread or a virtual thread, or give a thread another tag or extent."""
    tree = Tree(func)
    bound = [s for s in tree.of_type(tirx.For) if int(s.node.kind) == THREAD_BINDING]
    bound += [s for s in tree.of_type(tirx.AttrStmt) if isinstance(s.node.node, tirx.IterVar)]
    if bound and rng.randrange(2):
        return _rebound(tree, rng.choice(bound), rng)
    # the LLVM code generator has no threads, but virtual threads are resolved before it
    virtual = env.target == "llvm" and rng.randrange(10) > 0
    tag = rng.choice(("vthread.x", "vthread.y", "vthread.z", "vthread") if virtual else THREAD_TAGS)
    loops = [s for s in tree.of_type(tirx.For) if not left_early(tree, s) and constant_int(s.node.min) == 0]
    if loops and rng.randrange(2):
        site = rng.choice(loops)
        return tree.replace(
            site,
            loop_with(
                site.node,
                kind=THREAD_BINDING,
                thread_binding=_axis(tag, site.node.loop_var),
                annotations={},
                step=None,
            ),
        )
    sites = wrappable(tree)
    if not sites:
        return None
    site = rng.choice(sites)
    extent = tirx.IntImm("int32", rng.choice((1, 1, 2, 4, 8, 32)))
    var = tirx.Var(Names(names_in(func, tree)).fresh("t"), "int32")
    domain = tvm.ir.Range.from_min_extent(tirx.IntImm("int32", 0), extent)
    attribute = "virtual_thread" if tag.startswith("vthread") else "thread_extent"
    axis = tirx.IterVar(domain, var, tirx.IterVar.ThreadIndex, tag)
    return tree.replace(site, tirx.AttrStmt(axis, attribute, extent, site.node))


def wrappable(tree: Tree) -> list[Site]:
    """Statements that can stand in a loop or under an attribute: they define nothing for others and leave no loop."""
    found = [
        s
        for s in tree.statements()[1:]
        if type(s.node) not in (*DEFINING, tirx.Break, tirx.Continue)
        and not (type(s.node) is s_tir.SBlockRealize and s.parent is not None and s.parent.number == 0)
        and not jumps_out(tree, s)
    ]
    return found or [s for s in tree.statements()[:1] if type(s.node) is not s_tir.SBlockRealize]


def _accumulates(site: Site) -> bool:
    """Whether running the statement twice could matter for what is defined: it asserts or loops until something."""
    return type(site.node) in (tirx.AssertStmt, tirx.While)


def _axis(tag: str, loop_var: Any) -> Any:
    """The thread that a loop is bound to; its variable has the loop variable's type and no uses."""
    return tirx.IterVar(None, tirx.Var("iter", type_of(loop_var)), tirx.IterVar.ThreadIndex, tag)


def _wrapped(generator: Generator, scope: Scope, tree: Tree, site: Site, depth: int, kinds: Sequence[int]) -> Any:
    """`depth` loops around the statement at `site`."""

    def around(inner: Scope, left: int) -> Any:
        if left == 0:
            return _indexed(generator, inner, tree, site)
        kind = generator.rng.choice(kinds)
        return loop_around(generator, inner, kind, lambda deeper: around(deeper, left - 1), least=1)

    return around(scope, depth)


def _indexed(generator: Generator, scope: Scope, tree: Tree, site: Site) -> Any:
    """The statement at `site`, with one index of an access replaced by one that knows the new loop variables."""
    if generator.chance(40) or any(type(inner.node) is s_tir.SBlock for inner in tree.below(site)):
        return site.node
    accesses = (tvm.ir.TensorLoad,) if generator.defined else (tirx.BufferStore, tvm.ir.TensorLoad)
    places = [(inner, _buffer_of(inner.node)) for inner in tree.below(site) if type(inner.node) in accesses]
    places = [(inner, buffer) for inner, buffer in places if array_items(inner.node.indices)]
    if not places:
        return site.node
    access, buffer = generator.rng.choice(places)
    if generator.defined and key(buffer) not in {key(b.var) for b in generator.readable(scope)}:
        return site.node
    position = generator.rng.randrange(len(array_items(access.node.indices)))
    extent = constant_int(array_items(type_of(buffer).shape)[position])
    index = generator.index(scope, extent, 3)
    place = next(s for s in tree.below(access) if s.parent is access and s.role == "indices" and s.index == position)
    if index is None or place.dtype != "int32":
        return site.node
    return replaced_below(site, place, index)


def _elementwise(tree: Tree, site: Site) -> bool:
    """Whether iteration i of the loop stores element i of a dimension and reads nothing of what is stored."""
    node = site.node
    statement = node.body
    own = any(index.same_as(node.loop_var) for index in array_items(statement.indices))
    loads = [source_of(s.node) for s in tree.below(site) if type(s.node) is tvm.ir.TensorLoad]
    return own and all(key(source) != key(statement.buffer) for source in loads)


def _vector_access(node: Any) -> bool:
    """Whether `node` loads or stores several elements of a buffer of scalars."""
    indices = array_items(node.indices)
    element = dtypes.parse(str(type_of(_buffer_of(node)).dtype.dtype))
    last = dtypes.parse(str(type_of(indices[-1]).dtype)) if indices else None
    return last is not None and last.lanes > 1 and not last.scalable and element is not None and element.lanes == 1


def _masked(tree: Tree, site: Site, generator: Generator) -> Any:
    """The access at `site` under a mask; in defined mode one that lets every lane of a load through."""
    node = site.node
    indices = array_items(node.indices)
    last = dtypes.parse(str(type_of(indices[-1]).dtype))
    lanes = DType("bool", 1, "", last.lanes if last is not None else 1)
    scope = scope_at(tree, site)
    if type(node) is tvm.ir.TensorLoad:
        mask = dtypes.constant(lanes, 1) if generator.defined else generator.expr(scope, lanes, 4).node
        return tree.replace(
            site, op_call("tirx.masked_load", [source_of(node), *indices, mask], str(type_of(node).dtype))
        )
    mask = generator.expr(scope, lanes, 4).node
    call = op_call("tirx.masked_store", [node.buffer, node.value, *indices, mask], "void")
    return tree.replace(site, tirx.Evaluate(call))


def _buffer_of(node: Any) -> Any:
    return node.buffer if type(node) is tirx.BufferStore else source_of(node)


def replaced_below(top: Site, place: Site, node: Any) -> Any:
    """The subtree of `top` with `node` at `place`."""
    part = Tree(tirx.PrimFunc([], top.node))
    return part.rebuild([(part.sites[place.number - top.number], node)])


def _reshaped(tree: Tree, site: Site, rng: Random) -> Any | None:
    """The loop at `site` as two, one in the other (strip-mined) or one after the other (peeled).

    What it computes stays the same.
    """
    node = site.node
    names = Names(names_in(tree.func, tree))
    low, extent = constant_int(node.min), constant_int(node.extent)
    dtype = dtypes.parse(str(type_of(node.loop_var).dtype))
    if low is None or extent is None or extent < 2 or node.step is not None or dtype is None:
        return None
    if int(node.kind) == THREAD_BINDING:
        return None
    if rng.randrange(2):
        return tree.replace(site, _strip_mined(node, dtype, low, extent, names, rng))
    cut = rng.randint(1, extent - 1)
    number = dtype.scalar
    var = tirx.Var(names.fresh("i"), number)
    rest = renamed(node.body, names.fresh, {key(node.loop_var): var})
    first = loop_with(node, extent=tirx.IntImm(number, cut))
    second = loop_with(
        node, loop_var=var, min=tirx.IntImm(number, low + cut), extent=tirx.IntImm(number, extent - cut), body=rest
    )
    return tree.replace(site, seq([first, second]))


def _strip_mined(node: Any, dtype: DType, low: int, extent: int, names: Names, rng: Random) -> Any:
    """`node` as an outer loop over strips and an inner loop over a strip, guarded where the strips do not fit."""
    factor = rng.choice((2, 3, 4, 5, 8, 16))
    number = dtype.scalar
    outer, inner = tirx.Var(names.fresh("o"), number), tirx.Var(names.fresh("i"), number)
    position = tirx.Add(tirx.Mul(outer, tirx.IntImm(number, factor)), inner)
    value = tirx.Add(position, tirx.IntImm(number, low)) if low else position
    body = substitute(node.body, {key(node.loop_var): value})
    if extent % factor:
        condition = tirx.LT(position, tirx.IntImm(number, extent))
        body = tirx.IfThenElse(
            op_call("prim.likely", [condition], "bool") if rng.randrange(2) else condition, body, None
        )
    zero, strips = tirx.IntImm(number, 0), tirx.IntImm(number, -(-extent // factor))
    kinds = (int(node.kind), SERIAL) if rng.randrange(2) else (SERIAL, int(node.kind))
    below = tirx.For(inner, zero, tirx.IntImm(number, factor), kinds[1], body, None, node.annotations)
    return tirx.For(outer, zero, strips, kinds[0], below)


def _staged_store(tree: Tree, generator: Generator) -> Any | None:
    """Keep the value of a store in a buffer of one element first, or write, read and write again."""
    stores = tree.of_type(tirx.BufferStore)
    sites = [(s, d) for s in stores if (d := dtypes.parse(str(type_of(s.node.value).dtype))) is not None]
    if not sites:
        return None
    site, dtype = generator.rng.choice(sites)
    node = site.node
    scope = scope_at(tree, site)
    if dtype.scalable:
        return None
    memory = "local" if scope.threaded else "global"
    var = generator.buffer(scope, "b", [dtype.lanes], dtype.scalar, memory)
    zero, one = tirx.IntImm("int32", 0), tirx.IntImm("int32", 1)
    place = [zero] if dtype.lanes == 1 else [tirx.Ramp(zero, one, tirx.IntImm("int32", dtype.lanes))]
    return tree.replace(
        site,
        seq(
            [
                tirx.AllocBuffer(var),
                tirx.BufferStore(var, node.value, place),
                tirx.BufferStore(node.buffer, tirx.BufferLoad(var, place), array_items(node.indices)),
            ]
        ),
    )


def _mixed_load(tree: Tree, generator: Generator) -> Any | None:
    """Combine an expression with a value loaded from a buffer in scope."""
    sites = [
        (s, d)
        for s in tree.expressions()
        if not needs_constant(s) and (d := dtypes.parse(s.dtype)) is not None and (d.is_float or d.is_int)
    ]
    if generator.defined:
        sites = [
            (s, d)
            for s, d in sites
            if s.role == "value" and s.parent is not None and type(s.parent.node) is tirx.BufferStore
        ]
    if not sites:
        return None
    site, dtype = generator.rng.choice(sites)
    loaded = _load_as(generator, scope_at(tree, site), dtype)
    if loaded is None:
        return None
    operators = (tirx.Min, tirx.Max) if dtype.is_int and generator.defined else (tirx.Add, tirx.Mul, tirx.Min, tirx.Max)
    if dtype.is_float and dtype.base == "bfloat" and generator.defined:
        operators = (tirx.Add, tirx.Max)
    return tree.replace(site, generator.rng.choice(operators)(site.node, loaded))


def _load_as(generator: Generator, scope: Scope, dtype: DType) -> Any | None:
    """A load, cast to `dtype` where the buffer has another."""
    exact = generator.defined and dtype.is_int
    candidates = [
        buffer
        for buffer in generator.readable(scope)
        if (have := dtypes.parse(buffer.dtype)) is not None
        and not (have.base == "handle" or have.lanes != 1 or have.suffix)
        and (not exact or str(have) == dtype.scalar)
    ]
    if not candidates:
        return None
    buffer = generator.rng.choice(candidates)
    indices = generator.indices(scope, buffer, 3)
    if indices is None:
        return None
    value = tirx.BufferLoad(buffer.var, indices)
    if buffer.dtype != dtype.scalar:
        value = tirx.Cast(dtype.scalar, value)
    if dtype.lanes == 1:
        return value
    return None if dtype.scalable else tirx.Broadcast(value, tirx.IntImm("int32", dtype.lanes))


def _rebound(tree: Tree, site: Site, rng: Random) -> Any:
    """The thread at `site` with another tag, another extent, or as a plain loop."""
    node = site.node
    tag = rng.choice((*THREAD_TAGS, "vthread.y"))
    if type(node) is tirx.For:
        if rng.randrange(3) == 0:
            return tree.replace(site, loop_with(node, kind=SERIAL, thread_binding=None))
        return tree.replace(site, loop_with(node, thread_binding=_axis(tag, node.loop_var)))
    extent = node.value if rng.randrange(2) else tirx.IntImm(INT32.scalar, rng.choice((1, 2, 3, 8, 32, 64)))
    old = node.node
    axis = tirx.IterVar(old.dom, old.var, old.iter_type, tag if rng.randrange(2) else old.thread_tag)
    virtual = str(axis.thread_tag).startswith("vthread")
    made = tirx.AttrStmt(axis, "virtual_thread" if virtual else "thread_extent", node.value, node.body)
    part = Tree(tirx.PrimFunc([], made))
    place = next(s for s in part.sites if s.role == "value")
    return tree.replace(site, part.rebuild([(place, extent)]))
