"""Signatures of TVM 0.27's analyzer that have one cause, and ones that have not."""

from __future__ import annotations

import pytest

from tzerlike.arith.alike import words_of_cause

SIMPLIFY, SET, MAP = "canonical_simplify", "int_set", "iterator map"
REMAINDERS = [
    ((SIMPLIFY, "LT(Mod(v0, c), Mul(v0, c))"), (SIMPLIFY, "value", "values", "order of Mod")),
    ((SIMPLIFY, "LE(Mul(v0, c), Max(Mod(v0, c), c))"), (SIMPLIFY, "value", "values", "order of extremum")),
    ((SIMPLIFY, "NE(Max(Mod(v0, c), v0), Mul(v1, c))"), (SIMPLIFY, "value", "values", "equality of extremum to logic")),
]
SETS = [
    ((SET, "Mod(v0, c)"), (SET, "bounds", "values", "Mod")),
    ((SET, "v0 given EQ(Mod(v0, c), v0)"), (SET, "bounds", "values", "")),
]
PADS = [
    (("m", "FloorDiv(FloorDiv(v0, c), c)"), (MAP, "value", "values", "FloorDiv of FloorDiv")),
    (("m", "FloorDiv(Add(FloorDiv(v0, c), c), c)"), (MAP, "value", "values", "FloorDiv of sum and FloorDiv")),
]
ZEROS = [
    (("m", "InternalError"), ("pb->value != <n>", MAP, "values", "")),
    (("n", "InternalError"), ("pb->value != <n>", MAP, "values", "FloorDiv")),
]
OTHERS = [
    ((SIMPLIFY, "LT(FloorMod(v0, c), v0)"), (SIMPLIFY, "value", "values", "order of extremum")),
    ((SIMPLIFY, "LT(Mod(v0, c), v0)"), (SIMPLIFY, "value", "overflow", "order of extremum")),
    ((SET, "v0 given LT(v0, c)"), (SET, "bounds", "values", "")),
    (("m", "FloorDiv(v0, c)"), (MAP, "value", "values", "FloorDiv")),
    (("m", "FloorDiv(Sub(FloorMod(v0, c), c), c)"), (MAP, "value", "values", "FloorDiv of sum and FloorMod")),
    (("m", "InternalError"), ("pb->value != <n>", MAP, "negative divisor", "FloorDiv")),
    (("d", "InternalError"), ("pb->value != <n>", "deduce_bound", "values", "equality")),
    (("m", "InternalError"), ("IntSetAnalyzer", "Cast")),
    (("m", "InternalError"), ("unsigned",)),
]


@pytest.mark.parametrize("findings", [REMAINDERS, SETS, PADS, ZEROS])
def test_one_cause_has_one_set_of_words(findings: list[tuple[tuple[str, ...], tuple[str, ...]]]) -> None:
    assert len({words_of_cause(*finding) for finding in findings}) == 1


def test_others_keep_theirs() -> None:
    assert [words_of_cause(*finding) for finding in OTHERS] == [words for _, words in OTHERS]
