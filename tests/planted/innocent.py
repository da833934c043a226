"""Programs of the kinds that were once reported falsely: by an audit, each kind had a finding that was none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

CUDA = '{"kind": "cuda", "arch": "sm_90"}'
TWO = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")'
THREE = f'{TWO}, C: T.Buffer((8,), "int32")'
FLOATS = 'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")'


@dataclass(frozen=True, slots=True)
class Innocent:
    """A program with what it is compiled by; `why` is the word for why nothing is found.

    That is the rule that the interpreter says it breaks, `agrees`, the label of a rejection, or what is not run.
    """

    text: str
    passes: str = ""
    why: str = ""
    target: str = "llvm"
    options: Sequence[tuple[str, bool]] = ()


def script(parameters: str, body: str, attributes: str = "") -> str:
    lines = (f"    {line}" for line in body.strip("\n").splitlines())
    head = f"@T.prim_func({attributes})" if attributes else "@T.prim_func"
    return "\n".join(["# from tvm.script import tirx as T", head, f"def main({parameters}):", *lines, ""])


def blocks(parameters: str, body: str) -> str:
    return script(parameters, body, "s_tir=True")


def staged(first: str, second: str, more: str = "", stages: str = "[0, 1]") -> str:
    """A pipeline of two blocks, which declare what is said."""
    return blocks(
        TWO,
        f"""
for i in T.serial(8, annotations={{"software_pipeline_stage": {stages}, "software_pipeline_order": [0, 1]{more}}}):
    with T.sblock("step"):
        vi = T.axis.spatial(8, i)
        T.reads(A[vi])
        T.writes(B[0:8])
        C = T.sblock_alloc_buffer((1,), "int32")
        with T.sblock("load"):
            {first}
            C[0] = A[vi] * 2
        with T.sblock("store"):
            {second}
            B[vi] = C[0] + B[0]
""",
    )


LOAD = "T.reads(A[vi]); T.writes(C[0])".replace("; ", "\n            ")
STORE = "T.reads(C[0], B[0])\n            T.writes(B[vi])"

PIPELINE = "s_tir.LowerInitBlock; s_tir.ConvertBlocksToOpaque; s_tir.CompactBufferAllocation; s_tir.LowerMatchBuffer; "
TO_FLAT = PIPELINE + "s_tir.LowerOpaqueBlock; tirx.FlattenBuffer; "


def nested(reads: str, writes: str, inner: str = "T.reads()\n                T.writes()") -> str:
    """A buffer of the root that a block fills and another one uses, with what the first declares."""
    return blocks(
        TWO,
        f"""
with T.sblock("root"):
    C = T.sblock_alloc_buffer((8,), "int32")
    for i in range(8):
        with T.sblock("fill"):
            vi = T.axis.spatial(8, i)
            T.reads({reads})
            T.writes({writes})
            with T.sblock("inner"):
                {inner}
                C[vi] = A[vi] + 1
    for i in range(8):
        with T.sblock("use"):
            vi = T.axis.spatial(8, i)
            B[vi] = C[7 - vi]
""",
    )


REGIONS = {
    "a pipeline of blocks that declare nothing": Innocent(
        staged("T.reads()\n            T.writes()", "T.reads()\n            T.writes()"), why="internal-error"
    ),
    "a pipeline with a read left out": Innocent(
        staged(LOAD, "T.reads(C[0])\n            T.writes(B[vi])"), why="block-region"
    ),
    "a pipeline with a write left out": Innocent(
        staged("T.reads(A[vi])\n            T.writes()", STORE), why="block-region"
    ),
    "a pipeline with another region": Innocent(
        staged(LOAD, "T.reads(C[0], B[1])\n            T.writes(B[vi])"), why="block-region"
    ),
    "an allocation of blocks that declare nothing": Innocent(nested("", ""), why="block-region"),
    "a block within that declares nothing": Innocent(nested("A[vi]", "C[vi]"), why="block-region"),
    "a block within that is honest and one around that is not": Innocent(
        nested("", "", "T.reads(A[vi])\n                T.writes(C[vi])"), why="block-region"
    ),
    "a block without axes that declares nothing": Innocent(
        blocks(
            TWO,
            """
for i in range(8):
    with T.sblock("opaque"):
        T.reads()
        T.writes()
        B[i] = A[7 - i]
""",
        ),
        why="block-region",
    ),
}

COPY = script(TWO, "for i in range(8):\n    B[i] = A[i] + 1")
IN_SCOPE = """
C = T.alloc_buffer((8,), "int32", scope="{scope}")
for i in range(8):
    C[i] = A[i]
for i in range(8):
    B[i] = C[7 - i]
"""


def scoped(scope: str) -> str:
    return script(TWO, IN_SCOPE.format(scope=scope))


ASYNC = """
with T.attr(0, "async_scope", 1):
    for i in range(8):
        C[i] = A[i]
"""

RUNTIME = {
    "an asynchronous copy by hand": Innocent(
        script(
            THREE,
            """
with T.attr(0, "async_commit_queue_scope", 0):
    with T.attr(0, "async_scope", 1):
        for i in range(8):
            C[i] = A[i]
with T.attr(0, "async_wait_queue_scope", 0):
    with T.attr(0, "async_wait_inflight_count", 0):
        for i in range(8):
            B[i] = C[i]
""",
        ),
        "s_tir.LowerAsyncDMA",
        options=(("tirx.use_async_copy", True),),
        why="refused",
    ),
    "a pipeline with an asynchronous stage": Innocent(
        staged(LOAD, STORE, ', "software_pipeline_async_stages": [0]'),
        PIPELINE + "s_tir.InjectSoftwarePipeline; s_tir.LowerOpaqueBlock; tirx.FlattenBuffer; s_tir.LowerAsyncDMA",
        why="documented-refusal",
    ),
    "memory of Hexagon's": Innocent(scoped("global.vtcm"), "s_tir.LowerVtcmAlloc", why="documented-refusal"),
    "memory of tensor cores": Innocent(scoped("wmma.matrix_a"), "s_tir.InferFragment", why="agrees"),
    "memory of a texture": Innocent(scoped("global.texture"), why="not-allowed"),
    "memory of Trainium's": Innocent(scoped("trn.sbuf"), "tirx.backend.trn.LowerTrainiumLayout", why="not-allowed"),
    "a pass of Adreno's": Innocent(COPY, "s_tir.backend.adreno.InjectTextureAlloc", why="agrees"),
    "a pass of CUDA's": Innocent(COPY, "s_tir.InjectPTXLDG32; s_tir.InjectPTXAsyncCopy", why="agrees"),
    "shared memory": Innocent(
        scoped("shared"), 's_tir.ThreadSync{storage_scope="shared"}; s_tir.MergeSharedMemoryAllocations', why="agrees"
    ),
}

HINTS = {
    "async_scope": Innocent(script(THREE, ASYNC + "for i in range(8):\n    B[i] = C[i]"), why="agrees"),
    "async_commit_queue_scope": Innocent(
        script(THREE, ASYNC.replace('"async_scope", 1', '"async_commit_queue_scope", 0')), why="agrees"
    ),
    "async_wait_queue_scope": Innocent(
        script(THREE, ASYNC.replace('"async_scope", 1', '"async_wait_queue_scope", 0')), why="documented-refusal"
    ),
    "an asynchronous stage": Innocent(
        staged(LOAD, STORE, ', "software_pipeline_async_stages": [0]'), why="documented-refusal"
    ),
    "double_buffer_scope": Innocent(
        script(
            TWO,
            """
C = T.alloc_buffer((8,), "int32")
with T.attr(C.data, "double_buffer_scope", 1):
    for i in range(8):
        C[i] = A[i]
for i in range(8):
    B[i] = C[i]
""",
        ),
        "tirx.FlattenBuffer; s_tir.InjectDoubleBuffer",
        why="documented-refusal",
    ),
    "a pipeline of one stage": Innocent(staged(LOAD, STORE, stages="[0, 0]"), why="agrees"),
    "pragma_scope": Innocent(
        script(TWO, 'with T.attr(0, "pragma_scope", "x"):\n    for i in range(8):\n        B[i] = A[i]'), why="agrees"
    ),
}

MATMUL = blocks(
    'A: T.Buffer((4, 4), "int32"), B: T.Buffer((4,), "int32")',
    """
for i, k in T.grid(4, 4):
    with T.sblock("sum"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi] = 0
        B[vi] = B[vi] + A[vi, vk]
""",
)
THROUGH = blocks(
    TWO,
    """
with T.sblock("root"):
    C = T.sblock_alloc_buffer((8,), "int32")
    for i in range(8):
        with T.sblock("fill"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi] + 1
        with T.sblock("use"):
            vi = T.axis.spatial(8, i)
            B[vi] = C[vi] * 2
""",
)

CARRIED = """
C = T.sblock_alloc_buffer((8,), "int32")
for i in range(8):
    with T.sblock("c"):
        vi = T.axis.spatial(8, i)
        C[vi] = A[vi]
    with T.sblock("b"):
        vi = T.axis.spatial(8, i)
        B[vi] = C[vi // 2]
"""

ORDERS = {
    "opaque blocks before allocations are planned": Innocent(
        THROUGH, "s_tir.ConvertBlocksToOpaque; s_tir.PlanAndUpdateBufferAllocationLocation", why="agrees"
    ),
    "loops unrolled between blocks": Innocent(
        MATMUL.replace("T.grid(4, 4)", "T.grid(4, 4)"),
        "tirx.UnrollLoop; s_tir.LowerInitBlock; tirx.UnrollLoop",
        options=(),
        why="agrees",
    ),
    "buffers made compact once they are flat": Innocent(
        THROUGH, TO_FLAT + "s_tir.CompactBufferAllocation", why="agrees"
    ),
    "expressions hoisted out of blocks": Innocent(MATMUL, "s_tir.HoistExpression", why="agrees"),
    "virtual threads before they are lowered": Innocent(
        THROUGH, "s_tir.InjectVirtualThread; s_tir.InjectVirtualThread", why="agrees"
    ),
    "small floats stored before they are computed": Innocent(
        script(
            'A: T.Buffer((8,), "bfloat16"), B: T.Buffer((8,), "bfloat16")', "for i in range(8):\n    B[i] = A[i] + A[i]"
        ),
        "tirx.BF16StorageLegalize; tirx.BF16ComputeLegalize",
        why="illegal-order",
    ),
    "packed before it is lowered": Innocent(THROUGH, "tirx.MakePackedAPI; s_tir.LowerInitBlock", why="illegal-order"),
    "pipelined before inits are lowered": Innocent(MATMUL, "s_tir.InjectSoftwarePipeline", why="agrees"),
}


def viewed(layout: str, region: str = "A[1:3, 1:3]") -> str:
    return blocks(
        'A: T.Buffer((4, 4), "int32"), B: T.Buffer((2, 2), "int32")',
        f"""
with T.sblock("corner"):
    T.reads(A[1:3, 1:3])
    T.writes(B[0:2, 0:2])
    M = T.match_buffer({region}, (2, 2), "int32"{layout})
    for i, j in T.grid(2, 2):
        B[i, j] = M[i, j]
""",
    )


VIEWS = {
    "a matched region of other strides": Innocent(viewed(", strides=[2, 1], elem_offset=5"), why="internal-error"),
    "a matched region at another offset": Innocent(viewed(", strides=[4, 1], elem_offset=4"), why="internal-error"),
    "a matched region without strides": Innocent(viewed(""), why="internal-error"),
    "a matched region with an offset factor": Innocent(viewed(", offset_factor=4"), why="documented-refusal"),
    "a parameter with strides that overlap": Innocent(
        script(
            'a: T.handle, B: T.Buffer((8,), "int32")',
            'A = T.match_buffer(a, (2, 4), "int32", strides=[2, 1])\nA[0, 2] = A[1, 0] + 1\nB[0] = A[0, 2]',
        ),
        why="alias",
    ),
    "a parameter at an offset, unchecked": Innocent(
        script(
            "a: T.handle",
            'A = T.match_buffer(a, (8,), "int32", elem_offset=4)\nfor i in range(8):\n    A[i] = A[i] + 1',
        ),
        options=(("tirx.disable_assert", True),),
        why="unsupported",
    ),
}

BOUND = 'A: T.Buffer((8,), "int32"), N: T.Buffer((2,), "int32")'
BOUNDS = {
    "an extent that the loop grows": Innocent(
        script(BOUND, "N[0] = 2\nfor i in range(N[0]):\n    A[i] = i\n    N[0] = T.min(N[0] + 1, 6)"), why="agrees"
    ),
    "an extent that the loop ends": Innocent(
        script(BOUND, "N[0] = 4\nfor i in range(N[0]):\n    A[i] = 1\n    N[0] = 0"), why="agrees"
    ),
    "an extent that the loop around changes": Innocent(
        script(
            BOUND, "N[0] = 2\nfor i in range(2):\n    for j in range(N[0]):\n        A[i * 4 + j] = 7\n    N[0] = 3"
        ),
        why="agrees",
    ),
    "an extent that another loop changes": Innocent(
        script(BOUND, "N[0] = 2\nfor i in range(3):\n    N[0] = N[0] + 1\nfor j in range(N[0]):\n    A[j] = j"),
        why="agrees",
    ),
    "an inner extent that the inner loop changes": Innocent(
        script(
            BOUND,
            "for i in range(2):\n    N[0] = 3\n    for j in range(N[0]):\n        A[i * 4 + j] = 7\n        N[0] = 1",
        ),
        why="agrees",
    ),
}

LOCAL = """
for t in T.thread_binding(4, thread="vthread.x"):
    with T.sblock("own"):
        vt = T.axis.spatial(4, t)
        T.reads({reads})
        T.writes({writes})
        {body}
"""
THREADS = {
    "local memory that virtual threads share": Innocent(
        blocks(
            TWO,
            """
C = T.sblock_alloc_buffer((4,), "int32", scope="local")
for t in T.thread_binding(4, thread="vthread.x"):
    with T.sblock("fill"):
        vt = T.axis.spatial(4, t)
        C[vt] = A[vt]
for t in T.thread_binding(4, thread="vthread.x"):
    with T.sblock("use"):
        vt = T.axis.spatial(4, t)
        B[vt] = C[3 - vt]
""",
        ),
        why="unsupported",
    ),
    "local memory of one virtual thread that another reads": Innocent(
        blocks(
            TWO,
            """
C = T.sblock_alloc_buffer((4,), "int32", scope="local")
for t in T.thread_binding(4, thread="vthread.x"):
    with T.sblock("fill"):
        vt = T.axis.spatial(4, t)
        C[vt] = A[vt]
    with T.sblock("use"):
        vt = T.axis.spatial(4, t)
        B[vt] = C[0]
""",
        ),
        why="race",
    ),
    "virtual threads that race": Innocent(
        blocks(
            TWO,
            """
for t in T.thread_binding(4, thread="vthread.x"):
    with T.sblock("all"):
        vt = T.axis.spatial(4, t)
        T.reads(A[vt])
        T.writes(B[0])
        B[0] = A[vt]
""",
        ),
        why="race",
    ),
    "threads on a processor": Innocent(
        script(TWO, 'for t in T.thread_binding(8, thread="threadIdx.x"):\n    B[t] = A[t]'), why="documented-refusal"
    ),
}

REFUSED = {
    "a break out of a vectorised loop": Innocent(
        script(TWO, "for i in T.vectorized(8):\n    if A[i] > 3:\n        break\n    B[i] = 1"), why="internal-error"
    ),
    "a vectorised loop of no known extent": Innocent(
        script(TWO + ", n: T.int32", "for i in T.vectorized(n):\n    B[i] = A[i]"), why="documented-refusal"
    ),
    "a division by zero in a branch that is taken": Innocent(
        script(TWO, "for i in T.unroll(8):\n    B[i] = A[i] // T.max(i - 4, 0)"), why="documented-refusal"
    ),
    "a constant division by zero": Innocent(script(TWO, "B[0] = T.Div(A[0], 0)"), why="documented-refusal"),
    "an index that is out of bounds": Innocent(
        script(TWO, "for i in range(8):\n    B[i] = A[i + 1]"), why="out-of-bounds"
    ),
    "an index out of its own dimension": Innocent(
        script('A: T.Buffer((2, 4), "int32"), B: T.Buffer((8,), "int32")', "B[0] = A[0, 5]"), why="out-of-bounds"
    ),
    "an unknown external function": Innocent(
        script(TWO, 'T.evaluate(T.call_extern("int32", "no_such_function", A[0]))\nB[0] = 1'), why="unsupported"
    ),
    "an unknown intrinsic on the host": Innocent(
        script(TWO, 'B[0] = T.call_intrin("int32", "tirx.tvm_warp_activemask")'), why="documented-refusal"
    ),
    "a dead branch far out of bounds": Innocent(
        script(TWO, "for i in range(8):\n    if i > 8:\n        B[i + 2147483000] = 1\n    B[i] = A[i]"), why="agrees"
    ),
}

FLOAT8 = 'A: T.Buffer((8,), "float8_e4m3fn"), B: T.Buffer((8,), "float8_e4m3fn")'
SMALL = {
    "a float8 zero": Innocent(script(FLOAT8, "for i in range(8):\n    B[i] = T.float8_e4m3fn(0)"), why="unsupported"),
    "float8 sums": Innocent(script(FLOAT8, "for i in range(8):\n    B[i] = A[i] + A[i]"), why="unsupported"),
    "float8 to float32": Innocent(
        script(
            FLOAT8.replace('B: T.Buffer((8,), "float8_e4m3fn")', 'B: T.Buffer((8,), "float32")'),
            'for i in range(8):\n    B[i] = T.Cast("float32", A[i])',
        ),
        why="unsupported",
    ),
    "a float8 of another kind": Innocent(
        script(FLOAT8.replace("e4m3fn", "e5m2"), "for i in range(8):\n    B[i] = A[7 - i]"), why="unsupported"
    ),
    "a bfloat16 that is not rounded in between": Innocent(
        script(
            'A: T.Buffer((8,), "bfloat16"), B: T.Buffer((8,), "float32")',
            'for i in range(8):\n    B[i] = T.Cast("float32", A[i] * A[i] * A[i])',
        ),
        why="agrees",
    ),
}

POISON = {
    "a shift too far that nobody takes": Innocent(
        script(TWO, "for i in range(8):\n    B[i] = T.Select(i < 4, A[i], T.shift_left(1, i * 10))"), why="shift-range"
    ),
    "an overflow that nobody takes": Innocent(
        script(TWO, "for i in range(8):\n    B[i] = T.Select(i < 2, i * 2000000000, A[i])"), why="integer-overflow"
    ),
    "memory that nobody wrote, read for nothing": Innocent(
        script(
            TWO,
            """
C = T.alloc_buffer((8,), "int32")
for i in range(8):
    B[i] = T.Select(i < 9, A[i], C[i])
""",
        ),
        why="uninitialised",
    ),
    "memory that nobody wrote, read and overwritten": Innocent(
        script(
            TWO,
            """
C = T.alloc_buffer((8,), "int32")
for i in range(8):
    B[i] = C[i]
    B[i] = A[i]
""",
        ),
        why="uninitialised",
    ),
    "a mask of lanes in single bits": Innocent(
        script(TWO, "for i in T.vectorized(8):\n    if i < 5:\n        B[i] = A[i]"),
        options=(("tirx.enable_buffer_level_predication", True),),
        why="agrees",
    ),
    "a division by zero beside integers of 4 bits": Innocent(
        script(
            'A: T.Buffer((1, 1), "int4"), B: T.Buffer((2, 2), "int32")',
            """
for i in T.vectorized(2):
    B[0, (T.Mul(0, 2) + 2) % i] = T.Cast("int32", A[T.Mul(0, 2), (T.Mul(0, 2) + 2) % i * 2 + 1])
""",
        ),
        why="internal-error",
    ),
    "memory moved into a loop that carries a value": Innocent(blocks(TWO, CARRIED), why="carried-value"),
    "memory moved into a loop that has a point twice": Innocent(
        blocks(
            TWO,
            """
C = T.sblock_alloc_buffer((8,), "int32")
for i, j in T.grid(8, 2):
    with T.sblock("c"):
        vi = T.axis.spatial(8, (i + j) % 8)
        C[vi] = A[vi]
    with T.sblock("b"):
        vi = T.axis.spatial(8, i)
        B[vi] = C[vi]
""",
        ),
        why="carried-value",
    ),
    "memory of a loop that an opaque axis goes over": Innocent(
        blocks(TWO, CARRIED.replace("spatial(8, i)", "opaque(8, i)")), why="agrees"
    ),
    "a cast of what has no value there": Innocent(
        script(
            'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "int8")',
            'for i in range(8):\n    B[i] = T.Cast("int8", A[i] * T.float32(1000) + T.float32(1000))',
        ),
        why="cast-range",
    ),
    "leading zeros of zero": Innocent(
        script(TWO, "for i in range(8):\n    B[i] = T.clz(A[i] - A[i])"), why="intrinsic-domain"
    ),
}

KERNEL = 'A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")'
SHARED = """
C = T.alloc_buffer((64,), "int32", scope="shared")
for t in T.thread_binding(64, thread="threadIdx.x"):
    C[t] = A[t]
{between}    B[t] = C[{at}]
"""
KERNELS = {
    "a kernel that reads before the others wrote": Innocent(
        script(KERNEL, SHARED.format(between="", at="63 - t")), target=CUDA, why="uninitialised"
    ),
    "a kernel with a barrier for some": Innocent(
        script(
            KERNEL, SHARED.format(between='    if t < 32:\n        T.evaluate(T.tvm_storage_sync("shared"))\n', at="t")
        ),
        target=CUDA,
        why="divergent-barrier",
    ),
    "a kernel that races": Innocent(
        script(KERNEL, 'for t in T.thread_binding(64, thread="threadIdx.x"):\n    B[0] = A[t]'), target=CUDA, why="race"
    ),
    "local memory across two kernels": Innocent(
        blocks(
            KERNEL,
            """
C = T.sblock_alloc_buffer((64,), "int32", scope="local")
for t in T.thread_binding(64, thread="threadIdx.x"):
    with T.sblock("fill"):
        vt = T.axis.spatial(64, t)
        C[vt] = A[vt]
for t in T.thread_binding(64, thread="threadIdx.x"):
    with T.sblock("use"):
        vt = T.axis.spatial(64, t)
        B[vt] = C[vt]
""",
        ),
        target=CUDA,
        why="unsupported",
    ),
    "virtual threads of a kernel with local memory": Innocent(
        blocks(
            KERNEL,
            """
for b in T.thread_binding(16, thread="blockIdx.x"):
    for v in T.thread_binding(4, thread="vthread.x"):
        with T.sblock("own"):
            vb, vv = T.axis.remap("SS", [b, v])
            B[vb * 4 + vv] = A[vb * 4 + vv] + 1
""",
        ),
        target=CUDA,
        why="agrees",
    ),
    "a kernel whose barrier is left to ThreadSync": Innocent(
        blocks(
            KERNEL,
            """
C = T.sblock_alloc_buffer((64,), "int32", scope="shared")
for t in T.thread_binding(64, thread="threadIdx.x"):
    with T.sblock("fill"):
        vt = T.axis.spatial(64, t)
        C[vt] = A[vt]
for t in T.thread_binding(64, thread="threadIdx.x"):
    with T.sblock("use"):
        vt = T.axis.spatial(64, t)
        B[vt] = C[63 - vt]
""",
        ),
        target=CUDA,
        why="unsupported",
    ),
}

INNOCENT: Mapping[str, Innocent] = {
    f"{kind}: {name}": row
    for kind, rows in (
        ("regions", REGIONS),
        ("runtime", RUNTIME),
        ("hints", HINTS),
        ("orders", ORDERS),
        ("views", VIEWS),
        ("bounds", BOUNDS),
        ("threads", THREADS),
        ("refused", REFUSED),
        ("float8", SMALL),
        ("poison", POISON),
        ("kernels", KERNELS),
    )
    for name, row in rows.items()
}
