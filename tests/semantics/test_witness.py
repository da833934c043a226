"""The witness: what it computes of each construct, by hand; what it calls undefined; and faults of the interpreter."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
import pytest

from tests.semantics import floats
from tests.semantics.corpus import COUNT, EIGHT, ZEROS, Value, blocks, script
from tests.semantics.test_semantics import PROGRAMS, argument, label
from tzerlike.tir.interpreter.verdict import Verdict
from tzerlike.tir.witness.verdict import Deposition, WitnessQuestion, WitnessWord, depositions

TWO = 'A: T.Buffer((2,), "int32"), B: T.Buffer((2,), "int32")'
FLOATS = 'A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")'
HALVES = 'A: T.Buffer((2,), "{0}"), B: T.Buffer((2,), "{0}")'

BY_HAND: Mapping[str, tuple[str, Sequence[Value], Sequence[Value]]] = {
    # the function, its arguments, and what its last buffer holds afterwards
    "quotients": (
        script(
            EIGHT,
            "B[0] = A[0] // A[1]\nB[1] = A[0] % A[1]\nB[2] = T.truncdiv(A[0], A[1])\nB[3] = T.truncmod(A[0], A[1])\n"
            "B[4] = T.shift_right(A[0], 1)\nB[5] = T.shift_left(A[1], 3)\nB[6] = T.min(A[0], A[1])\n"
            "B[7] = T.bitwise_xor(A[0], T.bitwise_and(A[1], 6))",
        ),
        ([-7, 2, 0, 0, 0, 0, 0, 0], ZEROS),
        [-4, 1, -3, -1, -4, 16, -7, -5],
    ),
    "casts": (
        script(
            'A: T.Buffer((2,), "float32"), C: T.Buffer((2,), "uint8"), B: T.Buffer((4,), "int32")',
            'B[0] = T.Cast("int32", A[0])\nB[1] = T.Cast("int32", C[0]) + 1\n'
            'B[2] = T.Cast("int32", C[1] != T.uint8(0))\nB[3] = T.reinterpret("int32", A[1])',
        ),
        ([-2.75, 1.0], [255, 7], [0, 0, 0, 0]),
        [-2, 256, 1, 1065353216],
    ),
    "the bits of a zero that nothing was computed from": (
        floats.BITS_OF_ZEROS,
        ([-0.0, 0.0], [0, 0]),
        [-(2**31), 0],
    ),
    "a choice and its arm": (
        script(
            EIGHT, "for i in range(8):\n    B[i] = T.if_then_else(A[i] == 0, -1, T.Select(A[i] > 3, 12, 60) // A[i])"
        ),
        (COUNT, ZEROS),
        [-1, 60, 30, 20, 3, 2, 2, 1],
    ),
    "a value stays what it was": (
        script(TWO, "x: T.let[T.int32] = B[0] + A[0]\nB[0] = 10\nB[1] = x"),
        ([4, 0], [1, 0]),
        [10, 5],
    ),
    "a mask is read before anything is stored": (
        script(
            'A: T.Buffer((4,), "bool"), B: T.Buffer((5,), "bool")',
            "for i in range(4):\n    B[i] = A[i]\n"
            "T.masked_store(B, T.Broadcast(T.bool(True), 4), T.Ramp(1, 1, 4), B[T.Ramp(0, 1, 4)])",
        ),
        ([0, 1, 0, 0], [0, 0, 0, 0, 0]),
        [0, 1, 1, 0, 0],
    ),
    "loops": (
        script(
            EIGHT,
            "for i in T.serial(1, 8, step=3):\n    B[i] = i\nfor i in T.unroll(2):\n    B[5 + i] = A[i] + 100\n"
            "for i in T.parallel(2):\n    B[2 + i] = 9 - i",
        ),
        (COUNT, ZEROS),
        [0, 1, 9, 8, 4, 100, 101, 7],
    ),
    "leaving and going on": (
        script(
            EIGHT,
            "i = T.int32(0)\nwhile i < 8:\n    B[i] = 1\n    i = i + 2\nfor j in range(8):\n    if A[j] == 1:\n"
            "        continue\n    if A[j] == 4:\n        break\n    B[j] = B[j] + 10",
        ),
        (COUNT, ZEROS),
        [11, 0, 11, 10, 1, 0, 1, 0],
    ),
    "a reduction with a predicate": (
        blocks(
            TWO,
            """
for i, k in T.grid(2, 6):
    with T.sblock("sum"):
        vi = T.axis.spatial(2, i)
        vk = T.axis.reduce((2, 8), k + 2)
        T.where(k < 5)
        with T.init():
            B[vi] = 100
        B[vi] = B[vi] + vk * A[vi]
""",
        ),
        ([1, 10], [0, 0]),
        [100 + 2 + 3 + 4 + 5 + 6, 100 + 200],
    ),
    "a matched region": (
        blocks(
            'A: T.Buffer((4, 4), "int32"), B: T.Buffer((4,), "int32")',
            """
for i in range(2):
    with T.sblock("tile"):
        vi = T.axis.spatial(2, i)
        T.reads(A[vi * 2 : vi * 2 + 2, 1:4])
        T.writes(B[vi * 2 : vi * 2 + 2])
        s = T.int32()
        S = T.match_buffer(A[vi * 2 : vi * 2 + 2, 1:4], (2, 3), "int32", strides=[s, 1], offset_factor=1)
        for x in range(2):
            B[vi * 2 + x] = S[x, 2] * 100 + s
""",
        ),
        ([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]], [0, 0, 0, 0]),
        [304, 704, 1104, 1504],
    ),
    "a declared region without a value": (
        blocks(
            EIGHT,
            """
for i in range(4):
    with T.sblock("copy"):
        v = T.axis.spatial(4, i)
        T.reads(A[4 // v])
        T.writes(B[v])
        B[v] = T.if_then_else(v > 0, A[4 // v], -1)
""",
        ),
        (COUNT, ZEROS),
        [-1, 4, 2, 1, 0, 0, 0, 0],
    ),
    "memory of its own, and a view of it": (
        script(
            EIGHT,
            'C = T.alloc_buffer((2, 4), "int32")\nD = T.decl_buffer((8,), "int32", data=C.data)\n'
            "for i in range(8):\n    C[i // 4, i % 4] = A[i] * 2\nfor i in range(8):\n    B[i] = D[7 - i]",
        ),
        (COUNT, ZEROS),
        [14, 12, 10, 8, 6, 4, 2, 0],
    ),
    "a shape in a variable, and rows apart": (
        script(
            "a: T.handle, b: T.handle, k: T.int32",
            'n = T.int32()\nA = T.match_buffer(a, (2, n), "int32", strides=[5, 1])\n'
            'B = T.match_buffer(b, (n,), "int32")\nfor i in range(n):\n    B[i] = A[1, i] * n + k',
        ),
        ([[1, 2, 3], [4, 5, 6]], [0, 0, 0], 1000),
        [1012, 1015, 1018],
    ),
    "strides in variables": (
        script(
            "a: T.handle, b: T.handle",
            's = T.int32()\nA = T.match_buffer(a, (2, 3), "int32", strides=[s, 1])\n'
            'B = T.match_buffer(b, (2,), "int32")\nB[0] = A[1, 0] + s * 100',
        ),
        ([[1, 2, 3], [4, 5, 6]], [0, 7]),
        [304, 7],
    ),
    "vectors": (
        script(
            EIGHT,
            "B[T.Ramp(1, 2, 4)] = A[T.Ramp(0, 1, 4)] * T.Broadcast(10, 4)\nfor i in T.vectorized(4):\n    B[2 * i] = i",
        ),
        (COUNT, ZEROS),
        [0, 0, 1, 10, 2, 20, 3, 30],
    ),
    "bfloat16 rounds to even, and only in memory": (
        script(HALVES.format("bfloat16"), "for i in range(2):\n    B[i] = A[i] + T.bfloat16(0.00390625)"),
        ([1.0, 1.0078125], [0.0, 0.0]),
        [1.0, 1.015625],
    ),
    "float16 rounds each operation": (
        script(HALVES.format("float16"), "for i in range(2):\n    B[i] = A[i] + T.float16(1) + T.float16(1)"),
        ([2048.0, 2050.0], [0.0, 0.0]),
        [2048.0, 2052.0],
    ),
    "functions of floats": (
        script(FLOATS, "B[0] = T.sqrt(A[0])\nB[1] = T.sigmoid(A[1])\nB[2] = T.round(A[2])\nB[3] = T.exp2(A[3])"),
        ([9.0, 0.0, 2.5, -3.0], [0.0] * 4),
        [3.0, 0.5, 2.0, 0.125],
    ),
    "functions of integers": (
        script(
            'A: T.Buffer((2,), "int32"), B: T.Buffer((4,), "int32")',
            "B[0] = T.popcount(A[0])\nB[1] = T.clz(A[0])\nB[2] = T.q_multiply_shift(A[0], 1 << 30, 31, 0)\n"
            "B[3] = T.q_multiply_shift(A[1], 1 << 30, 31, 0)",
        ),
        ([3, -3], [0] * 4),
        [2, 30, 2, -1],
    ),
    "infinities": (
        script(
            FLOATS,
            'C = T.alloc_buffer((1,), "float32")\nC[0] = T.float32("-inf")\nB[0] = T.max(C[0], A[0])\n'
            "B[1] = T.Select(C[0] < A[1], T.float32(1), T.float32(2))\nB[2] = A[2] / C[0]\nB[3] = T.exp(C[0])",
        ),
        ([9.0, 0.0, 2.5, -3.0], [0.5] * 4),
        [9.0, 1.0, 0.0, 0.0],
    ),
    "truth": (
        script(
            'A: T.Buffer((4,), "bool"), B: T.Buffer((6,), "bool")',
            "B[0] = A[0] and A[1]\nB[1] = A[0] or A[1]\nB[2] = not A[1]\nB[3] = T.bitwise_xor(A[0], A[2])\n"
            "B[4] = A[0] == A[1]\nB[5] = A[0] > A[1]",
        ),
        ([True, False, True, False], [False] * 6),
        [False, True, True, False, False, True],
    ),
    "threads that do not meet": (
        script(EIGHT, 'for t in T.thread_binding(8, thread="threadIdx.x"):\n    B[7 - t] = A[t]'),
        (COUNT, ZEROS),
        [7, 6, 5, 4, 3, 2, 1, 0],
    ),
}


def question(text: str, arguments: Sequence[Value], expected: Mapping[int, Any]) -> WitnessQuestion:
    """What the witness is asked: a buffer that is not in `expected` keeps its values; the others are exact."""
    from tzerlike.systems.tvm_api import dump_ir, module_of, parse_script

    func = parse_script(text)
    given = [numpy.asarray(argument(*pair)) for pair in zip(func.params, arguments, strict=True)]
    arrays = {f"argument{position}": array for position, array in enumerate(given)}
    for position, array in enumerate(given):
        arrays[f"expected{position}"] = numpy.asarray(expected.get(position, array))
        arrays[f"bound{position}"] = numpy.zeros(array.shape)
    return WitnessQuestion(dump_ir(module_of(func)), arrays)


def by_hand(name: str, *, off: bool = False) -> WitnessQuestion:
    """The question about a row; with `off` the last element that is expected is another."""
    text, arguments, values = BY_HAND[name]
    expected = numpy.array(values)
    if off:
        expected[-1] = not expected[-1] if expected.dtype == bool else expected[-1] + 1
    last = max(place for place, value in enumerate(arguments) if isinstance(value, Sequence))
    return question(text, arguments, {last: expected})


@pytest.fixture(scope="module")
def said() -> dict[str, Deposition]:
    """The word on each row, and on each with a wrong expectation."""
    asked = {name: by_hand(name) for name in BY_HAND} | {f"{name}, off": by_hand(name, off=True) for name in BY_HAND}
    return dict(zip(asked, depositions(list(asked.values())), strict=True))


@pytest.mark.parametrize("name", BY_HAND)
def test_it_computes_what_is_worked_out_by_hand(said: dict[str, Deposition], name: str) -> None:
    assert said[name] == Deposition(WitnessWord.CONFIRMS)
    assert said[f"{name}, off"].word is WitnessWord.OBJECTS
    assert "in place of" in said[f"{name}, off"].reason


NOT_SEEN = {"race", "alignment", "alias", "divergent-barrier"}
"""What the witness sees by chance only: two orders of a loop, as memory happens to lie."""


@pytest.fixture(scope="module")
def of_the_corpus() -> list[Deposition]:
    """The word on each program of the corpus; what the arguments hold is said to be expected, which is mostly wrong."""
    asked = [question(program.text, program.arguments, {}) for program in PROGRAMS]
    return depositions(asked)


@pytest.mark.parametrize("number", range(len(PROGRAMS)), ids=lambda number: label(PROGRAMS[number]))
def test_it_calls_undefined_what_the_contract_does(of_the_corpus: list[Deposition], number: int) -> None:
    program, deposition = PROGRAMS[number], of_the_corpus[number]
    broken = deposition.word is WitnessWord.OBJECTS and "in place of" not in deposition.reason
    if program.verdict is Verdict.DEFINED:
        assert not broken, deposition.reason
    elif program in floats.INFINITE and "in a result" not in program.name:
        assert deposition == Deposition(WitnessWord.OBJECTS, program.rule)
    elif program.verdict is Verdict.UNDEFINED and program.rule == "uninitialised":
        assert program.name == "an init that comes too late" or "never written" in deposition.reason
    elif program.verdict is Verdict.UNDEFINED and program.rule not in NOT_SEEN:
        assert deposition == Deposition(WitnessWord.OBJECTS, program.rule)


def test_it_cannot_say_where_a_buffer_has_fewer_strides_than_dimensions() -> None:
    """TVM 0.27: Schedule.cache_index makes such buffers."""
    text = blocks(
        EIGHT,
        """
C = T.sblock_alloc_buffer((2, 4), "int32", strides=[1])
for i in range(8):
    with T.sblock("copy"):
        v = T.axis.spatial(8, i)
        C[v // 4, v % 4] = A[v]
        B[v] = C[v // 4, v % 4]
""",
    )
    (deposition,) = depositions([question(text, (COUNT, ZEROS), {1: COUNT})])
    assert deposition == Deposition(WitnessWord.CANNOT_SAY, "more or fewer strides than dimensions")


def wrapped(low: int, high: int) -> Callable[[int, int], int]:
    return lambda a, b: (a + b - low) % (high - low + 1) + low


def element(dtype: str, expression: str) -> str:
    return script(f'A: T.Buffer((2,), "{dtype}"), B: T.Buffer((1,), "{dtype}")', f"B[0] = {expression}")


def lazily(compiler: Any, node: Any) -> Callable[[], Any]:
    condition, first, second = (compiler.compile(part) for part in (node.condition, node.true_value, node.false_value))
    return lambda: first() if condition() else second()


def believed(view: Any, indices: tuple[int, ...]) -> int:
    return int(sum(index * stride for index, stride in zip(indices, view.strides, strict=True)) * view.lanes)


def columns(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[:place]) for place in range(len(shape)))


def zero(low: int, high: int) -> Callable[[int], int]:
    return lambda a: 0


def faults() -> dict[str, tuple[Any, Any, Any, str, Sequence[Value]]]:
    """A table or a module of the interpreter, what is replaced there by what, and a program that shows it."""
    from tzerlike.systems.tvm_api import tirx
    from tzerlike.tir.interpreter import conversions, expressions, integers, intrinsics, memory, statements

    binary, real = expressions._INTEGER_BINARY, expressions._FLOAT_BINARY
    ints, ramp = ([-7, 2], [0]), script(EIGHT, "B[T.Ramp(0, 2, 4)] = A[T.Ramp(0, 1, 4)]")
    reals = ([1.5, 0.25], [0.0])
    view = BY_HAND["memory of its own, and a view of it"]
    summed, narrow = (
        BY_HAND["a reduction with a predicate"],
        script('A: T.Buffer((1,), "{}"), B: T.Buffer((1,), "int8")', 'B[0] = T.Cast("int8", A[0])'),
    )
    jumps = BY_HAND["leaving and going on"]
    return {
        "a sum is a difference": (binary, tirx.Add, integers.subtract, element("int32", "A[0] + A[1]"), ints),
        "a product is a sum": (binary, tirx.Mul, integers.add, element("int32", "A[0] * A[1]"), ints),
        "a sum wraps": (binary, tirx.Add, wrapped, element("int8", "A[0] + A[1]"), ([100, 100], [0])),
        "rounded to zero": (binary, tirx.FloorDiv, integers.divide, element("int32", "A[0] // A[1]"), ints),
        "the dividend's sign": (binary, tirx.FloorMod, integers.modulo, element("int32", "A[0] % A[1]"), ints),
        "rounded down": (binary, tirx.Div, integers.floor_divide, element("int32", "T.truncdiv(A[0], A[1])"), ints),
        "the divisor's sign": (
            binary,
            tirx.Mod,
            integers.floor_modulo,
            element("int32", "T.truncmod(A[0], A[1])"),
            ints,
        ),
        "the other way": (binary, tirx.LShift, integers.shift_right, element("int32", "T.shift_left(A[1], 1)"), ints),
        "the greater": (binary, tirx.Min, lambda low, high: max, element("int32", "T.min(A[0], A[1])"), ints),
        "or for xor": (
            binary,
            tirx.BitwiseXor,
            lambda low, high: operator.or_,
            element("int32", "T.bitwise_xor(A[0], A[1])"),
            ([3, 1], [0]),
        ),
        "floats: the other order": (real, tirx.Sub, real[tirx.Add], element("float32", "A[0] - A[1]"), reals),
        "floats: the lesser": (real, tirx.Max, real[tirx.Min], element("float32", "T.max(A[0], A[1])"), reals),
        "below or equal": (
            expressions._COMPARISONS,
            tirx.LT,
            expressions._COMPARISONS[tirx.LE],
            element("int32", "T.Select(A[0] < A[0], 1, 2)"),
            ints,
        ),
        "a lazy Select": (
            expressions._TABLE,
            tirx.Select,
            lazily,
            element("int32", "T.Select(A[0] == 0, 0, 8 // A[0])"),
            ([0, 0], [0]),
        ),
        "a ramp goes nowhere": (
            expressions._TABLE,
            tirx.Ramp,
            lambda compiler, node: lambda: [int(node.base.value) + k for k in range(4)],
            ramp,
            (COUNT, ZEROS),
        ),
        "casts wrap": (
            conversions.integers,
            "fitting",
            lambda low, high: lambda value: (value - low) % (high - low + 1) + low,
            narrow.format("int32"),
            ([300], [0]),
        ),
        "casts round to nearest": (
            conversions,
            "_to_integer",
            lambda x, low, high: round(x[0]),
            narrow.format("float32"),
            ([2.75], [0]),
        ),
        "no bounds": (
            memory.BufferView,
            "locate",
            believed,
            script('A: T.Buffer((2, 4), "int32"), B: T.Buffer((1,), "int32")', "B[0] = A[0, 5]"),
            ([[0, 1, 2, 3], [4, 5, 6, 7]], [0]),
        ),
        "columns first": (memory, "row_major", columns, view[0], view[1]),
        "init each time": (statements, "_REDUCTION", 99, summed[0], summed[1]),
        "go on for leave": (
            statements.StatementCompiler,
            "leave",
            statements.StatementCompiler.resume,
            jumps[0],
            jumps[1],
        ),
        "powers of e": (
            intrinsics.FLOAT,
            "tirx.exp2",
            intrinsics.FLOAT["tirx.exp"],
            element("float32", "T.exp2(A[0])"),
            reals,
        ),
        "both for either": (
            expressions._BOOL_BINARY,
            tirx.And,
            operator.or_,
            element("bool", "A[0] and A[1]"),
            ([True, False], [False]),
        ),
        "no bits": (intrinsics.INTEGER, "tirx.popcount", zero, element("int32", "T.popcount(A[1])"), ints),
        "zeros at the end": (
            intrinsics.INTEGER,
            "prim.clz",
            intrinsics._trailing_zeros,
            element("int32", "T.clz(A[1])"),
            ints,
        ),
        "fresh memory is zero": (
            expressions,
            "load_step",
            lambda state, tracked: lambda view, position, value: view.memory.values[position] or 0,
            script(TWO, 'C = T.alloc_buffer((2,), "int32")\nC[0] = A[0]\nB[0] = C[0] + C[1]'),
            ([1, 2], [0, 0]),
        ),
        "a view starts at the start": (
            statements,
            "layout",
            lambda buffer, number: lambda memory_: memory.BufferView.compact(memory_, (4,)),
            script(
                EIGHT,
                'C = T.decl_buffer((4,), "int32", data=A.data, elem_offset=4)\nfor i in range(4):\n    B[i] = C[i]',
            ),
            (COUNT, ZEROS),
        ),
        "every number": (
            statements,
            "range",
            lambda start, stop, step: list(range(start, stop)),
            script(EIGHT, "for i in T.serial(0, 8, step=3):\n    B[i] = 1"),
            (COUNT, ZEROS),
        ),
        "no roots": (
            intrinsics.FLOAT,
            "tirx.sqrt",
            intrinsics.FLOAT["tirx.fabs"],
            element("float32", "T.sqrt(A[1])"),
            reals,
        ),
        "bits are numbers": (
            expressions,
            "reinterpretation",
            lambda source, target: lambda value: int(value[0]),
            script('A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "int32")', 'B[0] = T.reinterpret("int32", A[0])'),
            ([1.0], [0]),
        ),
        "half away from zero": (
            intrinsics.FLOAT,
            "tirx.round",
            intrinsics._whole(lambda x: math.floor(x + 0.5)),
            element("float32", "T.round(A[0] + T.float32(1))"),
            reals,
        ),
    }


@pytest.fixture(scope="module")
def of_faults() -> Mapping[str, tuple[Deposition, Deposition]]:
    """For each fault: the word on what the interpreter computes with it, and without."""
    asked = []
    for table, key, replacement, text, arguments in faults().values():
        with pytest.MonkeyPatch.context() as patch:
            if isinstance(table, dict):
                patch.setitem(table, key, replacement)
            else:
                patch.setattr(table, key, replacement, raising=False)
            asked.append(interpreted(text, arguments))
        asked.append(interpreted(text, arguments))
    said = depositions(asked)
    return dict(zip(faults(), zip(said[::2], said[1::2], strict=True), strict=True))


def interpreted(text: str, arguments: Sequence[Value]) -> WitnessQuestion:
    from tzerlike.systems.tvm_api import parse_script
    from tzerlike.tir.interpreter import interpret

    func = parse_script(text)
    judged = interpret(func, [argument(*pair) for pair in zip(func.params, arguments, strict=True)])
    asked = question(text, arguments, {place: result.values for place, result in judged.expected.items()})
    bounds = {f"bound{place}": result.bound for place, result in judged.expected.items()}
    return WitnessQuestion(asked.ir, {**asked.arrays, **bounds})


@pytest.mark.parametrize("name", faults())
def test_it_objects_to_an_interpreter_with_a_fault(
    of_faults: Mapping[str, tuple[Deposition, Deposition]], name: str
) -> None:
    with_it, without = of_faults[name]
    assert with_it.word is WitnessWord.OBJECTS, with_it
    assert without.word is WitnessWord.CONFIRMS or "in place of" not in without.reason


def test_without_a_compiler_it_cannot_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tzerlike.tir.witness.running.shutil.which", lambda name: None)
    assert depositions([by_hand("loops")]) == [Deposition(WitnessWord.CANNOT_SAY, "no gcc")]


def test_what_it_does_not_cover_it_does_not_judge() -> None:
    asked = question(script('A: T.Buffer((1,), "float8_e4m3fn")', "A[0] = A[0]"), ([0.0],), {})
    assert depositions([asked]) == [Deposition(WitnessWord.CANNOT_SAY, "dtype float8_e4m3fn")]


def test_a_program_without_end_costs_its_time_and_no_more() -> None:
    endless = question(script(TWO, "while A[0] == 0:\n    B[0] = 1"), ([0, 0], [0, 0]), {})
    assert depositions([endless, by_hand("loops")], seconds=1) == [
        Deposition(WitnessWord.CANNOT_SAY, "time"),
        Deposition(WitnessWord.CONFIRMS),
    ]
