"""Kernels in TileLang's dialect, built node by node as its front end does, without the front end, which imports torch.

A kernel is a grid of blocks, each with its threads, whose body works on tiles: parts of tensors in global memory, and
buffers of the block's own. Whole tiles are copied, filled, multiplied, reduced and scanned by operators, `tl.tileop.*`;
loops that say "parallel" are shared out among the threads. Nodes are those of the fork of TVM in its wheel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from tzerlike.systems.tvm_api import array_items, op_call, s_tir, tirx, tvm
from tzerlike.tir.scope import PARALLEL, SERIAL, THREAD_BINDING
from tzerlike.tir.tile_checks import OPERATOR

READ: Final = 1
WRITE: Final = 2

ROOT: Final = "tilelang_root"
"""The block of a kernel's body, which says how many threads there are and allocates the tiles."""

LAUNCH_THREADS: Final = "tl.launch_threads"
"""The annotation of that block with the threads of a kernel block, in three dimensions."""

PIPELINE_STAGES: Final = "num_stages"
"""The annotation of a loop that is to be a pipeline of that many buffers."""

_AXES: Final = ("x", "y", "z")


@dataclass(frozen=True, slots=True)
class TileRegion:
    """A box of a buffer: as many elements of each dimension as `extents` says, from `mins` on."""

    buffer: Any
    mins: Sequence[Any]
    extents: Sequence[Any]

    def call(self, access: int) -> Any:
        """Return it as operators take it, to be read (1), written (2), or both (3)."""
        first = tirx.BufferLoad(self.buffer, [*self.mins])
        return op_call(_op("tl.region"), [first, _int(access), *map(_expr, self.extents)], "handle")


@dataclass(slots=True)
class TileKernel:
    """A kernel under construction: `grid` has the blocks in up to three dimensions, `threads` those of each block.

    `blocks` are the variables of the grid. What is emitted goes to the end of the innermost loop or branch.
    """

    grid: Sequence[Any]
    threads: int = 128
    annotations: dict[str, Any] = field(default_factory=dict)
    blocks: tuple[Any, ...] = ()
    _params: list[Any] = field(default_factory=list)
    _buffers: dict[Any, Any] = field(default_factory=dict)
    _tiles: list[Any] = field(default_factory=list)
    _open: list[list[Any]] = field(default_factory=lambda: [[]])

    def __post_init__(self) -> None:
        self.blocks = tuple(tirx.Var(f"b{axis}", "int32") for axis, _ in zip(_AXES, self.grid, strict=False))

    def size(self, name: str) -> Any:
        """Add a parameter that is a number known at run time alone."""
        self._params.append(tirx.Var(name, "int32"))
        return self._params[-1]

    def tensor(self, name: str, shape: Sequence[Any], dtype: str = "float32") -> Any:
        """Add a parameter that is a tensor in global memory."""
        handle = tirx.Var(f"{name}_handle", "handle")
        self._params.append(handle)
        self._buffers[handle] = tirx.decl_buffer([*shape], dtype, name)
        return self._buffers[handle]

    def tile(self, name: str, shape: Sequence[int], dtype: str = "float32", scope: str = "shared.dyn") -> Any:
        """Allocate a buffer of the block's own: `shared.dyn`, `shared`, `local.fragment`, `local` or `local.var`."""
        self._tiles.append(tirx.decl_buffer([*shape], dtype, name, scope=scope))
        return self._tiles[-1]

    def fragment(self, name: str, shape: Sequence[int], dtype: str = "float32") -> Any:
        """Allocate a tile that is spread over the registers of the threads."""
        return self.tile(name, shape, dtype, "local.fragment")

    def emit(self, stmt: Any) -> None:
        self._open[-1].append(stmt)

    def store(self, buffer: Any, indices: Sequence[Any], value: Any) -> None:
        """Write one element."""
        self.emit(tirx.BufferStore(buffer, _expr(value, str(buffer.dtype)), [*indices]))

    def operate(self, name: str, *operands: Any, annotations: Mapping[str, Any] | None = None) -> None:
        """Emit an operator on tiles, `copy` for `tl.tileop.copy`."""
        arguments = [_expr(operand) for operand in operands]
        call = tirx.Call("handle", _op(f"{OPERATOR}{name}"), arguments, annotations or None)
        self.emit(tirx.Evaluate(call))

    def copy(self, source: Any, target: Any, **annotations: Any) -> None:
        self.operate("copy", _region(source, READ), _region(target, WRITE), annotations=annotations)

    def fill(self, target: Any, value: Any) -> None:
        whole = _whole(target)
        self.operate("fill", _region(target, WRITE), _expr(value, str(whole.buffer.dtype)))

    def gemm(
        self,
        a: Any,
        b: Any,
        c: Any,
        *,
        flip_a: bool = False,
        flip_b: bool = False,
        policy: int = 0,
        clear: bool = False,
    ) -> None:
        """Emit c += a @ b, of which `flip_a` and `flip_b` are transposed, or c = a @ b where it is to `clear`.

        `policy` says how warps share the tile: 0 in a square, 1 along rows, 2 along columns.
        """
        (m, n), (first, second) = _whole(c).extents[-2:], _whole(a).extents[-2:]
        tiles = (_region(a, READ), _region(b, READ), _region(c, WRITE if clear else READ | WRITE))
        depth = first if flip_a else second
        self.operate("gemm", *tiles, flip_a, flip_b, m, n, depth, policy, clear, 0, *_whole(c).mins[-2:])

    def reduce(self, kind: str, source: Any, target: Any, dim: int, *, clear: bool = True) -> None:
        """Emit a reduction over one dimension: sum, abssum, max, absmax, min, bitand, bitor or bitxor."""
        self.operate("reduce", _region(source, READ), _region(target, WRITE), tirx.StringImm(kind), dim, clear)

    def scan(self, kind: str, source: Any, target: Any, dim: int, *, reverse: bool = False) -> None:
        """Emit `cumsum` or `cummax` along a dimension."""
        self.operate(kind, _region(source, READ), _region(target, WRITE), dim, reverse)

    def atomic(self, kind: str, target: Any, source: Any, **annotations: Any) -> None:
        """Emit `atomicadd`, `atomicmax` or `atomicmin` of a tile to another."""
        self.operate(kind, _region(source, READ), _region(target, WRITE), annotations=annotations)

    @contextmanager
    def loop(self, extent: Any, kind: int = SERIAL, start: Any = 0, **annotations: Any) -> Iterator[Any]:
        """A loop: serial (0), parallel (1), vectorised (2) or unrolled (3)."""
        var = tirx.Var("i" if kind == SERIAL else "v", "int32")
        with self._within() as body:
            yield var
        self.emit(tirx.For(var, _expr(start), _expr(extent), kind, body(), None, annotations))

    @contextmanager
    def parallel(self, *extents: Any, **annotations: Any) -> Iterator[tuple[Any, ...]]:
        """A nest of loops whose iterations the threads share; the outermost has the annotations."""
        variables = tuple(tirx.Var(f"v{axis}", "int32") for axis in range(len(extents)))
        with self._within() as body:
            yield variables
        nest = body()
        for place in reversed(range(len(extents))):
            hints = annotations if place == 0 else {}
            nest = tirx.For(variables[place], _int(0), _expr(extents[place]), PARALLEL, nest, None, hints)
        self.emit(nest)

    def pipelined(self, extent: Any, stages: int = 2, **annotations: Any) -> Any:
        """A loop that loads for later iterations while it works on one."""
        return self.loop(extent, **({PIPELINE_STAGES: _int(stages)} if stages else {}), **annotations)

    @contextmanager
    def when(self, condition: Any) -> Iterator[None]:
        with self._within() as body:
            yield
        self.emit(tirx.IfThenElse(condition, body(), None))

    @contextmanager
    def under(self, key: str, value: Any, node: Any = None) -> Iterator[None]:
        """Put what follows under an attribute."""
        with self._within() as body:
            yield
        self.emit(tirx.AttrStmt(_int(0) if node is None else node, key, _expr(value), body()))

    def bind(self, name: str, value: Any) -> Any:
        """Give a value a name."""
        var = tirx.Var(name, str(value.dtype))
        self.emit(tirx.Bind(var, value))
        return var

    def function(self) -> Any:
        """Return the kernel as a PrimFunc."""
        threads = [_int(self.threads), _int(1), _int(1)]
        block = _block(ROOT, _seq(self._open[0]), self._tiles, {LAUNCH_THREADS: threads} | self.annotations)
        places = [
            tirx.Bind(tirx.Var(f"t{axis}", "int32"), op_call(_op("tl.launch_thread_idx"), [_int(place)], "int32"))
            for place, axis in enumerate(_AXES)
        ]
        body = tirx.SeqStmt([*places, block])
        for var, axis, extent in reversed(list(zip(self.blocks, _AXES, self.grid, strict=False))):
            tag = f"blockIdx.{axis}"
            thread = tirx.IterVar(None, tirx.Var(tag, "int32"), tirx.IterVar.ThreadIndex, tag)
            body = tirx.For(var, _int(0), _expr(extent), THREAD_BINDING, body, thread)
        return tirx.PrimFunc(self._params, _block("root", body, [], {}), None, self._buffers)

    @contextmanager
    def _within(self) -> Iterator[Any]:
        stmts: list[Any] = []
        self._open.append(stmts)
        yield lambda: _seq(stmts)
        self._open.pop()


def _block(name: str, body: Any, tiles: Sequence[Any], annotations: Mapping[str, Any]) -> Any:
    block = s_tir.SBlock([], [], [], name, body, None, tiles, [], annotations)
    return s_tir.SBlockRealize([], tirx.const(True, "bool"), block)


def _seq(stmts: Sequence[Any]) -> Any:
    return stmts[0] if len(stmts) == 1 else tirx.SeqStmt(stmts)


def _op(name: str) -> Any:
    return tvm.ir.Op.get(name)


def _int(value: int) -> Any:
    return tirx.IntImm("int32", value)


def _expr(value: Any, dtype: str = "int32") -> Any:
    if isinstance(value, bool):
        return tirx.const(value, "bool" if dtype == "int32" else dtype)
    return tirx.const(value, dtype) if isinstance(value, int | float) else value


def _whole(tile: Any) -> TileRegion:
    if isinstance(tile, TileRegion):
        return tile
    shape = array_items(tile.shape)
    return TileRegion(tile, [_int(0)] * len(shape), shape)


def _region(tile: Any, access: int) -> Any:
    return _whole(tile).call(access)
