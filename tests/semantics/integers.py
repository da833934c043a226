"""Integer arithmetic: overflow, division, shifts, casts, intrinsics."""

from __future__ import annotations

from tests.semantics.corpus import Program, by_text, by_value, script

INT32, INT64 = 2**31 - 1, 2**63 - 1


def binary(dtype: str, expression: str) -> str:
    """B[0] = `expression` of the elements of A, both of `dtype`."""
    return script(f'A: T.Buffer((2,), "{dtype}"), B: T.Buffer((1,), "{dtype}")', f"B[0] = {expression}")


OVERFLOW = (
    *by_value("int32 sum", "integer-overflow", binary("int32", "A[0] + A[1]"), ([INT32, 1], [0]), ([INT32, 0], [0])),
    *by_value(
        "int32 difference", "integer-overflow", binary("int32", "A[0] - A[1]"), ([-2, INT32], [0]), ([-1, INT32], [0])
    ),
    *by_value(
        "int32 product",
        "integer-overflow",
        binary("int32", "A[0] * A[1]"),
        ([1 << 16, 1 << 15], [0]),
        ([-1 << 16, 1 << 15], [0]),
    ),
    *by_value("int64 sum", "integer-overflow", binary("int64", "A[0] + A[1]"), ([INT64, 1], [0]), ([INT64, -1], [0])),
    *by_value(
        "int64 product",
        "integer-overflow",
        binary("int64", "A[0] * A[1]"),
        ([1 << 32, 1 << 31], [0]),
        ([1 << 32, 1 << 30], [0]),
    ),
    *by_value("int8 sum", "integer-overflow", binary("int8", "A[0] + A[1]"), ([100, 28], [0]), ([100, 27], [0])),
    *by_value("uint8 sum", "integer-overflow", binary("uint8", "A[0] + A[1]"), ([200, 56], [0]), ([200, 55], [0])),
    *by_value(
        "int16 product", "integer-overflow", binary("int16", "A[0] * A[1]"), ([256, 128], [0]), ([-256, 128], [0])
    ),
    *by_value(
        "uint16 product", "integer-overflow", binary("uint16", "A[0] * A[1]"), ([256, 256], [0]), ([255, 257], [0])
    ),
    *by_value("uint32 difference", "integer-overflow", binary("uint32", "A[0] - A[1]"), ([1, 2], [0]), ([2, 2], [0])),
    *by_value(
        "uint64 product",
        "integer-overflow",
        binary("uint64", "A[0] * A[1]"),
        ([1 << 32, 1 << 32], [0]),
        ([1 << 32, (1 << 32) - 1], [0]),
    ),
    *by_value(
        "floordiv of the least",
        "integer-overflow",
        binary("int32", "A[0] // A[1]"),
        ([-1 << 31, -1], [0]),
        ([-INT32, -1], [0]),
    ),
    *by_value(
        "floormod of the least",
        "integer-overflow",
        binary("int32", "A[0] % A[1]"),
        ([-1 << 31, -1], [0]),
        ([-1 << 31, -2], [0]),
    ),
    *by_value(
        "truncdiv of the least",
        "integer-overflow",
        binary("int64", "T.truncdiv(A[0], A[1])"),
        ([-1 << 63, -1], [0]),
        ([-1 << 63, 1], [0]),
    ),
    *by_value(
        "truncmod of the least",
        "integer-overflow",
        binary("int8", "T.truncmod(A[0], A[1])"),
        ([-128, -1], [0]),
        ([-127, -1], [0]),
    ),
    *by_value(
        "negation of the least", "integer-overflow", binary("int32", "-A[0]"), ([-1 << 31, 0], [0]), ([-INT32, 0], [0])
    ),
    *by_value(
        "left shift", "integer-overflow", binary("int32", "A[0] << A[1]"), ([1 << 20, 11], [0]), ([1 << 20, 10], [0])
    ),
    *by_value("unsigned left shift", "integer-overflow", binary("uint8", "A[0] << A[1]"), ([3, 7], [0]), ([1, 7], [0])),
    *by_value(
        "in one lane",
        "integer-overflow",
        script(
            'A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")',
            """
for i in T.vectorized(4):
    B[i] = A[i] + 10
""",
        ),
        ([0, 1, INT32 - 9, 3], [0] * 4),
        ([0, 1, INT32 - 10, 3], [0] * 4),
    ),
    *by_value(
        "in a value that nobody needs",
        "integer-overflow",
        script(
            'A: T.Buffer((2,), "int32")',
            """
x: T.let[T.int32] = A[0] * A[0]
A[1] = T.min(x, 0)
""",
        ),
        ([1 << 16, 0],),
        ([1 << 15, 0],),
    ),
    *by_value(
        "in an index",
        "integer-overflow",
        script(
            'A: T.Buffer((8,), "int32"), n: T.int32',
            """
for i in range(4):
    A[(n + i) - n] = i
""",
        ),
        ([0] * 8, INT32 - 2),
        ([0] * 8, INT32 - 3),
    ),
    *by_value(
        "accumulated",
        "integer-overflow",
        script(
            'A: T.Buffer((4,), "int8"), B: T.Buffer((1,), "int8")',
            """
for i in range(4):
    B[0] = B[0] + A[i] * T.int8(2)
""",
        ),
        ([40, 10, 10, 10], [0]),
        ([40, 10, 10, -60], [0]),
    ),
)

DIVISION = (
    *by_value("floordiv", "division-by-zero", binary("int32", "A[0] // A[1]"), ([7, 0], [0]), ([7, -2], [0])),
    *by_value("floormod", "division-by-zero", binary("int64", "A[0] % A[1]"), ([7, 0], [0]), ([-7, 2], [0])),
    *by_value("truncdiv", "division-by-zero", binary("int32", "T.truncdiv(A[0], A[1])"), ([7, 0], [0]), ([-7, 2], [0])),
    *by_value("truncmod", "division-by-zero", binary("int16", "T.truncmod(A[0], A[1])"), ([7, 0], [0]), ([-7, 2], [0])),
    *by_value("unsigned floordiv", "division-by-zero", binary("uint8", "A[0] // A[1]"), ([7, 0], [0]), ([7, 9], [0])),
    *by_value(
        "in the arm of Select that is not taken",
        "division-by-zero",
        binary("int32", "T.Select(A[1] != 0, A[0] // A[1], 0)"),
        ([7, 0], [0]),
        ([7, 3], [0]),
    ),
    *by_text(
        "guarded by Select",
        "division-by-zero",
        binary("int32", "T.Select(A[1] != 0, A[0] // A[1], 0)"),
        binary("int32", "T.if_then_else(A[1] != 0, A[0] // A[1], 0)"),
        [7, 0],
        [0],
    ),
    *by_text(
        "guarded by and",
        "division-by-zero",
        script('A: T.Buffer((2,), "int32")', "if A[1] != 0 and A[0] // A[1] > 2:\n    A[0] = 1"),
        script('A: T.Buffer((2,), "int32")', "if A[1] != 0:\n    if A[0] // A[1] > 2:\n        A[0] = 1"),
        [7, 0],
    ),
    *by_text(
        "guarded by or",
        "division-by-zero",
        script('A: T.Buffer((2,), "int32")', "if A[1] == 0 or A[0] % A[1] == 0:\n    A[0] = 1"),
        script('A: T.Buffer((2,), "int32")', "if A[1] == 0 or A[0] % T.max(A[1], 1) == 0:\n    A[0] = 1"),
        [7, 0],
    ),
)

SHIFTS = (
    *by_value("left by the width", "shift-range", binary("int32", "A[0] << A[1]"), ([0, 32], [0]), ([0, 31], [0])),
    *by_value("right by the width", "shift-range", binary("uint64", "A[0] >> A[1]"), ([1, 64], [0]), ([1, 63], [0])),
    *by_value(
        "right by a negative amount", "shift-range", binary("int32", "A[0] >> A[1]"), ([8, -1], [0]), ([-8, 1], [0])
    ),
    *by_value("narrow", "shift-range", binary("int8", "A[0] >> A[1]"), ([-128, 8], [0]), ([-128, 7], [0])),
)


def cast(source: str, target: str) -> str:
    return script(f'A: T.Buffer((1,), "{source}"), B: T.Buffer((1,), "{target}")', f'B[0] = T.cast(A[0], "{target}")')


CASTS = (
    *by_value("int32 to int8", "cast-range", cast("int32", "int8"), ([128], [0]), ([-128], [0])),
    *by_value("int64 to int32", "cast-range", cast("int64", "int32"), ([-1 << 32], [0]), ([-1 << 31], [0])),
    *by_value("a negative to uint32", "cast-range", cast("int32", "uint32"), ([-1], [0]), ([INT32], [0])),
    *by_value("uint8 to int8", "cast-range", cast("uint8", "int8"), ([200], [0]), ([127], [0])),
)

INTRINSICS = (
    *by_value("clz of zero", "intrinsic-domain", binary("int32", "T.clz(A[0])"), ([0, 0], [0]), ([1, 0], [0])),
    *by_value(
        "clz of zero, 64 bits", "intrinsic-domain", binary("uint64", "T.clz(A[1])"), ([1, 0], [0]), ([0, 1 << 63], [0])
    ),
)

PROGRAMS: tuple[Program, ...] = (*OVERFLOW, *DIVISION, *SHIFTS, *CASTS, *INTRINSICS)
