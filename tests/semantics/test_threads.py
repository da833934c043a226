"""Threads that wait for each other: as many as CUDA has, in the memory of a child, whatever becomes of them."""

from __future__ import annotations

import json
import os
import resource
import threading
from typing import Any

import numpy
import pytest

from tzerlike.core.effort import Effort
from tzerlike.core.limits import mapped_bytes
from tzerlike.execution.compare.results import interpret_seeded
from tzerlike.execution.cuda.lowered import with_memory_inside
from tzerlike.harnesses.tir.emulator import Kernel
from tzerlike.systems.tvm_api import parse_script, tirx
from tzerlike.tir.interpreter import Judgement, interpret, prepare
from tzerlike.tir.thread_memory import keeps_to_its_threads, launches_threads, uses_memory_on_the_host

ROOM = 64 << 20
"""Bytes for a child beyond what it maps: too few for an arena or a stack of the system for each thread."""

EXCHANGE = """
@T.prim_func
def main(A: T.Buffer((1024,), "int32"), B: T.Buffer((1024,), "int32")):
    {launch}
    B[{at}] = A[{at}]
    T.evaluate(T.tvm_storage_sync("shared"))
    A[{at}] = B[1023 - ({at})] * 2
"""

FLAT = EXCHANGE.format(launch='tx = T.launch_thread("threadIdx.x", 1024)', at="tx")
NESTED = EXCHANGE.format(
    launch='tx = T.launch_thread("threadIdx.x", 32)\n    ty = T.launch_thread("threadIdx.y", 32)', at="tx * 32 + ty"
)


def judged(text: str, elements: int = 1024) -> Judgement:
    return interpret(parse_script(text), [numpy.arange(elements), numpy.zeros(elements, numpy.int64)])


@pytest.mark.parametrize("text", [FLAT, NESTED])
def test_a_thousand_threads_fit_into_a_child(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    def never(thread: Any) -> None:
        raise AssertionError("a thread of the system")

    monkeypatch.setattr(threading.Thread, "start", never)

    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        limit = mapped_bytes() + ROOM
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        judgement = judged(text)
        with open(theirs, "w") as pipe:
            json.dump([judgement.verdict, judgement.rule, judgement.expected[0].values.tolist()], pipe)
        os._exit(0)
    os.close(theirs)
    with open(ours) as pipe:
        answer = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    assert json.loads(answer) == ["defined", "", [2 * (1023 - place) for place in range(1024)]]


@pytest.mark.parametrize("more", [FLAT.replace('.x", 1024', '.x", 1025'), NESTED.replace('.y", 32', '.y", 33')])
def test_more_threads_than_a_block_has_are_over_the_budget(more: str) -> None:
    judgement = judged(more)
    assert (judgement.verdict, judgement.rule) == ("unknown", "step-budget")
    assert "threads" in judgement.where


@pytest.mark.parametrize(("divisor", "rule"), [("A[1]", ""), ("A[0]", "division-by-zero")])
def test_the_arguments_of_a_barrier_are_computed(divisor: str, rule: str) -> None:
    assert judged(FLAT.replace('"shared"', f'"shared", T.bool(False), T.Div(1, {divisor})')).rule == rule


REDUCES = """
# from tvm.script import tirx as T

@T.prim_func
def main(A: T.Buffer((24,), "int32"), B: T.Buffer((24,), "int32")):
    ty = T.launch_thread("threadIdx.y", 3)
    tx = T.launch_thread("threadIdx.x", 4)
    M = T.alloc_buffer((1,), "int32", scope="local")
    M[0] = 0
    for i in range(2):
        with T.attr(T.comm_reducer(lambda x, y: x + y, [T.int32(0)]), "reduce_scope", 0):
            T.tvm_thread_allreduce(T.uint32(1), A[i * 12 + ty * 4 + tx], {condition}, M[0], {axes})
        B[i * 12 + ty * 4 + tx] = M[0]
"""
ELEMENTS = numpy.arange(24).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("axes", "condition", "sums"),
    [
        ("tx", "T.bool(True)", ELEMENTS.sum(2, keepdims=True)),
        ("ty", "T.bool(True)", ELEMENTS.sum(1, keepdims=True)),
        ("ty, tx", "T.bool(True)", ELEMENTS.sum((1, 2), keepdims=True)),
        ("tx", "tx % 2 == 1", ELEMENTS[:, :, 1::2].sum(2, keepdims=True)),
    ],
)
def test_threads_reduce_what_their_group_gives_in_each_round(axes: str, condition: str, sums: Any) -> None:
    program, expected = parse_script(REDUCES.format(axes=axes, condition=condition)), numpy.zeros((2, 3, 4)) + sums
    judgement = interpret(program, [ELEMENTS.reshape(-1), numpy.zeros(24, numpy.int64)])
    assert judgement.verdict == "defined"
    assert judgement.expected[1].values.tolist() == expected.reshape(-1).tolist()
    witness = numpy.zeros(24, "int32")
    Kernel(program)(ELEMENTS.reshape(-1).astype("int32"), witness)
    assert witness.tolist() == expected.reshape(-1).tolist()


@pytest.mark.parametrize("guard", ["tx < 2", "ty < 2"])
def test_a_reduction_that_some_threads_do_not_come_to_is_unknown(guard: str) -> None:
    text = REDUCES.format(axes="tx", condition="T.bool(True)")
    lines = [f"    {line}" if line.startswith("            ") else line for line in text.splitlines()]
    place = next(n for n, line in enumerate(lines) if "reduce_scope" in line)
    lines[place : place + 1] = [f"        if {guard}:", f"    {lines[place]}"]
    judgement = interpret(parse_script("\n".join(lines)), [numpy.arange(24), numpy.zeros(24, numpy.int64)])
    assert (judgement.verdict, judgement.rule) == ("unknown", "unsupported")


WAITS = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    tx = T.launch_thread("threadIdx.x", 4)
    ty = T.launch_thread("threadIdx.y", 2)
    B[tx * 2 + ty] = 1
    if {condition}:
        T.evaluate(T.tvm_storage_sync("shared"))
    A[tx * 2 + ty] = B[{element}]
"""


@pytest.mark.parametrize(
    ("condition", "element", "rule"),
    [
        ("A[7] > 0", "7 - tx * 2 - ty", ""),
        ("A[7] < 0", "7 - tx * 2 - ty", "race"),
        ("tx < 2", "tx * 2 + ty", "divergent-barrier"),
        ("ty < 1", "tx * 2 + ty", "divergent-barrier"),
        ("A[7] > 0", "tx * 2 + ty + 3", "out-of-bounds"),
    ],
)
def test_what_ends_in_the_middle_leaves_nothing_behind(condition: str, element: str, rule: str) -> None:
    """Threads that wait when another breaks a rule are given up; the program can be run again, to the same end."""
    program = prepare(parse_script(WAITS.format(condition=condition, element=element)))
    arguments = [numpy.arange(8), numpy.zeros(8, numpy.int64)]
    outcomes = [program.run(arguments) for _ in range(2)]
    assert [outcome.rule for outcome in outcomes] == [rule, rule]
    assert outcomes[0].where == outcomes[1].where


def test_each_thread_is_held_to_the_regions_of_its_own_block() -> None:
    text = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        with T.sblock("copy"):
            vx = T.axis.spatial(8, tx)
            T.reads(A[vx : vx + 1])
            T.writes(B[vx : vx + 1])
            T.evaluate(T.tvm_storage_sync("shared"))
            B[vx * 2 - vx] = A[vx * {factor} - vx]
"""
    assert judged(text.format(factor=2), 8).rule == ""
    assert judged(text.format(factor=1), 8).rule == "block-region"


VIRTUAL = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    L = T.alloc_buffer((8,), "int32", scope="{scope}")
    for v in T.thread_binding(8, thread="vthread"):
        L[v] = A[v]
    for v in {second}:
        B[v] = L[7 - v]
"""


@pytest.mark.parametrize(
    ("scope", "second", "verdict"),
    [
        ("local", 'T.thread_binding(8, thread="vthread")', "unknown"),
        ("local", "range(8)", "unknown"),
        ("global", "range(8)", "defined"),
    ],
)
def test_what_virtual_threads_leave_in_memory_of_their_own_is_nobodys(scope: str, second: str, verdict: str) -> None:
    _, _, results = interpret_seeded(parse_script(VIRTUAL.format(scope=scope, second=second)), 0, Effort())
    assert results.verdict == verdict


def test_a_program_that_is_nested_too_deeply_is_unknown() -> None:
    func = parse_script(WAITS.format(condition="A[7] > 0", element="0"))
    body = func.body
    for _ in range(5000):
        body = tirx.IfThenElse(tirx.IntImm("bool", 1), body, None)
    deep = func.with_body(body)
    judgement = interpret(deep, [numpy.arange(8), numpy.zeros(8, numpy.int64)])
    assert (judgement.verdict, judgement.where) == ("unknown", "nested too deeply")
    assert keeps_to_its_threads(deep) and launches_threads(deep)
    assert with_memory_inside(deep) is None
    assert with_memory_inside(func) is not None


BETWEEN = {
    "a race behind a barrier in a block": (
        """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        with T.sblock("a"):
            v = T.axis.spatial(8, tx)
            T.evaluate(T.tvm_storage_sync("shared"))
            B[v] = A[v]
        with T.sblock("b"):
            v = T.axis.spatial(8, tx)
            C[v] = B[7 - v]
""",
        "race",
    ),
    "shared memory of another round": (
        """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((16,), "int32")):
    tx = T.launch_thread("threadIdx.x", 8)
    for i in range(2):
        S = T.alloc_buffer((8,), "int32", scope="shared")
        if i == 0:
            S[tx] = A[tx]
        T.evaluate(T.tvm_storage_sync("shared"))
        B[i * 8 + tx] = S[7 - tx]
        T.evaluate(T.tvm_storage_sync("shared"))
""",
        "uninitialised",
    ),
    "blocks inside of threads that wait": (
        """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((16,), "int32")):
    tx = T.launch_thread("threadIdx.x", 8)
    bx = T.launch_thread("blockIdx.x", 2)
    T.evaluate(T.tvm_storage_sync("shared"))
    B[bx * 8 + tx] = A[tx]
""",
        "unsupported",
    ),
    "threads that change how many rounds there are": (
        """
@T.prim_func
def main(A: T.Buffer((1,), "int32"), B: T.Buffer((8,), "int32")):
    for i in T.parallel(T.min(T.max(A[0], 1), 8)):
        B[i] = 100 + i
        if i == 0:
            A[0] = -4
""",
        "unsupported",
    ),
}


@pytest.mark.parametrize("name", BETWEEN)
def test_what_the_order_of_threads_decides_is_not_defined(name: str) -> None:
    text, rule = BETWEEN[name]
    func = parse_script(text)
    shapes = [[int(extent) for extent in param.ty.shape] for param in func.params]
    assert interpret(func, [numpy.ones(shape, "int32") for shape in shapes]).rule == rule


def test_a_barrier_in_a_block_orders_what_is_behind_it() -> None:
    text, _ = BETWEEN["a race behind a barrier in a block"]
    ordered = text.replace("            C[v]", '            T.evaluate(T.tvm_storage_sync("shared"))\n            C[v]')
    judgement = interpret(parse_script(ordered), [numpy.arange(8), *(numpy.zeros(8, numpy.int64) for _ in range(2))])
    assert judgement.verdict == "defined" and judgement.expected[2].values.tolist() == list(range(7, -1, -1))


CARRIED = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((2, 8), "float32")):
    {outside}
    for i in range(2):
        {inside}
        for tx in T.thread_binding(8, thread="threadIdx.x"):
            S[tx] = A[tx]
            B[i, tx] = S[tx]
"""


@pytest.mark.parametrize("outside", [True, False])
def test_memory_of_a_launch_is_not_that_of_the_next(outside: bool) -> None:
    allocation = 'S = T.alloc_buffer((8,), "float32", scope="shared")'
    places = (allocation, "pass") if outside else ("T.evaluate(0)", allocation)
    func = parse_script(CARRIED.format(outside=places[0], inside=places[1]))
    assert keeps_to_its_threads(func) is not outside


FILLS = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8,), "float32")):
    S = T.alloc_buffer((1,), "int32", scope="local")
    S[0] = 1
    for i in {loop}:
        A[i] = T.float32(1)
    {behind}
"""


@pytest.mark.parametrize(
    ("loop", "behind", "used"),
    [
        ('T.thread_binding(8, thread="threadIdx.x")', "T.evaluate(S[0])", False),
        ('T.thread_binding(8, thread="threadIdx.x")', "T.evaluate(A[0])", True),
        ("range(8)", "T.evaluate(0)", True),
        ("T.parallel(8)", "T.evaluate(0)", True),
    ],
)
def test_the_host_reaches_its_own_memory_alone(loop: str, behind: str, used: bool) -> None:
    assert uses_memory_on_the_host(parse_script(FILLS.format(loop=loop, behind=behind))) is used
