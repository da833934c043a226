"""What is odd about the form of a program, and what stands in its place once it is mended."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tzerlike.systems import tvm_api
from tzerlike.tir.odd.forms import mended, oddities

BARE = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), n: T.int32):
    x, z = T.int32(), T.int32()
    {statement}
"""

BLOCK = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    with T.sblock("root"):
        T.where({root})
        for i in range(16):
            with T.sblock("b"):
                vi = T.axis.spatial(16, {value})
                T.where({predicate})
                B[vi] = A[vi]
"""


NAMED = "a name in a condition or a bound"
SIMPLER = "an expression that is one of its operands, or a number"
NEVER = "what no execution may come to"
MEETING = "an element that is stored in two ways"
REPEATS = "a loop that only repeats itself"


def bare(statement: str) -> Any:
    return tvm_api.parse_script(BARE.format(statement=statement.replace("\n", "\n    ")))


def block(root: str = "True", value: str = "i", predicate: str = "True") -> Any:
    return tvm_api.parse_script(BLOCK.format(root=root, value=value, predicate=predicate))


def names(func: Any, *, threads: bool = False) -> list[str]:
    return [odd.what for odd in oddities(func, threads=threads)]


def text_without_oddities(func: Any, way: int = 0) -> str:
    better = mended(func, way, threads=False)
    assert better is not None
    assert names(better) == []
    return tvm_api.script_of(better)


@pytest.mark.parametrize(
    ("func", "what"),
    [
        (block(value="i ^ 3"), "a binding that is no arithmetic on indices"),
        (block(value="i % i"), "a divisor that a loop counts"),
        (
            bare("for i in range(4):\n    for j in range(8 // (i - 1)):\n        B[i + j] = A[i]"),
            "a divisor that a loop counts",
        ),
        (block(value="T.Cast('int32', A[i] > 3)"), "a binding that is no arithmetic on indices"),
        (block(value="T.Cast('int32', T.Cast('uint64', i))"), "a binding that is no arithmetic on indices"),
        (bare("B[T.Ramp(0, A[0], 4)] = T.Broadcast(2, 4)"), "a stride that memory says"),
        (block(predicate="A[i] < 3"), "a binding that is no arithmetic on indices"),
        (bare("for i in range(n ^ 3):\n    B[i] = A[i]"), "a bound that is no arithmetic on indices"),
        (bare("for i in range(T.popcount(n)):\n    B[i] = A[i]"), "a bound that is no arithmetic on indices"),
        (bare("C = T.alloc_buffer((A[2] % 2 + 4,), 'int32')\nC[n] = 1"), "a size that is no arithmetic on indices"),
        (bare("B[T.Cast('int32', T.Cast('float8_e5m2', n))] = A[n]"), "an index by way of a narrow float"),
    ],
)
def test_other_than_arithmetic_on_indices_is_odd_where_a_program_says_how_far_it_goes(func: Any, what: str) -> None:
    assert what in names(func)
    text_without_oddities(func)


@pytest.mark.parametrize(
    "func",
    [
        block(value="i // 4 * 4 + i % 4", predicate="i < 12 and i != 3"),
        block(predicate="i * 2 + 1 > 30 or i % 4 == 3"),
        bare("for i in range(4):\n    for j in range(8 // n):\n        B[i * j] = A[8 // (i + 1)]"),
        block(value="T.min(i + 1, 15)"),
        bare("for i in range(A[n], A[n + 1]):\n    B[i] = A[i]"),
        bare("C = T.alloc_buffer((n % 2 + 4, T.max(n, 3)), 'int32')\nB[n] = C[n, 0]"),
        bare("for i in range(T.shift_left(n, 1)):\n    B[i] = A[i]"),
        bare("B[A[n] ^ 3] = A[T.Cast('int32', T.floor(T.Cast('float32', n) * T.float32(0.5)))]"),
    ],
)
def test_arithmetic_on_indices_is_not_odd_there(func: Any) -> None:
    assert names(func) == []


def test_a_view_that_says_how_memory_is_laid_out_which_no_caller_gives_is_odd() -> None:
    text = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8, 8), "int32")):
    with T.sblock("root"):
        C = T.sblock_alloc_buffer((8, 8), "int32")
        with T.sblock("tile"):
            v = T.axis.spatial(1, 0)
            T.reads(A[v, 0])
            T.writes({memory}[v, 0])
            D = T.match_buffer({memory}[v:v + 1, 0:1], (1, 1), "int32", strides=({stride}, 1), offset_factor=1)
            D[0, 0] = A[v, 0]
"""
    own = tvm_api.parse_script(text.format(memory="C", stride=8))
    assert names(own) == ["fixed strides of memory that TVM lays out"]
    assert "strides" not in text_without_oddities(own)
    assert names(tvm_api.parse_script(text.format(memory="B", stride=8))) == []
    assert names(tvm_api.parse_script(text.format(memory="C", stride=8).replace(", strides=(8, 1)", ""))) == []


def test_a_block_that_declares_accesses_of_memory_of_its_own_is_odd() -> None:
    text = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    with T.sblock("outer"):
        C = T.sblock_alloc_buffer((8,), "int32")
        T.reads({reads})
        T.writes(B[0:8])
        for i in range(8):
            with T.sblock("C"):
                v = T.axis.spatial(8, i)
                T.reads(A[v])
                T.writes(C[v])
                C[v] = A[v]
        for i in range(8):
            with T.sblock("B"):
                v = T.axis.spatial(8, i)
                T.reads(C[v])
                T.writes(B[v])
                B[v] = C[v]
"""
    assert names(tvm_api.parse_script(text.format(reads="A[0:8]"))) == []
    own = tvm_api.parse_script(text.format(reads="A[0:8], C[0:8]"))
    assert names(own) == ["a region of a block's own memory"]
    assert "T.reads(A[0:8])" in text_without_oddities(own)


def test_a_region_beyond_its_buffer_is_odd() -> None:
    text = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.sblock("B"):
            v = T.axis.spatial(8, i)
            T.reads(A[v, {low}:{high}])
            T.writes(B[v])
            B[v] = A[v, 3]
"""
    for low, high, odd in ((0, 8, False), (0, 9, True), (7, 9, True), (-1, 3, True)):
        func = tvm_api.parse_script(text.format(low=low, high=high))
        assert names(func) == ["a region beyond its buffer"] * odd
        assert not odd or "T.reads(A[v, 3])" in text_without_oddities(func)


@pytest.mark.parametrize(("value", "size", "odd"), [("0", 8, False), ("0", 5, True), ("i", 5, False)])
def test_an_axis_that_stands_still_and_goes_beyond_a_buffer_is_odd(value: str, size: int, odd: bool) -> None:
    text = f"""
@T.prim_func(s_tir=True)
def main(A: T.Buffer((9, {size}), "int32"), B: T.Buffer((8, 8), "int32")):
    for i in range(8):
        with T.sblock("B"):
            v = T.axis.spatial(8, {value})
            w = T.axis.spatial(8, i)
            T.where(i < 5)
            T.reads(A[w, v])
            T.writes(B[w, v])
            B[w, v] = A[w, v]
"""
    func = tvm_api.parse_script(text)
    assert ("a fixed axis that goes beyond a buffer" in names(func)) == odd
    assert not odd or "v = T.axis.spatial(5, 0)" in text_without_oddities(func)


def test_a_region_of_other_dimensions_than_its_buffer_is_odd() -> None:
    text = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.sblock("B"):
            v = T.axis.spatial(4, i)
            T.reads(A[v, 3])
            T.writes(B[v])
            B[v] = A[v, 3]
"""
    flat = tvm_api.tvm.tirx.transform.FlattenBuffer()(tvm_api.tvm.IRModule({"main": tvm_api.parse_script(text)}))[
        "main"
    ]
    assert names(flat) == ["a region beyond its buffer"]
    assert "T.reads(A_1[v * 4 + 3])" in text_without_oddities(flat)


def test_a_region_that_may_divide_by_zero_is_odd() -> None:
    """TVM takes an index for a region as it stands, without the condition that guards it."""
    text = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(("n",), "int32"), B: T.Buffer((8,), "int32")):
    n = T.int32()
    for i in range(8):
        with T.sblock("B"):
            v = T.axis.spatial(8, i)
            T.reads({reads})
            T.writes(B[v])
            B[v] = T.if_then_else(0 < v and 8 // {divisor} < n, A[8 // {divisor}], 0)
"""
    for divisor, odd in (("v", True), ("n", False), ("2", False)):
        func = tvm_api.parse_script(text.format(reads=f"A[8 // {divisor}]", divisor=divisor))
        assert names(func) == ["a region that may divide by zero"] * odd
        assert not odd or "T.reads(A[0:n])" in text_without_oddities(func)
    assert names(tvm_api.parse_script(text.format(reads="A[0:n]", divisor="v"))) == []


@pytest.mark.parametrize(
    "statement",
    [
        "B[n] = A[n % 7] + 2147483647",
        "for i in T.vectorized(16):\n    B[i] = A[i] * 2",
        "B[0:8] = A[T.Ramp(0, 1, 8)] + T.Broadcast(3, 8)",
        "y: T.let[T.int32] = A[n] + 1\nB[n] = y * y",
        "B[n] = T.Let(x * x, where={x: A[n] + 1})",
        "B[n] = A[T.Cast('int32', T.floor(T.Cast('float32', A[n]) * T.float32(0.5)))]",
        "if n < 3:\n    B[n] = T.if_then_else(n > 1, A[n], 0)",
        "while n < 3:\n    T.evaluate(0)",
        "for i in range(3):\n    B[n] = B[n] + A[n]",
        "for i in range(3):\n    B[n] = A[n]\n    A[n] = B[n] * 2",
        "for i in range(1):\n    B[n] = A[n]",
        "for i in range(4):\n    for j in range(4):\n        B[j] = A[i]",
        "B[n] = T.Cast('int32', T.float32(7.5))",
        "C = T.alloc_buffer((4,), 'int32', align=4)\nC[0] = 1\nB[n] = C[0]",
        "for i in range(A[0], A[1]):\n    B[i] = 1",
        "B[n] = (n + n) * n // 2 % 3 + A[n] * A[n]",
        "B[n] = T.Cast('int32', T.Cast('float32', n) != T.Cast('float32', n))",
        "B[n] = T.Cast('int32', T.Cast('bool', A[n]))",
        "C = T.alloc_buffer((8,), 'int32')\nfor i in range(4):\n    C[2 * i] = 1\n    C[2 * i + 1] = 2\nB[n] = C[n]",
        "C = T.alloc_buffer((8,), 'int32')\nC[n] = 1\nC[n] = C[n] + 2\nB[n] = C[n]",
        "B[n] = 1\nB[7 - n] = 2",
        "B[n] = T.BitwiseOr(0, A[n])",
        "for i in range(4):\n    B[i] = T.if_then_else(0 <= i and i < 4, A[i], 0)",
        "for i in range(4):\n    B[i] = T.if_then_else(i > 0, A[n // i], 0)",
        "for i in range(20):\n    if i < 16:\n        B[i] = A[i]",
        "for i in range(20):\n    B[n] = B[n] + T.if_then_else(i < 16, A[i], 0)",
    ],
)
def test_what_people_write(statement: str) -> None:
    assert names(bare(statement)) == []
    assert names(block(value="15 - i", predicate="i < 12")) == []
    assert names(block(predicate="i >= 15")) == names(block(predicate="i == 3")) == []


@pytest.mark.parametrize(
    ("statement", "odd", "left"),
    [
        ("B[n] = A[n % 2147483647]", "an extreme constant", "B[n] = A[n % 2]"),
        ("B[n // 8388608] = 1", "an extreme constant", "B[n // 2] = 1"),
        ("if n * -2147483648 < 1:\n    B[n] = 1", "an extreme constant", "n * 2 < 1"),
        ("B[n] = n * -2147483648 + 1", "an extreme constant", "n * 2 + 1"),
        ("if -2147483640 < 0 - n:\n    B[n] = 1", "an extreme constant", "2 < 0 - n"),
        ("B[n] = T.Select(n < 2147483647, 1, A[n])", "an extreme constant", "n < 2"),
        ("for i in range(0, 16, 2147483646):\n    B[i] = 1", "an extreme constant", "range(0, 16, 2)"),
        ("for i in range(0):\n    B[i] = 1", "a loop that never runs", "for i in range(2):"),
        ("for i in range(T.min(n, 0)):\n    B[i] = 1", "a loop that never runs", "for i in range(2):"),
        ("B[n] = A[17]", "an index outside of its buffer", "B[n] = A[0]"),
        ("for i in range(17):\n    B[n] = B[n] + A[i]", "an index outside of its buffer", "B[n] + A[0]"),
        ("B[n] = T.Add(3, 4)", "an unfolded constant", "B[n] = 7"),
        ("if T.bool(False):\n    B[n] = 1", "a constant condition", "B[n] = 1"),
        ("B[n] = T.Select(T.Not(T.bool(False)), 5, 1)", "a constant condition", "B[n] = 5"),
        ("B[n] = T.if_then_else(T.LT(1, 2), A[n], 1)", "a constant condition", "B[n] = A[n]"),
        ("if n < 4 and T.bool(True):\n    B[n] = 1", "a constant condition", "if n < 4:"),
        ("y: T.let[T.int32] = A[n]\nB[n] = 1", "an unused name", "B[n] = 1"),
        (
            "B[n] = T.Let(z * 2, where={z: T.Let(x * x, where={x: A[n]})})",
            "a name for an expression with a name",
            "T.Let(x * x",
        ),
        ("B[n] = T.Let(A[n], where={x: A[n]})", "an unused name", "B[n] = A[n]"),
        ("if T.Let(x * x, where={x: A[n]}) < 3:\n    B[n] = 1", NAMED, "if A[n] * A[n] < 3:"),
        ("for i in range(T.Let(x * x, where={x: A[n]})):\n    B[i] = 1", NAMED, "A[n] * A[n]"),
        ("B[n] = T.Cast('int32', T.Cast('float8_e4m3fn', T.float16(-65504.0)))", NEVER, "1.0"),
        ("for i in T.vectorized(2):\n    B[i:i + 8] = T.Ramp(i, 1, 8)", "vectors in a vectorised loop", "in range(2)"),
        ("for i in T.serial(4, annotations={'mine': 1}):\n    B[i] = 1", "an annotation", "for i in range(4):"),
        ("for i in T.thread_binding(4, thread='threadIdx.x'):\n    B[i] = 1", "a thread binding", "for i in range(4):"),
        ("with T.attr(0, 'mine', 1):\n    B[n] = 1", "an attribute", "B[n] = 1"),
        ("for i in range(T.uint32(4)):\n    B[T.Cast('int32', i)] = 1", "an unsigned loop", "for i in range(4):"),
        ("for i in range(B[0]):\n    B[i] = 1", "a bound in memory that is written", "for i in range(2):"),
        ("for i in range(B[3], 8):\n    B[i] = 1", "a bound in memory that is written", "for i in range(2):"),
        ("for i in range(4):\n    T.break_loop()\n    B[i] = 2", NEVER, "T.break_loop()"),
        ("for i in range(4):\n    if i + 1 > 4:\n        B[i] = 2\n    B[i] = 1", NEVER, "B[i] = 1"),
        ("for i in range(3):\n    B[n] = A[n]", REPEATS, "B[n] = A[n]"),
        ("for i in range(n):\n    for j in range(4):\n        B[j] = A[j]", REPEATS, "for j in range(4):"),
        ("for i in range(3):\n    B[n] = T.Cast('int32', T.exp(T.Cast('float32', A[n])))", REPEATS, "B[n] = "),
        ("for i in range(5, 8):\n    B[n] = 2\n    B[n + 1] = A[n]", REPEATS, "B[n + 1] = A[n]"),
        ("for i in range(4):\n    B[i] = T.if_then_else(i > 4, A[0], 5)", NEVER, "B[i] = 5"),
        ("for i in range(4):\n    B[i] = T.Select(i < 4 and i < 0, A[i], 5)", NEVER, "B[i] = 5"),
        ("for i in range(1):\n    B[n] = T.if_then_else(n > 1, 7 // (i & 3), 0)", NEVER, "n > 1, 7, 0"),
        ("B[n] = A[(n & 0) + (n ^ 0)]", SIMPLER, "B[n] = A[n]"),
        ("C = T.alloc_buffer((4,), 'int32')\nfor i in range(4):\n    C[i] = 1\n    C[3 - i] = A[i]\nB[n] = C[0]",
         MEETING, "C[i] = 1\n    B[n]"),
        ("T.evaluate(A[n])\nB[n] = 1", "a value that nobody uses", "B[n] = 1"),
        ("T.evaluate(T.int8(1))\nB[n] = 1", "a value that nobody uses", "B[n] = 1"),
        ("T.evaluate(T.exp(T.Cast('float32', n)))\nB[n] = 1", "a value that nobody uses", "B[n] = 1"),
        ("B[n] = A[T.FloorMod(T.Mod(n, 1), 8) + 1]", SIMPLER, "B[n] = A[0]"),
        ("B[n] = A[n] + T.Mul(1, T.FloorDiv(n, 1))", SIMPLER, "B[n] = A[n] + n"),
        ("B[n] = A[T.Add(T.Mul(n, 0), n)]", SIMPLER, "B[n] = A[n]"),
        ("B[n] = A[T.Add(n, 0)]", SIMPLER, "B[n] = A[n]"),
        ("B[n] = A[T.FloorMod(n, -1)]", "a negative divisor", "B[n] = A[n % 2]"),
        ("B[n] = A[n + n - (n + n)]", SIMPLER, "B[n] = A[0]"),
        ("if n < n:\n    B[n] = T.min(A[n], A[n])", SIMPLER, "B[n] = A[n]"),
        ("B[n] = T.Cast('int32', T.Cast('int1', A[n]))", "a number of one bit", 'T.Cast("bool", A[n])'),
    ],
)  # fmt: skip
def test_odd_forms_and_what_is_left_of_them(statement: str, odd: str, left: str) -> None:
    func = bare(statement)
    assert odd in names(func)
    assert left in text_without_oddities(func)


@pytest.mark.parametrize(
    ("value", "left"),
    [("T.Cast('int32', T.float32('inf'))", "1"), ("T.Cast('int32', T.float32(1e10))", "1"), ("T.FloorDiv(n, 0)", "n")],
)
def test_what_no_execution_may_come_to_is_odd_even_where_none_does(value: str, left: str) -> None:
    func = bare(f"B[n] = T.if_then_else(n > 1, {value}, 0)")
    assert names(func) == ["what no execution may come to"]
    assert f"n > 1, {left}, 0" in text_without_oddities(func)


def test_an_axis_is_what_it_is_bound_to_where_that_is_less_than_its_domain() -> None:
    text = BLOCK.format(root="True", value="i - 2", predicate="i > 2").replace(
        "A[vi]", "T.if_then_else(13 < vi, 1, A[vi])"
    )
    assert names(tvm_api.parse_script(text)) == [NEVER]
    assert names(tvm_api.parse_script(text.replace("13 < vi", "12 < vi"))) == []


def test_memory_that_is_aligned_to_less_than_an_element_is_odd() -> None:
    func = bare("C = T.alloc_buffer((4,), 'int32', align=2)\nC[0] = 1\nB[n] = C[0]")
    assert names(func) == ["an alignment below that of an element"]
    assert "align" not in text_without_oddities(func)


@pytest.mark.parametrize(("place", "odd"), [("0", False), ("1", True)])
def test_of_as_many_rounds_as_a_parameter_says_the_first_alone_is_sure_to_run(place: str, odd: bool) -> None:
    text = f"""
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (n,), "int32")
    with T.sblock("b"):
        vi = T.axis.spatial(n, {place})
        T.writes(A[vi])
        A[vi] = 1
"""
    assert ("a block outside of its domain" in names(tvm_api.parse_script(text))) is odd


@pytest.mark.parametrize(
    ("parts", "odd"),
    [
        ({"root": "T.bool(False)"}, "a root block under a condition"),
        ({"predicate": "T.bool(False)"}, "a constant condition"),
        ({"value": "17"}, "a block outside of its domain"),
        ({"predicate": "i < 0"}, NEVER),
        ({"predicate": "i < 12 and i > 15"}, NEVER),
        ({"predicate": "i == 16"}, NEVER),
        ({"predicate": "4 + i * 2 < 2"}, NEVER),
        ({"predicate": "i % 4 >= 4 or T.min(i, 3) > i + 3"}, NEVER),
    ],
)
def test_odd_blocks(parts: dict[str, str], odd: str) -> None:
    func = block(**parts)
    assert odd in names(func)
    assert "T.where" not in text_without_oddities(func)


def test_a_block_that_is_repeated_is_odd() -> None:
    text = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    for i, j in T.grid({rounds}, 16):
        with T.sblock("b"):
            vi = T.axis.spatial(16, {value})
            B[vi] = {stored}
"""
    odd = tvm_api.parse_script(text.format(rounds=3, value="j", stored="A[vi]"))
    assert names(odd) == [REPEATS]
    assert "for j in range(16):" in text_without_oddities(odd)
    for usual in ({"value": "i * 3 + j // 16"}, {"rounds": 1}, {"stored": "A[vi] + B[vi]"}):
        assert names(tvm_api.parse_script(text.format(**{"rounds": 3, "value": "j", "stored": "A[vi]"} | usual))) == []


def test_an_unsigned_variable_may_become_a_parameter() -> None:
    func = bare("for i in range(T.uint32(4)):\n    B[T.Cast('int32', i)] = 1")
    assert "i: T.uint32)" in text_without_oddities(func, way=1)


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


@pytest.mark.parametrize(("reader", "odd"), [("A[0, 0]", ["an annotation"]), ("C[vi, 0]", [])])
def test_an_alignment_is_for_memory_that_somebody_reads(reader: str, odd: list[str]) -> None:
    text = f"""
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "float32")):
    C = T.sblock_alloc_buffer((8, 8))
    for i, j in T.grid(8, 8):
        with T.sblock("fill"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.sblock_attr({{"buffer_dim_align": [[0, 0, 8, 3]]}})
            C[vi, vj] = A[vi, vj]
    for i in range(8):
        with T.sblock("take"):
            vi = T.axis.spatial(8, i)
            B[vi] = {reader}
"""
    assert names(tvm_api.parse_script(text)) == odd


def test_a_store_beside_blocks_is_odd() -> None:
    text = BLOCK.format(root="True", value="i", predicate="True").replace(
        "        for i in", "        B[0] = 1\n        for i in"
    )
    func = tvm_api.parse_script(text)
    assert names(func) == ["a store beside blocks"]
    assert "B[0] = 1" not in text_without_oddities(func)
    assert names(bare("B[0] = 1")) == []


def test_a_name_outside_of_blocks_is_odd() -> None:
    text = BLOCK.format(root="True", value="x", predicate="True")
    text = re.sub(r"( +)(for i in .*\n)", r"\1\2\1    x: T.let[T.int32] = i\n", text)
    func = tvm_api.parse_script(text)
    assert names(func) == ["a name outside of blocks"]
    assert "T.let" not in text_without_oddities(func)


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


@pytest.mark.parametrize(
    ("value", "left"),
    [("A[n] // 3", "result[0] = A[n] // 3"), ("T.Broadcast(A[n], 4)", "result[0:4] = T.Broadcast(A[n], 4)")],
)
def test_a_value_that_nobody_uses_may_become_a_result(value: str, left: str) -> None:
    assert left in text_without_oddities(bare(f"T.evaluate({value})"), way=1)


def test_what_memory_is_compared_with_may_be_extreme() -> None:
    assert "an extreme constant" not in names(bare("if A[n] < 2147483647:\n    B[n] = A[n]"))


def test_what_is_multiplied_may_be_large() -> None:
    assert "an extreme constant" not in names(bare("B[n] = A[n] * -1640531527 + -2147483648"))


@pytest.mark.parametrize(("dtype", "odd"), [("bfloat16", ["a power that TVM's own function refuses"]), ("float16", [])])
def test_a_power_is_of_floats_that_tvm_takes(dtype: str, odd: list[str]) -> None:
    buffer = tvm_api.tirx.decl_buffer((4,), dtype, "A", layout=None)
    load = tvm_api.tirx.BufferLoad(buffer, [0])
    power = tvm_api.tvm.ir.Call(tvm_api.tvm.ir.Op.get("tirx.pow"), [load, load], ret_ty=dtype)
    assert names(tvm_api.tirx.PrimFunc([buffer], tvm_api.tirx.BufferStore(buffer, power, [0]))) == odd


@pytest.mark.parametrize(
    ("statement", "form", "left"),
    [
        ("for i in T.parallel(T.Cast('int32', T.Cast('int64', n))):\n    B[i] = A[i]", "Cast in Parallel.extent", "1"),
        ("while A[n] > 3:\n    for j in T.unroll(2):\n        B[j] = A[j]", "Unrolled in While", "for j in range(2)"),
    ],
)
def test_what_none_of_the_seeds_has_is_odd_where_nothing_else_is(statement: str, form: str, left: str) -> None:
    func = bare(statement)
    assert names(func) == [form]
    assert left in text_without_oddities(func)


def test_memory_of_which_there_is_none_like_it_in_the_seeds_is_odd_and_stays() -> None:
    func = bare("for i in range(16):\n    B[i] = A[i]").with_attr("global_symbol", "main")
    buffer = tvm_api.tirx.decl_buffer((4,), "int32x4", "D", layout=None)
    wide = tvm_api.tirx.PrimFunc([*tvm_api.params_of(func), buffer], func.body)
    assert names(func) == []
    assert names(wide) == ["given memory of int vectors"]
    assert mended(wide, 0, threads=False) is None


def test_a_block_that_uses_the_variable_of_a_loop_around_it_is_odd_and_gets_an_axis() -> None:
    text = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in range(4, 16):
        with T.sblock("b"):
            T.reads(A[i])
            T.writes(B[i])
            for j in range(2):
                B[i] = A[i] + j
"""
    func = tvm_api.parse_script(text)
    assert names(func) == ["a block that uses the variable of a loop around it"]
    better = text_without_oddities(func)
    assert "vi = T.axis.spatial((4, 16), i)" in better
    assert "B[vi] = A[vi] + j" in better


@pytest.mark.parametrize(
    ("axes", "odd"),
    [
        ("T.axis.spatial(3, i), T.axis.spatial(2, j)", True),
        ("T.axis.reduce(3, i), T.axis.spatial(2, j)", False),
        ("T.axis.spatial(1, 0), T.axis.spatial(2, j)", False),
    ],
    ids=["over the last round", "a reduction", "one round"],
)
def test_a_spatial_axis_that_no_write_depends_on_is_odd(axes: str, odd: bool) -> None:
    text = f"""
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((3, 2), "int32"), B: T.Buffer((2,), "int32")):
    for i, j in T.grid(3, 2):
        with T.sblock("b"):
            k, x = {axes}
            T.reads(A[k, x])
            T.writes(B[x])
            B[x] = A[k, x]
"""
    func = tvm_api.parse_script(text)
    assert ("a spatial axis that no write depends on" in names(func)) is odd
    if odd:
        better = text_without_oddities(func)
        assert "B[x] = A[0, x]" in better and "T.axis.spatial(3" not in better


@pytest.mark.parametrize(("value", "odd"), [("T.bool(True)", True), ("B[0]", True), ("B[0] and A[vi]", False)])
def test_a_reduction_over_threads_that_sums_nothing_up_is_odd(value: str, odd: bool) -> None:
    text = f"""
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "bool"), B: T.Buffer((1,), "bool")):
    for i in T.thread_binding(16, thread="threadIdx.x"):
        with T.sblock("b"):
            vi = T.axis.reduce(16, i)
            T.reads(A[vi])
            T.writes(B[0])
            with T.init():
                B[0] = T.bool(True)
            B[0] = {value}
"""
    found = names(tvm_api.parse_script(text), threads=True)
    assert ("a reduction over threads that sums nothing up" in found) is odd


@pytest.mark.parametrize(
    ("axis", "place", "init", "forms"),
    [
        ("T.axis.reduce(16, i)", "0", "0", []),
        ("T.axis.reduce(16, i)", "0", "A[0]", ["TensorLoad for init"]),
        ("T.axis.reduce(16, i)", "0", "vi + 1", ["arithmetic for init"]),
        ("T.axis.spatial(16, i)", "vi", "0", ["init without a reduction"]),
    ],
)
def test_an_initialisation_is_a_number_where_a_reduction_starts(
    axis: str, place: str, init: str, forms: list[str]
) -> None:
    text = f"""
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in range(16):
        with T.sblock("b"):
            vi = {axis}
            T.reads(A[0:16])
            T.writes(B[{place}])
            with T.init():
                B[{place}] = {init}
            B[{place}] = B[{place}] + A[vi]
"""
    assert names(tvm_api.parse_script(text)) == forms


@pytest.mark.parametrize(
    ("scope", "odd"), [("T.sblock_alloc_buffer", ["memory of the root that is used outside of blocks"]), ("", [])]
)
def test_memory_of_the_root_is_for_blocks(scope: str, odd: list[str]) -> None:
    """PlanAndUpdateBufferAllocationLocation moves it into the loop, where another round's value is lost."""
    text = f"""
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    with T.sblock("root"):
        {"C = T.sblock_alloc_buffer((16,), 'int32')" if scope else "C = B"}
        for i in range(15):
            C[i] = A[i]
            B[i + 1] = C[i // 2]
"""
    func = tvm_api.parse_script(text)
    assert names(func) == odd
    assert ('T.alloc_buffer((16,), "int32")' in text_without_oddities(func)) == bool(odd)
