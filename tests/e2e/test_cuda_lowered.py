"""What the device passes make of a kernel, held against the program by the interpreter: TVM's own work, and damage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tzerlike.core.case import ContextConfig
from tzerlike.core.effort import Effort
from tzerlike.core.results import Ending, Results
from tzerlike.execution.cuda.lowered import JUDGED_BEFORE, judge_lowered
from tzerlike.passes.catalog import steps_of
from tzerlike.passes.dlight import SHIPPED_SCHEDULE
from tzerlike.processes.forked import in_child
from tzerlike.systems.compilation import SILENT, Compilation
from tzerlike.systems.tvm_api import entry_of, load_ir, module_of, parse_script
from tzerlike.systems.tvm_build import bind_target, build, target_of
from tzerlike.systems.tvm_passes import ModuleBefore, pass_context
from tzerlike.tir.seeds import builtin_seeds

CACHE = Path(__file__).parents[2] / "build" / "test-cache" / "tzerlike"


def of_kernels(names: tuple[str, ...], ending: Callable[[Any, Any], str]) -> list[str]:
    """A line for each kernel among TVM's seeds that is hand-written or has one of these names: what `ending` says of
    its function and of what the device passes make of it."""

    def endings() -> str:
        found = []
        for seed in seeds:
            if seed.origin == "handwritten" or any(name in seed.name for name in names):
                watch = ModuleBefore(JUDGED_BEFORE)
                target = target_of("cuda")
                with target, pass_context(ContextConfig(), [watch]):
                    build(bind_target(load_ir(seed.ir), target), target)
                found.append(f"{seed.name} {ending(entry_of(load_ir(seed.ir)), watch.module)}")
        return "\n".join(found)

    CACHE.mkdir(parents=True, exist_ok=True)
    seeds = builtin_seeds(CACHE, "cuda")
    text, signal = in_child(endings)
    assert signal == 0 and text is not None
    return text.splitlines()


PROGRAM = """
# from tvm.script import tirx as T

@T.prim_func
def main(A: T.Buffer((32,), "float32"), H: T.Buffer((32,), "float16"), B: T.Buffer((32,), "float32")):
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(8, thread="threadIdx.x"):
            S = T.alloc_buffer((16,), "float32", scope="shared")
            R = T.alloc_buffer((16,), "float32", scope="shared")
            for v in T.vectorized(2):
                S[tx * 2 + v] = A[bx * 16 + tx * 2 + v] + T.Cast("float32", H[bx * 16 + tx * 2 + v])
            T.evaluate(T.tvm_storage_sync("shared"))
            for i in range(2):
                R[tx * 2 + i] = S[15 - tx * 2 - i] * T.float32(2)
            T.evaluate(T.tvm_storage_sync("shared"))
            for i in range(2):
                B[bx * 16 + tx * 2 + i] = S[(tx * 2 + i + 2) % 16] + R[15 - tx * 2 - i]
"""

LOWERED = """
# from tvm.script import tirx as T

@T.prim_func
def main(A: T.Buffer((32,), "float32"), H: T.Buffer((32,), "float16"), B: T.Buffer((32,), "float32")):
    with T.launch_thread("blockIdx.x", 2) as bx:
        S = T.alloc_buffer((16,), "float32", scope="shared")
        R = T.alloc_buffer((16,), "float32", scope="shared")
        tx = T.launch_thread("threadIdx.x", 8)
        x: T.let[T.int32] = bx * 16 + tx * 2
        S[T.Ramp(tx * 2, 1, 2)] = A[T.Ramp(x, 1, 2)] + T.Cast("float32x2", H[T.Ramp(x, 1, 2)])
        T.evaluate(T.tvm_storage_sync("shared"))
        for i in range(2):
            R[tx * 2 + i] = S[15 - tx * 2 - i] * T.float32(2)
        T.evaluate(T.tvm_storage_sync("shared"))
        for i in range(2):
            B[x + i] = S[(tx * 2 + i + 2) % 16] + R[15 - tx * 2 - i]
"""

BARRIER = '        T.evaluate(T.tvm_storage_sync("shared"))\n'


def judged(program: str, lowered: str, config: ContextConfig | None = None) -> Results:
    return judge_lowered(
        parse_script(program), module_of(parse_script(lowered)), config or ContextConfig(), 1, Effort(), SILENT
    )


SUMS = """
# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def main(A: T.Buffer((5, 40), "float32"), B: T.Buffer((5,), "float32")):
    for i, k in T.grid(5, 40):
        with T.sblock("sums"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
"""


def scheduled(program: str) -> str:
    """The kernel that TVM's pipeline for models on GPUs makes of a function, as it is judged."""
    watch = ModuleBefore(JUDGED_BEFORE)
    Compilation("cuda", ContextConfig(), steps_of([SHIPPED_SCHEDULE]), [watch]).build(module_of(parse_script(program)))
    return str(entry_of(watch.module).without_attr("target").script())


@pytest.mark.parametrize(
    ("was", "damaged", "ending"),
    [
        ("", "", Ending.AGREES),
        ("x0 + y0, [T.float32(0.0)]", "x0 + y0, [T.float32(1.0)]", Ending.AGREES),
        ("x0 + y0", "T.max(x0, y0)", Ending.DIFFERS),
        ("x0 + y0", "x0", Ending.DIFFERS),
        ("T.bool(True)", "threadIdx_x > 0", Ending.DIFFERS),
    ],
)
def test_threads_that_reduce_are_held_against_loops_that_do(was: str, damaged: str, ending: Ending) -> None:
    kernel = scheduled(SUMS)
    assert "tvm_thread_allreduce" in kernel and was in kernel
    assert judged(SUMS, kernel.replace(was, damaged)).optimised.ending is ending


def test_what_means_the_same_agrees() -> None:
    results = judged(PROGRAM, LOWERED)
    assert results.defined
    assert (results.optimised.ending, results.blame) == (Ending.AGREES, "")


@pytest.mark.parametrize(
    ("was", "damaged", "ending"),
    [
        pytest.param(BARRIER, "", Ending.UNDEFINED, id="missing barriers"),
        pytest.param(BARRIER + "        for i in range(2):\n            B", "        for i in range(2):\n            B",
                     Ending.UNDEFINED, id="missing second barrier"),
        pytest.param("A[T.Ramp(x, 1, 2)] +", "A[T.Ramp(tx * 2, 1, 2)] +", Ending.DIFFERS, id="wrong block index"),
        pytest.param("R[15 - tx * 2 - i]", "R[tx * 2 + i]", Ending.DIFFERS, id="wrong thread index"),
        pytest.param('T.Cast("float32x2", H[T.Ramp(x, 1, 2)])',
                     'T.Cast("float32x2", T.Cast("int32x2", H[T.Ramp(x, 1, 2)]))',
                     Ending.DIFFERS, id="wrong cast in a vector load"),
        pytest.param("R[", "S[", Ending.UNDEFINED, id="shared memory used again too early"),
        pytest.param("= A[T.Ramp(x, 1, 2)]", "= A[T.Ramp(x, 0, 2)]",
                     Ending.DIFFERS, id="one lane for all"),
    ],
)  # fmt: skip
def test_damage_is_found(was: str, damaged: str, ending: Ending) -> None:
    assert was in LOWERED
    broken = LOWERED.replace(was, damaged)
    results = judged(PROGRAM, broken)
    assert results.optimised.ending is ending
    assert results.blame == "optimised"


@pytest.mark.parametrize(("waits", "ending"), [(False, Ending.UNDEFINED), (True, Ending.NOT_RUN)])
def test_a_barrier_that_some_threads_come_to_may_be_that_of_a_wait(waits: bool, ending: Ending) -> None:
    store = "B[bx * 16 + tx * 2 + i] = S"
    wait = 'with T.attr(0, "async_wait_queue_scope", 0):'
    program = PROGRAM.replace(store, f"{wait}\n                    {store}") if waits else PROGRAM
    assert (wait in program) is waits
    damaged = LOWERED + "        if tx < 2:\n    " + BARRIER
    assert judged(program, damaged).optimised.ending is ending


def test_threads_that_race_say_nothing_where_a_pass_was_left_out() -> None:
    results = judged(PROGRAM, LOWERED.replace(BARRIER, ""), ContextConfig(disabled_passes=("tirx.StorageRewrite",)))
    assert results.optimised.ending is Ending.NOT_RUN


def test_an_undefined_program_is_nobodys_fault() -> None:
    results = judged(PROGRAM.replace(BARRIER.strip(), "pass"), LOWERED.replace(BARRIER, ""))
    assert results.verdict == "undefined"
    assert results.optimised.ending is Ending.NOT_RUN


STRAYING = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    L = T.alloc_buffer((8,), "float32", scope="local")
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        L[tx] = A[tx]
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        B[tx] = L[7 - tx]
"""

HOME = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    tx = T.launch_thread("threadIdx.x", 8)
    L = T.alloc_buffer((8,), "float32", scope="local")
    L[tx] = A[tx]
    B[tx] = L[7 - tx]
"""


def test_memory_of_a_thread_that_another_thread_reads_is_the_programs_own_fault() -> None:
    results = judged(STRAYING, HOME)
    assert (results.verdict, results.where) == ("unknown", "memory of a thread that others use")
    assert results.optimised.ending is Ending.NOT_RUN


def test_the_device_passes_of_tvm_keep_the_meaning_of_the_seeds() -> None:
    def ending(func: Any, lowered: Any) -> str:
        results = judge_lowered(func, lowered, ContextConfig(), 5, Effort(), SILENT)
        return f"{results.verdict} {results.optimised}"

    lines = of_kernels(("transpose", "softmax"), ending)
    assert not [line for line in lines if "differs" in line or "undefined:" in line]
    agreeing = [line for line in lines if line.endswith("defined agrees")]
    assert len(agreeing) >= 10
    # Shared memory that TVM allocates above the launch of some blocks is still a block's own.
    assert any("transpose.f32_18x34" in line for line in agreeing)
