"""What fails in its compilation is looked for without running anything; everything else as it was found."""

from __future__ import annotations

import pytest

from tzerlike.core.effort import Check, Effort
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import Results
from tzerlike.findings.sufficing import sufficing

ALL = Effort(frozenset(Check), layout=3)


@pytest.mark.parametrize("exit_", [Exit.CRASH, Exit.REJECTED, Exit.TIMEOUT])
def test_nothing_is_run_where_compiling_failed(exit_: Exit) -> None:
    effort = sufficing(ALL, Observation(exit_, Stage.PASSES))
    assert ALL.checks - effort.checks == {Check.RESULTS, Check.SPEED}
    assert effort.layout == 3


@pytest.mark.parametrize(
    "seen",
    [
        Observation(Exit.OK, Stage.DONE),
        Observation(Exit.OK, Stage.DONE, results=Results("defined")),
        # Machine code is made behind the interpreter, and only where results are asked for.
        Observation(Exit.CRASH, Stage.BUILD, results=Results("defined")),
    ],
)
def test_what_shows_behind_that_is_looked_for_in_full(seen: Observation) -> None:
    assert sufficing(ALL, seen) == ALL
