"""The table of statement constructors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tzerlike.core.dtypes import DType
from tzerlike.mutators.expressions import pointer
from tzerlike.mutators.generator import BOOL, INT32, Generator, StmtMaker, exactly
from tzerlike.systems.tvm_api import KNOWN_IR, op_call, s_tir, tirx, tvm, type_of
from tzerlike.tir import dtypes
from tzerlike.tir.node import key, seq
from tzerlike.tir.scope import (
    COUNTED,
    PARALLEL,
    SERIAL,
    THREAD_BINDING,
    UNROLLED,
    VECTORIZED,
    Buffer,
    Loop,
    Scope,
    ScopeVar,
    buffer_of,
)
from tzerlike.tir.tree import refresh_regions

THREAD_TAGS = ("threadIdx.x", "threadIdx.y", "threadIdx.z", "blockIdx.x", "blockIdx.y", "blockIdx.z", "vthread.x")
LOOP_PRAGMAS = (
    ("pragma_auto_unroll_max_step", (0, 1, 8, 64)),
    ("pragma_unroll_explicit", (0, 1)),
    ("pragma_loop_partition_hint", (1,)),
)
BUFFER_DTYPES = ("float32", "float32", "int32", "float16", "int8", "int64", "uint8", "float64", "bfloat16", "bool")


def sequence(generator: Generator, scope: Scope, size: int) -> Any | None:
    """Two or three statements in turn."""
    count = generator.rng.choice((2, 2, 3))
    if size < count:
        return None
    return seq([generator.stmt(scope, size // count) for _ in range(count)])


def store(generator: Generator, scope: Scope, size: int) -> Any | None:
    """A store of a generated value to a buffer in scope, sometimes of several lanes at once."""
    buffers = generator.writable(scope)
    if not buffers:
        return None
    return store_to(generator, scope, generator.rng.choice(buffers), size)


def store_to(generator: Generator, scope: Scope, buffer: Buffer, size: int) -> Any | None:
    """A store to `buffer`."""
    dtype = dtypes.parse(buffer.dtype)
    if dtype is None or dtype.base == "handle":
        return None
    lanes = 1
    last = buffer.shape[-1] if buffer.shape else None
    if dtype.lanes == 1 and last is not None and last > 0 and generator.chance(15):
        lanes = generator.rng.choice([n for n in (1, 2, 4, 8) if n <= last])
    indices = generator.indices(scope, buffer, max(1, size // 3), lanes)
    if indices is None:
        return None
    value = generator.expr(scope, DType(dtype.base, dtype.bits, dtype.suffix, dtype.lanes * lanes), size)
    generator.written.add(key(buffer.var))
    return tirx.BufferStore(buffer.var, value.node, indices)


def bind(generator: Generator, scope: Scope, size: int) -> Any | None:
    """A value bound to a fresh variable and a statement that may use it."""
    dtype = dtypes.parse(generator.rng.choice(("int32", "int32", "int64", "float32", "bool", "uint8"))) or INT32
    value = generator.expr(scope, dtype, size // 2)
    var = tirx.Var(generator.names.fresh("v"), str(dtype))
    inner = scope.extended(variables=[ScopeVar(var, str(dtype), "bind", value.low, value.high)])
    return seq([tirx.Bind(var, value.node), generator.stmt(inner, size - size // 2)])


def conditional(generator: Generator, scope: Scope, size: int) -> Any | None:
    condition = generator.expr(scope, BOOL, size // 3)
    then = generator.stmt(scope, size // 3)
    other = generator.stmt(scope, size // 3) if generator.chance(40) else None
    return tirx.IfThenElse(condition.node, then, other)


def loop(generator: Generator, scope: Scope, size: int) -> Any | None:
    """A loop of any kind around a generated body; iterations that may run at once do not meet."""
    kinds = (SERIAL, SERIAL, SERIAL, UNROLLED, VECTORIZED, PARALLEL)
    kind = generator.rng.choice(kinds)
    if kind in (VECTORIZED, PARALLEL) and generator.defined:
        return independent_loop(generator, scope, size, kind)
    return loop_around(generator, scope, kind, lambda inner: generator.stmt(inner, size))


def loop_around(generator: Generator, scope: Scope, kind: int, body: Any, least: int = 0) -> Any:
    """A loop of `kind` with random bounds around what `body` makes in its scope.

    In defined mode it has at least `least` iterations, so that what the body initialises is initialised.
    """
    rng = generator.rng
    var = tirx.Var(generator.names.fresh("i"), "int32")
    start = rng.choice((0, 0, 0, 0, 1, 3))
    extent: Any
    limit: int | None
    if kind in (VECTORIZED, UNROLLED) or rng.randrange(4):
        limit = rng.choice((1, 2, 3, 4, 7, 8, 16)) if kind != VECTORIZED else rng.choice((2, 4, 8, 16))
        if not generator.defined and kind not in (VECTORIZED, UNROLLED) and generator.chance(10):
            limit = rng.choice((0, -1, 33, 64, 1 << 20))
        extent = tirx.IntImm("int32", limit)
    else:
        value = generator.expr(scope, INT32, 3)
        if generator.defined:
            value = generator.narrowed(value, INT32, least, 8)
        extent, limit = value.node, value.high
    step = tirx.IntImm("int32", rng.choice((2, 3))) if kind == SERIAL and generator.chance(8) else None
    annotations = {}
    if kind == SERIAL and generator.chance(20):
        name, values = rng.choice(LOOP_PRAGMAS)
        annotations[name] = rng.choice(values)
    known = limit is not None and 0 < limit <= 1 << 16
    inner = scope.extended(
        variables=[ScopeVar(var, "int32", "loop", *((start, start + (limit or 1) - 1) if known else (None, None)))],
        loops=[Loop(var, kind, limit if known else None, kind == SERIAL and not annotations)],
    )
    return tirx.For(var, tirx.IntImm("int32", start), extent, kind, body(inner), None, annotations, step)


def independent_loop(generator: Generator, scope: Scope, size: int, kind: int) -> Any | None:
    """A parallel, vectorised or thread-bound loop whose iteration i stores element i + c of a dimension and
    reads only buffers that the loop does not write."""
    candidates = [b for b in generator.writable(scope) if any(extent is not None and extent >= 2 for extent in b.shape)]
    if not candidates:
        return None
    rng = generator.rng
    buffer = rng.choice(candidates)
    dtype = dtypes.parse(buffer.dtype)
    if dtype is None or dtype.base == "handle" or (kind == VECTORIZED and dtype.lanes > 1):
        return None
    position = rng.choice([p for p, extent in enumerate(buffer.shape) if extent is not None and extent >= 2])
    room = buffer.shape[position] or 0
    extents = [n for n in (2, 3, 4, 5, 8, 16) if n <= room]
    if kind == VECTORIZED:
        extents = [n for n in extents if n & (n - 1) == 0]
    extent = rng.choice(extents)
    shift = rng.randint(0, room - extent)
    var = tirx.Var(generator.names.fresh("i"), "int32")
    inner = scope.extended(variables=[ScopeVar(var, "int32", "loop", 0, extent - 1)], loops=[Loop(var, kind, extent)])
    inner.buffers = [b for b in inner.buffers if key(b.var) != key(buffer.var)]
    generator.written.add(key(buffer.var))
    outer = [generator.index(scope, n, 2) for n in buffer.shape]
    if any(index is None for index in outer):
        return None
    outer[position] = tirx.Add(var, tirx.IntImm("int32", shift)) if shift else var
    value = generator.expr(inner, dtype, size)
    return tirx.For(
        var,
        tirx.IntImm("int32", 0),
        tirx.IntImm("int32", extent),
        kind,
        tirx.BufferStore(buffer.var, value.node, outer),
    )


def counting_while(generator: Generator, scope: Scope, size: int) -> Any | None:
    """A while loop that ends: it counts in a buffer of its own. In wild mode there may be a second condition."""
    memory = "local" if scope.threaded else "global"
    counter = generator.buffer(scope, "n", [1], "int32", memory)
    zero, one = tirx.IntImm("int32", 0), tirx.IntImm("int32", 1)
    current = tirx.BufferLoad(counter, [zero])
    condition = tirx.LT(current, tirx.IntImm("int32", generator.rng.choice((1, 2, 5))))
    if not generator.defined and generator.chance(40):
        condition = tirx.And(condition, generator.expr(scope, BOOL, 4).node)
    body = generator.stmt(scope.extended(loops=[COUNTED]), size // 2)
    step = tirx.BufferStore(counter, tirx.Add(current, one), [zero])
    parts = [step, body] if generator.chance(50) else [body, step]
    return seq([tirx.AllocBuffer(counter), tirx.BufferStore(counter, zero, [zero]), tirx.While(condition, seq(parts))])


def allocate(generator: Generator, scope: Scope, size: int) -> Any | None:
    """A new buffer, filled, and a statement that may use it."""
    rng = generator.rng
    rank = rng.choice((1, 1, 2, 3))
    shape = [rng.choice((1, 2, 4, 8, 16) if rank < 3 else (1, 2, 4)) for _ in range(rank)]
    dtype = rng.choice(BUFFER_DTYPES)
    if not generator.defined and generator.chance(20):
        dtype = rng.choice((*dtypes.EXOTIC, "float32x4", "int8x16"))
    memory = _memory(generator, scope)
    var = generator.buffer(scope, "b", shape, dtype, memory)
    buffer = buffer_of(var, "alloc")
    inner = scope.extended(buffers=[buffer])
    parts = [tirx.AllocBuffer(var)]
    if generator.defined or generator.chance(70):
        parts.append(fill(generator, scope, buffer))
    generator.ready.add(key(var))
    generator.written.add(key(var))
    if memory in ("", "global", "local"):
        generator.private.add(key(var))
    parts.append(generator.stmt(inner, size))
    generator.private.discard(key(var))
    return seq(parts)


def _memory(generator: Generator, scope: Scope) -> str:
    """A storage scope that fits the context."""
    if generator.target == "cuda" and scope.threaded:
        return str(generator.rng.choice(("local", "local", "shared"))) if not generator.defined else "local"
    if not generator.defined and generator.chance(15):
        return str(generator.rng.choice(("local", "shared", "shared.dyn", "global.vtcm", "warp")))
    return "global"


def fill(generator: Generator, scope: Scope, buffer: Buffer) -> Any:
    """Loops that store one value to every element of `buffer`."""
    dtype = dtypes.parse(buffer.dtype) or INT32
    variables = [tirx.Var(generator.names.fresh("i"), "int32") for _ in buffer.shape]
    # a spliced statement may divide by what it reads here
    value = exactly(dtype, 1) if generator.defined and dtype.is_int else generator.leaf(scope, dtype)
    stmt = tirx.BufferStore(buffer.var, value.node, variables)
    return nest(variables, [tirx.IntImm("int32", extent or 1) for extent in buffer.shape], stmt)


def view(generator: Generator, scope: Scope, size: int) -> Any | None:
    """Another buffer over the memory of one in scope, and a statement that may use it.

    In defined mode it has the same dtype and as many elements, and stands for a buffer that may be
    both read and written. None in an older TVM, where the declaration does not say whose memory it is.
    """
    if not KNOWN_IR:
        return None
    usable = {key(b.var) for b in generator.readable(scope)}
    candidates = [b for b in generator.writable(scope) if key(b.var) in usable and b.dtype != "bool"]
    candidates = [b for b in candidates if all(extent is not None for extent in b.shape)]
    if not candidates:
        return None
    rng = generator.rng
    buffer = rng.choice(candidates)
    total = math.prod(extent or 1 for extent in buffer.shape)
    splits = [n for n in (1, 2, 4, 8) if total % n == 0]
    first = rng.choice(splits)
    shape: list[int] = rng.choice(([total], [first, total // first], [total // first, first]))
    dtype, offset = buffer.dtype, None
    if not generator.defined and generator.chance(40):
        dtype = rng.choice(("int8", "float16", "int32", "float32", "float64"))
        offset = tirx.IntImm("int32", rng.choice((0, 1, 4)))
    var = generator.buffer(scope, "w", shape, dtype, buffer.memory, offset)
    declare = tirx.DeclBuffer(var, data=tirx.buffer_data(buffer.var))
    if key(buffer.var) in generator.private:
        generator.private.add(key(var))
    generator.ready.add(key(var))
    generator.written.update((key(var), key(buffer.var)))
    return seq([declare, generator.stmt(scope.extended(buffers=[buffer_of(var, "decl")]), size)])


def assertion(generator: Generator, scope: Scope, size: int) -> Any | None:
    """An assertion; in defined mode one that holds."""
    if generator.defined:
        value = generator.narrowed(generator.expr(scope, INT32, size), INT32, 0, 64)
        condition = tirx.LE(value.node, exactly(INT32, generator.rng.randint(value.high or 64, 100)).node)
    else:
        condition = generator.expr(scope, BOOL, size).node
    text = tvm.ir.StringImm
    # the wheel's wrapper names the first two arguments the wrong way round
    return tirx.AssertStmt(condition, text("RuntimeError"), [text("generated")])


def attribute(generator: Generator, scope: Scope, size: int) -> Any | None:
    """A statement under an attribute that passes look for."""
    rng = generator.rng
    name, values = rng.choice(
        (
            ("pragma_auto_unroll_max_step", (0, 8, 64)),
            ("pragma_unroll_explicit", (0, 1)),
            ("pragma_scope", (0,)),
            ("tirx.compute_scope", (1,)),
        )
        if not generator.defined
        else (("pragma_auto_unroll_max_step", (0, 8, 64)), ("pragma_unroll_explicit", (0, 1)))
    )
    return tirx.AttrStmt(0, name, tirx.IntImm("int32", rng.choice(values)), generator.stmt(scope, size))


def evaluation(generator: Generator, scope: Scope, size: int) -> Any | None:
    """A value thrown away, or one of the calls made for their effect."""
    choice = generator.rng.randrange(6)
    number = tirx.IntImm("int32", generator.rng.randrange(4))
    call: Any
    if choice == 0:
        # assume() of something false would make the program meaningless
        fact = generator.narrowed(generator.expr(scope, INT32, size), INT32, 0, 64) if generator.defined else None
        condition = tirx.GE(fact.node, tirx.IntImm("int32", 0)) if fact else generator.expr(scope, BOOL, size).node
        call = op_call("tirx.assume", [condition], "bool")
    elif choice == 1 and not generator.defined:
        call = op_call(generator.rng.choice(_PROFILE), [number], "void")
    elif choice == 2 and not generator.defined:
        address = pointer(generator, scope)
        if address is None:
            return None
        hints = [tirx.IntImm("int32", generator.rng.randrange(values)) for values in PREFETCH_HINTS]
        call = op_call("tirx.prefetch", [address, *hints], "void")
    elif choice == 3 and (scope.threaded or not generator.defined):
        memory = generator.rng.choice(("shared", "warp", "global"))
        call = op_call("tirx.tvm_storage_sync", [tvm.ir.StringImm(memory)], "int32")
        if generator.defined and scope.loops and scope.loops[-1].kind != THREAD_BINDING:
            return None
    elif choice == 4 and not generator.defined and not scope.racy:
        value = generator.expr(scope, INT32, size // 2)
        call = op_call("tirx.tvm_call_packed", [tvm.ir.StringImm("testing.echo"), value.node], "int32")
    else:
        dtype = dtypes.parse(generator.rng.choice(("int32", "float32", "bool", "int64"))) or INT32
        call = generator.expr(scope, dtype, size).node
    return tirx.Evaluate(call)


PREFETCH_HINTS = (2, 4, 2)
"""How many values llvm.prefetch takes, from 0 up: read or write, locality, data or instructions (LLVM reference)."""

_PROFILE = ("tirx.start_profile_intrinsic", "tirx.end_profile_intrinsic")


def masked_store(generator: Generator, scope: Scope, size: int) -> Any | None:
    """A vector store whose lanes are switched by a mask."""
    buffers = [b for b in generator.writable(scope) if b.shape and (b.shape[-1] or 0) >= 4]
    if not buffers:
        return None
    buffer = generator.rng.choice(buffers)
    dtype = dtypes.parse(buffer.dtype)
    if dtype is None or dtype.lanes > 1 or dtype.base == "handle":
        return None
    indices = generator.indices(scope, buffer, 2, 4)
    if indices is None:
        return None
    value = generator.expr(scope, DType(dtype.base, dtype.bits, dtype.suffix, 4), size)
    mask = generator.expr(scope, DType("bool", 1, "", 4), 3)
    generator.written.add(key(buffer.var))
    return tirx.Evaluate(op_call("tirx.masked_store", [buffer.var, value.node, *indices, mask.node], "void"))


def leave(generator: Generator, scope: Scope, size: int) -> Any | None:
    """A conditional break or continue of the innermost loop, which must run its iterations in order."""
    if not scope.loops or not scope.loops[-1].plain or scope.in_block:
        return None
    jump = tirx.Break() if generator.chance(50) else tirx.Continue()
    return tirx.IfThenElse(generator.expr(scope, BOOL, size).node, jump, None)


def block(generator: Generator, scope: Scope, size: int) -> Any | None:
    """Loops around an SBlock that stores one element of a buffer for each point of its domain (S-TIR only)."""
    if not scope.s_tir or scope.in_block:
        return None
    buffers = [b for b in generator.writable(scope) if all(extent is not None for extent in b.shape)]
    if not buffers:
        return None
    buffer = generator.rng.choice(buffers)
    dtype = dtypes.parse(buffer.dtype)
    if dtype is None or dtype.base == "handle":
        return None
    loops = [tirx.Var(generator.names.fresh("i"), "int32") for _ in buffer.shape]
    axes = [tirx.Var(generator.names.fresh("a"), "int32") for _ in buffer.shape]
    extents = [tirx.IntImm("int32", extent or 1) for extent in buffer.shape]
    inner = scope.extended()
    inner.enter_block()
    inner.variables.extend(
        ScopeVar(axis, "int32", "block", 0, (extent or 1) - 1) for axis, extent in zip(axes, buffer.shape, strict=True)
    )
    inner.buffers = [b for b in inner.buffers if key(b.var) != key(buffer.var)]
    generator.written.add(key(buffer.var))
    value = generator.expr(inner, dtype, size)
    body = tirx.BufferStore(buffer.var, value.node, axes)
    zero = tirx.IntImm("int32", 0)
    domains = [
        tirx.IterVar(tvm.ir.Range.from_min_extent(zero, extent), axis, 0)
        for axis, extent in zip(axes, extents, strict=True)
    ]
    made = s_tir.SBlock(domains, [], [tirx_region(buffer, axes)], generator.names.fresh("block"), body)
    return nest(loops, extents, s_tir.SBlockRealize(loops, True, refresh_regions(made)))


def tirx_region(buffer: Buffer, axes: Sequence[Any]) -> Any:
    """The region of the single element `axes` of `buffer`."""
    one = tirx.IntImm("int32", 1)
    return tirx.BufferRegion(buffer.var, [tvm.ir.Range.from_min_extent(axis, one) for axis in axes])


def nest(loops: Sequence[Any], extents: Sequence[Any], body: Any) -> Any:
    """Serial loops from 0 around `body`, outermost first."""
    for var, extent in zip(reversed(loops), reversed(extents), strict=True):
        body = tirx.For(var, tirx.IntImm(type_of(extent).dtype, 0), extent, SERIAL, body)
    return body


STATEMENTS: tuple[StmtMaker, ...] = (
    StmtMaker("tirx.BufferStore", 14, store),
    StmtMaker("tirx.For", 9, loop),
    StmtMaker("tirx.SeqStmt", 4, sequence),
    StmtMaker("tirx.Bind", 4, bind),
    StmtMaker("tirx.IfThenElse", 5, conditional),
    StmtMaker("tirx.AllocBuffer", 5, allocate),
    StmtMaker("tirx.DeclBuffer", 3, view),
    StmtMaker("tirx.While", 2, counting_while),
    StmtMaker("tirx.AssertStmt", 2, assertion),
    StmtMaker("tirx.AttrStmt", 2, attribute),
    StmtMaker("tirx.Evaluate", 2, evaluation),
    StmtMaker("tirx.Evaluate", 1, masked_store),
    StmtMaker("tirx.Break", 2, leave),
    StmtMaker("s_tir.SBlockRealize", 6, block),
)
"""Every statement constructor that the generator uses. Continue comes with Break, SBlock with its realize."""
