"""The bundle of what occurred in a compilation: confirmed as a replay will run it, then written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.storage import json_text, write_atomic
from tzerlike.core.stored import StoredCase
from tzerlike.core.untrusted import one_line
from tzerlike.execution.compare.evidence import Evidence, evidence_for
from tzerlike.execution.executor import ForkExecutor
from tzerlike.execution.rendering import Rendering, rendered
from tzerlike.findings.bundles.bundle import Confirmation, observation_text, store_bundle, write_bundle
from tzerlike.findings.issue.regression import regression_test
from tzerlike.findings.repro.parts import replaying
from tzerlike.findings.repro.script import repro_script
from tzerlike.processes.heap import layouts_for

_HANG_FACTOR = 3.0


def confirming_limits(kind: str, limits: Limits) -> Limits:
    """What a run that confirms a finding may use: a hang has to last three times as long."""
    return limits.relaxed(_HANG_FACTOR) if kind == "hang" else limits


def confirmed(kind: str, evidence: Evidence, archive: Path, shows: Callable[[int, str], bool]) -> Confirmation:
    """Run a finding of `kind` again as `tzerlike replay` will: from its bundle's archive, on one heap after another.

    `shows` runs it on a heap (tzerlike.processes.heap) with the inputs of an archive; `archive` is where that may lie
    meanwhile.
    """
    write_atomic(archive, evidence.archive)
    inputs = str(archive.resolve())
    shown = [shows(layout, inputs) for layout in layouts_for(kind)]
    archive.unlink()
    return Confirmation(len(shown), sum(shown))


def bundle_compilation(
    directory: Path,
    executor: ForkExecutor,
    finding: Finding,
    stored: StoredCase,
    limits: Limits,
    confirmation: Confirmation,
    evidence: Evidence,
    judge: Callable[[Case], Iterable[Finding]],
    environment: Mapping[str, Any],
) -> Path | None:
    """Write the bundle of a finding that was confirmed; None when its signature has one already.

    `judge` runs a case once and returns what is found.
    """
    rendering = rendered(executor, finding.case)
    readable = readable_script(rendering, finding, evidence, judge)
    return write_bundle(
        directory,
        finding,
        replace(stored, case=finding.case),
        limits,
        confirmation,
        rendering.script,
        repro_script(finding, limits, readable, evidence.parameters),
        environment,
        evidence.archive,
        regression_test(
            finding, confirming_limits(finding.kind, limits), readable, evidence.parameters, evidence.archive
        ),
    )


def readable_script(
    rendering: Rendering, finding: Finding, evidence: Evidence, judge: Callable[[Case], Iterable[Finding]]
) -> str:
    """Return the TVMScript that may stand for a program in what people read and run; "" where its JSON has to.

    Not every program comes back from its own text: TVMScript's operators simplify, and some attributes have no syntax.
    A text that gives another program stands for the first one where that shows the very same `finding`, on the same
    inputs with the same results, which are its `evidence`. `judge` runs a case once and returns what is found.
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


def bundle_plainly(
    directory: Path,
    finding: Finding,
    stored: StoredCase,
    limits: Limits,
    confirmation: Confirmation,
    evidence: Evidence,
    environment: Mapping[str, Any],
) -> Path | None:
    """Write the bundle of a finding for which `bundle_compilation` fails: what a replay goes by, without what is made
    for people to read. None when its signature has one already."""
    stored = replace(stored, case=finding.case)
    files: dict[str, str | bytes] = {
        "case.json": json_text(stored.to_json()),
        "module.py": "# tzerlike failed to print this module; case.json holds it.\n",
        "inputs.npz": evidence.archive,
        "observation.json": observation_text(finding, finding.observation, limits, confirmation, environment),
        "repro.py": replaying(finding.title),
        "report.md": f"# {one_line(finding.title)}\n\ntzerlike failed to write this report; see faults/.\n",
    }
    return store_bundle(directory, finding, files)
