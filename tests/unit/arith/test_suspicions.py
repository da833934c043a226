"""Suspicions take turns, and those whose turn it is share children."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tzerlike.arith.suspicions import SuspicionQueue
from tzerlike.core.errors import Fault
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation, Stage

DEATH = Observation(Exit.CRASH, Stage.ANALYZE, "SIGABRT")


class Executor:
    """Reduces each problem to itself, and dies of those that it is given an end for."""

    limits = Limits(1.0)

    def __init__(self, ends: Mapping[str, Observation]) -> None:
        self.ends = ends
        self.children: list[list[str]] = []

    def attempt(
        self, job: str, item: Mapping[str, Any], limits: Limits
    ) -> tuple[list[dict[str, Any]], Observation | None]:
        self.children.append([suspicion["problem"] for suspicion in item["suspicions"]])
        records: list[dict[str, Any]] = []
        for problem in self.children[-1]:
            if problem in self.ends:
                return records, self.ends[problem]
            records.append({"found": {"problem": problem}})
        return records, None


def suspicions(hints: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {"iteration": index, "check": "simplify", "hint": hint, "problem": f"p{index}"}
        for index, hint in enumerate(hints)
    ]


def queued(asked: list[dict[str, Any]], hints: Mapping[str, int], **ends: Observation) -> tuple[SuspicionQueue, Any]:
    executor: Any = Executor(ends)
    return SuspicionQueue(executor, asked, hints), executor


def test_the_first_alike_have_their_turn_and_then_one_in_many() -> None:
    asked = suspicions("a" * 140)
    made, _ = queued(asked, {"a": 1})
    assert [index for index, suspicion in enumerate(asked) if made.due(suspicion)] == [0, 1, 2, 62, 126]


def test_sixteen_share_a_child() -> None:
    asked = suspicions([str(index) for index in range(20)])
    made, executor = queued(asked, {})
    assert [made.of(suspicion) for suspicion in asked] == [({"problem": f"p{index}"}, None) for index in range(20)]
    assert list(map(len, executor.children)) == [16, 4]


def test_what_comes_behind_a_death_is_reduced_in_another_child() -> None:
    asked = suspicions("abcd")
    made, executor = queued(asked, {}, p1=DEATH)
    assert [made.of(suspicion) for suspicion in asked] == [
        ({"problem": "p0"}, None),
        (None, DEATH),
        ({"problem": "p2"}, None),
        ({"problem": "p3"}, None),
    ]
    assert executor.children == [["p0", "p1", "p2", "p3"], ["p2", "p3"]]


def test_a_fault_of_ours_is_that_of_the_suspicion_under_way() -> None:
    asked = suspicions("abc")
    made, _ = queued(asked, {}, p1=Observation.of_fault(Fault("KeyError", (), "'x'"), Stage.ANALYZE))
    assert made.of(asked[0]) == ({"problem": "p0"}, None)
    with pytest.raises(Fault):
        made.of(asked[1])
    assert made.of(asked[2]) == ({"problem": "p2"}, None)


def test_one_that_nobody_asked_for_keeps_none_back() -> None:
    asked = suspicions("abc")
    made, _ = queued(asked, {}, p0=DEATH)
    assert made.of(asked[2]) == ({"problem": "p2"}, None)
