"""Mutators of kernels in TileLang's dialect; they keep valid programs valid, and do not apply elsewhere.

Extents, dtypes and scopes go through a whole kernel: they change in its text, where each number, type and buffer is a
node of a graph. Everything else changes in the tree.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any, Final

from tzerlike.mutators.annotate import annotations_of
from tzerlike.mutators.protocol import MutationEnv
from tzerlike.systems.tvm_api import array_items, dump_ir, entry_of, load_ir, memory_var_of, module_of, s_tir, tirx
from tzerlike.tir.node import accessed_by, key, loop_with, seq
from tzerlike.tir.scope import PARALLEL, SERIAL, UNROLLED
from tzerlike.tir.tile_checks import tile_operator
from tzerlike.tir.tile_language import LAUNCH_THREADS, PIPELINE_STAGES, ROOT
from tzerlike.tir.tree import Site, Tree

_LEAST: Final = 8
"""Smaller numbers are no extents of tiles: they count blocks, stages and dimensions."""

_LARGEST: Final = 4096
"""Nothing is stretched beyond it: what a kernel computes has an end."""

_EXTENTS: Final = (8, 16, 24, 32, 48, 64, 96, 128)
_DTYPES: Final = (
    ("float16", "bfloat16", "float32", "float64"),
    ("int8", "uint8", "int16"),
    ("float8_e4m3fn", "float8_e5m2", "float16"),
)
"""Dtypes that may stand for each other everywhere in a kernel."""
_SCOPES: Final = ("shared.dyn", "shared", "local.fragment")
_KINDS: Final = ("sum", "abssum", "max", "absmax", "min")


def tile_extents(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Stretch an extent of a tile and all that are multiples of it."""

    def change(graph: Any) -> bool:
        nodes = graph["nodes"]
        threads = _thread_counts(nodes)
        numbers = [n["data"] for i, n in enumerate(nodes) if n["type"].endswith(".IntImm") and i not in threads]
        extents = sorted({data["value"] for data in numbers if data["value"] >= _LEAST})
        if not extents:
            return False
        unit = rng.choice(extents)
        other = rng.choice(
            [n for n in (8, 16, 24, 32, 48, 64, 96, 128, unit * 2, unit + 8, unit - 1) if n != unit and n > 0]
        )
        scaled = [data for data in numbers if data["value"] > 0 and data["value"] % unit == 0]
        if max(data["value"] // unit * other for data in scaled) > _LARGEST:
            return False
        for data in scaled:
            data["value"] = data["value"] // unit * other
        return True

    return _edited(func, change)


def tile_edges(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Cut a few rows or columns off a tensor in global memory, so that its edges cut through tiles."""

    def change(graph: Any) -> bool:
        nodes = graph["nodes"]
        tensors = [buffer for buffer in _buffers(nodes) if _scope(buffer, nodes)[1] == "global"]
        shapes = [nodes[tensor["data"]["shape"]]["data"] for tensor in tensors]
        places = [(shape, i) for shape in shapes for i, place in enumerate(shape) if _is_extent(nodes[place])]
        if not places:
            return False
        shape, i = rng.choice(places)
        extent = nodes[shape[i]]["data"]
        shorter = extent | {"value": extent["value"] - rng.choice((1, 2, 3, 4, 7))}
        nodes.append({"type": nodes[shape[i]]["type"], "data": shorter})
        shape[i] = len(nodes) - 1
        return True

    return _edited(func, change)


def tile_dtypes(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Put another dtype in the place of one throughout."""
    if not _operators(Tree(func)):
        return None
    text = dump_ir(module_of(func))
    present = [(dtype, family) for family in _DTYPES for dtype in family if f'"{dtype}"' in text]
    if not present:
        return None
    dtype, family = rng.choice(present)
    other = rng.choice([other for other in family if other != dtype])
    return entry_of(load_ir(text.replace(f'"{dtype}"', f'"{other}"')))


def tile_scope(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Put a tile in memory of another kind."""

    def change(graph: Any) -> bool:
        nodes = graph["nodes"]
        tiles = [buffer for buffer in _buffers(nodes) if _scope(buffer, nodes)[1] in _SCOPES]
        if not tiles:
            return False
        pointer, scope = _scope(rng.choice(tiles), nodes)
        nodes.append({"type": "ffi.String", "data": rng.choice([other for other in _SCOPES if other != scope])})
        pointer["storage_scope"] = len(nodes) - 1
        return True

    return _edited(func, change)


def tile_threads(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Launch another number of threads."""
    tree = Tree(func)
    for site in tree.of_type(s_tir.SBlock):
        if site.node.name_hint == ROOT:
            annotations = annotations_of(site.node)
            count = rng.choice((32, 64, 96, 128, 256, 512))
            annotations[LAUNCH_THREADS] = [
                tirx.IntImm("int32", count),
                tirx.IntImm("int32", 1),
                tirx.IntImm("int32", 1),
            ]
            return tree.replace(site, _block_with(site.node, annotations))
    return None


def tile_stages(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Make a loop over tiles a pipeline, one of another depth, or none; or unroll it."""
    tree = Tree(func)
    loops = [site for site in tree.of_type(tirx.For) if int(site.node.kind) in (SERIAL, UNROLLED)]
    loops = [site for site in loops if _operators(tree, site)]
    if not loops:
        return None
    site = rng.choice(loops)
    annotations = annotations_of(site.node)
    stages = rng.choice((0, 0, 1, 2, 3, 4))
    annotations.pop(PIPELINE_STAGES, None)
    for name in [name for name in annotations if name.startswith("tl_pipeline")]:
        del annotations[name]
    if stages:
        annotations[PIPELINE_STAGES] = tirx.IntImm("int32", stages)
    kind = UNROLLED if not stages and rng.randrange(2) else SERIAL
    return tree.replace(site, loop_with(site.node, annotations=annotations, kind=kind))


def tile_operands(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Change what a product, a reduction or a scan is told besides its tiles."""
    tree = Tree(func)
    sites = [site for name in _OPERANDS for site in _operators(tree, name=name)]
    if not sites:
        return None
    site = rng.choice(sites)
    arguments = array_items(site.node.args)
    _OPERANDS[tile_operator(site.node)](arguments, rng)
    return tree.replace(site, _call_with(site.node, arguments))


def _product(arguments: list[Any], rng: Random) -> None:
    if rng.randrange(3):
        arguments[8] = tirx.IntImm("int32", rng.randrange(3))
    else:
        arguments[9] = tirx.const(not arguments[9].value, "bool")


def _reduction(arguments: list[Any], rng: Random) -> None:
    if rng.randrange(2):
        arguments[2] = tirx.StringImm(rng.choice(_KINDS))
    else:
        arguments[4] = tirx.const(not arguments[4].value, "bool")


def _scan(arguments: list[Any], rng: Random) -> None:
    if rng.randrange(2):
        arguments[3] = tirx.const(not arguments[3].value, "bool")
    else:
        arguments[2] = tirx.IntImm("int32", rng.randrange(len(array_items(arguments[0].args)) - 2))


_OPERANDS: Final[dict[str, Callable[[list[Any], Random], None]]] = {
    "gemm": _product,
    "reduce": _reduction,
    "cumsum": _scan,
    "cummax": _scan,
}

_COPY_HINTS: Final = {"coalesced_width": (1, 2, 4, 8), "eviction_policy": (0, 1, 2), "disable_tma": (1,)}
_LOOP_HINTS: Final = {"coalesced_width": (1, 2, 4, 8), "parallel_prefer_async": (0, 1)}


def tile_hints(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Say how a copy or a parallel loop is to be done, or no longer say it."""
    tree = Tree(func)
    loops = [site for site in tree.of_type(tirx.For) if int(site.node.kind) == PARALLEL and not _within_parallel(site)]
    sites = loops + _operators(tree, name="copy")
    if not sites or not _operators(tree):
        return None
    site = rng.choice(sites)
    is_loop = type(site.node) is tirx.For
    annotations = {str(key): value for key, value in site.node.annotations.items()}
    name, values = rng.choice(sorted((_LOOP_HINTS if is_loop else _COPY_HINTS).items()))
    if name in annotations and rng.randrange(2):
        del annotations[name]
    else:
        annotations[name] = tirx.IntImm("int32", rng.choice(values))
    if is_loop:
        return tree.replace(site, loop_with(site.node, annotations=annotations))
    return tree.replace(site, _call_with(site.node, array_items(site.node.args), annotations))


def tile_detour(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Have a copy go by way of another tile, of memory of any kind."""
    tree = Tree(func)
    root = next((site for site in tree.of_type(s_tir.SBlock) if site.node.name_hint == ROOT), None)
    copies = _operators(tree, name="copy")
    if root is None or not copies:
        return None
    site = rng.choice(copies)
    source, target = array_items(site.node.args)
    extents = array_items(source.args)[2:]
    if not all(type(extent) is tirx.IntImm for extent in extents):
        return None
    used = {str(buffer.name) for buffer in array_items(root.node.alloc_buffers)}
    name = next(name for number in range(len(used) + 1) if (name := f"detour{number}") not in used)
    dtype = str(array_items(source.args)[0].dtype)
    tile = tirx.decl_buffer(extents, dtype, name, scope=rng.choice(_SCOPES))
    zeros = [tirx.IntImm("int32", 0)] * len(extents)
    region = [source.op, [tirx.BufferLoad(tile, zeros)]]

    def of_tile(access: int) -> Any:
        return tirx.Call("handle", region[0], [*region[1], tirx.IntImm("int32", access), *extents])

    there = tirx.Evaluate(_call_with(site.node, [source, of_tile(2)]))
    back = tirx.Evaluate(tirx.Call("handle", site.node.op, [of_tile(1), target]))
    assert site.parent is not None
    body = tree.rebuild([(site.parent, seq([there, back]))])
    changed = Tree(func.with_body(body))
    block = next(site for site in changed.of_type(s_tir.SBlock) if site.node.name_hint == ROOT)
    return changed.replace(block, _block_with(block.node, annotations_of(block.node), tile))


def tile_order(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Swap two neighbours that work on other buffers, or do one twice."""
    tree = Tree(func)
    sequences = [site for site in tree.of_type(tirx.SeqStmt) if _operators(tree, site)]
    if not sequences:
        return None
    site = rng.choice(sequences)
    parts = array_items(site.node.seq)
    movable = [i for i, part in enumerate(parts) if type(part) in (tirx.Evaluate, tirx.For)]
    if not movable:
        return None
    place = rng.choice(movable)
    if place + 1 in movable and _apart(parts[place], parts[place + 1]):
        parts[place], parts[place + 1] = parts[place + 1], parts[place]
    elif _named(parts[place]) in ("copy", "fill"):
        parts.insert(place, parts[place])
    else:
        return None
    return tree.replace(site, tirx.SeqStmt(parts))


def tile_condition(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Have some blocks leave out an operator, or do it in a loop of its own."""
    tree = Tree(func)
    sites = [site.parent for site in _operators(tree) if site.parent is not None]
    blocks = [site.node.loop_var for site in tree.of_type(tirx.For) if site.node.thread_binding is not None]
    if not sites or not blocks:
        return None
    site, block = rng.choice(sites), rng.choice(blocks)
    bound = tirx.IntImm("int32", rng.choice((1, 2, 3)))
    if rng.randrange(2):
        return tree.replace(site, tirx.IfThenElse(tirx.LT(block, bound), site.node, None))
    used = {str(loop.node.loop_var.name) for loop in tree.of_type(tirx.For)}
    name = next((name for name in ("again", "more", "once") if name not in used), "")
    if not name:
        return None
    return tree.replace(site, tirx.For(tirx.Var(name, "int32"), tirx.IntImm("int32", 0), bound, SERIAL, site.node))


def _edited(func: Any, change: Callable[[Any], bool]) -> Any | None:
    """The function after a change of the graph that its text holds, None where there is none to make."""
    if not _operators(Tree(func)):
        return None
    graph = json.loads(dump_ir(module_of(func)))
    return entry_of(load_ir(json.dumps(graph))) if change(graph) else None


def _buffers(nodes: Any) -> list[Any]:
    """The nodes of a graph that are buffers."""
    return [node for node in nodes if node["type"] == "tirx.Buffer"]


def _thread_counts(nodes: Any) -> set[int]:
    """The places of the numbers that say how many threads a block has."""
    maps = [node["data"] for node in nodes if node["type"] == "ffi.Map" and node.get("data")]
    entries = [pair for data in maps for pair in zip(data[::2], data[1::2], strict=True)]
    return {
        place for key, value in entries if nodes[key].get("data") == LAUNCH_THREADS for place in nodes[value]["data"]
    }


def _is_extent(node: Any) -> bool:
    return str(node["type"]).endswith(".IntImm") and bool(node["data"]["value"] >= _LEAST)


def _scope(buffer: Any, nodes: Any) -> tuple[dict[str, Any], str]:
    """The node of the type of a buffer's pointer, and the memory that it is in."""
    pointer = nodes[nodes[buffer["data"]["data"]]["data"]["type_annotation"]]["data"]
    return pointer, str(nodes[pointer["storage_scope"]].get("data", "")) or "global"


def _operators(tree: Tree, within: Site | None = None, name: str = "") -> list[Site]:
    """The calls of operators on tiles, all or those of one name."""
    sites = tree.sites if within is None else tree.below(within)
    return [site for site in sites if (found := tile_operator(site.node)) and name in ("", found)]


def _call_with(call: Any, arguments: list[Any], annotations: Any = None) -> Any:
    return tirx.Call(str(call.dtype), call.op, arguments, call.annotations if annotations is None else annotations)


def _block_with(block: Any, annotations: Any, *more: Any) -> Any:
    """A block with other annotations and further tiles."""
    signature = (block.iter_vars, block.reads, block.writes, block.name_hint, block.body, block.init)
    return s_tir.SBlock(*signature, [*array_items(block.alloc_buffers), *more], block.match_buffers, annotations)


def _within_parallel(site: Site) -> bool:
    return any(type(above.node) is tirx.For and int(above.node.kind) == PARALLEL for above in site.ancestors())


def _named(stmt: Any) -> str:
    return tile_operator(stmt.value) if type(stmt) is tirx.Evaluate else ""


def _apart(first: Any, second: Any) -> bool:
    """Whether two statements touch no buffer in common."""
    return _touched(first).isdisjoint(_touched(second))


def _touched(stmt: Any) -> set[int]:
    """The buffers that a statement loads from and stores to."""
    found: set[int] = set()

    def note(node: Any) -> None:
        if (buffer := accessed_by(node)) is not None:
            found.add(key(memory_var_of(buffer)))

    tirx.stmt_functor.post_order_visit(stmt, note)
    return found
