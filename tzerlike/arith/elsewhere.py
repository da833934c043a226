"""A stored problem on another TVM, in the process of its Python (tzerlike.findings.versions.guest)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tzerlike.arith.checks import CHECKS
from tzerlike.arith.inspect import Table, run_analysis
from tzerlike.arith.model import Problem
from tzerlike.core.observation import Exit, Stage
from tzerlike.findings.versions.judge import UNLOADABLE
from tzerlike.processes.channel import Channel


def judge_stored(item: Mapping[str, Any], channel: Channel) -> dict[str, Any]:
    """Return the record of a problem under its check: the exception that TVM raised, or `wrong`, whether it claims
    something false.

    `item` has `stored`, what a bundle's case.json says.
    """
    stored = item["stored"]
    check, problem = CHECKS.get(stored["check"]), Problem.from_json(stored["problem"])
    if check is None or not check.applies(problem):
        return {UNLOADABLE: f"no check {stored['check']} of this problem"}
    channel.enter_stage(Stage.ANALYZE)
    channel.note_pass(stored["check"])
    outcome = run_analysis(Table.of(problem), check)
    if outcome.refused:
        return {"exit": Exit.REJECTED.value, "message": outcome.error}
    if outcome.error:
        return {UNLOADABLE: outcome.error}
    return {"exit": Exit.OK.value, "wrong": outcome.wrong is not None}
