"""An internal error on a program that does not count as valid: the search for a smaller one that shows it and does.

The error is one of compilation, and what is wrong with the program may have nothing to do with it: an access out of
bounds in another statement, or passes in an odd order.
"""

from __future__ import annotations

from collections.abc import Sequence

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Exit, Observation, message_template
from tzerlike.core.shrink import Task, search
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.programs import Programs
from tzerlike.findings.sufficing import sufficing
from tzerlike.oracles import judged
from tzerlike.oracles.protocol import Judge
from tzerlike.passes.label import Label
from tzerlike.passes.naming import short_name

CANDIDATES = 30
"""Smaller cases that are tried at most: of 30 searches 9 found one, by the 24th at the latest."""

DEFINING_SHARE = 0.05
"""Of the cases of a campaign so many may be tried so, and one search more."""


def doubtful(seen: Observation) -> bool:
    """Whether TVM failed on a case that does not count as valid."""
    said = seen.rejection
    return (
        seen.exit is Exit.REJECTED
        and said is not None
        and said.label == Label.INTERNAL_ERROR.value
        and not (said.well_formed and said.support)
    )


def what_failed(seen: Observation) -> tuple[str, ...]:
    """What stays the same of an error while the case gets smaller."""
    return seen.exit.value, short_name(seen.pass_name), message_template(seen.message)


def defined_finding(
    case: Case, seen: Observation, executor: ForkExecutor, programs: Programs, oracles: Sequence[Judge]
) -> tuple[Finding | None, int]:
    """Return the finding of a smaller case that fails as `case` did, which was `seen`, and how many were tried."""
    found: list[Finding] = []
    tried: list[Case] = []
    accepted = programs.accepted(case)
    effort = sufficing(executor.effort, seen)

    def keeps(other: Case) -> bool:
        tried.append(other)
        (again,) = executor.run([other], count=False, effort=effort)
        if what_failed(again) != what_failed(seen):
            return False
        if not doubtful(again) and accepted <= programs.accepted(other):
            found.extend(judged(oracles, other, again))
        return True

    task = Task(tuple(programs.reducers.values()), programs.size, lambda other: other.id, keeps)
    search(case, task, stop=lambda: bool(found) or len(tried) >= CANDIDATES)
    return next(iter(found), None), len(tried)
