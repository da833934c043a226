"""A schedule cut down to its last step: the program that this is given takes the place of the one that was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tzerlike.core.case import Case
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.bundles.bundle import Bundle
from tzerlike.findings.programs import Programs
from tzerlike.findings.reduction.judge import FindingJudge
from tzerlike.findings.retrial import retrial_of
from tzerlike.oracles.examiner import ask_for, last_step_alone

_MORE = 3
"""Statements that the program may have more: a step that caches a buffer makes so many, and takes as long to read."""


def with_last_step_alone(bundle: Bundle, executor: ForkExecutor, oracles: Sequence[str], programs: Programs) -> Bundle:
    """Return the bundle with the last step of its schedule alone, where that shows the same and is as good a program;
    the bundle as it is where not."""
    if bundle.probe is None:
        return bundle
    case = bundle.stored.case
    found = last_step_alone(bundle.probe, ask_for(bundle.probe, executor.call), case, bundle.environment)
    if found is None:
        return bundle
    later, held = found
    if _statements(later, programs) > _statements(case, programs) + _MORE:
        return bundle
    other = replace(bundle, stored=replace(bundle.stored, case=later), environment={**bundle.environment, **held})
    judge, others = (
        FindingJudge(retrial_of(one, executor, oracles, programs), one, programs) for one in (bundle, other)
    )
    shows = others.finding(later) is not None and others.first_tier >= judge.first_tier
    sound = programs.accepted(case) <= programs.accepted(later) and programs.odd(later) <= programs.odd(case)
    return other if shows and sound else bundle


def _statements(case: Case, programs: Programs) -> int:
    return programs.size(case).numbers.get("statements", 0)
