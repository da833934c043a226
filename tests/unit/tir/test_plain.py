"""What is odd about a program, by its text alone."""

from __future__ import annotations

import pytest

from tzerlike.systems import tvm_api
from tzerlike.tir.plain import odd_in

PROGRAM = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    {before}
    for i in {loop}:
        with T.sblock("b"):
            vi = T.axis.spatial(16, i)
            B[vi] = {value}
"""


def program(before: str = "pass", loop: str = "range(16)", value: str = "A[vi]") -> str:
    source = PROGRAM.format(before="" if before == "pass" else before, loop=loop, value=value)
    return tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(source)))


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"value": "T.exp(A[vi]) + T.Select(vi < 4, A[vi], T.float32(1))"},
        {"value": "T.if_then_else(vi < 4, T.sqrt(A[vi]), T.float32(0))"},
        {"loop": "T.vectorized(16)"},
        {"loop": 'T.serial(16, annotations={"pragma_unroll_explicit": 1})'},
        {"before": 'C = T.sblock_alloc_buffer((16,), scope="local")'},
    ],
)
def test_what_people_write(parts: dict[str, str]) -> None:
    assert odd_in(program(**parts), threads=False) == ""


@pytest.mark.parametrize(
    ("parts", "odd"),
    [
        ({"value": "T.likely(vi < 4, ) * A[vi]"}, "prim.likely"),
        ({"loop": 'T.serial(16, annotations={"software_pipeline_stage": [0]})'}, "software_pipeline_stage"),
        ({"loop": 'T.serial(16, annotations={"a_word": 1})'}, "a_word"),
        ({"before": 'T.evaluate(T.call_extern("int32", "f"))'}, "tirx.call_extern"),
        ({"before": 'C = T.sblock_alloc_buffer((16,), scope="wmma.matrix_a")'}, "memory wmma.matrix_a"),
        ({"before": 'with T.attr(0, "pragma_scope", "seq"): T.evaluate(0)'}, "attribute pragma_scope"),
        ({"loop": 'T.thread_binding(16, thread="threadIdx.x")'}, "a thread binding"),
    ],
)
def test_what_hardly_anybody_writes(parts: dict[str, str], odd: str) -> None:
    assert odd_in(program(**parts), threads=False) == odd


def test_loops_are_bound_to_threads_where_there_are_some() -> None:
    bound = program(loop='T.thread_binding(16, thread="threadIdx.x")')
    assert odd_in(bound, threads=True) == ""


@pytest.mark.parametrize("text", ["", "[]", '{"nodes": [{}]}', '{"nodes": [{"type": "tirx.For", "data": {}}]}', "{"])
def test_what_is_no_program_is_odd(text: str) -> None:
    assert odd_in(text, threads=False) == "no program"
