"""The process that runs kernels: what it says of right and wrong ones, and that it survives them.

Without a GPU the processor stands in for it: everything but CUDA itself is the same.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.e2e.conftest import ROOT
from tests.e2e.test_cuda_lowered import PROGRAM
from tzerlike.core.case import Case
from tzerlike.core.effort import Check, Effort
from tzerlike.core.limits import Limits
from tzerlike.core.results import OVER_TIME, Ending, Results
from tzerlike.core.targets import target_text
from tzerlike.execution.compare.evidence import evidence_for
from tzerlike.execution.compare.results import interpret_seeded
from tzerlike.execution.cuda.device import Device, Devices
from tzerlike.execution.cuda.run import is_device_fault
from tzerlike.systems.tvm_api import dump_ir, entry_of, load_ir, module_of, parse_script
from tzerlike.tir.seeds.handwritten import definitions

LIMITS = Limits(seconds=0.3)
RESULTS = Effort(frozenset({Check.RESULTS}))

ADD = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "bfloat16"), n: T.int32):
    for i in range(8):
        A[i] = A[i] + T.Cast("float32", B[i]) + T.Cast("float32", n)
"""
IN_VAIN = ADD.replace("for i in range(8):", "for i in range(8):\n        while n == n:\n            A[0] = A[0]")
ASTRAY = ADD.replace("A[i] = A[i]", "A[i * 100000000] = A[i]")
AT_ODDS = ADD.replace("for i in range(8):", 'for i in range(8):\n        assert n != n, "never"')
WITH_THREADS = """
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for t in T.thread_binding(2, thread="vthread.x"):
        for i in range(32):
            B[t * 32 + i] = A[t * 32 + i] + T.float32(1)
"""


def case_of(text: str, target: str = "llvm") -> Case:
    return Case(dump_ir(module_of(parse_script(text))), target=target, input_seed=3)


def judged(
    device: Device,
    ran: str,
    meant: str,
    directory: Path,
    target: str = "llvm",
    effort: Effort = RESULTS,
    limits: Limits = LIMITS,
) -> Results:
    """What comes of running one program where another one is meant."""
    case, other = case_of(ran, target), case_of(meant, target)
    _, _, results = interpret_seeded(entry_of(load_ir(other.ir)), other.input_seed, Effort().thorough())
    assert results.defined
    archive = directory / "inputs.npz"
    archive.write_bytes(evidence_for(other, results).archive)
    return device.judged(case, results, archive, effort, limits)


@pytest.fixture
def stand_in() -> Iterator[Device]:
    device = Device("llvm")
    yield device
    device.close()


@pytest.fixture
def gpu() -> Iterator[Device]:
    device = Device(target_text("cuda"))
    yield device
    device.close()


def test_a_right_program_agrees_on_device_and_host(stand_in: Device, tmp_path: Path) -> None:
    for _ in range(2):
        results = judged(stand_in, ADD, ADD, tmp_path)
        assert (results.optimised.ending, results.baseline.ending, results.device) == ("agrees", "agrees", "llvm")
    assert stand_in.starts == 1


def test_a_wrong_program_differs_and_says_where(stand_in: Device, tmp_path: Path) -> None:
    results = judged(stand_in, ADD.replace("A[i] + T", "A[7 - i] + T"), ADD, tmp_path)
    assert results.optimised.ending is Ending.DIFFERS
    assert results.optimised.difference is not None
    assert results.optimised.difference.name == "A"


@pytest.mark.parametrize(
    ("program", "ending", "message"),
    [
        pytest.param(IN_VAIN, Ending.DIED, OVER_TIME, id="runs without end", marks=pytest.mark.long),
        pytest.param(ASTRAY, Ending.DIED, "SIGSEGV in ", id="takes its process with it"),
        pytest.param(AT_ODDS, Ending.RAISED, "RuntimeError: never", id="raises", marks=pytest.mark.long),
    ],
)
def test_what_goes_wrong_costs_its_process_alone(
    stand_in: Device, tmp_path: Path, program: str, ending: Ending, message: str
) -> None:
    results = judged(stand_in, program, ADD, tmp_path)
    assert (results.optimised.ending, results.blame) == (ending, "optimised")
    assert results.optimised.message.startswith(message)
    assert judged(stand_in, ADD, ADD, tmp_path).optimised.ending is Ending.AGREES
    assert stand_in.starts == 2


def test_a_process_that_the_system_kills_says_nothing_of_its_case(stand_in: Device, tmp_path: Path) -> None:
    assert not stand_in.fault()
    (server,) = psutil.Process().children()
    killing = threading.Timer(1.0, server.kill)
    killing.start()
    results = judged(stand_in, IN_VAIN, ADD, tmp_path, limits=Limits(seconds=60))
    killing.join()
    assert results.optimised.ending is Ending.NOT_RUN


def test_memory_that_the_machine_refuses_is_no_wrong_code(stand_in: Device, tmp_path: Path) -> None:
    far = "S[T.int64(4398046511104) * T.Cast('int64', {})]"
    there = f"for i in range(8):\n        {far.format('i')} = A[7 - i]"
    back = f"for i in range(8):\n        A[i] = {far.format('7 - i')}"
    body = f"S = T.alloc_buffer((T.int64(35184372088832),))\n    {there}\n    {back}\n    for i"
    results = judged(stand_in, ADD.replace("for i", body), ADD, tmp_path)
    assert (results.optimised.ending, results.blame) == (Ending.REFUSED, "")
    assert "bad_alloc" in results.optimised.message


def test_what_does_not_compile_is_not_run(stand_in: Device, tmp_path: Path) -> None:
    results = judged(stand_in, ADD.replace("T.int32):", "T.int32):\n    T.evaluate(T.call_packed(1))"), ADD, tmp_path)
    assert (results.optimised.ending, results.device) == (Ending.NOT_RUN, "")


def test_what_there_is_no_device_for_is_not_run(stand_in: Device, tmp_path: Path) -> None:
    results = judged(stand_in, ADD, ADD, tmp_path, target_text("cuda"))
    assert (results.optimised.ending, results.device) == (Ending.NOT_RUN, "")


def test_both_builds_are_timed_by_the_clock_of_the_device(stand_in: Device, tmp_path: Path) -> None:
    effort = Effort(frozenset({Check.RESULTS, Check.SPEED}))
    results = judged(stand_in, WITH_THREADS, WITH_THREADS, tmp_path, effort=effort)
    assert results.timing is not None
    assert len(results.timing.baseline) == len(results.timing.optimised) == 40
    assert min(*results.timing.baseline, *results.timing.optimised) >= 0
    twice = WITH_THREADS.replace("B[t * 32 + i] = A", "A[t * 32 + i] = A")
    assert judged(stand_in, twice, twice, tmp_path, effort=effort).timing is None


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("CUDA: an illegal memory access was encountered", True),
        ("CUDAError: cuLaunchKernel failed with error: CUDA_ERROR_MISALIGNED_ADDRESS", True),
        ("RuntimeError: NVRTC compilation failed: error: identifier is undefined", False),
        ("CUDALaunch Error: CUDA_ERROR_INVALID_VALUE grid=(1,1,1), block=(2048,1,1)", False),
        ("CUDA: out of memory", False),
    ],
)
def test_what_cuda_does_not_start_is_no_wrong_result(message: str, fault: bool) -> None:
    assert is_device_fault(message, target_text("cuda")) is fault
    assert is_device_fault(message, "llvm")


def test_nothing_runs_without_a_gpu_or_on_one_that_does_not_work() -> None:
    target = target_text("cuda", "sm_999")
    assert Devices(lambda: []).of(target, RESULTS) is None
    assert Devices(lambda: []).problem(target) == ""
    devices = Devices(lambda: ["a GPU"])
    assert devices.problem(target).startswith("kernels are not run, the first one fails: ")
    assert devices.of(target, RESULTS) is None


KERNELS = {
    "gpu.py": ("elementwise", "guarded", "explicit_barrier", "register_tile", "vector_load", "two_kernels"),
    "kernels.py": ("half_vectors", "byte_vectors", "two_stages", "tiled_sum", "three_axes", "wide_indices"),
}


@pytest.mark.gpu
@pytest.mark.parametrize(("file", "name"), [(file, name) for file, names in KERNELS.items() for name in names])
def test_kernels_agree_on_the_gpu(gpu: Device, tmp_path: Path, file: str, name: str) -> None:
    text = definitions((ROOT / "seeds" / file).read_text(encoding="utf-8"))[name]
    assert judged(gpu, text, text, tmp_path, target_text("cuda")).optimised.ending is Ending.AGREES


@pytest.mark.gpu
def test_a_host_that_would_use_memory_of_the_gpu_is_not_run(gpu: Device, tmp_path: Path) -> None:
    assert judged(gpu, ADD, ADD, tmp_path, target_text("cuda")).optimised.ending is Ending.NOT_RUN
    assert gpu.starts == 1


BARRIER = '            T.evaluate(T.tvm_storage_sync("shared"))\n'
HALF = 'T.Cast("float32", H[bx * 16 + tx * 2 + v])'


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("was", "damaged"),
    [
        pytest.param("= A[bx * 16", "= A[bx * 0", id="wrong block index"),
        pytest.param("R[15 - tx * 2 - i]\n", "R[tx * 2 + i]\n", id="wrong thread index"),
        pytest.param(HALF, HALF.replace('T.Cast("float32", ', 'T.Cast("float32", T.int8(3) * T.Cast("int8", ') + ")",
                     id="wrong cast"),
        pytest.param("R[", "S[", id="shared memory used again too early"),
        pytest.param(BARRIER, BARRIER + "            while tx >= 0:\n                R[0] = R[0]\n", id="endless"),
        pytest.param("B[bx * 16 + tx", "B[bx * 1600000000 + tx", id="illegal address"),
    ],
)  # fmt: skip
def test_damage_is_found_and_survived_on_the_gpu(gpu: Device, tmp_path: Path, was: str, damaged: str) -> None:
    target = target_text("cuda")
    assert was in PROGRAM
    assert judged(gpu, PROGRAM.replace(was, damaged), PROGRAM, tmp_path, target).blame == "optimised"
    assert judged(gpu, PROGRAM, PROGRAM, tmp_path, target).optimised.ending is Ending.AGREES
