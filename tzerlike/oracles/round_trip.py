"""The round-trip oracle: TVM does not read back a program from its own TVMScript."""

from __future__ import annotations

from tzerlike.core.case import Case
from tzerlike.core.finding import ROUND_TRIP, Finding
from tzerlike.core.observation import Observation, Stage


def judge_round_trip(case: Case, observation: Observation) -> Finding | None:
    """Return the ice-on-valid finding of a program that does not survive its text (tzerlike.findings.bundles.text).

    `pass_name` is what failed, the first line of `message` its cause.
    """
    if observation.stage is not Stage.TEXT:
        return None
    cause = observation.message.partition("\n")[0]
    return Finding("ice-on-valid", (ROUND_TRIP, observation.pass_name, cause), case, observation)
