"""Bounds, initialisation, views, alignment."""

from __future__ import annotations

from tests.semantics.corpus import COUNT, EIGHT, ZEROS, Program, blocks, by_text, by_value, script


def summed(axis: str = "i", element: str = "vi", where: str = "", init: bool = True) -> str:
    """A block that sums elements of A over the axis `vi`, bound to `axis`, and a copy of the sum to B."""
    lines = (
        *([f"T.where({where})"] if where else []),
        f"vi = T.axis.reduce(8, {axis})",
        *(["with T.init():", "    C[0] = 0"] if init else []),
        f"C[0] = C[0] + A[{element}]",
    )
    body = "".join(f"\n        {line}" for line in lines)
    return blocks(
        EIGHT,
        f"""
C = T.sblock_alloc_buffer((1,), "int32")
for i in range(8):
    with T.sblock("sum"):{body}
with T.sblock("copy"):
    B[0] = C[0]
""",
    )


BOUNDS = (
    *by_text(
        "a load past the end",
        "out-of-bounds",
        script(EIGHT, "for i in range(8):\n    B[i] = A[i + 1]"),
        script(EIGHT, "for i in range(7):\n    B[i] = A[i + 1]"),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "a store before the start",
        "out-of-bounds",
        script(EIGHT, "for i in range(8):\n    B[i - 1] = A[i]"),
        script(EIGHT, "for i in range(1, 8):\n    B[i - 1] = A[i]"),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "past the end of a row",
        "out-of-bounds",
        script('A: T.Buffer((2, 4), "int32")', "for i in range(8):\n    A[0, i] = i"),
        script('A: T.Buffer((2, 4), "int32")', "for i in range(8):\n    A[i // 4, i % 4] = i"),
        [[0] * 4] * 2,
    ),
    *by_value(
        "an index from memory",
        "out-of-bounds",
        script(EIGHT, "for i in range(8):\n    B[A[i]] = i"),
        ([0, 1, 2, 8, 4, 5, 6, 7], ZEROS),
        ([0, 1, 2, 7, 4, 5, 6, 3], ZEROS),
    ),
    *by_value(
        "an index from a parameter",
        "out-of-bounds",
        script('A: T.Buffer((8,), "int32"), n: T.int32', "A[n] = 1"),
        (ZEROS, -1),
        (ZEROS, 0),
    ),
    *by_text(
        "the last lane",
        "out-of-bounds",
        script(EIGHT, "B[T.Ramp(0, 1, 4)] = A[T.Ramp(5, 1, 4)]"),
        script(EIGHT, "B[T.Ramp(0, 1, 4)] = A[T.Ramp(4, 1, 4)]"),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "an index guarded by Select",
        "out-of-bounds",
        script(EIGHT, "for i in range(8):\n    B[i] = T.Select(i > 0, A[i - 1], 0)"),
        script(EIGHT, "for i in range(8):\n    B[i] = T.if_then_else(i > 0, A[i - 1], 0)"),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "an index guarded by and",
        "out-of-bounds",
        script(EIGHT, "for i in range(8):\n    if i > 0 and A[i - 1] > 2:\n        B[i] = 1"),
        script(EIGHT, "for i in range(8):\n    if i > 0:\n        if A[i - 1] > 2:\n            B[i] = 1"),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "a buffer of its own",
        "out-of-bounds",
        script(EIGHT, 'C = T.alloc_buffer((4,), "int32")\nfor i in range(5):\n    C[i] = A[i]\nB[0] = C[0]'),
        script(EIGHT, 'C = T.alloc_buffer((5,), "int32")\nfor i in range(5):\n    C[i] = A[i]\nB[0] = C[0]'),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "a view that is too long",
        "out-of-bounds",
        script('A: T.Buffer((8,), "int32")', 'V = T.decl_buffer((3, 4), "int32", data=A.data)\nV[2, 0] = 1'),
        script('A: T.Buffer((8,), "int32")', 'V = T.decl_buffer((2, 4), "int32", data=A.data)\nV[1, 0] = 1'),
        ZEROS,
    ),
    *by_text(
        "a matched region",
        "out-of-bounds",
        blocks(
            EIGHT,
            """
for i in range(2):
    with T.sblock("copy"):
        vi = T.axis.spatial(2, i)
        T.reads(A[vi * 5 : vi * 5 + 4])
        T.writes(B[vi])
        M = T.match_buffer(A[vi * 5 : vi * 5 + 4], (4,), "int32", offset_factor=1)
        B[vi] = M[0]
""",
        ),
        blocks(
            EIGHT,
            """
for i in range(2):
    with T.sblock("copy"):
        vi = T.axis.spatial(2, i)
        T.reads(A[vi * 4 : vi * 4 + 4])
        T.writes(B[vi])
        M = T.match_buffer(A[vi * 4 : vi * 4 + 4], (4,), "int32", offset_factor=1)
        B[vi] = M[0]
""",
        ),
        COUNT,
        ZEROS,
    ),
)

INITIALISATION = (
    *by_text(
        "never written",
        "uninitialised",
        script(EIGHT, 'C = T.alloc_buffer((1,), "int32")\nB[0] = C[0]'),
        script(EIGHT, 'C = T.alloc_buffer((1,), "int32")\nC[0] = A[1]\nB[0] = C[0]'),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "written in part",
        "uninitialised",
        script(
            EIGHT,
            """
C = T.alloc_buffer((8,), "int32")
for i in range(4):
    C[i * 2] = A[i]
for i in range(8):
    B[i] = C[i]
""",
        ),
        script(
            EIGHT,
            """
C = T.alloc_buffer((8,), "int32")
for i in range(8):
    C[7 - i] = A[i]
for i in range(8):
    B[i] = C[i]
""",
        ),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "an accumulator without a start",
        "uninitialised",
        script(EIGHT, 'C = T.alloc_buffer((1,), "int32")\nfor i in range(8):\n    C[0] = C[0] + A[i]\nB[0] = C[0]'),
        script(
            EIGHT,
            'C = T.alloc_buffer((1,), "int32")\nC[0] = 0\nfor i in range(8):\n    C[0] = C[0] + A[i]\nB[0] = C[0]',
        ),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "allocated anew in each iteration",
        "uninitialised",
        script(
            EIGHT,
            """
for i in range(4):
    C = T.alloc_buffer((1,), "int32")
    if i == 0:
        C[0] = 5
    B[i] = C[0]
""",
        ),
        script(
            EIGHT,
            """
C = T.alloc_buffer((1,), "int32")
for i in range(4):
    if i == 0:
        C[0] = 5
    B[i] = C[0]
""",
        ),
        COUNT,
        ZEROS,
    ),
    *by_value(
        "written on a condition",
        "uninitialised",
        script(EIGHT, 'C = T.alloc_buffer((1,), "int32")\nif A[0] > 0:\n    C[0] = 3\nB[0] = C[0]'),
        (ZEROS, ZEROS),
        ([1, *[0] * 7], ZEROS),
    ),
    *by_text(
        "a reduction without init",
        "uninitialised",
        summed(init=False),
        summed(),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "an init that the predicate skips",
        "uninitialised",
        summed(where="i >= 1"),
        summed(where="i < 7"),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "an init that comes too late",
        "uninitialised",
        summed(axis="7 - i"),
        summed(element="7 - vi"),
        COUNT,
        ZEROS,
    ),
)


def corner(layout: str) -> str:
    """Copies a corner of A, rows of four, by a name that lies as `layout` says."""
    return blocks(
        'A: T.Buffer((4, 4), "int32"), B: T.Buffer((2, 2), "int32")',
        f"""
with T.sblock("corner"):
    T.reads(A[1:3, 1:3])
    T.writes(B[0:2, 0:2])
    M = T.match_buffer(A[1:3, 1:3], (2, 2), "int32", {layout})
    for i, j in T.grid(2, 2):
        B[i, j] = M[i, j]
""",
    )


ROWS = [COUNT[:4], COUNT[4:], COUNT[:4], COUNT[4:]]
SQUARE = [[0, 0], [0, 0]]

VIEWS = (
    *by_text(
        "a matched region of other strides",
        "assert",
        corner("strides=[2, 1], elem_offset=5"),
        corner("strides=[4, 1], elem_offset=5"),
        ROWS,
        SQUARE,
    ),
    *by_text(
        "a matched region at another offset",
        "assert",
        corner("strides=[4, 1], elem_offset=4"),
        corner("offset_factor=1"),
        ROWS,
        SQUARE,
    ),
    *by_text(
        "a parameter that does not start where its memory does",
        "assert",
        script("a: T.handle", 'A = T.match_buffer(a, (8,), "int32", elem_offset=4)\nA[0] = 1'),
        script("a: T.handle", 'A = T.match_buffer(a, (8,), "int32", elem_offset=0)\nA[0] = 1'),
        COUNT,
    ),
    *by_text(
        "an argument that is less aligned than declared",
        "alignment",
        script(
            'a: T.handle, B: T.Buffer((8,), "int32")',
            """
A = T.match_buffer(a, (8,), "int32", align=256)
for i in T.vectorized(4):
    B[i] = A[i]
""",
        ),
        script(
            'a: T.handle, B: T.Buffer((8,), "int32")',
            """
A = T.match_buffer(a, (8,), "int32", align=32)
for i in T.vectorized(4):
    B[i] = A[i + 1]
""",
        ),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "rows that share memory",
        "alias",
        script("a: T.handle", 'A = T.match_buffer(a, (2, 4), "int32", strides=[2, 1])\nA[0, 2] = A[1, 0] + 1'),
        script("a: T.handle", 'A = T.match_buffer(a, (2, 4), "int32", strides=[8, 1])\nA[0, 2] = A[1, 0] + 1'),
        [COUNT[:4], COUNT[4:]],
    ),
    *by_text(
        "rows of an allocation that share memory",
        "alias",
        script(
            'A: T.Buffer((8,), "int32")',
            """
B = T.alloc_buffer((2, 2), "int32", strides=[1, 1])
B[0, 1] = 1
A[0] = B[0, 1]
""",
        ),
        script(
            'A: T.Buffer((8,), "int32")',
            """
B = T.alloc_buffer((2, 2), "int32", strides=[2, 1])
B[0, 1] = 1
A[0] = B[0, 1]
""",
        ),
        COUNT,
    ),
)

PROGRAMS: tuple[Program, ...] = (*BOUNDS, *INITIALISATION, *VIEWS)
