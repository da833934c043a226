"""The tier of a finding: 1 if users of the compiler can meet it, 2 if it needs an unusual order of passes.

A finding of the first tier is shown by the default pipeline with default options, or by one primitive of a legal
schedule, on a program that somebody would write (`Programs.plain`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from tzerlike.core.case import Case
from tzerlike.core.finding import FIRST_TIER, SECOND_TIER, Finding
from tzerlike.core.observation import Stage
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.programs import Programs
from tzerlike.oracles.documented import is_documented
from tzerlike.oracles.metamorphic import PADDING

_CHECKED_VALUE = "ValueError: Check failed"
"""How an error begins that TVM chose the class of: its internal checks raise InternalError."""

Likeness = Callable[[Finding, Finding], bool]
"""Whether the second finding may stand for the first."""


def same_signature(one: Finding, other: Finding) -> bool:
    return one.signature == other.signature


def tiered(
    finding: Finding,
    executor: ForkExecutor,
    programs: Programs,
    judge: Callable[[Case], Iterable[Finding]],
    alike: Likeness = same_signature,
) -> tuple[Finding, int]:
    """Return the finding with its tier: on the plain program that shows it in the default pipeline, where there is one,
    else on its own program there, where that shows it.

    Only a finding that is `alike` takes its place. What the baseline build alone shows no user would meet.
    """
    if finding.observation.is_of_baseline:
        return finding, SECOND_TIER
    same = partial(alike, finding)
    found = shown_plainly(finding, executor, programs, judge, same)
    if found is not None:
        return found, FIRST_TIER
    usual = programs.usual(finding.case)
    shown = () if usual == finding.case else judge(usual)
    return next(filter(same, shown), finding), SECOND_TIER


def shown_plainly(
    finding: Finding,
    executor: ForkExecutor,
    programs: Programs,
    judge: Callable[[Case], Iterable[Finding]],
    alike: Callable[[Finding], bool],
) -> Finding | None:
    """Return the first finding of a plain program that may show `finding` in the default pipeline, and is `alike`."""
    shown = (other for case in programs.carried(executor, finding) for other in judge(case))
    return next(filter(alike, shown), None)


def tier_of_case(finding: Finding, executor: ForkExecutor, programs: Programs) -> int:
    """Return the tier of what was found in a compilation, on this case and no other."""
    case = finding.case
    usual = programs.shipped(case) and not finding.observation.is_of_baseline
    return FIRST_TIER if usual and programs.plain(executor, case, printed=True) else SECOND_TIER


def tier_of_look(finding: Finding, executor: ForkExecutor, programs: Programs, excluded: bool = False) -> int:
    """Return the tier of what a probe found: a program that cannot be printed need not come back from its text.

    Some will say that what a program never computes may hold anything, that what the documentation shows is meant, that
    a ValueError is a refusal under another name, and that nobody should ask for what the documentation excludes
    (`excluded`).
    """
    seen = finding.observation
    if excluded or is_documented(finding):
        return SECOND_TIER
    if seen.stage is Stage.MUTATE and seen.message.startswith((_CHECKED_VALUE, f"{PADDING}:")):
        return SECOND_TIER
    plain = programs.plain(executor, finding.case, printed=seen.stage is not Stage.TEXT)
    return FIRST_TIER if plain else SECOND_TIER
