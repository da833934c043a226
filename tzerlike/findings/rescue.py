"""Wrong code that does not count because the case misused a pass: it is looked for in cases without an excuse."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.programs import Programs
from tzerlike.findings.tiers import shown_plainly


def without_misuse(
    suspicion: Finding, executor: ForkExecutor, programs: Programs, judge: Callable[[Case], Iterable[Finding]]
) -> Finding | None:
    """Return what is found of the kind of `suspicion`: on a plain program, else without the pass that was misused."""

    def alike(other: Finding) -> bool:
        return other.kind == suspicion.kind

    found = shown_plainly(suspicion, executor, programs, judge, alike)
    case, results = suspicion.case, suspicion.observation.results
    misused = "" if results is None else results.misused
    if found is not None or not misused:
        return found
    rest = replace(case, passes=tuple(spec for spec in case.passes if spec.name != misused))
    return next(filter(alike, judge(rest)), None)
