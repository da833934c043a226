"""Programs that nobody may write, by their text: what goes wrong for certain, and views that TVM would not make."""

from __future__ import annotations

import json

import pytest

from tzerlike.systems.tvm_api import dump_ir, entry_of, load_ir, module_of, parse_script
from tzerlike.tir.astray import goes_astray
from tzerlike.tir.views import views_fit

PROGRAM = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4, 8), "float32"), n: T.int32):
    for i in range(4):
        {inner}
"""


@pytest.mark.parametrize(
    ("inner", "astray"),
    [
        ("A[i, 7] = T.float32(1)", False),
        ("A[i, 8] = T.float32(1)", True),
        ("A[i, -1] = T.float32(1)", True),
        ("if n > 3:\n            A[i, 8] = T.float32(1)", True),
        ("A[i, i * 2 + 1] = T.float32(1)", False),
        ("A[i, i * 2 + 2] = T.float32(1)", True),
        ("A[i, i + i + 2] = T.float32(1)", True),
        ("A[3 - i, 0] = T.float32(1)", False),
        ("A[2 - i, 0] = T.float32(1)", True),
        ("if i < 3:\n            A[i + 1, 0] = T.float32(1)", False),
        ("A[i, 0] = T.if_then_else(i < 3, A[i + 1, 0], T.float32(0))", False),
        ("for j in T.vectorized(2147483646):\n            A[i, j] = T.float32(1)", True),
        ("for j in range(n):\n            A[i, j + 8] = T.float32(1)", False),
        (
            "for j in range(12):\n            if n > j:\n                break\n            A[i, j] = T.float32(1)",
            False,
        ),
        ("A[i, n] = T.float32(1)", False),
        ('A[i, 0] = T.Cast("float32", T.Cast("uint8", T.float32(-1.5)))', True),
        ('A[i, 0] = T.Cast("float32", T.Cast("uint8", T.float32(-0.5)))', False),
        ('A[i, 0] = T.Cast("float32", T.Cast("int32", T.float32(2147483648)))', True),
        ('A[i, 0] = T.Cast("float32", T.Cast("int4", 8))', True),
        ('A[i, 0] = T.Cast("float32", T.Cast("int4", 7))', False),
        ('A[i, 0] = T.Cast("float32", T.Cast("int8", n))', False),
        ("A[i, i % 8] = T.float32(1)", False),
        ("A[i, T.max(n + T.Mul(-2147483648, 2), 0) % 8] = T.float32(1)", True),
        ("A[i, T.max(n + T.Add(2147483647, 1), 0) % 8] = T.float32(1)", True),
        ("A[i, T.max(n + T.Sub(-2147483648, -1), 0) % 8] = T.float32(1)", False),
        ('A[i, T.Cast("int32", T.Mul(T.uint8(200), T.uint8(2))) % 8] = T.float32(1)', False),
        ('with T.sblock("a"):\n            v = T.axis.spatial(4, i)\n            A[v + 1, 0] = T.float32(1)', False),
    ],
)
def test_what_goes_wrong_for_certain(inner: str, astray: bool) -> None:
    assert goes_astray(parse_script(PROGRAM.format(inner=inner))) is astray


VIEWED = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8,), "float32")):
    S = T.alloc_buffer((8,), "float32", scope="local")
    with T.sblock("a"):
        T.reads(S[0:4])
        T.writes(A[0:4])
        V = T.match_buffer(S[0:4], (4,), "float32", scope="local", offset_factor=1)
        for i in range(4):
            A[i] = V[i]
"""


def test_a_view_in_other_memory_is_none_that_tvm_makes() -> None:
    module = module_of(parse_script(VIEWED))
    assert views_fit(entry_of(module))
    graph = json.loads(dump_ir(module))
    scopes = [node["data"] for node in graph["nodes"] if node["type"] == "tirx.BufferType"]
    of_parameter, *_, of_view = scopes
    of_view["storage_scope"] = of_parameter["storage_scope"]
    assert not views_fit(entry_of(load_ir(json.dumps(graph))))
