"""What a report says of a schedule primitive that changes what a program computes."""

from __future__ import annotations

import pytest

from tzerlike.core.finding import Signed
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.oracles import account_of


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("B[0] is 5, not 10 ± 0.0 (1 of 1 elements)", "computes something else: B[0] is 5, not 10."),
        (
            "B[0] is 0.30000001192092896, not 0.25 ± 8.238489003044758e-07 (1 of 4 elements)",
            "computes something else: B[0] is 0.3, not 0.25 ± 8.2e-07 (1 of 4 elements).",
        ),
        (
            "B[0] is 0.30000000000000004, not 0.3000000000000001 ± 0.0 (1 of 4 elements)",
            "computes something else: B[0] is 0.30000000000000004, not 0.3000000000000001 (1 of 4 elements).",
        ),
    ],
    ids=["whole", "a bound", "numbers that are close"],
)
def test_values_are_told_without_digits_that_tell_nothing(said: str, told: str) -> None:
    seen = Observation(Exit.OK, Stage.MUTATE, f"other values: {said}", "ReverseComputeAt")
    signed = Signed("wrong-code", ("schedule", "ReverseComputeAt", "other values"))
    account = account_of(signed, seen, {"schedule": {"calls": []}})
    assert account.place == "Schedule.reverse_compute_at"
    assert account.actual.endswith(told)


@pytest.mark.parametrize(
    ("said", "headline", "actual"),
    [
        (
            "block-region: writes A without declaring it: A[v] = 0",
            "leaves a block with undeclared writes",
            "leaves a block that writes A without declaring it: `A[v] = 0`.",
        ),
        (
            "block-region: writes element [1] of A, which the block does not declare: A[v] = 0",
            "leaves a block that declares too little",
            "leaves a block that writes element [1] of A, which the block does not declare: `A[v] = 0`.",
        ),
        (
            "block-region: element [1] is outside of what the block declares: A[v] = 0",
            "leaves a block that declares too little",
            "leaves a block that declares too little: element [1] is outside of what the block declares: `A[v] = 0`.",
        ),
        (
            "block-domain: 8 in the block B: block B",
            "makes a block run outside its domain",
            (
                "makes a program that executes a block outside its domain, so what it computes is undefined: "
                "an axis of the block B takes the value 8."
            ),
        ),
        (
            "block-domain: 8 for vi in the block B: block B",
            "makes a block run outside its domain",
            (
                "makes a program that executes a block outside its domain, so what it computes is undefined: "
                "the axis vi of the block B takes the value 8."
            ),
        ),
        (
            "uninitialised: A[v] = B[v] + ...; B is read before anything writes it",
            "makes a program read uninitialized memory",
            (
                "makes a program that reads uninitialized memory, so what it computes is undefined: "
                "B is read before anything writes it."
            ),
        ),
        (
            "uninitialised: A[v] = B[v]; B is read before anything writes it",
            "makes a program read uninitialized memory",
            (
                "makes a program that reads uninitialized memory, so what it computes is undefined: `A[v] = B[v]`; "
                "B is read before anything writes it."
            ),
        ),
    ],
)
def test_what_a_primitive_leaves_is_told_with_the_statement(said: str, headline: str, actual: str) -> None:
    seen = Observation(Exit.OK, Stage.MUTATE, said, "ReIndex")
    account = account_of(Signed("wrong-code", ("schedule", "ReIndex")), seen, {"schedule": {}})
    assert (account.headline, account.actual) == (f"Schedule.reindex {headline}", actual)


@pytest.mark.parametrize(
    ("said", "headline"),
    [
        ("A[0] is 1, not 2; A is initialized more than once", "Schedule.reindex: A is initialized more than once"),
        ("A[0] is 1, not 2", ""),
        (f"A[0] is 1, not 2; {'A' * 40} is initialized more than once", ""),
    ],
)
def test_a_title_tells_what_a_primitive_did_where_that_is_known(said: str, headline: str) -> None:
    seen = Observation(Exit.OK, Stage.MUTATE, f"other values: {said}", "ReIndex")
    account = account_of(Signed("wrong-code", ("schedule", "ReIndex", "other values")), seen, {"schedule": {}})
    assert account.headline == headline


@pytest.mark.parametrize(
    ("kind", "method"), [("ReIndex", "reindex"), ("RFactor", "rfactor"), ("CacheWrite", "cache_write")]
)
def test_primitives_are_called_as_people_call_them(kind: str, method: str) -> None:
    seen = Observation(Exit.OK, Stage.MUTATE, "uninitialised: A", kind)
    account = account_of(Signed("wrong-code", ("schedule", kind)), seen, {"schedule": {}})
    assert account.headline == f"Schedule.{method} makes a program read uninitialized memory"


def test_what_a_primitive_raises_is_told_without_addresses() -> None:
    said = (
        "InternalError: Check failed: block_realize == old_block_realize_.get() (0x5555565e5310 vs. 0x5555565b5dd0) :"
    )
    seen = Observation(Exit.REJECTED, Stage.MUTATE, said, "Schedule.rfactor")
    account = account_of(Signed("ice-on-valid", ("schedule", "rfactor")), seen, {"mutation": {}, "calls": []})
    raised = "InternalError: Check failed: block_realize == old_block_realize_.get()"
    assert account.actual == f"raises `{raised}` in the last of these calls:"
