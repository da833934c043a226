"""Facts about a program on which the order of passes depends.

The facts of a program are read from its canonical JSON (`Case.ir`), so nobody needs TVM to know them.
"""

from __future__ import annotations

import json
from enum import StrEnum, unique
from functools import lru_cache
from typing import Any, Final

import msgspec

from tzerlike.systems.text import integer_in


@unique
class Fact(StrEnum):
    """Something the preconditions of passes speak of. Each is false of the simplest programs."""

    S_TIR = "s-tir"
    """The function is marked as S-TIR, the dialect with blocks; it stays so when they are lowered."""
    BLOCKS = "blocks"
    """There are SBlock nodes."""
    ITERATORS = "block-iterators"
    """Some block has iterators: it is not opaque."""
    INIT = "block-init"
    """Some block has an init statement."""
    BLOCK_BUFFERS = "block-buffers"
    """Some block allocates or matches a buffer."""
    ALLOCATIONS = "allocations"
    """Something allocates a buffer."""
    MATCHES = "match-buffers"
    """Some block matches a region with a buffer."""
    CROSS_THREAD = "cross-thread-reductions"
    """Some block has an init statement and some loop is bound to a thread: it may reduce over threads."""
    DIM_ALIGN = "dimension-alignment"
    """Some block wants dimensions of its buffers aligned."""
    MISALIGNED = "misfit-alignment"
    """Some block wants a dimension aligned that its buffer has not got."""
    DEVICE_CODE = "device-code"
    """Something runs on GPU threads."""
    SOFTWARE_PIPELINE = "software-pipeline"
    """Some loop is annotated with the stages of a software pipeline."""
    ND = "nd-buffers"
    """Some buffer does not have exactly one dimension, or has strides, or begins elsewhere than its memory."""
    VECTORIZED = "vectorized-loops"
    """Some loop is to be vectorised."""
    STEPS = "steps"
    """Some loop says its step."""
    THREAD_LOOPS = "thread-loops"
    """Some loop is bound to a thread, virtual or not."""
    WIDE_THREADS = "wide-threads"
    """Some loop that is bound to a thread is counted by 64-bit integers."""
    VIRTUAL_THREADS = "virtual-threads"
    """Some loop is bound to a virtual thread."""
    CONDITIONS = "conditions"
    """Some statement or block runs under a condition."""
    JUMPS = "unmarked-jumps"
    """Some loop is left early, or a round of it, and none is marked as such for the passes that go by it."""
    WIDENED = "widened-integers"
    """Something is cast to 64-bit integers."""
    LIKELY = "likely"
    """Some condition is marked as likely."""
    DIVISIONS = "divisions"
    """Something is divided, for the quotient or for the rest."""
    SHIFTS = "shifts"
    """Something is shifted."""
    BF16 = "bf16-arithmetic"
    """Something is computed in bfloat16."""
    FP8 = "fp8-arithmetic"
    """Something is computed in an 8-bit floating-point type."""
    BF16_STORAGE = "bf16-storage"
    """Something is stored in bfloat16."""
    FP8_STORAGE = "fp8-storage"
    """Something is stored in an 8-bit floating-point type."""
    BOOL_STORAGE = "bool-storage"
    """Some buffer holds booleans."""
    INT64_STORAGE = "int64-storage"
    """Some buffer holds 64-bit integers."""
    HOST_CODE = "host-code"
    """Something only a host can do: it calls a packed or external function, or asserts."""
    BUFFER_PARAMS = "buffer-parameters"
    """Some parameter is a buffer: the packed API has not been made."""
    DUPLICATES = "duplicates"
    """Copies of a statement may define one variable twice."""
    FLATTENED = "flattened"
    """Buffers have been made one-dimensional."""
    LOWERED = "lowered"
    """A lowering pass has run that schedule primitives do not survive."""
    PACKED = "packed-api"
    """The function takes packed arguments."""
    TARGET = "target"
    """Every function has a target."""
    ASYNC = "asynchronous-copies"
    """Something is marked to be copied asynchronously."""
    DEVICE_MEMORY = "device-memory"
    """Some buffer is in memory that a CPU has not got."""
    RUN_TIME_MEMORY = "run-time-memory"
    """Some buffer of threads' or blocks' own memory has a size that is known at run time alone."""
    TRAINIUM = "trainium"
    """The program is compiled for Trainium, as none is here."""
    ADRENO = "adreno"
    """The program is compiled for an Adreno GPU, as none is here."""
    ASCEND = "ascend"
    """The program is compiled for an Ascend NPU, as none is here."""
    LAUNCH = "kernel-launch"
    """A kernel of TileLang's has not been given its grid and its threads."""
    TILES = "tile-operators"
    """It is a kernel in TileLang's dialect, or something is done to whole tiles in its words."""
    LAYOUTS = "tile-layouts"
    """The layouts of tiles in memory have been inferred."""
    TILED = "tiles-lowered"
    """What was done to whole tiles is loops of TVM's."""
    SPLIT = "split"
    """Host and device functions have been separated."""
    BUILTINS_LOWERED = "builtins-lowered"
    """Calls to packed functions and allocations are calls into the runtime."""


Facts = frozenset[Fact]

HISTORY: Final[Facts] = frozenset(
    {
        Fact.DUPLICATES,
        Fact.FLATTENED,
        Fact.LOWERED,
        Fact.PACKED,
        Fact.SPLIT,
        Fact.BUILTINS_LOWERED,
        Fact.LAYOUTS,
        Fact.TILED,
    }
)
"""What the passes that have run tell, and no program by itself."""

ANY_PROGRAM: Final[Facts] = (
    frozenset(Fact)
    - HISTORY
    - {
        Fact.ASYNC,
        Fact.TRAINIUM,
        Fact.ADRENO,
        Fact.ASCEND,
        Fact.LAUNCH,
        Fact.TILES,
        Fact.JUMPS,
        Fact.WIDE_THREADS,
    }
)
"""What must be reckoned with where nothing is known of a program: whatever suits these facts suits any program that
asks for no device that is not there, leaves no loop early, and counts threads in 32 bits."""

_VECTORIZED_KIND: Final = 2  # tirx.ForKind.VECTORIZED
_THREAD_KIND: Final = 4  # tirx.ForKind.THREAD_BINDING
_DIVISIONS: Final = (".Div", ".Mod", ".FloorDiv", ".FloorMod")
_SHIFTS: Final = (".LShift", ".RShift")
_OF_BLOCKS: Final = {
    "iter_vars": (Fact.ITERATORS,),
    "alloc_buffers": (Fact.BLOCK_BUFFERS, Fact.ALLOCATIONS),
    "match_buffers": (Fact.BLOCK_BUFFERS, Fact.MATCHES),
}
_OF_TEXTS: Final = {
    "software_pipeline_stage": Fact.SOFTWARE_PIPELINE,
    "software_pipeline_async_stages": Fact.ASYNC,
    "buffer_dim_align": Fact.DIM_ALIGN,
    "virtual_thread": Fact.VIRTUAL_THREADS,
    "s_tir": Fact.S_TIR,
}
_OF_ELEMENTS: Final = {"bool": Fact.BOOL_STORAGE, "int64": Fact.INT64_STORAGE}
_MEMORIES: Final = ("shared", "warp", "wmma.", "m16n8k8.", "global.vtcm", "global.texture")
_CALLS: Final = ("tirx.tvm_call_packed", "tirx.tvm_call_cpacked", "tirx.call_extern", "tirx.call_pure_extern")


@lru_cache(maxsize=256)
def facts_of(ir: str) -> Facts:
    """Return the facts of the IRModule whose canonical JSON is `ir`, with its target bound.

    Binding the target is the first thing a build does, so TARGET always holds. Raises ValueError when `ir`
    is not the JSON of an IR graph.
    """
    try:
        return _facts_in(_graph(ir))
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError) as error:
        raise ValueError("not the JSON of an IR graph") from error


def _graph(ir: str) -> Any:
    try:
        return msgspec.json.decode(ir)
    except msgspec.DecodeError:
        # It knows no NaN and no infinity, and is three times as fast.
        return json.loads(ir)


def _facts_in(graph: dict[str, Any]) -> Facts:
    nodes: list[dict[str, Any]] = graph["nodes"]
    found, marked = {Fact.TARGET}, False

    def filled(data: dict[str, Any], field: str) -> bool:
        return bool(nodes[data[field]].get("data"))

    for node in nodes:
        kind: str = node["type"]
        data: Any = node.get("data")
        if kind in ("s_tir.SBlock", "tirx.SBlock"):
            found.add(Fact.BLOCKS)
            found.update(fact for field, facts in _OF_BLOCKS.items() if filled(data, field) for fact in facts)
            if nodes[data["init"]]["type"] != "None":
                found.add(Fact.INIT)
            if not _alignment_fits(data, nodes):
                found.add(Fact.MISALIGNED)
        elif kind == "tirx.IfThenElse":
            found.add(Fact.CONDITIONS)
        elif kind in ("s_tir.SBlockRealize", "tirx.SBlockRealize"):
            if not nodes[data["predicate"]]["type"].endswith("IntImm"):
                found.add(Fact.CONDITIONS)
        elif kind == "tirx.For":
            # In an older TVM loops have no step.
            if "step" in data and nodes[data["step"]]["type"] != "None":
                found.add(Fact.STEPS)
            if data["kind"] == _VECTORIZED_KIND:
                found.add(Fact.VECTORIZED)
            elif data["kind"] == _THREAD_KIND:
                found.add(Fact.THREAD_LOOPS)
                if _is_wide(nodes[data["extent"]], nodes):
                    found.add(Fact.WIDE_THREADS)
        elif kind in ("tirx.BufferType", "tirx.Buffer"):
            # The second one is of an older TVM, with its dtype as a string, and its memory where its variable is.
            if not _is_flat(data, graph):
                found.add(Fact.ND)
            fixed = all(nodes[extent]["type"].endswith("IntImm") for extent in nodes[data["shape"]]["data"])
            scope = nodes[data["storage_scope"]].get("data") if "storage_scope" in data else None
            if not fixed and scope not in (None, "", "global"):
                found.add(Fact.RUN_TIME_MEMORY)
            dtype = data["dtype"]
            element = dtype if isinstance(dtype, str) else nodes[dtype].get("data", {}).get("dtype")
            if element in _OF_ELEMENTS:
                found.add(_OF_ELEMENTS[element])
        elif kind == "ir.PrimType":
            if data["dtype"].startswith("bfloat16"):
                found |= {Fact.BF16, Fact.BF16_STORAGE}
            elif data["dtype"].startswith("float8"):
                found |= {Fact.FP8, Fact.FP8_STORAGE}
        elif kind.endswith(_DIVISIONS):
            found.add(Fact.DIVISIONS)
        elif kind.endswith(".Cast"):
            if _is_wide(node, nodes):
                found.add(Fact.WIDENED)
        elif kind in ("tirx.Break", "tirx.Continue"):
            found.add(Fact.JUMPS)
        elif kind.endswith(_SHIFTS):
            found.add(Fact.SHIFTS)
        elif kind == "ir.Op":
            if data.endswith(".likely"):
                found.add(Fact.LIKELY)
            elif data in ("tirx.break_loop", "tirx.continue_loop"):
                found.add(Fact.JUMPS)
            elif data.startswith("tl.tileop."):
                found.add(Fact.TILES)
            elif data == "tl.launch_thread_idx":
                found |= {Fact.LAUNCH, Fact.TILES}
            elif data in _CALLS:
                found.add(Fact.HOST_CODE)
        elif kind == "ffi.String":
            if data in _OF_TEXTS:
                found.add(_OF_TEXTS[data])
            elif data == "irregular_loop_mark":
                marked = True
            elif data.startswith(("threadIdx", "blockIdx")):
                found.add(Fact.DEVICE_CODE)
            elif data.startswith("vthread"):
                found.add(Fact.VIRTUAL_THREADS)
            elif data.startswith("async_"):
                found.add(Fact.ASYNC)
            elif data.startswith(_MEMORIES):
                found.add(Fact.DEVICE_MEMORY)
        elif kind == "tirx.AssertStmt":
            found.add(Fact.HOST_CODE)
        elif kind == "tirx.AllocBuffer":
            found.add(Fact.ALLOCATIONS)
        elif kind == "tirx.PrimFunc":
            types = (nodes[index]["data"].get("ty") for index in nodes[data["params"]]["data"])
            # In an older TVM parameters are handles, and there is a map of their buffers.
            if ("buffer_map" in data and filled(data, "buffer_map")) or any(
                ty is not None and nodes[ty]["type"] == "tirx.BufferType" for ty in types
            ):
                found.add(Fact.BUFFER_PARAMS)
            # In a still older one nothing but its root block says that a function is in S-TIR.
            if "buffer_map" in data and nodes[data["body"]]["type"].endswith(".SBlockRealize"):
                found.add(Fact.S_TIR)
    if {Fact.INIT, Fact.THREAD_LOOPS} <= found:
        found.add(Fact.CROSS_THREAD)
    return frozenset(found - {Fact.JUMPS} if marked else found)


def _is_wide(node: dict[str, Any], nodes: list[dict[str, Any]]) -> bool:
    """Whether an expression has 64-bit integers for its values."""
    data = node["data"]
    # In an older TVM its dtype is a text.
    typed = data if "dtype" in data else nodes[data["ty"]].get("data") or {}
    return bool(typed.get("dtype", "").lstrip("u").startswith("int64"))


def _is_flat(buffer: dict[str, Any], graph: dict[str, Any]) -> bool:
    """Whether code generation takes a buffer as it is: it looks at no strides and at no offset."""
    shape, strides, offset = (graph["nodes"][buffer[field]] for field in ("shape", "strides", "elem_offset"))
    at_start = offset["type"] == "None" or integer_in(graph, offset) == 0
    return len(shape["data"]) == 1 and not strides.get("data") and at_start


def _alignment_fits(block: dict[str, Any], nodes: list[dict[str, Any]]) -> bool:
    """Whether each alignment that a block asks for is of a dimension of a buffer that it writes."""

    def items(place: int) -> list[int]:
        return nodes[place].get("data") or []

    try:
        annotations = items(block["annotations"])
        keys = [nodes[key].get("data") for key in annotations[::2]]
        if "buffer_dim_align" not in keys:
            return True
        ranks = [len(items(nodes[place]["data"]["region"])) for place in items(block["writes"])]
        for wish in items(annotations[2 * keys.index("buffer_dim_align") + 1]):
            buffer, dimension, *_ = (_whole(place, nodes) for place in items(wish))
            if not (0 <= buffer < len(ranks) and -ranks[buffer] <= dimension < ranks[buffer]):
                return False
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return False
    return True


def _whole(place: int, nodes: list[dict[str, Any]]) -> int:
    data = nodes[place]["data"]
    return int(data["value"] if isinstance(data, dict) else data)
