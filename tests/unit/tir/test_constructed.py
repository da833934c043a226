"""Programs as calls of TVM's constructors: the same program, or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tzerlike.execution.rendering import render_module
from tzerlike.systems import tvm_api
from tzerlike.systems.tvm_api import s_tir, tirx, tvm, tvm_ffi
from tzerlike.tir.constructed import constructed, is_calls

COPY = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8,), "float32", strides=(2,)), B: T.Buffer((8,), "float32")):
    T.func_attr({"tirx.noalias": True})
    for i in T.vectorized(8, annotations={"hint": [1, "two"]}):
        with T.sblock("copy"):
            v = T.axis.spatial(8, i)
            T.reads(A[v])
            T.writes(B[v])
            C = T.sblock_alloc_buffer((8,), scope="local")
            C[v] = T.if_then_else(A[v] > T.float32("inf"), T.exp(A[v]), T.Cast("float32", v // 3))
            B[v] = C[v]
"""


def module_of(text: str) -> Any:
    return tvm_api.module_of(tvm_api.parse_script(text))


def made(source: str) -> Any:
    names: dict[str, Any] = {"tvm": tvm, "tirx": tirx, "s_tir": s_tir}
    exec(source, names)
    return names["Module"]


def lossy() -> Any:
    """A loop over int16, which TVMScript gives back as one over int32."""
    loop = tirx.Var("i", "int16")
    buffer = tirx.decl_buffer([8], "int32", "np")
    store = tirx.BufferStore(buffer, tirx.IntImm("int32", 1), [tirx.Cast("int32", loop)])
    body = tirx.For(loop, tirx.IntImm("int16", 0), tirx.IntImm("int16", 8), tirx.ForKind.SERIAL, store)
    return tvm.IRModule({"main": tirx.PrimFunc([buffer], body).with_attr({"global_symbol": "main"})})


VIEW = COPY.replace(
    "            C[v] = ", "            D = T.match_buffer(A[v], (), offset_factor=1)\n            C[v] = ", 1
)
POINTERS = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((8,), "float32"), p: T.handle("float32", "global")):
    B = T.decl_buffer((4,), "float32", data=A.data)
    B[0] = T.float32(1)
    T.evaluate(T.call_packed("f", A.data, p))
"""


JUMPS = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for i in range(8):
        if A[i] > T.float32(1):
            T.continue_loop()
        assert i < 9, ("ValueError", ["no"])
        if A[i] < T.float32(0):
            T.break_loop()
"""


def named(name: str) -> Any:
    """A program with a buffer whose name is a word of Python's."""
    buffer = tirx.decl_buffer([8], "int32", name)
    return tvm.IRModule({"main": tirx.PrimFunc([buffer], tirx.BufferStore(buffer, 1, [0]))})


@pytest.mark.parametrize(
    "module",
    [module_of(COPY), lossy(), module_of(VIEW), module_of(POINTERS), module_of(JUMPS), named("in"), named("float")],
    ids=["blocks", "int16", "a view", "pointers", "jumps", "a keyword", "a function of Python's"],
)
def test_calls_make_the_very_program(module: Any) -> None:
    source = constructed(module)
    assert is_calls(source)
    assert tvm_ffi.structural_equal(made(source), module)


def test_numbers_are_pythons_where_that_says_the_same() -> None:
    source = constructed(lossy())
    assert 'tirx.decl_buffer([8], "int32", "np")' in source
    assert 'tirx.IntImm("int16", 8)' in source


def test_no_variable_takes_the_name_of_what_is_imported() -> None:
    assert "\nnp = " not in f"\n{constructed(lossy())}"


def test_what_no_call_makes_has_no_source() -> None:
    assert constructed(module_of(COPY.replace('[1, "two"]', '{"one": 1}'))) == ""


def test_what_is_too_long_to_read_has_no_source() -> None:
    stores = "".join(f"            B[v] = T.float32({number})\n" for number in range(600))
    assert constructed(module_of(COPY + stores)) == ""


def test_calls_are_asked_for_where_text_is_not_enough() -> None:
    assert render_module(tvm_api.dump_ir(module_of(COPY))).calls == ""
    found = render_module(tvm_api.dump_ir(lossy()))
    assert not found.faithful and is_calls(found.source)


def test_accesses_of_one_element_are_written_with_their_index() -> None:
    """TVM prints `A = A ^ C`, which does not read back."""
    text = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((1,), "int32"), C: T.Buffer((1,), "int32"), D: T.Buffer((2,), "int32")):
    A[0] = A[0] ^ C[0]
    for i in range(2):
        D[i] = i
"""
    found = render_module(tvm_api.dump_ir(module_of(text)))
    assert found.faithful and "A[0] = A[0] ^ C[0]" in found.source and "D[i] = i" in found.source
    assert "C: T.Buffer((1,)" in found.source
