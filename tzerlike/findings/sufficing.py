"""What is needed to reproduce a finding: a failed compilation can be seen without running the program."""

from __future__ import annotations

from dataclasses import replace

from tzerlike.core.effort import Check, Effort
from tzerlike.core.observation import Exit, Observation


def sufficing(effort: Effort, seen: Observation) -> Effort:
    """Return the effort of a campaign without what comes after the failure that was `seen`.

    A case that fails as that one did is compiled no further, so for it both are the same; one that does not fail is
    found out sooner.
    """
    if seen.exit is Exit.OK or seen.results is not None:
        return effort
    return replace(effort, checks=effort.checks - {Check.RESULTS, Check.SPEED})
