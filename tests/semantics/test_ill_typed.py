"""IR that no constructor of TVM builds, as a loaded file may hold it, is not interpreted."""

from __future__ import annotations

import json
from typing import Any

import numpy
import pytest

from tzerlike.systems.tvm_api import dump_ir, entry_of, load_ir, module_of, parse_script, structural_map, tirx
from tzerlike.tir.interpreter import Verdict, interpret

SOURCE = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4,), "{dtype}")):
    for i in range(4):
        A[i] = {value}
"""


@pytest.mark.parametrize(
    ("dtype", "value", "kind", "change"),
    [
        ("int32", "7", tirx.IntImm, lambda node: tirx.FloatImm("float32", 7.5) if int(node.value) == 7 else node),
        ("float32", "T.float32(7)", tirx.FloatImm, lambda node: tirx.IntImm("int32", 7)),
    ],
)
def test_a_value_of_another_dtype_is_unknown(dtype: str, value: str, kind: type, change: object) -> None:
    func = entry_of(module_of(parse_script(SOURCE.format(dtype=dtype, value=value))))
    zeros = numpy.zeros(4, numpy.int64 if dtype == "int32" else numpy.float64)
    assert interpret(func, [zeros]).verdict is Verdict.DEFINED
    judgement = interpret(structural_map(func, (kind, change)), [zeros])
    assert (judgement.verdict, judgement.rule) == (Verdict.UNKNOWN, "unsupported")


@pytest.mark.parametrize(("operand", "verdict"), [("T.int64(-8)", "defined"), ("-8", "unknown")])
def test_llvm_counts_bits_in_the_dtype_of_the_operand(operand: str, verdict: str) -> None:
    value = f'T.Cast("int32", T.call_llvm_pure_intrin("int64", "llvm.cttz", {operand}, T.bool(False)))'
    func = entry_of(module_of(parse_script(SOURCE.format(dtype="int32", value=value))))
    assert interpret(func, [numpy.zeros(4, numpy.int64)]).verdict == verdict


WHOLE = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4, 2), "int32"), B: T.Buffer((4,), "float32"), n: T.int32):
    for i in range(4):
        with T.sblock("b"):
            vi = T.axis.spatial(4, i)
            T.reads(A[0:4, 0:2], B[vi])
            T.writes(A[vi, 0:2], B[vi])
            B[vi] = T.float32(1.5) + B[vi]
            A[vi, n] = T.Select(vi < n, A[vi, 1] + 7, T.if_then_else(A[vi, 0] == 3, n, T.cast(B[vi], "int32")))
"""

NOTHING, EMPTY, NUMBER = ("None", None), ("ffi.Array", []), ("ir.Var", "n")


def named(nodes: list[dict[str, Any]], kind: str, what: Any) -> int:
    """The place of a node of a kind in the JSON of a program: the first with this data, or variable of this name."""
    for place, node in enumerate(nodes):
        data = node.get("data")
        if kind == "ir.Var" and node["type"] == kind and what is not None:
            data = nodes[data["name"]]["data"]
        if node["type"] == kind and what in (data, None):
            return place
    raise KeyError(kind)


@pytest.mark.parametrize("name", ["vi", "i"])
def test_a_variable_of_another_dtype_than_what_it_counts_is_unknown(name: str) -> None:
    graph = json.loads(dump_ir(module_of(parse_script(WHOLE))))
    nodes = graph["nodes"]
    variable = nodes[named(nodes, "ir.Var", name)]
    variable["data"]["ty"] = named(nodes, "ir.PrimType", {"span": 0, "dtype": "float32"})
    arguments = [numpy.ones((4, 2), numpy.int64), numpy.ones(4), 1]
    assert interpret(entry_of(load_ir(json.dumps(graph))), arguments).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("kind", "field", "other"),
    [
        ("tirx.BufferStore", "indices", EMPTY),
        ("tirx.BufferStore", "value", ("ir.FloatImm", None)),
        ("ir.TensorLoad", "indices", EMPTY),
        ("ir.TensorLoad", "source", NUMBER),
        ("prim.Add", "b", ("ir.FloatImm", None)),
        ("prim.LT", "a", ("ir.FloatImm", None)),
        ("prim.Select", "condition", NUMBER),
        ("prim.Select", "true_value", ("ir.FloatImm", None)),
        ("ir.Call", "args", EMPTY),
        ("tirx.For", "extent", ("ir.FloatImm", None)),
        ("s_tir.SBlockRealize", "iter_values", EMPTY),
        ("s_tir.SBlockRealize", "predicate", ("ir.FloatImm", None)),
        ("tirx.IterVar", "dom", NOTHING),
        ("ir.TensorRegion", "region", EMPTY),
    ],
)
def test_a_part_that_does_not_fit_is_never_an_exception(kind: str, field: str, other: tuple[str, Any]) -> None:
    """The JSON leads to another node in one place: in each place of the kind in turn."""
    text = dump_ir(module_of(parse_script(WHOLE)))
    arguments = [numpy.ones((4, 2), numpy.int64), numpy.ones(4), 1]
    assert interpret(entry_of(load_ir(text)), arguments).verdict is Verdict.DEFINED
    changed = []
    for place, node in enumerate(json.loads(text)["nodes"]):
        graph = json.loads(text)
        target = named(graph["nodes"], *other)
        if node["type"] != kind or target > place:
            continue
        graph["nodes"][place]["data"][field] = target
        try:
            func = entry_of(load_ir(json.dumps(graph)))
        except (TypeError, ValueError, RuntimeError):
            continue
        changed.append(interpret(func, arguments).verdict)
    assert changed, "TVM loads some of them"
    assert set(changed) <= {Verdict.UNKNOWN, Verdict.DEFINED, Verdict.UNDEFINED}
    assert Verdict.UNKNOWN in changed
