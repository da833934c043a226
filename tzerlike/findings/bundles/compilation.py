"""The bundle of a finding from a compilation: confirmed as a replay will run it, then written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.storage import json_text, write_atomic
from tzerlike.core.stored import StoredCase
from tzerlike.core.untrusted import one_line
from tzerlike.execution.compare.evidence import Evidence
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.bundles.bundle import Confirmation, observation_text, store_bundle, write_bundle
from tzerlike.findings.programs import JudgeCase, Programs
from tzerlike.findings.repro import replaying
from tzerlike.processes.heap import layouts_for
from tzerlike.systems.refusal import lacks_memory

_HANG_FACTOR = 3.0
_ALL_MEMORY = 1 << 46
"""Half of what a process can address on x86-64, in bytes."""


def confirming_limits(finding: Finding, limits: Limits) -> Limits:
    """What a run that confirms a finding may use: a hang has to last three times as long, and a request for memory has
    to be refused without a limit of ours."""
    if finding.kind == "ice-on-valid" and lacks_memory(finding.observation.refusal):
        return replace(limits, memory=_ALL_MEMORY)
    return limits.relaxed(_HANG_FACTOR) if finding.kind == "hang" else limits


def confirmed(kind: str, evidence: Evidence, archive: Path, shows: Callable[[int, str], bool]) -> Confirmation:
    """Run a finding of `kind` again as `tzerlike replay` will: from its bundle's archive, on one heap after another.

    `shows` runs it on a heap (tzerlike.processes.heap) with the inputs of an archive; `archive` is where that may lie
    meanwhile.
    """
    write_atomic(archive, evidence.archive)
    inputs = str(archive.resolve())
    try:
        shown = [shows(layout, inputs) for layout in layouts_for(kind)]
    finally:
        archive.unlink()
    return Confirmation(len(shown), sum(shown))


def bundle_compilation(
    directory: Path,
    executor: ForkExecutor,
    programs: Programs,
    finding: Finding,
    stored: StoredCase,
    limits: Limits,
    confirmation: Confirmation,
    evidence: Evidence,
    judge: JudgeCase,
    environment: Mapping[str, Any],
) -> Path | None:
    """Write the bundle of a finding that was confirmed; None when its signature has one already."""
    texts = programs.texts(executor, finding, limits, evidence, judge)
    kept = replace(stored, case=finding.case)
    return write_bundle(directory, finding, kept, limits, confirmation, texts, environment, evidence.archive)


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
