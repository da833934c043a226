"""The shortest pass sequence that still makes TVM fail: what an internal error has to show before it is reported.

A failure that takes a string of passes in an order that nobody uses says little about any of them. One that
the program gives by itself, or with a pass or two in front of the default pipeline, is somebody's bug.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.passes.tilelang import tile_pipeline

SHORT_KINDS = ("ice-on-valid", "invalid-ir")
"""Kinds of findings that are reported with a short sequence alone."""

MOST_PASSES = 2
"""Passes in front of the default pipeline that an internal error may need."""


def is_short(case: Case) -> bool:
    """Whether an internal error may be reported with the case as it is."""
    if case.config.pipeline == "tiles":
        return case.passes == tile_pipeline(case.target)
    return case.config.pipeline == "default" and len(case.passes) <= MOST_PASSES


def _plain(case: Case) -> Case:
    """The program with what everybody runs on it: TVM's default pipeline, or what TileLang's driver runs on tiles."""
    if case.config.pipeline == "tiles":
        return replace(case, passes=tile_pipeline(case.target))
    return replace(case, passes=(), config=replace(case.config, pipeline="default"))


def shortened(
    finding: Finding,
    judge: Callable[[Case], Iterable[Finding]],
    carried: Callable[[], Finding | None] = lambda: None,
) -> Finding | None:
    """Return the finding of the same kind with the fewest passes; when it takes more than MOST_PASSES, the one that
    `carried` has: what passes make may be a program of its own.

    First the program alone, where any internal error will do; then without each pass in turn, last to first,
    where the signature has to stay. A pipeline of the case's own counts only if the program alone shows something.
    """
    case = finding.case
    plain = _plain(case)
    if case == plain:
        return finding
    for other in judge(plain):
        if other.signature == finding.signature or other.kind == finding.kind == "ice-on-valid":
            return other
    if case.config.pipeline != "default":
        return carried()
    for index in reversed(range(len(case.passes))):
        passes = finding.case.passes
        shorter = replace(case, passes=passes[:index] + passes[index + 1 :])
        finding = next((other for other in judge(shorter) if other.signature == finding.signature), finding)
    return finding if len(finding.case.passes) <= MOST_PASSES else carried()
