"""Floats: casts to integers, values that are not finite, choices within the error bound."""

from __future__ import annotations

from tests.semantics.corpus import Program, by_text, by_value, script


def cast(source: str, target: str) -> str:
    return script(f'A: T.Buffer((1,), "{source}"), B: T.Buffer((1,), "{target}")', f'B[0] = T.cast(A[0], "{target}")')


def unary(expression: str) -> str:
    return script('A: T.Buffer((2,), "float32"), B: T.Buffer((1,), "float32")', f"B[0] = {expression}")


def chosen(expression: str) -> str:
    return script('A: T.Buffer((2,), "float32"), B: T.Buffer((1,), "int32")', f"B[0] = {expression}")


BITS_OF_ZEROS = script(
    'A: T.Buffer((2,), "bfloat16"), B: T.Buffer((2,), "int32")',
    """
for i in range(2):
    C = T.alloc_buffer((1,), "float32")
    C[0] = T.reinterpret("float32", T.Cast("uint32", T.reinterpret("uint16", A[i])) << T.uint32(16))
    B[i] = T.reinterpret("int32", C[0])
""",
)
"""Nothing is computed from the elements of A, so the sign of one that is zero is known."""

CASTS = (
    *by_value("float32 to int32", "cast-range", cast("float32", "int32"), ([2.0**31], [0]), ([2.0**31 - 128], [0])),
    *by_value("float32 to int8", "cast-range", cast("float32", "int8"), ([-129.0], [0]), ([-128.875], [0])),
    *by_value("float64 to uint8", "cast-range", cast("float64", "uint8"), ([-1.0], [0]), ([-0.75], [0])),
    *by_value("float16 to uint8", "cast-range", cast("float16", "uint8"), ([256.0], [0]), ([255.75], [0])),
    *by_value("float64 to int64", "cast-range", cast("float64", "int64"), ([2.0**63], [0]), ([2.0**62], [0])),
    *by_text(
        "in the arm of Select that is not taken",
        "cast-range",
        chosen('T.Select(A[0] < T.float32(100), T.cast(A[0] * T.float32(1024), "int32"), 7)'),
        chosen('T.if_then_else(A[0] < T.float32(100), T.cast(A[0] * T.float32(1024), "int32"), 7)'),
        [2.0**30, 0.0],
        [0],
    ),
)

EXCEPTIONAL = (
    *by_value("quotient by zero", "exceptional-value", unary("A[0] / A[1]"), ([1.0, 0.0], [0.0]), ([1.0, 4.0], [0.0])),
    *by_value(
        "overflow",
        "exceptional-value",
        unary("A[0] * A[1]"),
        ([2.0**100, 2.0**28], [0.0]),
        ([2.0**100, 2.0**26], [0.0]),
    ),
    *by_value("exponential", "exceptional-value", unary("T.exp(A[0])"), ([89.0, 0.0], [0.0]), ([88.0, 0.0], [0.0])),
    *by_value("logarithm of zero", "exceptional-value", unary("T.log(A[0])"), ([0.0, 0.0], [0.0]), ([0.5, 0.0], [0.0])),
    *by_value(
        "root of a negative", "exceptional-value", unary("T.sqrt(A[0])"), ([-1.0, 0.0], [0.0]), ([2.0, 0.0], [0.0])
    ),
    *by_value(
        "power of a negative",
        "exceptional-value",
        unary("T.pow(A[0], A[1])"),
        ([-2.0, 0.5], [0.0]),
        ([2.0, 0.5], [0.0]),
    ),
    *by_value("arc sine", "exceptional-value", unary("T.asin(A[0])"), ([1.5, 0.0], [0.0]), ([0.5, 0.0], [0.0])),
    *by_value(
        "to float16",
        "exceptional-value",
        cast("float32", "float16"),
        ([65536.0], [0.0]),
        ([65504.0], [0.0]),
    ),
)

INFINITY = 'T.float32("inf")'
CHOSEN = f"T.Select(A[0] > T.float32(0), {INFINITY}, A[0])"
"""An infinity that nothing folds."""

INFINITE = (
    *(
        row
        for name, bad, good in (
            ("a sum with an infinity", f"A[0] + {INFINITY}", f"T.min(A[0], {INFINITY})"),
            (
                "the absolute value of one",
                f"T.min(T.fabs({CHOSEN}), A[1])",
                f"T.Select({CHOSEN} > A[0], A[0], A[1])",
            ),
            ("the sign of another for one", f"T.min(T.copysign({CHOSEN}, A[0]), A[1])", f"T.copysign(A[0], {CHOSEN})"),
            ("a product of one", f"{CHOSEN} * A[1]", f"A[1] / {CHOSEN}"),
            ("an exponential", f"T.exp({CHOSEN})", "T.exp(T.Select(A[0] > A[1], T.float32('-inf'), A[0]))"),
            ("one in a result", INFINITY, "A[0]"),
            ("one in a result by way of float16", f'T.cast(T.cast({CHOSEN}, "float16"), "float32")', "A[0]"),
            ("no number", 'T.Select(A[0] > A[1], A[0], T.float32("nan"))', "T.Select(A[0] > A[1], A[0], A[1])"),
            (
                "no number in an arm",
                'T.if_then_else(A[0] < A[1], A[0], T.float32("nan"))',
                'T.if_then_else(A[0] > A[1], A[0], T.float32("nan"))',
            ),
        )
        for row in by_text(name, "exceptional-value", unary(bad), unary(good), [1.0, 0.5], [0.0])
    ),
    *by_text(
        "an infinity to an integer",
        "cast-range",
        chosen(f'T.cast({CHOSEN}, "int32")'),
        chosen(f'T.cast({CHOSEN}, "bool")').replace("B[0] = ", 'B[0] = T.Cast("int32", ') + ")",
        [1.0, 0.5],
        [0],
    ),
    Program(
        "infinities that are stored, loaded and compared",
        script(
            'A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "int32")',
            """
C = T.alloc_buffer((2,), "float32")
C[0] = T.float32("-inf")
C[1] = T.max(C[0], A[0])
B[0] = T.Cast("int32", C[0] < A[0])
B[1] = T.Cast("int32", T.Cast("float16", C[0]) == T.Cast("float16", C[1]))
""",
        ),
        ([1.0, 0.5], [0, 0]),
    ),
)

CHOICES = (
    Program("the bits of a zero that nothing was computed from", BITS_OF_ZEROS, ([-0.0, 0.0], [0, 0])),
    *by_value(
        "the bits of a zero",
        "float-branch",
        script(
            'A: T.Buffer((2,), "float32"), B: T.Buffer((1,), "int32")',
            'B[0] = T.reinterpret("int32", T.min(A[0], A[1]))',
        ),
        ([0.0, -0.0], [0]),
        ([0.5, 0.0078125], [0]),
    ),
    *by_value(
        "a rounded sum compared",
        "float-branch",
        chosen("T.Select(A[0] + A[1] > T.float32(0.4), 1, 2)"),
        ([0.10000000149011612, 0.30000001192092896], [0]),
        ([0.25, 0.30000001192092896], [0]),
    ),
    *by_value(
        "a loop's bound",
        "float-branch",
        script(
            'A: T.Buffer((2,), "float32"), B: T.Buffer((1,), "int32")',
            """
while T.cast(B[0], "float32") * A[0] < A[1]:
    B[0] = B[0] + 1
""",
        ),
        ([0.10000000149011612, 1.0], [0]),
        ([0.25, 1.0], [0]),
    ),
    *by_value(
        "a rounded value to an integer",
        "float-rounding",
        chosen('T.cast(A[0] * T.float32(3), "int32")'),
        ([0.3333333432674408, 0.0], [0]),
        ([0.5, 0.0], [0]),
    ),
    *by_value(
        "floor of a rounded quotient",
        "float-rounding",
        unary("T.floor(A[0] / A[1])"),
        ([0.699999988079071, 0.10000000149011612], [0.0]),
        ([0.75, 0.5], [0.0]),
    ),
)

PROGRAMS: tuple[Program, ...] = (*CASTS, *EXCEPTIONAL, *INFINITE, *CHOICES)
