"""Labels against rejections that were looked at one by one (tests/data/pass_labels.json): no TVM.

Each row is a rejection by apache-tvm 0.27.0.post1: a program, the passes, the pass that raised ("" for
the build that follows), the first line of the message, and the label that a reader gave it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tzerlike.core.case import parse_sequence
from tzerlike.passes.facts import Fact
from tzerlike.passes.label import Label, label
from tzerlike.passes.preconditions import legal
from tzerlike.passes.sequence import Sequence

TABLE: dict[str, Any] = json.loads((Path(__file__).parents[2] / "data" / "pass_labels.json").read_text())
DEFAULT = parse_sequence(TABLE["default_pipeline"])


def test_the_table_is_large_and_covers_every_label() -> None:
    rows = TABLE["rejections"]
    assert len(rows) >= 60
    assert {row["label"] for row in rows} == set(Label)
    assert len({row["failing"] for row in rows}) >= 15


@pytest.mark.parametrize("row", TABLE["rejections"], ids=lambda row: f"{row['program']}-{row['failing'] or 'build'}")
def test_the_label_is_the_readers(row: dict[str, str]) -> None:
    facts = frozenset(Fact(fact) for fact in TABLE["programs"][row["program"]]["facts"])
    passes = parse_sequence(row["passes"]) + (DEFAULT if row["pipeline"] == "default" else ())
    given = label(passes, facts, row["failing"], row["message"])
    assert given == row["label"]
    if legal(passes, facts, to_code=True) is None:
        assert given is not Label.ILLEGAL_ORDER


@pytest.mark.parametrize(
    ("failing", "message", "facts"),
    [
        ("s_tir.CompactBufferAllocation", "IndexError: Index 0 out of bounds 0", {Fact.MISALIGNED}),
        (
            "s_tir.CompactBufferAllocation",
            "InternalError: vector::_M_range_check: __n (which is 5) >= this->size() (which is 2)",
            {Fact.MISALIGNED},
        ),
        ("s_tir.LowerOpaqueBlock", "IndexError: Index 0 out of bounds 0", {Fact.MISALIGNED}),
        ("tirx.VectorizeLoop", "InternalError: Cannot vectorize ShuffleNode with multiple vectors", set()),
        ("s_tir.LowerAutoCopy", "InternalError: Check failed: block->reads.size() >= 1 (0 vs. 1) : ", set()),
        ("s_tir.InjectVirtualThread", "InternalError: Check failed: (is_zero(op->min)) is false: ", set()),
        (
            "s_tir.InjectSoftwarePipeline",
            "ValueError: Index of the buffer exceeds the size of the write regions of the block. (0 vs. 0)",
            set(),
        ),
    ],
)
def test_annotations_that_do_not_fit_are_refused(failing: str, message: str, facts: set[Fact]) -> None:
    assert label(DEFAULT, frozenset(facts | {Fact.TARGET}), failing, message) is Label.DOCUMENTED_REFUSAL


DIVIDES = "InternalError: Check failed: pb->value != 0 (0 vs. 0) : Divide by zero"
FINDS = "InternalError: Check failed: (!divisor.is_const(0)) is false: Find divide by zero"
SHIFTS = "InternalError: Check failed: (pb->value >= 0) is false: Shift amount must be non-negative and less than 32"
NARROW = "ValueError: Check failed: (small.has_value()) is false: Literal value 4294967296 exceeds range of int32"
WIDE = "InternalError: The buffer b0 allocated in the function has dtype T.int64x2. The function is # from tvm.script"
ODD_LANES = (
    "InternalError: Check failed: lanes % 2 == 0 (1 vs. 0) : only support even lane for float type with lanes > 4"
)
VECTOR = (
    "InternalError: Check failed: (i >= 0 && i < (t.bits() == 8 ? 16 : (t.bits() == 16 || t.bits() == 32) ? 8 : 4)) is "
    "false: "
)
FORCED = parse_sequence("tirx.ForceNarrowIndexToInt32")
LANES = "InternalError: Check failed: lanes % 2 == 0 (1 vs. 0) : Only support an even number of lanes for half"
SYNC = "InternalError: Check failed: condition_counter() == 0 (1 vs. 0) : Cannot insert syncs inside condition"
FLAT = (
    "Check failed: shape.size() == 1 (2 vs. 1) : InjectVirtualThread expects rewritten allocations to be flat memory."
)
ASYNC = "InternalError: Check failed: (!in_async) is false: Nested async scopes not supported"
STEP = "InternalError: Loop step for i1 may not be positive: -2147483648"
STACK = "InternalError: Check failed: (dim_imm) is false: Can only handle constant size stack allocation for now"


@pytest.mark.parametrize(
    ("passes", "failing", "facts", "message", "refused"),
    [
        pytest.param(DEFAULT, "s_tir.StmtSimplify", {Fact.DIVISIONS}, DIVIDES, True, id="a division of the program's"),
        pytest.param(DEFAULT, "tirx.NarrowDataType", {Fact.DIVISIONS}, FINDS, True, id="a division that is narrowed"),
        pytest.param(DEFAULT, "s_tir.StmtSimplify", set(), DIVIDES, False, id="a division of TVM's own"),
        pytest.param(
            parse_sequence("s_tir.InjectVirtualThread"),
            "s_tir.InjectVirtualThread",
            set(),
            FLAT,
            True,
            id="not flat yet",
        ),
        pytest.param(
            parse_sequence("s_tir.InjectVirtualThread") + DEFAULT,
            "s_tir.InjectVirtualThread",
            set(),
            FLAT,
            True,
            id="not flat before the default pipeline",
        ),
        pytest.param(DEFAULT, "s_tir.InjectVirtualThread", set(), FLAT, False, id="flat, and made otherwise"),
        pytest.param(DEFAULT, "s_tir.InjectPTXAsyncCopy", set(), ASYNC, True, id="asynchronous in each other"),
        pytest.param(DEFAULT, "s_tir.CanonicalizeLoop", set(), STEP, True, id="a step that is not positive"),
        pytest.param(DEFAULT, "s_tir.ThreadSync", {Fact.CONDITIONS}, SYNC, True, id="a condition of the program's"),
        pytest.param(DEFAULT, "s_tir.ThreadSync", set(), SYNC, False, id="a condition of TVM's own"),
        pytest.param(
            DEFAULT, "", {Fact.RUN_TIME_MEMORY}, STACK, True, id="memory of a size that the program leaves open"
        ),
        pytest.param(DEFAULT, "", set(), STACK, False, id="memory of a size that a pass leaves open"),
        pytest.param(DEFAULT, "s_tir.StmtSimplify", {Fact.SHIFTS}, SHIFTS, True, id="a shift of the program's"),
        pytest.param(DEFAULT, "tirx.NarrowDataType", {Fact.SHIFTS}, SHIFTS, False, id="a shift that TVM narrows"),
        pytest.param(
            FORCED + DEFAULT,
            "tirx.ForceNarrowIndexToInt32",
            {Fact.SHIFTS},
            SHIFTS,
            False,
            id="a shift of 64 bits that TVM is told to narrow",
        ),
        pytest.param(FORCED + DEFAULT, "tirx.NarrowDataType", set(), NARROW, True, id="forced to be narrow"),
        pytest.param(FORCED + DEFAULT, "tirx.NarrowDataType", set(), WIDE, True, id="forced where buffers are wide"),
        pytest.param(DEFAULT, "", set(), VECTOR, True, id="a vector that CUDA has no type for"),
        pytest.param(DEFAULT, "", set(), ODD_LANES, True, id="a vector of an odd length"),
        pytest.param(DEFAULT, "tirx.NarrowDataType", set(), NARROW, False, id="narrow of TVM's own accord"),
        pytest.param(
            DEFAULT,
            "s_tir.CompactBufferAllocation",
            set(),
            "InternalError: Check failed: (it != relaxed_accesses_.end()) is false: B is allocated but not accessed",
            True,
            id="memory that nobody uses",
        ),
        pytest.param(
            DEFAULT,
            "",
            set(),
            "InternalError: Check failed: (val) is false: Shuffled indeces are suppose to be int, but get -1",
            True,
            id="a shuffle of lanes that there are not",
        ),
        pytest.param(
            DEFAULT,
            "tirx.LowerTVMBuiltin",
            set(),
            "InternalError: Check failed: (device_id_) is false: Unknown device id in current IR",
            True,
            id="memory in a launch on the host",
        ),
        pytest.param(
            DEFAULT,
            "tirx.VectorizeLoop",
            set(),
            "ValueError: Function target.target_has_feature not found",
            True,
            id="a feature of a target, asked of a TVM built without its code generator",
        ),
    ],
)
def test_what_tvm_does_not_do_is_refused_where_the_program_asks_for_it(
    passes: Sequence, failing: str, facts: set[Fact], message: str, refused: bool
) -> None:
    given = label(passes, frozenset(facts | {Fact.TARGET}), failing, message)
    assert given is (Label.DOCUMENTED_REFUSAL if refused else Label.INTERNAL_ERROR)


def test_an_index_out_of_range_is_an_error_where_nothing_is_to_be_aligned() -> None:
    message = "IndexError: Index 0 out of bounds 0"
    assert label(DEFAULT, frozenset({Fact.TARGET}), "s_tir.CompactBufferAllocation", message) is Label.INTERNAL_ERROR
