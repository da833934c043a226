"""Seeds in TileLang's dialect: small kernels that together use each feature of its language.

They are there for a TVM that has the dialect, for a GPU, and for the CPU as far as it lowers them. Tiles are small, and
extents differ, so that a mix-up of two shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from tzerlike.systems.tvm_api import HAS_TILES, tirx
from tzerlike.tir.scope import UNROLLED, VECTORIZED
from tzerlike.tir.seeds.generate import Recipe
from tzerlike.tir.tile_language import TileKernel, TileRegion


def recipes() -> Iterator[Recipe]:
    """Yield the recipe of every kernel; none where the compiler has no such dialect."""
    if not HAS_TILES:
        return
    for name, build in TILE_KERNELS.items():
        yield Recipe(f"tiles.{name}", partial(_function, build), "cuda")
        yield Recipe(f"tiles.cpu.{name}", partial(_function, build), "llvm")


def _function(build: Callable[[], TileKernel]) -> dict[str, Any]:
    return {"": build().function()}


def _part(buffer: Any, mins: list[Any], extents: list[Any]) -> TileRegion:
    return TileRegion(buffer, mins, extents)


def _op(name: str, *operands: Any, dtype: str = "float32") -> Any:
    return tirx.call_intrin(dtype, f"tirx.{name}", *operands)


# Copies


def _copied(scopes: tuple[str, ...], dtype: str = "float16", out: str = "", threads: int = 128) -> TileKernel:
    """96 x 64 from one tensor to another, a tile of 32 x 16 at a time, by way of buffers in `scopes`."""
    k = TileKernel((4, 3), threads)
    bx, by = k.blocks
    a, b = k.tensor("A", [96, 64], dtype), k.tensor("B", [96, 64], out or dtype)
    source: Any = _part(a, [by * 32, bx * 16], [32, 16])
    for place, scope in enumerate(scopes):
        tile = k.tile(f"t{place}", [32, 16], dtype, scope)
        k.copy(source, tile)
        source = tile
    k.copy(source, _part(b, [by * 32, bx * 16], [32, 16]))
    return k


def _ragged_copy(rows: int, columns: int, scope: str) -> TileKernel:
    """A tensor whose edges cut through tiles of 32 x 32."""
    k = TileKernel((-(-columns // 32), -(-rows // 32)))
    bx, by = k.blocks
    a, b = k.tensor("A", [rows, columns]), k.tensor("B", [rows, columns])
    tile = k.tile("t", [32, 32], "float32", scope)
    k.copy(_part(a, [by * 32, bx * 32], [32, 32]), tile)
    k.copy(tile, _part(b, [by * 32, bx * 32], [32, 32]))
    return k


def _copy_of_unknown_rows() -> TileKernel:
    k = TileKernel((1, 1))
    m = k.size("m")
    k.grid = (2, tirx.floordiv(m + 31, 32))
    bx, by = k.blocks
    a, b = k.tensor("A", [m, 64]), k.tensor("B", [m, 64])
    tile = k.tile("t", [32, 32])
    k.copy(_part(a, [by * 32, bx * 32], [32, 32]), tile)
    k.copy(tile, _part(b, [by * 32, bx * 32], [32, 32]))
    return k


def _copy_hinted(**annotations: Any) -> TileKernel:
    k = TileKernel((2,))
    a, b = k.tensor("A", [64, 32], "float16"), k.tensor("B", [64, 32], "float16")
    tile = k.tile("t", [32, 32], "float16")
    k.copy(_part(a, [k.blocks[0] * 32, 0], [32, 32]), tile, **annotations)
    k.copy(tile, _part(b, [k.blocks[0] * 32, 0], [32, 32]), **annotations)
    return k


def _copy_slices() -> TileKernel:
    """Slices of a tile of three dimensions, which are copied in the other order."""
    k = TileKernel((2,), 64)
    a, b = k.tensor("A", [2, 4, 16, 8]), k.tensor("B", [2, 4, 16, 8])
    tile = k.tile("t", [4, 16, 8])
    with k.loop(4) as i:
        k.copy(_part(a, [k.blocks[0], i, 0, 0], [1, 1, 16, 8]), _part(tile, [3 - i, 0, 0], [1, 16, 8]))
    with k.loop(4, UNROLLED) as i:
        k.copy(_part(tile, [i, 0, 0], [1, 16, 8]), _part(b, [k.blocks[0], i, 0, 0], [1, 1, 16, 8]))
    return k


def _copy_line() -> TileKernel:
    k = TileKernel((5,), 32)
    a, b = k.tensor("A", [320], "int8"), k.tensor("B", [320], "int8")
    line = k.fragment("line", [64], "int8")
    k.copy(_part(a, [k.blocks[0] * 64], [64]), line)
    k.copy(line, _part(b, [k.blocks[0] * 64], [64]))
    return k


def _transposed() -> TileKernel:
    k = TileKernel((2, 3))
    bx, by = k.blocks
    a, b = k.tensor("A", [96, 32]), k.tensor("B", [32, 96])
    tile = k.tile("t", [32, 16])
    k.copy(_part(a, [by * 32, bx * 16], [32, 16]), tile)
    with k.parallel(16, 32) as (i, j):
        k.store(b, [bx * 16 + i, by * 32 + j], tile[j, i])
    return k


# Fills


def _filled(scope: str, value: Any, dtype: str = "float32") -> TileKernel:
    k = TileKernel((3,), 64)
    b = k.tensor("B", [3, 16, 24], dtype)
    tile = k.tile("t", [16, 24], dtype, scope)
    k.fill(tile, value)
    k.copy(tile, _part(b, [k.blocks[0], 0, 0], [1, 16, 24]))
    return k


def _filled_border() -> TileKernel:
    """Zeros around the middle of a tile."""
    k = TileKernel((2,), 64)
    a, b = k.tensor("A", [2, 14, 30]), k.tensor("B", [2, 16, 32])
    tile = k.tile("t", [16, 32])
    k.fill(tile, 0.0)
    with k.parallel(14, 30) as (i, j):
        k.store(tile, [i + 1, j + 1], a[k.blocks[0], i, j])
    k.fill(_part(tile, [0, 0], [1, 32]), 1.0)
    k.copy(tile, _part(b, [k.blocks[0], 0, 0], [1, 16, 32]))
    return k


# Parallel loops


def _elementwise(dtype: str, change: Callable[[Any, Any], Any], extents: tuple[int, int] = (32, 64)) -> TileKernel:
    rows, columns = extents
    k = TileKernel((2, 2))
    bx, by = k.blocks
    shape = [rows * 2, columns * 2]
    a, b, c = (k.tensor(name, shape, dtype) for name in "ABC")
    x, y = k.fragment("x", [rows, columns], dtype), k.fragment("y", [rows, columns], dtype)
    k.copy(_part(a, [by * rows, bx * columns], [rows, columns]), x)
    k.copy(_part(b, [by * rows, bx * columns], [rows, columns]), y)
    with k.parallel(rows, columns) as (i, j):
        k.store(x, [i, j], change(x[i, j], y[i, j]))
    k.copy(x, _part(c, [by * rows, bx * columns], [rows, columns]))
    return k


def _guarded_elementwise() -> TileKernel:
    k = TileKernel((3,), 64)
    n = k.size("n")
    a, b = k.tensor("A", [n]), k.tensor("B", [n])
    with k.parallel(128) as (i,):
        at = k.blocks[0] * 128 + i
        with k.when(at < n):
            k.store(b, [at], a[at] * tirx.const(2.0, "float32"))
    return k


def _broadcast() -> TileKernel:
    k = TileKernel((2,))
    a, bias, b = k.tensor("A", [64, 48]), k.tensor("bias", [48]), k.tensor("B", [64, 48])
    x, line = k.fragment("x", [32, 48]), k.fragment("line", [48])
    k.copy(_part(a, [k.blocks[0] * 32, 0], [32, 48]), x)
    k.copy(bias, line)
    with k.parallel(32, 48) as (i, j):
        k.store(x, [i, j], x[i, j] + line[j])
    k.copy(x, _part(b, [k.blocks[0] * 32, 0], [32, 48]))
    return k


def _loop_hinted(**annotations: Any) -> TileKernel:
    k = TileKernel((2,))
    a, b = k.tensor("A", [2, 512], "float16"), k.tensor("B", [2, 512], "float16")
    with k.parallel(512, **annotations) as (i,):
        k.store(b, [k.blocks[0], i], a[k.blocks[0], i] + tirx.const(1, "float16"))
    return k


def _gather() -> TileKernel:
    """Rows of a table by their numbers."""
    k = TileKernel((4,), 64)
    table, rows, out = k.tensor("table", [16, 32]), k.tensor("rows", [16], "int32"), k.tensor("out", [16, 32])
    numbers = k.tile("numbers", [4], "int32")
    k.copy(_part(rows, [k.blocks[0] * 4], [4]), numbers)
    with k.parallel(4, 32) as (i, j):
        k.store(out, [k.blocks[0] * 4 + i, j], table[tirx.min(tirx.max(numbers[i], 0), 15), j])
    return k


def _unpacked() -> TileKernel:
    """Two numbers of four bits in each byte."""
    k = TileKernel((2,), 64)
    a, b = k.tensor("A", [32, 32], "uint8"), k.tensor("B", [32, 64], "float16")
    packed, plain = k.fragment("packed", [16, 32], "uint8"), k.fragment("plain", [16, 64], "float16")
    k.copy(_part(a, [k.blocks[0] * 16, 0], [16, 32]), packed)
    with k.parallel(16, 64) as (i, j):
        shift = tirx.Cast("uint8", tirx.floormod(j, 2) * 4)
        nibble = tirx.bitwise_and(tirx.shift_right(packed[i, tirx.floordiv(j, 2)], shift), tirx.const(15, "uint8"))
        k.store(plain, [i, j], tirx.Cast("float16", nibble))
    k.copy(plain, _part(b, [k.blocks[0] * 16, 0], [16, 64]))
    return k


# Other loops, branches, small memories


def _vectorised(lanes: int, dtype: str) -> TileKernel:
    k = TileKernel((2,), 32)
    a, b = k.tensor("A", [2, 32 * lanes], dtype), k.tensor("B", [2, 32 * lanes], dtype)
    with k.parallel(32) as (i,), k.loop(lanes, VECTORIZED) as v:
        k.store(b, [k.blocks[0], i * lanes + v], a[k.blocks[0], i * lanes + v])
    return k


def _running_sum() -> TileKernel:
    """A register of each thread's own."""
    k = TileKernel((2,), 64)
    a, b = k.tensor("A", [2, 12, 64]), k.tensor("B", [2, 64])
    sums = k.fragment("sums", [64])
    k.fill(sums, 0.0)
    with k.loop(12) as r, k.parallel(64) as (i,):
        k.store(sums, [i], sums[i] + a[k.blocks[0], r, i])
    k.copy(sums, _part(b, [k.blocks[0], 0], [1, 64]))
    return k


def _local_table() -> TileKernel:
    k = TileKernel((2,), 32)
    b = k.tensor("B", [2, 8], "int32")
    table, count = k.tile("table", [8], "int32", "local"), k.tile("count", [1], "int32", "local.var")
    k.store(count, [0], 1)
    with k.loop(8, UNROLLED) as i:
        k.store(table, [i], count[0])
        k.store(count, [0], count[0] * 3 + i)
    with k.loop(8) as i:
        k.store(b, [k.blocks[0], i], table[i])
    return k


def _branches() -> TileKernel:
    """What a block does depends on its number."""
    k = TileKernel((4,), 64)
    a, b = k.tensor("A", [4, 16, 16]), k.tensor("B", [4, 16, 16])
    tile = k.tile("t", [16, 16])
    bx = k.blocks[0]
    with k.when(tirx.floormod(bx, 2) == 0):
        k.copy(_part(a, [bx, 0, 0], [1, 16, 16]), tile)
    with k.when(tirx.floormod(bx, 2) != 0):
        k.fill(tile, -1.0)
    k.copy(tile, _part(b, [bx, 0, 0], [1, 16, 16]))
    return k


def _named_values() -> TileKernel:
    k = TileKernel((4,), 64)
    a, b = k.tensor("A", [8, 64]), k.tensor("B", [8, 64])
    row = k.bind("row", k.blocks[0] * 2 + 1)
    with k.parallel(64) as (i,):
        value = k.bind("value", a[row, i])
        k.store(b, [row, i], value * value)
    return k


# Products


def _product(
    dtype: str = "float16",
    accumulator: str = "float32",
    stages: int = 0,
    flip_a: bool = False,
    flip_b: bool = False,
    policy: int = 0,
    registers: bool = False,
    threads: int = 128,
    swizzle: bool = False,
    tiles: tuple[int, int, int] = (64, 64, 32),
    depth: int = 96,
) -> TileKernel:
    """The product of two matrices, a tile of the result for each block."""
    m, n, d = tiles
    k = TileKernel((2, 2), threads)
    bx, by = k.blocks
    a = k.tensor("A", [depth, 2 * m] if flip_a else [2 * m, depth], dtype)
    b = k.tensor("B", [2 * n, depth] if flip_b else [depth, 2 * n], dtype)
    c = k.tensor("C", [2 * m, 2 * n], accumulator)
    x = k.tile("x", [d, m] if flip_a else [m, d], dtype)
    y = k.tile("y", [n, d] if flip_b else [d, n], dtype)
    z = k.fragment("z", [m, n], accumulator)

    def work() -> None:
        k.fill(z, 0)
        with k.pipelined(depth // d, stages) as i:
            k.copy(_part(a, [i * d, by * m], [d, m]) if flip_a else _part(a, [by * m, i * d], [m, d]), x)
            k.copy(_part(b, [bx * n, i * d], [n, d]) if flip_b else _part(b, [i * d, bx * n], [d, n]), y)
            left = x
            if registers:
                left = k.fragment("left", [m, d], dtype)
                k.copy(x, left)
            k.gemm(left, y, z, flip_a=flip_a, flip_b=flip_b, policy=policy)
        k.copy(z, _part(c, [by * m, bx * n], [m, n]))

    if swizzle:
        pattern = _op("tvm_tuple", tirx.StringImm("rasterization2DRow"), 10, dtype="handle")
        with k.under("threadblock_swizzle_pattern", pattern):
            work()
    else:
        work()
    return k


def _product_and_bias() -> TileKernel:
    """A product, a bias for each column, and the positive part, of half the width."""
    k = TileKernel((2,), 64)
    a, b = k.tensor("A", [64, 32], "float16"), k.tensor("B", [32, 32], "float16")
    bias, c = k.tensor("bias", [32], "float16"), k.tensor("C", [64, 32], "float16")
    x, y = k.tile("x", [32, 32], "float16"), k.tile("y", [32, 32], "float16")
    z, out = k.fragment("z", [32, 32]), k.tile("out", [32, 32], "float16")
    k.copy(_part(a, [k.blocks[0] * 32, 0], [32, 32]), x)
    k.copy(b, y)
    k.gemm(x, y, z, clear=True)
    with k.parallel(32, 32) as (i, j):
        k.store(z, [i, j], tirx.max(z[i, j] + tirx.Cast("float32", bias[j]), tirx.const(0.0, "float32")))
    k.copy(z, out)
    k.copy(out, _part(c, [k.blocks[0] * 32, 0], [32, 32]))
    return k


def _attention() -> TileKernel:
    """Rows that are weighted by how well they fit, with running maxima and sums."""
    rows, keys, width = 64, 32, 32
    k = TileKernel((2,))
    q, key, value, out = (
        k.tensor(name, [length, width], "float16") for name, length in (("Q", 128), ("K", 96), ("V", 96), ("O", 128))
    )
    qs, ks, vs = (k.tile(f"{name}s", [n, width], "float16") for name, n in (("q", rows), ("k", keys), ("v", keys)))
    score, weight = k.fragment("score", [rows, keys]), k.fragment("weight", [rows, keys], "float16")
    result = k.fragment("result", [rows, width])
    best, before, total, part = (k.fragment(name, [rows]) for name in ("best", "before", "total", "part"))
    k.copy(_part(q, [k.blocks[0] * rows, 0], [rows, width]), qs)
    k.fill(result, 0.0)
    k.fill(total, 0.0)
    k.fill(best, -1e4)
    with k.pipelined(3, 2) as step:
        k.copy(_part(key, [step * keys, 0], [keys, width]), ks)
        k.gemm(qs, ks, score, flip_b=True, policy=1, clear=True)
        k.copy(best, before)
        k.reduce("max", score, best, 1, clear=False)
        with k.parallel(rows, keys) as (i, j):
            k.store(score, [i, j], _op("exp", score[i, j] - best[i]))
        k.reduce("sum", score, part, 1)
        with k.parallel(rows) as (i,):
            k.store(total, [i], total[i] * _op("exp", before[i] - best[i]) + part[i])
        with k.parallel(rows, width) as (i, j):
            k.store(result, [i, j], result[i, j] * _op("exp", before[i] - best[i]))
        k.copy(score, weight)
        k.copy(_part(value, [step * keys, 0], [keys, width]), vs)
        k.gemm(weight, vs, result, policy=1)
    with k.parallel(rows, width) as (i, j):
        k.store(result, [i, j], result[i, j] / total[i])
    k.copy(result, _part(out, [k.blocks[0] * rows, 0], [rows, width]))
    return k


def _split_product() -> TileKernel:
    """Blocks add up their parts of one product."""
    k = TileKernel((2, 2), 64)
    bx, part = k.blocks
    a, b, c = k.tensor("A", [32, 64], "float16"), k.tensor("B", [64, 64], "float16"), k.tensor("C", [32, 64])
    x, y, z = k.tile("x", [32, 32], "float16"), k.tile("y", [32, 32], "float16"), k.fragment("z", [32, 32])
    k.copy(_part(a, [0, part * 32], [32, 32]), x)
    k.copy(_part(b, [part * 32, bx * 32], [32, 32]), y)
    k.gemm(x, y, z, clear=True)
    k.atomic("atomicadd", _part(c, [0, bx * 32], [32, 32]), z)
    return k


# Reductions and scans


def _reduced(kind: str, dim: int = 1, dtype: str = "float32", clear: bool = True, threads: int = 128) -> TileKernel:
    k = TileKernel((2,), threads)
    kept = [32, 64][1 - dim]
    a, b = k.tensor("A", [2, 32, 64], dtype), k.tensor("B", [2, kept], dtype)
    x, y = k.fragment("x", [32, 64], dtype), k.fragment("y", [kept], dtype)
    k.copy(_part(a, [k.blocks[0], 0, 0], [1, 32, 64]), x)
    if not clear:
        k.copy(_part(b, [k.blocks[0], 0], [1, kept]), y)
    k.reduce(kind, x, y, dim, clear=clear)
    k.copy(y, _part(b, [k.blocks[0], 0], [1, kept]))
    return k


def _reduced_in_steps(steps: int, stages: int) -> TileKernel:
    k = TileKernel((2,), 64)
    a, b = k.tensor("A", [64, 32 * steps]), k.tensor("B", [64])
    tile, x = k.tile("tile", [32, 32]), k.fragment("x", [32, 32])
    y = k.fragment("y", [32])
    k.fill(y, 0.0)
    with k.pipelined(steps, stages) as i:
        k.copy(_part(a, [k.blocks[0] * 32, i * 32], [32, 32]), tile)
        k.copy(tile, x)
        k.reduce("sum", x, y, 1, clear=False)
    k.copy(y, _part(b, [k.blocks[0] * 32], [32]))
    return k


def _reduced_of_three(dim: int) -> TileKernel:
    k = TileKernel((1,), 64)
    shape = [8, 16, 32]
    kept = [n for place, n in enumerate(shape) if place != dim]
    a, b = k.tensor("A", shape), k.tensor("B", kept)
    x, y = k.fragment("x", shape), k.fragment("y", kept)
    k.copy(a, x)
    k.reduce("max", x, y, dim)
    k.copy(y, b)
    return k


def _normalised(rows: int, columns: int, threads: int) -> TileKernel:
    """Rows divided by the root of the mean of their squares."""
    k = TileKernel((2,), threads)
    a, b = k.tensor("A", [2 * rows, columns]), k.tensor("B", [2 * rows, columns])
    x, squares = k.fragment("x", [rows, columns]), k.fragment("squares", [rows, columns])
    sums = k.fragment("sums", [rows])
    k.copy(_part(a, [k.blocks[0] * rows, 0], [rows, columns]), x)
    with k.parallel(rows, columns) as (i, j):
        k.store(squares, [i, j], x[i, j] * x[i, j])
    k.reduce("sum", squares, sums, 1)
    with k.parallel(rows) as (i,):
        k.store(sums, [i], _op("rsqrt", sums[i] / columns + tirx.const(1e-5, "float32")))
    with k.parallel(rows, columns) as (i, j):
        k.store(x, [i, j], x[i, j] * sums[i])
    k.copy(x, _part(b, [k.blocks[0] * rows, 0], [rows, columns]))
    return k


def _softmax(rows: int, columns: int) -> TileKernel:
    k = TileKernel((2,))
    a, b = k.tensor("A", [2 * rows, columns]), k.tensor("B", [2 * rows, columns])
    x, best, sums = k.fragment("x", [rows, columns]), k.fragment("best", [rows]), k.fragment("sums", [rows])
    k.copy(_part(a, [k.blocks[0] * rows, 0], [rows, columns]), x)
    k.reduce("max", x, best, 1)
    with k.parallel(rows, columns) as (i, j):
        k.store(x, [i, j], _op("exp", x[i, j] - best[i]))
    k.reduce("sum", x, sums, 1)
    with k.parallel(rows, columns) as (i, j):
        k.store(x, [i, j], x[i, j] / sums[i])
    k.copy(x, _part(b, [k.blocks[0] * rows, 0], [rows, columns]))
    return k


def _scanned(kind: str, dim: int, reverse: bool, dtype: str = "float32") -> TileKernel:
    k = TileKernel((2,), 64)
    a, b = k.tensor("A", [2, 16, 32], dtype), k.tensor("B", [2, 16, 32], dtype)
    tile = k.tile("tile", [16, 32], dtype)
    k.copy(_part(a, [k.blocks[0], 0, 0], [1, 16, 32]), tile)
    k.scan(kind, tile, tile, dim, reverse=reverse)
    k.copy(tile, _part(b, [k.blocks[0], 0, 0], [1, 16, 32]))
    return k


def _scanned_line() -> TileKernel:
    k = TileKernel((2,), 64)
    a, b = k.tensor("A", [2, 128]), k.tensor("B", [2, 128])
    line, sums = k.tile("line", [128]), k.tile("sums", [128])
    k.copy(_part(a, [k.blocks[0], 0], [1, 128]), line)
    k.scan("cumsum", line, sums, 0)
    k.copy(sums, _part(b, [k.blocks[0], 0], [1, 128]))
    return k


# Atomic operators


def _added(kind: str, dtype: str, scope: str) -> TileKernel:
    k = TileKernel((3,), 64)
    a, b = k.tensor("A", [3, 16, 32], dtype), k.tensor("B", [16, 32], dtype)
    x = k.tile("x", [16, 32], dtype, scope)
    k.copy(_part(a, [k.blocks[0], 0, 0], [1, 16, 32]), x)
    k.atomic(kind, b, x)
    return k


# Pipelines


def _pipeline_of_copies(stages: int, scope: str) -> TileKernel:
    k = TileKernel((2,), 64)
    a, b = k.tensor("A", [2, 128, 32]), k.tensor("B", [2, 128, 32])
    tile = k.tile("tile", [16, 32], "float32", scope)
    with k.pipelined(8, stages) as i:
        k.copy(_part(a, [k.blocks[0], i * 16, 0], [1, 16, 32]), tile)
        with k.parallel(16, 32) as (r, c):
            k.store(b, [k.blocks[0], i * 16 + r, c], tile[r, c] * tirx.const(0.5, "float32"))
    return k


def _pipeline_by_hand() -> TileKernel:
    k = TileKernel((2,), 64)
    a, b = k.tensor("A", [2, 128, 32]), k.tensor("B", [2, 128, 32])
    tile = k.tile("tile", [16, 32])
    order = {"tl_pipeline_order": [_int(0), _int(1)], "tl_pipeline_stage": [_int(0), _int(1)]}
    with k.pipelined(8, 0, **order) as i:
        k.copy(_part(a, [k.blocks[0], i * 16, 0], [1, 16, 32]), tile)
        k.copy(tile, _part(b, [k.blocks[0], i * 16, 0], [1, 16, 32]))
    return k


def _pipeline_with_branch() -> TileKernel:
    """What is loaded late is left out."""
    k = TileKernel((2,), 64)
    a, b = k.tensor("A", [2, 96, 32]), k.tensor("B", [2, 32])
    tile, sums, part = k.tile("tile", [16, 32]), k.fragment("sums", [32]), k.fragment("part", [16, 32])
    k.fill(sums, 0.0)
    with k.pipelined(6, 3) as i, k.when(i < k.blocks[0] * 2 + 3):
        k.copy(_part(a, [k.blocks[0], i * 16, 0], [1, 16, 32]), tile)
        k.copy(tile, part)
        k.reduce("sum", part, sums, 0, clear=False)
    k.copy(sums, _part(b, [k.blocks[0], 0], [1, 32]))
    return k


def _pipeline_of_unknown_length() -> TileKernel:
    k = TileKernel((2,), 64)
    n = k.size("n")
    a, b = k.tensor("A", [32, n * 32], "float16"), k.tensor("B", [32], "float32")
    tile, part, sums = k.tile("tile", [16, 32], "float16"), k.fragment("part", [16, 32]), k.fragment("sums", [16])
    k.fill(sums, 0.0)
    with k.pipelined(n, 2) as i:
        k.copy(_part(a, [k.blocks[0] * 16, i * 32], [16, 32]), tile)
        k.copy(tile, part)
        k.reduce("sum", part, sums, 1, clear=False)
    k.copy(sums, _part(b, [k.blocks[0] * 16], [16]))
    return k


def _int(value: int) -> Any:
    return tirx.IntImm("int32", value)


_HALF: Final = "float16"

TILE_KERNELS: Final[dict[str, Callable[[], TileKernel]]] = {
    "copy-shared": partial(_copied, ("shared.dyn",)),
    "copy-static-shared": partial(_copied, ("shared",)),
    "copy-fragment": partial(_copied, ("local.fragment",)),
    "copy-twice": partial(_copied, ("shared.dyn", "local.fragment"), threads=64),
    "copy-thrice": partial(_copied, ("shared.dyn", "local.fragment", "shared.dyn"), "float32"),
    "copy-direct": partial(_copied, ()),
    "copy-wider": partial(_copied, ("shared.dyn", "local.fragment"), _HALF, "float32"),
    "copy-narrower": partial(_copied, ("local.fragment",), "float32", "bfloat16"),
    "copy-bytes": partial(_copied, ("shared.dyn",), "int8", "int32"),
    "copy-float8": partial(_copied, ("shared.dyn", "local.fragment"), "float8_e4m3fn", _HALF),
    "copy-double": partial(_copied, ("shared.dyn",), "float64", threads=32),
    "copy-long": partial(_copied, ("local.fragment",), "int64"),
    "copy-ragged": partial(_ragged_copy, 75, 50, "shared.dyn"),
    "copy-ragged-fragment": partial(_ragged_copy, 40, 33, "local.fragment"),
    "copy-unknown-rows": _copy_of_unknown_rows,
    "copy-coalesced": partial(_copy_hinted, coalesced_width=_int(2)),
    "copy-evicting": partial(_copy_hinted, eviction_policy=_int(1)),
    "copy-slices": _copy_slices,
    "copy-line": _copy_line,
    "transpose": _transposed,
    "fill-fragment": partial(_filled, "local.fragment", 3.5),
    "fill-shared": partial(_filled, "shared.dyn", -7, "int32"),
    "fill-half": partial(_filled, "shared", 0, _HALF),
    "fill-border": _filled_border,
    "add": partial(_elementwise, "float32", lambda x, y: x + y),
    "add-half": partial(_elementwise, _HALF, lambda x, y: x * y + x),
    "divide-integers": partial(_elementwise, "int32", lambda x, y: tirx.floordiv(x, tirx.max(y, 1))),
    "choose": partial(_elementwise, "float32", lambda x, y: tirx.Select(x > y, x - y, y), (16, 24)),
    "exponentials": partial(_elementwise, "float32", lambda x, y: _op("exp", tirx.min(x, y))),
    "guarded": _guarded_elementwise,
    "broadcast": _broadcast,
    "loop-coalesced": partial(_loop_hinted, coalesced_width=_int(4)),
    "loop-plain": _loop_hinted,
    "gather": _gather,
    "unpack": _unpacked,
    "vector-4": partial(_vectorised, 4, "float32"),
    "vector-8": partial(_vectorised, 8, _HALF),
    "running-sum": _running_sum,
    "local-table": _local_table,
    "branches": _branches,
    "named-values": _named_values,
    "product": _product,
    "product-pipelined": partial(_product, stages=2),
    "product-deep": partial(_product, stages=3, threads=64, tiles=(32, 32, 32)),
    "product-flipped": partial(_product, flip_b=True, stages=2),
    "product-flipped-left": partial(_product, flip_a=True, policy=1),
    "product-of-bytes": partial(_product, "int8", "int32", flip_b=True, policy=2),
    "product-brain": partial(_product, "bfloat16", registers=True),
    "product-swizzled": partial(_product, swizzle=True, stages=2, tiles=(32, 64, 16)),
    "product-half": partial(_product, accumulator=_HALF, tiles=(64, 32, 32)),
    "product-and-bias": _product_and_bias,
    "attention": _attention,
    "split-product": _split_product,
    "sum-rows": partial(_reduced, "sum"),
    "sum-columns": partial(_reduced, "sum", 0),
    "max-further": partial(_reduced, "max", clear=False),
    "min-integers": partial(_reduced, "min", dtype="int32", threads=64),
    "absolute-sum": partial(_reduced, "abssum", threads=32),
    "absolute-max": partial(_reduced, "absmax", 0, _HALF),
    "bits-and": partial(_reduced, "bitand", dtype="int32"),
    "bits-xor": partial(_reduced, "bitxor", 0, "int32"),
    "sum-in-steps": partial(_reduced_in_steps, 4, 0),
    "sum-pipelined": partial(_reduced_in_steps, 5, 2),
    "max-of-three-0": partial(_reduced_of_three, 0),
    "max-of-three-1": partial(_reduced_of_three, 1),
    "max-of-three-2": partial(_reduced_of_three, 2),
    "root-mean-square": partial(_normalised, 16, 96, 128),
    "softmax": partial(_softmax, 16, 64),
    "scan-sums": partial(_scanned, "cumsum", 1, False),
    "scan-sums-back": partial(_scanned, "cumsum", 0, True),
    "scan-maxima": partial(_scanned, "cummax", 1, True, "int32"),
    "scan-line": _scanned_line,
    "atomic-add": partial(_added, "atomicadd", "float32", "local.fragment"),
    "atomic-add-half": partial(_added, "atomicadd", _HALF, "shared.dyn"),
    "atomic-max": partial(_added, "atomicmax", "int32", "local.fragment"),
    "atomic-min": partial(_added, "atomicmin", "float32", "shared.dyn"),
    "pipeline-2": partial(_pipeline_of_copies, 2, "shared.dyn"),
    "pipeline-4": partial(_pipeline_of_copies, 4, "shared"),
    "pipeline-fragment": partial(_pipeline_of_copies, 2, "local.fragment"),
    "pipeline-by-hand": _pipeline_by_hand,
    "pipeline-with-branch": _pipeline_with_branch,
    "pipeline-unknown-length": _pipeline_of_unknown_length,
}
"""Name -> kernel."""
