"""Schedule primitives on S-TIR blocks.

They keep what a program computes, so that a wrong result afterwards is a bug in itself. A primitive whose
precondition does not hold raises ScheduleError and leaves the schedule as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from tzerlike.mutators.protocol import MutationEnv
from tzerlike.systems.refusal import CompilerRefused
from tzerlike.systems.tvm_api import (
    ENTRY,
    array_items,
    function_with,
    module_of,
    raised_by_tvm,
    s_tir,
    scheduling,
    source_of,
    tirx,
    tvm,
    type_of,
    uses_blocks,
    well_formed,
)
from tzerlike.tir.scope import constant_int
from tzerlike.tir.tree import Tree, defines_once

ScheduleStep = Callable[[Any, Any, Random, MutationEnv], object]
"""Applies one primitive to a block of a schedule.

Raises ScheduleError where a precondition does not hold, IndexError where the block has too few loops or buffers, or is
seen beforehand not to fit.
"""

COUNTS = (1, 1, 2, 3)
"""How many primitives a mutation applies."""

CPU_SCOPES = ("global", "global", "local")
GPU_SCOPES = ("shared", "local", "shared.dyn", "global")
TAGS = ("blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.y", "vthread.x")


@dataclass(frozen=True, slots=True)
class Schedules:
    """A mutator that schedules a program by primitives drawn from `steps`."""

    steps: Sequence[ScheduleStep]
    runs_compiler: bool = True

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any | None:
        return _program_of(self.schedule(func, rng, env), func)

    def schedule(self, func: Any, rng: Random, env: MutationEnv) -> Any | None:
        """The schedule whose program a call gives, with its trace; None where no primitive applied."""
        return _schedule(Tree(func), rng, env, self.steps, rng.choice(COUNTS))


class Unchecked:
    """A schedule whose methods skip the wheel's checks of argument types, which take longer than most primitives.

    Methods are looked up at each call: whoever puts others in their place (`schedule_trace`) is heard.
    """

    def __init__(self, schedule: Any) -> None:
        self._schedule = schedule

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(type(self._schedule), name)
        return partial(getattr(method, "__wrapped__", method), self._schedule)


def scheduled(tree: Tree, rng: Random, env: MutationEnv, steps: Sequence[ScheduleStep], count: int) -> Any | None:
    """The function of `tree` after up to `count` of `steps` that applied; None when none did."""
    return _program_of(_schedule(tree, rng, env, steps, count), tree.func)


def _schedule(tree: Tree, rng: Random, env: MutationEnv, steps: Sequence[ScheduleStep], count: int) -> Any | None:
    func = tree.func
    if not uses_blocks(func):
        return None
    names = block_names(tree)
    if not names:
        return None
    made = scheduling(tvm.IRModule({ENTRY: func}), rng.randrange(1, 1 << 30))
    schedule = Unchecked(made)
    done = 0
    for _ in range(count):
        for _ in range(4):
            try:
                rng.choice(steps)(schedule, schedule.get_sblock(rng.choice(names)), rng, env)
            except s_tir.ScheduleError:
                continue
            except LookupError as error:
                # One inside of the primitive (CacheIndex) leaves the schedule in a state that nobody knows; one of ours
                # says that there are too few loops.
                if isinstance(error, KeyError) or raised_by_tvm(error):
                    raise CompilerRefused(error) from error
                continue
            done += 1
            break
    return made if done else None


def _program_of(schedule: Any | None, func: Any) -> Any | None:
    """What a schedule made of `func`; None where that is not well-formed."""
    if schedule is None:
        return None
    child = schedule.mod[ENTRY]
    child = function_with(child, child.body, attrs=func.attrs)
    # Some primitives (reindex, blockize, decompose_reduction) leave uses of variables outside of their scope.
    return child if defines_once(Tree(child)) and well_formed(module_of(child)) else None


def block_names(tree: Tree) -> list[str]:
    """The names of the blocks that no other block shares, without the root, in order."""
    names = [str(site.node.name_hint) for site in tree.of_type(s_tir.SBlock)[1:]]
    return [name for name in names if names.count(name) == 1]


def _loops(schedule: Any, block: Any) -> list[Any]:
    return array_items(schedule.get_loops(block))


def _loop(schedule: Any, block: Any, rng: Random) -> Any:
    return rng.choice(_loops(schedule, block))


def _split(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    factors: list[Any] = [rng.choice((1, 2, 3, 4, 5, 8, 16)) for _ in range(rng.choice((1, 1, 2)))]
    factors.insert(rng.randint(0, len(factors)), None)
    schedule.split(_loop(schedule, block, rng), factors, preserve_unit_iters=bool(rng.randrange(2)))


def _divisor(schedule: Any, loop: Any, factors: Sequence[int], rng: Random) -> int:
    """One of `factors` that divides a loop's extent, any where none does: then the loop gets a predicate.

    Splits with predicates are slow (3 ms: an analyzer must prove what it can), and `_split` makes enough of them.
    """
    extent = constant_int(schedule.get(loop).extent)
    return rng.choice([f for f in factors if extent is not None and extent % f == 0] or factors)


def _fuse(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    loops = _loops(schedule, block)
    start = rng.randrange(len(loops) - 1) if len(loops) > 1 else 0
    count = rng.choice((2, 2, 3))
    if len(loops) < 2:
        raise IndexError("one loop")
    schedule.fuse(*loops[start : start + count], preserve_unit_iters=bool(rng.randrange(2)))


def _reorder(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    loops = _loops(schedule, block)
    chosen = rng.sample(loops, min(len(loops), rng.choice((2, 2, 3))))
    if len(chosen) < 2:
        raise IndexError("one loop")
    schedule.reorder(*chosen)


def _vectorize(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    loops = _loops(schedule, block)
    inner = loops[-1]
    if rng.randrange(2):
        inner = schedule.split(inner, [None, _divisor(schedule, inner, (2, 4, 8), rng)])[1]
    schedule.vectorize(inner)


def _unroll(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    schedule.unroll(_loop(schedule, block, rng))


def _parallel(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    schedule.parallel(_loops(schedule, block)[0] if rng.randrange(2) else _loop(schedule, block, rng))


def _bind(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    if env.target == "llvm":
        schedule.bind(_loop(schedule, block, rng), rng.choice(("vthread.x", "vthread.y")))
    else:
        schedule.bind(_loop(schedule, block, rng), rng.choice(TAGS))


def _unit(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    schedule.add_unit_loop(block if rng.randrange(2) else _loop(schedule, block, rng))


def _partition(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    schedule.loop_partition(_loop(schedule, block, rng), [rng.choice((1, 2, 3, 5)), None])


def _reorder_axes(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    order = list(range(len(array_items(schedule.get(block).iter_vars))))
    rng.shuffle(order)
    schedule.reorder_block_iter_var(block, order)


def _memory(rng: Random, env: MutationEnv) -> str:
    return rng.choice(CPU_SCOPES if env.target == "llvm" else GPU_SCOPES)


def _buffer(schedule: Any, block: Any, rng: Random, field: str) -> int:
    return rng.choice(range(len(array_items(getattr(schedule.get(block), field)))))


def _cache_read(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    schedule.cache_read(block, _buffer(schedule, block, rng, "reads"), _memory(rng, env))


def _cache_write(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    schedule.cache_write(block, _buffer(schedule, block, rng, "writes"), _memory(rng, env))


def _cache_inplace(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    schedule.cache_inplace(block, _buffer(schedule, block, rng, "reads"), _memory(rng, env))


def _cache_index(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    schedule.cache_index(block, "global", rng.choice((0, 1)))


def cached_and_moved(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    """A read cache that is filled next to its use, as GPU kernels have it."""
    cache = schedule.cache_read(block, _buffer(schedule, block, rng, "reads"), _memory(rng, env))
    schedule.compute_at(cache, _loop(schedule, block, rng), preserve_unit_loops=bool(rng.randrange(2)))


def _reindex(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    field = rng.choice(("read", "write"))
    schedule.reindex(block, (field, _buffer(schedule, block, rng, field + "s")))


def _compute_at(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    consumer = rng.choice(array_items(schedule.get_consumers(block)))
    schedule.compute_at(block, _loop(schedule, consumer, rng), preserve_unit_loops=bool(rng.randrange(2)))


def _reverse_compute_at(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    producer = rng.choice(array_items(schedule.get_producers(block)))
    schedule.reverse_compute_at(block, _loop(schedule, producer, rng), preserve_unit_loops=bool(rng.randrange(2)))


def _inline(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    (schedule.compute_inline if rng.randrange(2) else schedule.reverse_compute_inline)(block)


def _rfactor(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    loop = _loops(schedule, block)[-1]
    if rng.randrange(2):
        loop = rng.choice(array_items(schedule.split(loop, [None, _divisor(schedule, loop, (2, 4), rng)])))
    schedule.rfactor(loop, rng.choice((0, 0, 1)))


def _decompose_reduction(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    schedule.decompose_reduction(block, _loop(schedule, block, rng))


def _blockize(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    schedule.blockize(_loop(schedule, block, rng), preserve_unit_iters=bool(rng.randrange(2)))


def _tensorize(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    """Pad and tile the loops of a matrix product and put a tensor intrinsic in."""
    node = schedule.get(block)
    transposed = is_product(node)
    if transposed is None or len(_loops(schedule, block)) != 3:
        raise IndexError("no product of matrices under three loops")
    if any((constant_int(iter_var.dom.extent) or 1) % TILE for iter_var in array_items(node.iter_vars)):
        schedule.pad_einsum(block, [TILE] * 3)
    tiles = [array_items(schedule.split(loop, [None, TILE])) for loop in _loops(schedule, block)]
    schedule.reorder(*[outer for outer, _ in tiles], *[inner for _, inner in tiles])
    schedule.decompose_reduction(block, tiles[2][0])
    update = schedule.get_sblock(f"{node.name_hint}_update")
    schedule.tensorize(_loops(schedule, update)[-3], product_intrinsic(transposed))


def is_product(block: Any) -> bool | None:
    """Whether the second factor of a float32 matrix product is transposed; None for a block that is no such product."""
    store, axes = block.body, array_items(block.iter_vars)
    if len(axes) != 3 or block.init is None or type(store) is not tirx.BufferStore:
        return None
    if type(store.value) is not tirx.Add:
        return None
    product: Any = store.value.b
    if type(product) is not tirx.Mul or str(type_of(product).dtype) != "float32":
        return None
    if type(product.a) is not tvm.ir.TensorLoad or type(product.b) is not tvm.ir.TensorLoad:
        return None
    last = array_items(product.b.indices)[-1:]
    return bool(last) and last[0].same_as(axes[2].var)


def _set_scope(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    schedule.set_scope(block, 0, _memory(rng, env))


def _storage_align(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    schedule.storage_align(block, 0, rng.choice((-1, -2, 0)), rng.choice((4, 16, 32)), rng.choice((0, 1, 8)))


def _transform_layout(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    field = rng.choice(("read", "write"))
    number = _buffer(schedule, block, rng, field + "s")
    region = array_items(getattr(schedule.get(block), field + "s"))[number]
    rank = len(array_items(type_of(source_of(region)).shape))
    variables = [tirx.Var(f"x{i}", "int32") for i in range(rank)]
    final: list[Any] = list(variables)
    if rank > 1 and rng.randrange(2):
        rng.shuffle(final)
    else:
        place = rng.choice(range(rank))
        by = tirx.IntImm("int32", rng.choice((2, 4)))
        final[place : place + 1] = [tirx.FloorDiv(variables[place], by), tirx.FloorMod(variables[place], by)]
    schedule.transform_layout(block, (field, number), tirx.IndexMap(variables, final, None))


def _transform_block(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    rank = len(array_items(schedule.get(block).iter_vars))
    variables = [tirx.Var(f"x{i}", "int32") for i in range(rank)]
    final: list[Any] = list(variables)
    place = rng.choice(range(rank))
    by = tirx.IntImm("int32", rng.choice((2, 4)))
    final[place : place + 1] = [tirx.FloorDiv(variables[place], by), tirx.FloorMod(variables[place], by)]
    schedule.transform_block_layout(block, tirx.IndexMap(variables, final, None))


def _pad_einsum(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    rank = len(array_items(schedule.get(block).iter_vars))
    schedule.pad_einsum(block, [rng.choice((1, 2, 3, 16)) for _ in range(rank)])


def _rolling_buffer(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    schedule.rolling_buffer(block, 0)


def _decompose_padding(schedule: Any, block: Any, rng: Random, env: MutationEnv) -> None:
    schedule.decompose_padding(block, _loop(schedule, block, rng))


LOOP_SCHEDULES = Schedules((
    _split, _split, _fuse, _reorder, _vectorize, _unroll, _parallel, _bind, _unit, _partition, _reorder_axes,
))  # fmt: skip
"""Split, fuse, reorder, vectorise, unroll, parallelise, bind or partition the loops of a block."""

BLOCK_SCHEDULES = Schedules((
    _cache_read, _cache_write, cached_and_moved, _cache_inplace, _cache_index, _reindex, _compute_at,
    _reverse_compute_at, _inline, _rfactor, _decompose_reduction, _blockize, _tensorize, _set_scope, _storage_align,
    _transform_layout, _transform_block, _pad_einsum, _rolling_buffer, _decompose_padding,
))  # fmt: skip
"""Cache, inline, move, factor, decompose, blockise, tensorise or re-lay out blocks."""

TILE = 4
"""The side of the matrices that the tensor intrinsic multiplies."""


def product_intrinsic(transposed: bool) -> str:
    """The name of a tensor intrinsic that multiplies and adds 4x4 float32 matrices; registered at the first use.

    With `transposed` the second factor is stored column by column, as weights mostly are.

    Its implementation is plain TIR, so that the program that results runs everywhere.
    """
    name = "tzerlike.product4x4" + ("_transposed" if transposed else "")
    if s_tir.TensorIntrin.get(name, allow_missing=True) is None:
        s_tir.TensorIntrin.register(name, _product(transposed, False), _product(transposed, True))
    return name


def _product(transposed: bool, implementation: bool) -> Any:
    """The description of the product, a block under three loops, or its implementation, loops in one opaque block."""
    zero, one, side = (tirx.IntImm("int32", n) for n in (0, 1, TILE))
    out, left, right = (tirx.decl_buffer((TILE, TILE), "float32", name, offset_factor=1, layout=None) for name in "cab")

    def ranges(low: Sequence[Any], extent: Any) -> list[Any]:
        return [tvm.ir.Range.from_min_extent(place, extent) for place in low]

    def step(i: Any, j: Any, k: Any) -> Any:
        product = tirx.Mul(tirx.BufferLoad(left, [i, k]), tirx.BufferLoad(right, [j, k] if transposed else [k, j]))
        return tirx.BufferStore(out, tirx.Add(tirx.BufferLoad(out, [i, j]), product), [i, j])

    loops = [tirx.Var(name, "int32") for name in "ijk"]
    if implementation:
        body = step(*loops)
    else:
        i, j, k = axes = [tirx.Var(f"v{name}", "int32") for name in "ijk"]
        kinds = (tirx.IterVar.DataPar, tirx.IterVar.DataPar, tirx.IterVar.CommReduce)
        domains = [
            tirx.IterVar(tvm.ir.Range.from_min_extent(zero, side), axis, kind)
            for axis, kind in zip(axes, kinds, strict=True)
        ]
        writes = [tirx.BufferRegion(out, ranges((i, j), one))]
        reads = [
            *writes,
            tirx.BufferRegion(left, ranges((i, k), one)),
            tirx.BufferRegion(right, ranges((j, k) if transposed else (k, j), one)),
        ]
        body = s_tir.SBlockRealize(loops, True, s_tir.SBlock(domains, reads, writes, "update", step(i, j, k)))
    for var in reversed(loops):
        body = tirx.For(var, zero, side, tirx.ForKind.SERIAL, body)
    whole = [tirx.BufferRegion(buffer, ranges((zero, zero), side)) for buffer in (out, left, right)]
    root = s_tir.SBlockRealize([], True, s_tir.SBlock([], whole, whole[:1], "root", body))
    return tirx.PrimFunc([left, right, out], root).with_attr("s_tir", True)
