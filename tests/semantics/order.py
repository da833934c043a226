"""Races between the iterations of parallel, vectorised and thread-bound loops, and barriers."""

from __future__ import annotations

from tests.semantics.corpus import COUNT, EIGHT, ZEROS, Program, blocks, by_text, by_value, script

RACES = (
    *by_text(
        "parallel iterations add to one element",
        "race",
        script(EIGHT, "for i in T.parallel(8):\n    B[0] = B[0] + A[i]"),
        script(EIGHT, "for i in range(8):\n    B[0] = B[0] + A[i]"),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "a parallel iteration reads what the next one writes",
        "race",
        script(EIGHT, "for i in T.parallel(7):\n    A[i] = A[i + 1]"),
        script(EIGHT, "for i in T.parallel(7):\n    B[i] = A[i + 1]"),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "parallel iterations write the same value",
        "race",
        script(EIGHT, "for i in T.parallel(8):\n    B[i // 2] = 1"),
        script(EIGHT, "for i in T.parallel(8):\n    B[i] = 1"),
        COUNT,
        ZEROS,
    ),
    *by_value(
        "parallel iterations write where memory says",
        "race",
        script(EIGHT, "for i in T.parallel(8):\n    B[A[i]] = i"),
        ([0, 1, 2, 3, 4, 5, 6, 0], ZEROS),
        ([1, 0, 3, 2, 5, 4, 7, 6], ZEROS),
    ),
    *by_text(
        "a temporary shared by parallel iterations",
        "race",
        script(
            EIGHT,
            """
C = T.alloc_buffer((1,), "int32")
for i in T.parallel(8):
    C[0] = A[i]
    B[i] = C[0]
""",
        ),
        script(
            EIGHT,
            """
for i in T.parallel(8):
    C = T.alloc_buffer((1,), "int32")
    C[0] = A[i]
    B[i] = C[0]
""",
        ),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "the inner of two parallel loops",
        "race",
        script(EIGHT, "for i in T.parallel(2):\n    for j in T.parallel(4):\n        B[i] = B[i] + A[j]"),
        script(EIGHT, "for i in T.parallel(2):\n    for j in range(4):\n        B[i] = B[i] + A[j]"),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "a lane writes what the next one reads",
        "race",
        script(EIGHT, "for i in T.vectorized(4):\n    A[i + 1] = A[i]"),
        script(EIGHT, "for i in T.vectorized(4):\n    A[i + 4] = A[i]"),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "lanes add to one element",
        "race",
        script(EIGHT, "for i in T.vectorized(4):\n    B[0] = B[0] + A[i]"),
        script(EIGHT, "for i in T.vectorized(4):\n    B[i] = B[i] + A[0]"),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "lanes store to one element",
        "race",
        script(EIGHT, "for i in T.vectorized(4):\n    B[i // 2] = A[i]"),
        script(EIGHT, "for i in T.vectorized(4):\n    B[i] = A[i // 2]"),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "a store to a ramp that stands still",
        "race",
        script(EIGHT, "B[T.Ramp(1, 0, 4)] = A[T.Ramp(0, 1, 4)]"),
        script(EIGHT, "B[T.Ramp(1, 1, 4)] = A[T.Ramp(0, 0, 4)]"),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "lanes in two statements",
        "race",
        script(EIGHT, "for i in T.vectorized(4):\n    A[i] = i\n    B[i] = A[3 - i]"),
        script(EIGHT, "for i in T.vectorized(4):\n    A[i] = i\n    B[3 - i] = A[i]"),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "an argument of what does nothing",
        "division-by-zero",
        script(EIGHT, "B[0] = A[1]\nT.evaluate(T.start_profile_intrinsic(T.Div(1, A[0])))"),
        script(EIGHT, "B[0] = A[1]\nT.evaluate(T.start_profile_intrinsic(T.Div(1, A[1])))"),
        COUNT,
        ZEROS,
    ),
)

SYNC = 'T.evaluate(T.tvm_storage_sync("shared"))'

EXCHANGE = """
tx = T.launch_thread("threadIdx.x", 8)
B[tx] = A[tx]
{between}
A[tx] = B[7 - tx]
"""

BARRIERS = (
    *by_text(
        "threads exchange without a barrier",
        "race",
        script(EIGHT, EXCHANGE.format(between="T.evaluate(0)")),
        script(EIGHT, EXCHANGE.format(between=SYNC)),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "a barrier for some threads",
        "divergent-barrier",
        script(EIGHT, f'tx = T.launch_thread("threadIdx.x", 8)\nB[tx] = A[tx]\nif tx < 4:\n    {SYNC}'),
        script(EIGHT, f'tx = T.launch_thread("threadIdx.x", 8)\nB[tx] = A[tx]\nif A[0] < 4:\n    {SYNC}'),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "threads write one element",
        "race",
        script(EIGHT, 'tx = T.launch_thread("threadIdx.x", 8)\nB[tx // 2] = A[tx]'),
        script(EIGHT, 'tx = T.launch_thread("threadIdx.x", 8)\nB[tx] = A[tx // 2]'),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "a thread-bound loop",
        "race",
        script(EIGHT, 'for i in T.thread_binding(8, thread="blockIdx.x"):\n    B[0] = A[i]'),
        script(EIGHT, 'for i in T.thread_binding(8, thread="blockIdx.x"):\n    B[i] = A[0]'),
        COUNT,
        ZEROS,
    ),
)


def versions(index: str) -> str:
    """A pipeline that copies to memory of a block, and reads element `index` of it in the next stage."""
    return blocks(
        EIGHT,
        f"""
S = T.sblock_alloc_buffer((8,), "int32")
for i in T.serial(8, annotations={{"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}}):
    with T.sblock("copy"):
        vi = T.axis.spatial(8, i)
        S[vi] = A[vi]
    with T.sblock("use"):
        vi = T.axis.spatial(8, i)
        B[vi] = S[{index}]
""",
    )


def twice(stages: str) -> str:
    """A pipeline of two statements that store to the same element of memory of a block."""
    return blocks(
        EIGHT,
        f"""
S = T.sblock_alloc_buffer((8,), "int32")
for i in T.serial(8, annotations={{"software_pipeline_stage": [{stages}], "software_pipeline_order": [0, 1]}}):
    with T.sblock("first"):
        vi = T.axis.spatial(8, i)
        S[vi] = A[vi]
    with T.sblock("second"):
        vi = T.axis.spatial(8, i)
        S[vi] = A[vi] + 1
for i in range(8):
    with T.sblock("use"):
        vi = T.axis.spatial(8, i)
        B[vi] = S[vi]
""",
    )


def overlapped(order: str, index: str) -> str:
    """Two statements in stages 0 and 1 of a pipeline; the second stores to `index` of what the first reads."""
    return script(
        EIGHT,
        f"""
S = T.alloc_buffer((8,), "int32")
for i in range(8):
    S[i] = A[i]
for i in T.serial(8, annotations={{"software_pipeline_stage": [0, 1], "software_pipeline_order": [{order}]}}):
    B[i] = S[i] + 1
    S[{index}] = B[i] * 2
""",
    )


PIPELINES = (
    *by_text(
        "a pipeline overtakes what it depends on",
        "race",
        overlapped("0, 1", "T.min(i + 1, 7)"),
        overlapped("1, 0", "T.min(i + 1, 7)"),
        COUNT,
        ZEROS,
    ),
    *by_text("a pipeline overtakes a write to the same version", "race", twice("1, 0"), twice("0, 1"), COUNT, ZEROS),
    *by_text("a pipeline reads what another version holds", "race", versions("vi // 2"), versions("vi"), COUNT, ZEROS),
    *by_text(
        "a pipeline reads an element too early", "race", overlapped("0, 1", "7"), overlapped("0, 1", "i"), COUNT, ZEROS
    ),
)

PROGRAMS: tuple[Program, ...] = (*RACES, *BARRIERS, *PIPELINES)
