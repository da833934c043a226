"""The shortest pass sequence with which TVM still fails: required before an internal error is reported.

A failure that takes a string of passes in an order that nobody uses says little about any of them. One that
the program gives by itself, or with a pass or two in front of the default pipeline, is somebody's bug.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from difflib import SequenceMatcher

from tzerlike.core.case import Case, PassSpec
from tzerlike.core.finding import Finding
from tzerlike.passes.tilelang import tile_pipeline

SHORT_KINDS = ("ice-on-valid", "invalid-ir")
"""Kinds of findings that are reported with a short sequence alone."""

MOST_PASSES = 2
"""Passes before the default pipeline that an internal error may need, or changes of what TileLang's driver runs."""

_MOST_TRIES = 8
"""Lowerings of tiles, of some seconds each, that are spent on getting back to the driver's."""

_Edit = tuple[bool, bool, PassSpec]
"""A pass: whether the driver runs it, whether the case does."""


def is_short(case: Case) -> bool:
    """Whether an internal error may be reported with the case as it is."""
    if case.config.pipeline == "tiles":
        return len(_changes(_edits(case))) <= MOST_PASSES
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
    where the signature has to stay. A pipeline of the case's own counts only if the program alone shows something;
    one of TileLang's driver that was varied goes back to it change by change.
    """
    case = finding.case
    plain = _plain(case)
    if case == plain:
        return finding
    for other in judge(plain):
        if other.signature == finding.signature or other.kind == finding.kind == "ice-on-valid":
            return other
    if case.config.pipeline == "tiles":
        return _restored(finding, judge) or carried()
    if case.config.pipeline != "default":
        return carried()
    for index in reversed(range(len(case.passes))):
        passes = finding.case.passes
        shorter = replace(case, passes=passes[:index] + passes[index + 1 :])
        finding = next((other for other in judge(shorter) if other.signature == finding.signature), finding)
    return finding if len(finding.case.passes) <= MOST_PASSES else carried()


def _restored(finding: Finding, judge: Callable[[Case], Iterable[Finding]]) -> Finding | None:
    """Return the finding with few changes of what TileLang's driver runs, None where they stay too many.

    Changes are undone by halves, then by quarters and so on, in _MOST_TRIES lowerings at most.
    """
    edits, tries = _edits(finding.case), 0
    size = len(_changes(edits)) // 2
    while size and tries < _MOST_TRIES:
        places = _changes(edits)
        for start in range(0, len(places), size)[: _MOST_TRIES - tries]:
            tries += 1
            undo = places[start : start + size]
            undone = [(ours, ours if i in undo else runs, spec) for i, (ours, runs, spec) in enumerate(edits)]
            nearer = replace(finding.case, passes=tuple(spec for _, runs, spec in undone if runs))
            same = next((other for other in judge(nearer) if other.signature == finding.signature), None)
            finding, edits = (finding, edits) if same is None else (same, undone)
        size //= 2
    return finding if is_short(finding.case) else None


def _edits(case: Case) -> list[_Edit]:
    """The passes of TileLang's driver and those of a case, side by side."""
    driver, own = tile_pipeline(case.target), case.passes
    edits: list[_Edit] = []
    for how, low, high, first, last in SequenceMatcher(None, driver, own, autojunk=False).get_opcodes():
        edits += [(True, how == "equal", spec) for spec in driver[low:high]]
        edits += [(False, True, spec) for spec in own[first:last] if how != "equal"]
    return edits


def _changes(edits: list[_Edit]) -> list[int]:
    """The places where a case differs from the driver."""
    return [index for index, (in_driver, runs, _) in enumerate(edits) if in_driver != runs]
