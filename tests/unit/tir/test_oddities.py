"""What is odd about the form of a program, and what stands in its place once it is mended."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oddities import NEVER, REPEATS, bare, block, names, text_without_oddities
from tzerlike.systems import tvm_api
from tzerlike.tir.odd.forms import mended

NAMED = "a name in a condition or a bound"

SIMPLER = "an expression that is one of its operands, or a number"

MEETING = "an element that is stored in two ways"


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
        bare("for i in range(T.if_then_else(n > 3, 4, 8)):\n    B[i] = A[i]"),
        bare("for i in range(T.shift_left(n, 1)):\n    B[i] = A[i]"),
        bare("B[A[n] ^ 3] = A[T.Cast('int32', T.floor(T.Cast('float32', n) * T.float32(0.5)))]"),
    ],
)
def test_arithmetic_on_indices_is_not_odd_there(func: Any) -> None:
    assert names(func) == []


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
        ("for i in range(1):\n    for j in range(i):\n        B[j] = 1", "a loop that never runs", "T.grid(1, 2)"),
        ("for i in range(4):\n    for j in range(0 >> i):\n        B[j] = 1", "a loop that never runs", "in range(2)"),
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


def test_memory_that_is_aligned_to_less_than_an_element_is_odd() -> None:
    func = bare("C = T.alloc_buffer((4,), 'int32', align=2)\nC[0] = 1\nB[n] = C[0]")
    assert names(func) == ["an alignment below that of an element"]
    assert "align" not in text_without_oddities(func)


def test_an_unsigned_variable_may_become_a_parameter() -> None:
    func = bare("for i in range(T.uint32(4)):\n    B[T.Cast('int32', i)] = 1")
    assert "i: T.uint32)" in text_without_oddities(func, way=1)


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
