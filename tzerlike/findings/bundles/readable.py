"""TVMScript that may stand for a program in what people read and run.

Not every program comes back from its own text: TVMScript's operators simplify, and some attributes have no syntax. A
text that gives another program stands for the first one where that shows the very same finding, on the same inputs
with the same results. Its JSON is the last resort: nobody reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.execution.compare.evidence import Evidence, evidence_for
from tzerlike.execution.rendering import Rendering


def readable_script(
    rendering: Rendering, finding: Finding, evidence: Evidence, judge: Callable[[Case], Iterable[Finding]]
) -> str:
    """Return the script where it shows `finding` too, which `evidence` belongs to; else "".

    `judge` runs a case once and returns what is found.
    """
    if rendering.faithful:
        return rendering.script
    if not rendering.again:
        return ""
    twin = replace(finding.case, ir=rendering.again)
    found = next((other for other in judge(twin) if other.signature == finding.signature), None)
    if found is None:
        return ""
    if evidence.parameters and evidence_for(twin, found.observation.results) != evidence:
        return ""
    return rendering.script
