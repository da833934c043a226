"""Mutators that only make sense with GPU threads: memory that a block shares, barriers."""

from __future__ import annotations

import math
from random import Random
from typing import Any

from tzerlike.mutators.domain import replaced_below
from tzerlike.mutators.general import beside
from tzerlike.mutators.generate import make_generator
from tzerlike.mutators.generator import Generator
from tzerlike.mutators.protocol import MutationEnv
from tzerlike.systems.tvm_api import op_call, s_tir, tirx, tvm, type_of
from tzerlike.tir import dtypes
from tzerlike.tir.node import seq
from tzerlike.tir.scope import SERIAL, THREAD_BINDING, UNROLLED, constant_int, scope_at
from tzerlike.tir.tree import Site, Tree

_MOST_THREADS = 1024
"""Threads of a block at most, in all."""

_MEMORY = ("shared", "shared", "shared", "shared.dyn")


def shared_memory(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Pass a value that a thread loads through shared memory, to itself or to another thread of its block, with a
    barrier between; or add a barrier beside a statement.

    Only where all threads of a block come by, so that a program that was defined stays so.
    """
    tree = Tree(func)
    places = [
        (site, threads) for site in tree.of_type(tirx.BufferStore) if (threads := _threads_through(site)) is not None
    ]
    if not places:
        return None
    site, threads = rng.choice(places)
    if rng.randrange(4) == 0:
        return tree.replace(site, beside(site, _barrier("shared"), rng))
    loads = [inner for inner in tree.below(site) if type(inner.node) is tvm.ir.TensorLoad and _is_scalar(inner)]
    if not loads:
        return None
    generator = make_generator(tree, rng, env.target, False)
    return tree.replace(site, _staged(tree, site, rng.choice(loads), threads, generator))


Threads = list[tuple[Any, int]]
"""The variables of a block's threads with their extents, outermost first."""


def _threads_through(site: Site) -> Threads | None:
    """The threads of the block at `site`, or None where only some of them may come by, or not all at once."""
    threads: Threads = []
    uniform = True
    for above in site.ancestors():
        node = above.node
        launched = _launch(node)
        if launched is None:
            if type(node) is s_tir.SBlock:
                return None
            uniform = uniform and _uniform(node)
            continue
        tag, variable, extent = launched
        if tag.startswith("threadIdx"):
            if extent is None or not uniform:
                return None
            threads.insert(0, (variable, extent))
        elif not tag.startswith("blockIdx"):
            return None
    return threads if threads and _count(threads) <= _MOST_THREADS else None


def _launch(node: Any) -> tuple[str, Any, int | None] | None:
    """Tag, variable and extent of the threads that a loop or an attribute launches."""
    if type(node) is tirx.For and int(node.kind) == THREAD_BINDING:
        return str(node.thread_binding.thread_tag), node.loop_var, constant_int(node.extent)
    if type(node) is tirx.AttrStmt and isinstance(node.node, tirx.IterVar):
        return str(node.node.thread_tag), node.node.var, constant_int(node.value)
    return None


def _uniform(node: Any) -> bool:
    """Whether all threads that come to `node` do in it what the others do, as often."""
    if type(node) is tirx.For:
        return int(node.kind) in (SERIAL, UNROLLED) and constant_int(node.extent) is not None
    return type(node) in (tirx.SeqStmt, tirx.AttrStmt, tirx.PrimFunc)


def _is_scalar(site: Site) -> bool:
    dtype = dtypes.parse(site.dtype)
    return dtype is not None and dtype.lanes == 1 and dtype.base != "handle"


def _barrier(memory: str) -> Any:
    return tirx.Evaluate(op_call("tirx.tvm_storage_sync", [tvm.ir.StringImm(memory)], "int32"))


def _staged(tree: Tree, site: Site, load: Site, threads: Threads, generator: Generator) -> Any:
    """The store at `site` with the value of `load` fetched from memory that the threads of the block fill first."""
    rng = generator.rng
    memory = rng.choice(_MEMORY)
    count = _count(threads)
    own = _position(threads)
    shift = rng.choice((0, 0, 1, count // 2))
    dtype = str(type_of(load.node).dtype)
    buffer = generator.buffer(scope_at(tree, site), "s", [count], dtype, memory)
    number = str(type_of(own).dtype)
    other = own
    if shift:
        other = tirx.FloorMod(tirx.Add(own, tirx.IntImm(number, shift)), tirx.IntImm(number, count))
    return seq(
        [
            tirx.AllocBuffer(buffer),
            tirx.BufferStore(buffer, load.node, [own]),
            _barrier(memory),
            replaced_below(site, load, tirx.BufferLoad(buffer, [other])),
            # Another round of a loop must not overwrite what a slower thread still reads.
            _barrier(memory),
        ]
    )


def _position(threads: Threads) -> Any:
    """The place of a thread in its block."""
    (position, _), *rest = threads
    for variable, extent in rest:
        number = str(type_of(position).dtype)
        position = tirx.Add(tirx.Mul(position, tirx.IntImm(number, extent)), variable)
    return position


def _count(threads: Threads) -> int:
    return math.prod(extent for _, extent in threads)
