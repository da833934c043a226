"""What a probe finds is looked for at a program with nothing odd about it, before its bundle is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.unit.findings.test_tiers import NOBODY, Named
from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.bundles import examined
from tzerlike.oracles.examiner import Look
from tzerlike.oracles.protocol import Environment, Probe

FOUND = Finding("wrong-code", ("schedule",), Case("odd"), Observation(Exit.OK, Stage.MUTATE))
PROBE = Probe("schedule", "nowhere", lambda finding, seen, environment: True)


class Mending(Named):
    def mended(self, executor: ForkExecutor, case: Case) -> Iterator[Case]:
        return (replace(case, ir=name) for name in ("still odd", "plain"))


@pytest.mark.parametrize(
    ("shows", "plain", "best", "tier"),
    [
        ({"still odd", "plain"}, {"plain"}, "plain", 1),
        ({"still odd"}, {"plain"}, "odd", 2),
        ({"plain"}, set(), "odd", 2),
        (set(), {"odd"}, "odd", 1),
    ],
    ids=["it survives", "it takes what is odd", "nothing is plain", "it is plain itself"],
)
def test_the_better_program_is_kept(
    monkeypatch: pytest.MonkeyPatch, shows: set[str], plain: set[str], best: str, tier: int
) -> None:
    def look(executor: ForkExecutor, probe: Probe, held: Environment, case: Case) -> Look:
        return Look((replace(FOUND, case=case),) if case.ir in shows else ())

    monkeypatch.setattr(examined, "look_again", look)
    kept, found = examined.tiered_look(NOBODY, Mending(*plain), PROBE, Look((FOUND,)))
    assert (kept.findings[0].case.ir, found) == (best, tier)
