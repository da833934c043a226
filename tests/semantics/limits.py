"""What the interpreter does not decide: too long, or not modelled."""

from __future__ import annotations

from tests.semantics.corpus import ZEROS, Program, by_text, by_value, script

EIGHT = 'A: T.Buffer((8,), "int32")'

PROGRAMS: tuple[Program, ...] = (
    *by_value(
        "a loop over the budget",
        "step-budget",
        script(f"{EIGHT}, n: T.int32", "for i in range(n):\n    A[i % 8] = i"),
        (ZEROS, 1_000_000),
        (ZEROS, 1_000),
    ),
    *by_text(
        "a loop without an end",
        "step-budget",
        script(EIGHT, "while A[0] < 1:\n    A[1] = 1 - A[1]"),
        script(EIGHT, "while A[0] < 1:\n    A[0] = 1 - A[1]"),
        ZEROS,
    ),
    *by_text(
        "an unknown C function",
        "unsupported",
        script(EIGHT, 'A[0] = T.call_extern("int32", "rand")'),
        script(EIGHT, "A[0] = T.bitwise_not(A[0])"),
        ZEROS,
    ),
    *by_text(
        "a pragma that is no hint",
        "unsupported",
        script(EIGHT, 'with T.attr(0, "pragma_debug_skip_region", 0):\n    A[0] = 1'),
        script(EIGHT, 'with T.attr(0, "pragma_unroll_explicit", 0):\n    A[0] = 1'),
        ZEROS,
    ),
    *by_text(
        "an annotation that is no hint",
        "unsupported",
        script(EIGHT, 'for i in T.serial(4, annotations={"pragma_parallel_launch_point": 1}):\n    A[0] = 1'),
        script(EIGHT, 'for i in T.serial(4, annotations={"pragma_unroll_explicit": 1}):\n    A[0] = 1'),
        ZEROS,
    ),
    *by_text(
        "a registered function",
        "unsupported",
        script(EIGHT, 'A[0] = 1\nT.evaluate(T.tvm_call_packed("testing.echo", A[0]))'),
        script(EIGHT, "A[0] = 1\nT.evaluate(A[0])"),
        ZEROS,
    ),
    *by_text(
        "memory of fewer strides than dimensions",
        "unsupported",
        script(EIGHT, 'B = T.alloc_buffer((2, 4), "int32", strides=(1,))\nA[0] = 1'),
        script(EIGHT, 'B = T.alloc_buffer((2, 4), "int32", strides=(4, 1))\nA[0] = 1'),
        ZEROS,
    ),
)
