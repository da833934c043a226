"""Of a long sequence the passes that are blamed are tried first."""

from __future__ import annotations

from tzerlike.core.case import Case, parse_sequence
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.findings.reduction.guilty import guilty_passes

CASE = Case("program", parse_sequence("tirx.Simplify; tirx.UnrollLoop; tirx.VectorizeLoop; tirx.RemoveNoOp"))


def offered(blamed: str) -> list[str]:
    reducer = guilty_passes(Observation(Exit.CRASH, Stage.PASSES, "SIGSEGV", blamed, 11))
    made = [attempt() for attempt in reducer(CASE)]
    return [" ".join(spec.name.partition(".")[2] for spec in case.passes) for case in made if case is not None]


def test_the_guilty_pass_is_tried_alone_and_with_what_came_before_it() -> None:
    assert offered("tirx.VectorizeLoop") == [
        "VectorizeLoop",
        "Simplify UnrollLoop VectorizeLoop",
        "UnrollLoop VectorizeLoop",
    ]


def test_nothing_is_offered_where_nobody_is_blamed() -> None:
    assert offered("") == offered("tirx.LowerIntrin") == []
