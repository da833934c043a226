"""What passes make of the sizes of buffers is reported of programs alone that may not access them out of bounds."""

from __future__ import annotations

import pytest

from tzerlike.core.case import Case
from tzerlike.core.observation import Exit, Observation, Offence, Stage
from tzerlike.core.results import Rejection, Results
from tzerlike.oracles.ill_typed import judge_ill_typed


@pytest.mark.parametrize(
    ("verdict", "support", "found"),
    [
        ("defined", None, True),
        ("undefined", None, False),
        (None, "", False),
        (None, "defined", True),
        (None, None, True),
    ],
)
def test_a_program_that_may_stray_has_no_claim_on_sizes(verdict: str | None, support: str | None, found: bool) -> None:
    results = None if verdict is None else Results(verdict)
    rejection = None if support is None else Rejection("internal-error", True, support)

    def judged(rule: str, where: str) -> bool:
        offence = Offence("types", "s_tir.P", rule, where)
        seen = Observation(Exit.OK, Stage.DONE, results=results, rejection=rejection, offences=(offence,))
        return judge_ill_typed(Case("{}"), seen) is not None

    assert judged("buffer", "a buffer of a negative extent") == found
    assert judged("vector", "Ramp of 2147483646 lanes typed int32xvscalex2") == found
    assert judged("vector", "Ramp of 4 lanes typed int32"), "types are wrong whatever the program does"
