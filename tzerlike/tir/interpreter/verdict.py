"""The interpreter's verdict on a program on given inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy
from numpy.typing import NDArray

Argument = NDArray[numpy.generic] | int | float | bool
"""One argument of a PrimFunc: the logical values, whatever the storage dtype.

A buffer is an array of the buffer's shape: float64 for every float dtype (each value exactly representable in
the buffer's dtype), int64 or uint64 for integers, bool for bool. Memory is compact and starts at offset 0.
"""


class Verdict(StrEnum):
    """Whether the result of a program is fixed by the semantics of docs/tir-semantics.md.

    DEFINED: it is, within the computed bounds. UNDEFINED: it breaks a rule. UNSTABLE: a branch, an index, a rounding or
    an exceptional value depends on floating-point error. UNKNOWN: something is not modelled, or over the step budget.
    """

    DEFINED = "defined"
    UNDEFINED = "undefined"
    UNSTABLE = "unstable"
    UNKNOWN = "unknown"


RULES: Mapping[str, tuple[Verdict, str]] = {
    "integer-overflow": (Verdict.UNDEFINED, "the exact result of an integer operation does not fit its dtype"),
    "division-by-zero": (Verdict.UNDEFINED, "a divisor of /, %, floordiv, floormod or truncdiv is zero"),
    "shift-range": (Verdict.UNDEFINED, "a shift by a negative amount or by the width of the dtype or more"),
    "cast-range": (Verdict.UNDEFINED, "a value is cast to an integer dtype that has no such value"),
    "out-of-bounds": (Verdict.UNDEFINED, "an index is outside of the shape of its buffer"),
    "uninitialised": (Verdict.UNDEFINED, "an element is read before it is written"),
    "race": (Verdict.UNDEFINED, "two iterations that may run at the same time access one element"),
    "assume": (Verdict.UNDEFINED, "an assumption does not hold"),
    "assert": (Verdict.UNDEFINED, "an assertion does not hold"),
    "negative-extent": (Verdict.UNDEFINED, "a loop or a buffer has a negative extent"),
    "block-domain": (Verdict.UNDEFINED, "a block iterator is bound to a value outside of its domain"),
    "block-region": (Verdict.UNDEFINED, "a block accesses what it does not declare to read or write"),
    "alias": (Verdict.UNDEFINED, "views of one memory overlap where the compiler may assume that they do not"),
    "alignment": (Verdict.UNDEFINED, "an access breaks the alignment that its buffer declares"),
    "divergent-barrier": (Verdict.UNDEFINED, "not every thread of the block reaches a barrier"),
    "intrinsic-domain": (Verdict.UNDEFINED, "an operand is outside of the domain of an intrinsic"),
    "exceptional-value": (Verdict.UNSTABLE, "an infinity or NaN arises, or could within the error bound"),
    "float-branch": (Verdict.UNSTABLE, "a condition or a choice depends on a value within its error bound"),
    "float-rounding": (Verdict.UNSTABLE, "a conversion to an integer depends on a value within its error bound"),
    "unsupported": (Verdict.UNKNOWN, "a node, dtype, intrinsic or attribute that is not modelled"),
    "step-budget": (Verdict.UNKNOWN, "more scalar operations than the step budget"),
}
"""The rules of docs/tir-semantics.md by name: the verdict of a program that breaks one, and what it says."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a buffer parameter holds at the end: float64 or integer `values`, and for floats the `bound`.

    Every build that respects the semantics ends with an element within `values[i] ± bound[i]`; `bound` is zero
    for integers, and infinite where two readings of the program differ. Both have the buffer's shape.
    """

    values: NDArray[numpy.generic]
    bound: NDArray[numpy.float64]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict, for other verdicts than DEFINED the rule with its place, and for DEFINED the results.

    `expected` has an entry for each buffer parameter, by position; `steps` counts scalar operations.
    """

    verdict: Verdict
    rule: str = ""
    where: str = ""
    steps: int = 0
    expected: Mapping[int, Expected] = field(default_factory=dict)
