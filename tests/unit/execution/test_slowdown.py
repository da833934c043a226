"""When runs are long enough to stay so on another machine."""

from __future__ import annotations

import pytest

from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import Results, Timing
from tzerlike.execution.compare.slowdown import LEAST_SECONDS, lasts, slower


@pytest.mark.parametrize(("times", "long"), [(1.1, False), (2.5, True)])
def test_what_is_only_just_long_enough_does_not_last(times: float, long: bool) -> None:
    first, second = (tuple(share * times * LEAST_SECONDS for _ in range(40)) for share in (0.25, 1.0))
    timing = Timing(first, second, 1.0)
    assert slower(timing)
    assert lasts(Observation(Exit.OK, Stage.DONE, results=Results("defined", timing=timing))) is long


def test_what_was_not_timed_lasts() -> None:
    assert lasts(Observation(Exit.CRASH, Stage.BUILD))
    assert lasts(Observation(Exit.OK, Stage.DONE, results=Results("defined")))
