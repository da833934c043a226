"""What is odd about a kernel, and about a host that launches one."""

from __future__ import annotations

import pytest

from tests.oddities import bare, names
from tzerlike.systems import tvm_api
from tzerlike.tir.odd.forms import mended


def test_threads_are_not_odd_where_there_are_some() -> None:
    assert names(bare("for i in T.thread_binding(4, thread='threadIdx.x'):\n    B[i] = 1"), threads=True) == []


LAUNCHES = """
C = T.alloc_buffer((4,), "int32")
for b in T.thread_binding(2, thread="blockIdx.x"):
    for t in T.thread_binding(4, thread="threadIdx.x"):
        B[b * 4 + t] = A[t]
{beside}
"""


@pytest.mark.parametrize(
    ("beside", "odd"),
    [
        ("    for i in range(3):\n        A[i] = 1", ["a write that is left to all threads"]),
        ("    for i in range(3):\n        C[i] = 1", []),
        ("    for u in T.thread_binding(3, thread='threadIdx.x'):\n        A[u] = 1", []),
        ("for c in T.thread_binding(3, thread='blockIdx.x'):\n    A[c] = 1", []),
    ],
    ids=["of what they read", "of what they do not", "by other threads", "of another launch"],
)
def test_what_no_thread_is_bound_to_is_odd_where_threads_are_launched(beside: str, odd: list[str]) -> None:
    func = bare(LAUNCHES.format(beside=beside).strip("\n"))
    assert names(func, threads=True) == odd
    better = mended(func, 0, threads=True)
    assert better is not None
    assert names(better, threads=True) == []


def test_threads_are_counted_without_a_look_at_memory() -> None:
    text = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in T.thread_binding({extent}, thread="threadIdx.x"):
        B[i] = A[i]
"""
    assert names(tvm_api.parse_script(text.format(extent="A[0] + 1")), threads=True) == [
        "a number of threads in memory"
    ]
    assert names(tvm_api.parse_script(text.format(extent="16")), threads=True) == []


@pytest.mark.parametrize(
    ("outer", "odd"),
    [
        ('T.thread_binding(2, thread="vthread.x")', ["a number of threads that the kernel computes"]),
        ('T.thread_binding(2, thread="blockIdx.x")', ["a number of threads that the kernel computes"]),
        ("range(2)", []),
    ],
)
def test_threads_are_counted_before_they_run(outer: str, odd: list[str]) -> None:
    text = f"""
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in {outer}:
        for j in T.thread_binding(i + 1, thread="threadIdx.x"):
            B[j] = A[j]
"""
    assert names(tvm_api.parse_script(text), threads=True) == odd


def test_what_a_host_stores_beside_a_kernel_is_odd() -> None:
    text = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    B[0] = A[1]
    for i in T.thread_binding(16, thread="threadIdx.x"):
        B[i] = A[i]
"""
    assert names(tvm_api.parse_script(text), threads=True) == ["a store by the host"]


def test_virtual_threads_alone_are_no_kernel() -> None:
    virtual = "for i in T.thread_binding(4, thread='vthread.x'):"
    assert names(bare(f"{virtual}\n    B[i] = A[i]"), threads=True) == ["a store by the host"]
    assert (
        names(
            bare(f"{virtual}\n    for j in T.thread_binding(2, thread='threadIdx.x'):\n        B[i] = A[i]"),
            threads=True,
        )
        == []
    )


@pytest.mark.parametrize(
    ("loops", "odd"),
    [
        (["T.unroll(2)"], []),
        (["range(2)"], []),
        (["T.parallel(2)"], ["a parallel loop of the host"]),
        (["T.unroll(8)", "T.parallel(1)", "T.unroll(16)"], ["loops of the host in each other"] * 2),
    ],
)
def test_a_host_launches_a_kernel_a_few_times_at_most(loops: list[str], odd: list[str]) -> None:
    heads = [f"for h{place} in {loop}:" for place, loop in enumerate(loops)]
    lines = [*heads, "for i in T.thread_binding(6, thread='blockIdx.x'):", "B[i] = A[i]"]
    func = bare("\n".join(f"{'    ' * depth}{line}" for depth, line in enumerate(lines)))
    assert names(func, threads=True) == odd
    better = mended(func, 0, threads=True)
    assert better is not None
    assert names(better, threads=True) == []
