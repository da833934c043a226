"""Who is guilty of wrong results, asked of children that may die of the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import pytest

from tzerlike.core.case import Case
from tzerlike.core.effort import Effort
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import Ending, Ran, Results
from tzerlike.execution.diagnosis.ask_blame import ask_blame

WRONG = Results("defined", optimised=Ran(Ending.DIFFERS))
FOUND = replace(WRONG, guilty="take")
AGREES = asdict(Ran(Ending.AGREES))
ANSWERED = [{"asks": "baseline"}, {"asks": "baseline", "answer": AGREES}]


class Children:
    """Lay down records, one list each, and die at a stage, or not, in turn."""

    def __init__(self, *lives: tuple[list[dict[str, Any]], Stage | None], exits: Exit = Exit.CRASH) -> None:
        self._lives, self._exits, self.known = list(lives), exits, list[Mapping[str, Any]]()

    def __call__(
        self, job: str, item: Mapping[str, Any], limits: Limits | None = None
    ) -> tuple[list[dict[str, Any]], Observation | None]:
        self.known.append(dict(item["known"]))
        records, died_at = self._lives.pop(0) if len(self._lives) > 1 else self._lives[0]
        return records, died_at and Observation(self._exits, died_at, "SIGSEGV")


def _asked(children: Children) -> Results:
    return ask_blame(children, "blame", Case("{}", harness="graph"), WRONG, Limits(), Effort())


def test_what_a_child_finds_is_the_answer() -> None:
    assert _asked(Children(([*ANSWERED, {"results": FOUND.to_json()}], None))) == FOUND


@pytest.mark.parametrize(
    ("records", "stage", "known"),
    [
        (ANSWERED[:1], Stage.RUN, {"baseline": asdict(Ran(Ending.DIED, "SIGSEGV"))}),
        ([*ANSWERED, {"asks": "calls"}], Stage.RUN, {"baseline": AGREES, "calls": asdict(Ran(Ending.DIED, "SIGSEGV"))}),
        (ANSWERED, Stage.BUILD_BASELINE, {"baseline": AGREES}),
    ],
)
def test_another_child_goes_on_with_what_is_known(
    records: list[dict[str, Any]], stage: Stage, known: dict[str, Any]
) -> None:
    children = Children((records, stage), ([{"results": FOUND.to_json()}], None))
    assert _asked(children) == FOUND
    assert children.known == [{}, known]


@pytest.mark.parametrize("records", [[], ANSWERED])
def test_nobody_is_guilty_where_children_die_that_have_run_nothing(records: list[dict[str, Any]]) -> None:
    children = Children((records, Stage.BUILD_BASELINE), ([], Stage.BUILD_BASELINE))
    assert _asked(children) == WRONG
    assert len(children.known) == (2 if records else 1)


def test_a_run_that_memory_does_not_suffice_for_is_no_answer() -> None:
    children = Children((ANSWERED[:1], Stage.RUN), exits=Exit.OOM)
    assert _asked(children) == WRONG
    assert children.known == [{}]


def test_children_do_not_die_without_end() -> None:
    class Endless(Children):
        def __call__(
            self, job: str, item: Mapping[str, Any], limits: Limits | None = None
        ) -> tuple[list[dict[str, Any]], Observation | None]:
            super().__call__(job, item, limits)
            return [{"asks": f"call {len(self.known)}"}], Observation(Exit.TIMEOUT, Stage.RUN)

    children = Endless(([], None))
    assert _asked(children) == WRONG
    assert len(children.known) < 20
