"""Odd forms of statements, by the type of the node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tzerlike.core.dtypes import parse
from tzerlike.systems.tvm_api import array_items, is_buffer, s_tir, tirx, tvm, type_of
from tzerlike.tir.node import accessed_by, dtype_of, is_jump, key, loop_with, seq, substitute, variables_in
from tzerlike.tir.odd.blocks import realize
from tzerlike.tir.odd.expressions import is_fixed
from tzerlike.tir.odd.meeting import may_meet
from tzerlike.tir.odd.program import (
    ACCESSES,
    BOUNDS,
    NEVER,
    REPEATS,
    UNSIGNED,
    UNSTORED,
    UNUSED,
    Odds,
    Program,
    buffers_read,
    hints_in,
    is_outside,
    is_pure,
)
from tzerlike.tir.odd.repetition import only_repeats
from tzerlike.tir.odd.unreachable import never_holds, span_of
from tzerlike.tir.reducers.program import number
from tzerlike.tir.scope import SERIAL, THREAD_BINDING, UNROLLED, VECTORIZED
from tzerlike.tir.thread_memory import tag_of
from tzerlike.tir.tree import Site, Tree, left_early

MEETING = "an element that is stored in two ways"
"""StorageRewrite shares memory on the condition that code writes each element of it once (storage_rewrite.cc)."""


def _loop(program: Program, site: Site) -> Odds:
    node = site.node
    serial = partial(loop_with, node, kind=SERIAL, thread_binding=None, body=_one_variable(node))
    dtype = str(type_of(node.extent).dtype)
    if str(type_of(node.loop_var).dtype).startswith("uint"):
        yield UNSIGNED, partial(_signed, node)
    if _at_most_zero(node.extent, site):
        yield "a loop that never runs", partial(loop_with, node, extent=number(dtype, 2))
    bound_to_threads = int(node.kind) == THREAD_BINDING
    if bound_to_threads and not program.threads:
        yield "a thread binding", serial
    elif bound_to_threads and next(buffers_read(program.tree, site, ("extent",)), None) is not None:
        yield "a number of threads in memory", partial(loop_with, node, extent=number(dtype, 2))
    elif bound_to_threads and not _variables_of_kernel(site).isdisjoint(map(key, variables_in(node.extent))):
        yield "a number of threads that the kernel computes", partial(loop_with, node, extent=number(dtype, 2))
    elif any(key(buffer) in program.written for buffer in buffers_read(program.tree, site, BOUNDS)):
        yield (
            "a bound in memory that is written",
            partial(loop_with, node, min=number(dtype, 0), extent=number(dtype, 2), step=None),
        )
    if program.threads and _is_around_launch(program.tree, site):
        if any(inner is not site and _is_around_launch(program.tree, inner) for inner in program.tree.below(site)):
            yield "loops of the host in each other", partial(substitute, node.body, {key(node.loop_var): node.min})
        elif int(node.kind) not in (SERIAL, UNROLLED):
            yield "a parallel loop of the host", serial
    if only_repeats(program.tree, site):
        yield REPEATS, partial(substitute, node.body, {key(node.loop_var): node.min})
    if int(node.kind) == VECTORIZED and any(map(_of_lanes, program.tree.below(site))):
        yield "vectors in a vectorised loop", serial
    rest = hints_in(node.annotations)
    if len(rest) < len(node.annotations) and not left_early(program.tree, site):
        yield "an annotation", partial(loop_with, node, annotations=rest)


def _variables_of_kernel(site: Site) -> frozenset[int]:
    """The variables of the loops around a loop that run on the device: it is launched before they have values."""
    loops = [above.node for above in site.ancestors() if type(above.node) is tirx.For]
    launched = max((place + 1 for place, loop in enumerate(loops) if int(loop.kind) == THREAD_BINDING), default=0)
    return frozenset(key(loop.loop_var) for loop in loops[:launched])


def _at_most_zero(extent: Any, site: Site) -> bool:
    """Whether a number that a program calculates is never positive, whatever it calculates with or the loops around
    count."""
    span = span_of(extent, site)
    if span is not None:
        return span[1] <= 0
    return type(extent) is tirx.Min and (_at_most_zero(extent.a, site) or _at_most_zero(extent.b, site))


def _is_around_launch(tree: Tree, site: Site) -> bool:
    """Whether a loop is one of the host's, with kernels in it."""
    if type(site.node) is not tirx.For or any(tag_of(above.node) for above in (site, *site.ancestors())):
        return False
    return any(tag_of(below.node) for below in tree.below(site))


def _evaluated(program: Program, site: Site) -> Odds:
    value = site.node.value
    nothing = type(value) is tirx.IntImm and not int(value.value) and dtype_of(value) == "int32"
    if not nothing and (type(value) is not tvm.ir.Call or is_pure(value)):
        yield UNSTORED, partial(seq, [])


def _store(program: Program, site: Site) -> Odds:
    """All threads of a block do what none is bound to; that is harmless where they do not meet what others access."""
    if _is_beside_blocks(program, site):
        yield "a store beside blocks", partial(seq, [])
    written = site.node.buffer
    if not program.threads or str(type_of(written).storage_scope) == "local":
        return
    # A virtual thread alone is a loop of the host.
    launches = [above for above in site.ancestors() if tag_of(above.node).startswith(("blockIdx", "threadIdx"))]
    if not launches:
        yield "a store by the host", partial(seq, [])
    if not launches or any(map(_of_one_block, launches)):
        return
    threads = filter(_of_one_block, program.tree.below(launches[-1]))
    accesses = (other for thread in threads for other in program.tree.below(thread) if type(other.node) in ACCESSES)
    if any(key(accessed_by(other.node)) == key(written) for other in accesses):
        yield "a write that is left to all threads", partial(seq, [])


def _is_beside_blocks(program: Program, site: Site) -> bool:
    """Whether a statement of a program with blocks is in none: primitives know loops and blocks there, nothing else."""
    return program.blocks and is_outside(site)


def _of_one_block(site: Site) -> bool:
    """Whether a loop is over the threads of a block."""
    return tag_of(site.node).startswith("threadIdx")


def _branch(program: Program, site: Site) -> Odds:
    if is_fixed(site.node.condition):
        yield "a constant condition", lambda: site.node.then_case
    elif never_holds(site.node.condition, site):
        yield NEVER, partial(seq, [] if site.node.else_case is None else [site.node.else_case])


def _sequence(program: Program, site: Site) -> Odds:
    stmts = array_items(site.node.seq)
    jump = next((place for place, stmt in enumerate(stmts) if is_jump(getattr(stmt, "value", stmt))), len(stmts))
    if jump < len(stmts) - 1:
        yield NEVER, partial(seq, stmts[: jump + 1])
    for place, stmt in enumerate(stmts):
        own = type(stmt) is tirx.BufferStore and key(stmt.buffer) not in program.given
        if own and any(may_meet(earlier, stmt) for earlier in stmts[:place]):
            yield MEETING, partial(seq, [*stmts[:place], *stmts[place + 1 :]])
        if type(stmt) is tirx.Bind and _is_beside_blocks(program, site):
            yield "a name outside of blocks", partial(_substituted, stmts, place)


def _substituted(stmts: list[Any], place: int) -> Any:
    """A sequence with the value of a name in place of it."""
    bind = stmts[place]
    return seq([*stmts[:place], *(substitute(stmt, {key(bind.var): bind.value}) for stmt in stmts[place + 1 :])])


def _bind(program: Program, site: Site) -> Odds:
    if not is_buffer(site.node.var) and key(site.node.var) not in program.used:
        yield UNUSED, partial(seq, [])


def _attribute(program: Program, site: Site) -> Odds:
    if not program.threads or not isinstance(site.node.node, tirx.IterVar):
        yield "an attribute", partial(_without_attribute, site.node)


def _assertion(program: Program, site: Site) -> Odds:
    yield "an assertion", partial(seq, [])


def _one_variable(loop: Any) -> Any:
    """The body of a loop over threads, where the thread has a variable of its own, with that of the loop alone."""
    if loop.thread_binding is None or key(loop.thread_binding.var) == key(loop.loop_var):
        return loop.body
    return substitute(loop.body, {key(loop.thread_binding.var): loop.loop_var})


def _signed(loop: Any) -> Any | None:
    """The loop with a signed variable that is cast where it is used; None where its bounds are no numbers."""
    if any(type(bound) is not tirx.IntImm for bound in (loop.min, loop.extent)):
        return None
    old = str(type_of(loop.loop_var).dtype)
    dtype = "int64" if old == "uint64" else "int32"
    var = tirx.Var(str(loop.loop_var.name), dtype)
    low, extent = (number(dtype, int(bound.value)) for bound in (loop.min, loop.extent))
    body = substitute(loop.body, {key(loop.loop_var): tirx.Cast(old, var)})
    return loop_with(loop, loop_var=var, min=low, extent=extent, body=body, step=None)


def _of_lanes(site: Site) -> bool:
    """Whether an expression is a vector."""
    dtype = parse(site.dtype)
    return dtype is not None and dtype.lanes > 1


def _without_attribute(node: Any) -> Any:
    owner = node.node
    if not isinstance(owner, tirx.IterVar):
        return node.body
    return substitute(node.body, {key(owner.var): tirx.IntImm(type_of(owner.var).dtype, 0)})


RULES: Mapping[type, Callable[[Program, Site], Odds]] = {
    s_tir.SBlockRealize: realize,
    tirx.For: _loop,
    tirx.Evaluate: _evaluated,
    tirx.IfThenElse: _branch,
    tirx.SeqStmt: _sequence,
    tirx.Bind: _bind,
    tirx.BufferStore: _store,
    tirx.AttrStmt: _attribute,
    tirx.AssertStmt: _assertion,
}
