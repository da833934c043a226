"""What a program promises and does not keep: assumptions, assertions, extents, domains and regions of blocks."""

from __future__ import annotations

from tests.semantics.corpus import COUNT, EIGHT, ZEROS, Program, blocks, by_text, by_value, script

SCALAR = 'A: T.Buffer((8,), "int32"), n: T.int32'

CONDITIONS = (
    *by_value(
        "an assumption on a parameter",
        "assume",
        script(SCALAR, "T.evaluate(T.assume(n > 3))\nA[0] = n"),
        (ZEROS, 3),
        (ZEROS, 4),
    ),
    *by_value(
        "an assumption on memory",
        "assume",
        script(EIGHT, "for i in range(8):\n    T.evaluate(T.assume(A[i] < 8))\n    B[i] = A[i]"),
        ([*range(7), 8], ZEROS),
        (COUNT, ZEROS),
    ),
    *by_value(
        "an assumption in a loop that does not run",
        "assume",
        script(SCALAR, "for i in range(n):\n    T.evaluate(T.assume(i < 0))\n    A[i] = 1"),
        (ZEROS, 1),
        (ZEROS, 0),
    ),
    *by_value(
        "an assertion on a parameter",
        "assert",
        script(SCALAR, 'assert n % 2 == 0, "n is odd"\nA[0] = n'),
        (ZEROS, 3),
        (ZEROS, 4),
    ),
    *by_value(
        "an assertion on memory",
        "assert",
        script(EIGHT, 'B[0] = A[0] + 1\nassert B[0] == 1, "unexpected"\nB[1] = 2'),
        (COUNT[::-1], ZEROS),
        (COUNT, ZEROS),
    ),
)

EXTENTS = (
    *by_value(
        "a serial loop",
        "negative-extent",
        script(SCALAR, "for i in range(n):\n    A[i] = 1"),
        (ZEROS, -1),
        (ZEROS, 0),
    ),
    *by_text(
        "an inner loop",
        "negative-extent",
        script(EIGHT, "for i in range(8):\n    for j in range(6 - i):\n        B[i] = B[i] + A[j]"),
        script(EIGHT, "for i in range(8):\n    for j in range(T.max(6 - i, 0)):\n        B[i] = B[i] + A[j]"),
        COUNT,
        ZEROS,
    ),
    *by_value(
        "a parallel loop",
        "negative-extent",
        script(SCALAR, "for i in T.parallel(n - 4):\n    A[i] = 1"),
        (ZEROS, 3),
        (ZEROS, 6),
    ),
)


def shifted(domain: str, value: str, predicate: str = "i < 8") -> str:
    """Copies in a block whose axis has `domain` and is bound to `value`, where `predicate` holds."""
    return blocks(
        EIGHT,
        f"""
for i in range(4):
    with T.sblock("copy"):
        T.where({predicate})
        v = T.axis.spatial({domain}, {value})
        T.reads(A[v])
        T.writes(B[v])
        B[v] = A[v]
""",
    )


def summed(domain: str, value: str) -> str:
    """Sums in a block whose axis of reduction has `domain` and is bound to `value`."""
    return blocks(
        EIGHT,
        f"""
for i in range(4):
    with T.sblock("sum"):
        v = T.axis.reduce({domain}, {value})
        T.reads(A[v])
        T.writes(B[0])
        with T.init():
            B[0] = 0
        B[0] = B[0] + A[v]
""",
    )


def copied(reads: str, writes: str) -> str:
    """Copies the first four elements in a block that declares `reads` and `writes`."""
    return blocks(
        EIGHT,
        f"""
for i in range(4):
    with T.sblock("copy"):
        v = T.axis.spatial(4, i)
        T.reads({reads})
        T.writes({writes})
        B[v] = A[v] + A[v + 1]
""",
    )


def divided(otherwise: str) -> str:
    """A block whose declared region has no value when its axis is 0; what it then stores is `otherwise`."""
    return blocks(
        EIGHT,
        f"""
for i in range(4):
    with T.sblock("copy"):
        v = T.axis.spatial(4, i)
        T.reads(A[4 // v])
        T.writes(B[v])
        B[v] = T.if_then_else(v > 1, A[T.min(4 // v, 7)], T.if_then_else(v > 0, A[4 // v], {otherwise}))
""",
    )


def nested(reads: str, value: str) -> str:
    """A block in another one, which declares to read A alone."""
    return blocks(
        EIGHT,
        f"""
for o in range(2):
    with T.sblock("outer"):
        vo = T.axis.spatial(2, o)
        T.reads(A[0:8])
        T.writes(B[vo * 4 : vo * 4 + 4])
        for i in range(4):
            with T.sblock("inner"):
                vi = T.axis.spatial(4, i)
                T.reads({reads})
                T.writes(B[vo * 4 + vi])
                B[vo * 4 + vi] = {value}
""",
    )


BLOCKS = (
    *by_text(
        "a read that the block around does not declare, where a bound of a region may",
        "block-region",
        nested("A[0:8], B[0]", "A[7 - vi] + T.min(B[0], 0)"),
        nested("A[T.min(B[0], 0) : 8]", "A[7 - vi]"),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "a read where the declared region has no value", "block-region", divided("A[0]"), divided("0"), COUNT, ZEROS
    ),
    *by_text("an axis past its domain", "block-domain", shifted("4", "i + 1"), shifted("5", "i + 1"), COUNT, ZEROS),
    *by_text(
        "an axis before its domain",
        "block-domain",
        shifted("(2, 8)", "i + 1"),
        shifted("(1, 8)", "i + 1"),
        COUNT,
        ZEROS,
    ),
    *by_text("an axis of reduction", "block-domain", summed("4", "i * 2"), summed("8", "i * 2"), COUNT, ZEROS),
    *by_text(
        "a predicate that lets the outside in",
        "block-domain",
        shifted("3", "i", "i < 4"),
        shifted("3", "i", "i < 3"),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "a read that is not declared", "block-region", copied("", "B[v]"), copied("A[v : v + 2]", "B[v]"), COUNT, ZEROS
    ),
    *by_text(
        "a read beyond what is declared",
        "block-region",
        copied("A[v]", "B[v]"),
        copied("A[0:8]", "B[v]"),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "a write that is not declared",
        "block-region",
        copied("A[v : v + 2]", ""),
        copied("A[v : v + 2]", "B[0:4]"),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "a write elsewhere than declared",
        "block-region",
        copied("A[v : v + 2]", "B[v + 1]"),
        copied("A[v], A[v + 1]", "B[v]"),
        COUNT,
        ZEROS,
    ),
)


def allocated(declared: str) -> str:
    """A block that allocates as much as memory says; what it loads for that it declares to read."""
    return blocks(
        EIGHT,
        f"""
for i in range(8):
    with T.sblock("copy"):
        v = T.axis.spatial(8, i)
        T.reads(A[{declared}])
        T.writes(B[v])
        C = T.sblock_alloc_buffer((A[v] + 1,), "int32")
        C[A[v]] = A[v]
        B[v] = C[A[v]]
""",
    )


ALLOCATIONS = by_text(
    "the shape of an allocation",
    "block-region",
    allocated("v + 1 : v + 2"),
    allocated("v * 2 - v : v * 2 - v + 1"),
    COUNT,
    ZEROS,
)


def nested(declared: str) -> str:
    """A block without axes around the one that copies, as schedule primitives make them."""
    return blocks(
        EIGHT,
        f"""
for half in range(2):
    with T.sblock("outer"):
        {declared}
        for i in range(4):
            with T.sblock("copy"):
                v = T.axis.spatial(8, half * 4 + i)
                T.reads(A[v])
                T.writes(B[v])
                B[v] = A[v]
""",
    )


OPAQUE = by_text(
    "a block without axes and regions that is not the root",
    "block-region",
    nested("T.reads()\n        T.writes()"),
    nested("T.reads(A[0:8])\n        T.writes(B[0:8])"),
    COUNT,
    ZEROS,
)


def updated(axes: str, reads: str, value: str = "B[v] + A[v]", init: str = "") -> str:
    """A block that says to write `B[v]` and stores `value` there."""
    starts = f"with T.init():\n            {init}\n        " if init else ""
    return blocks(
        EIGHT,
        f"""
for i in range(8):
    with T.sblock("update"):
        {axes}
        T.reads({reads})
        T.writes(B[v])
        {starts}B[v] = {value}
""",
    )


SPATIAL = "v = T.axis.spatial(8, i)"
REDUCING = "v = T.axis.spatial(8, i)\n        T.axis.reduce(1, 0)"


def around(inner: str) -> str:
    """A block around one with the axes `inner`, of which the outer one declares writes alone."""
    return blocks(
        EIGHT,
        f"""
with T.sblock("outer"):
    u = T.axis.spatial(1, 0)
    T.reads(A[0:8])
    T.writes(B[0:8])
    for i in range(8):
        with T.sblock("add"):
            {inner}
            T.reads(A[v], B[v])
            T.writes(B[v])
            B[v] = B[v] + A[v]
""",
    )


UPDATES = (
    *by_text(
        "a spatial block that reads what it only says to write",
        "block-region",
        updated(SPATIAL, "A[v]"),
        updated(SPATIAL, "A[v], B[v]"),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "a reduction that reads what it does not say to write",
        "block-region",
        updated(REDUCING, "A[v]", "B[v // 2] + A[v]"),
        updated(REDUCING, "A[v], B[v // 2]", "B[v // 2] + A[v]"),
        COUNT,
        ZEROS,
    ),
    *by_text(
        "a spatial block inside of one that only says to write",
        "block-region",
        around("v = T.axis.spatial(8, i)"),
        around("v = T.axis.spatial(8, i)\n            T.axis.reduce(1, 0)"),
        COUNT,
        ZEROS,
    ),
    Program("a reduction may read what it writes", updated(REDUCING, "A[v]"), (COUNT, ZEROS)),
    Program("one that reads the same buffer elsewhere too", updated(REDUCING, "B[0]", "B[0] + B[v]"), (COUNT, ZEROS)),
    Program("a block with an init may", updated(SPATIAL, "A[v]", init="B[v] = 1"), (COUNT, ZEROS)),
    Program("one without axes may", updated("", "A[v]").replace("for i", "for v"), (COUNT, ZEROS)),
)

PROGRAMS: tuple[Program, ...] = (*CONDITIONS, *EXTENTS, *BLOCKS, *ALLOCATIONS, *OPAQUE, *UPDATES)
