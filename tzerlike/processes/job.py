"""The requests to a runner's child: cases, or a job from a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tzerlike.core.case import Case
from tzerlike.core.effort import Effort
from tzerlike.processes.channel import Channel

Job = Callable[[Mapping[str, Any], Channel, float], None]
"""What is to be done, where the results go, seconds of processor time a step."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """What a case is run with: `blocks` returns how many blocks the child has been the first to reach so far, and
    `paced` is called with whether processor time is limited from now on. `exploring` means that the case is one of
    many; with `spares_baseline` it has no baseline build where the interpreter knows the results, and with `spares_run`
    it is not run there if it reached nothing new and the program computes the same once it is lowered."""

    blocks: Callable[[], int] = lambda: 0
    paced: Callable[[bool], None] = lambda limited: None
    exploring: bool = False
    spares_baseline: bool = False
    spares_run: bool = False


ALONE = RunContext()


class RunCase(Protocol):
    """Takes a case through its stages and returns the fields of its record (tzerlike.execution.record).

    With `baseline_known` its baseline build has been right on this program and these inputs before.
    """

    def __call__(
        self, case: Case, channel: Channel, around: RunContext, effort: Effort, baseline_known: bool, /
    ) -> dict[str, Any]: ...


def no_cases(
    case: Case, channel: Channel, around: RunContext, effort: Effort, baseline_known: bool, /
) -> dict[str, Any]:
    """For children that only ever do jobs."""
    raise ValueError("this runner takes no cases")
