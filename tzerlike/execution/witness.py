"""The witness of wrong code: whether the program, written as C, computes what the build was expected to."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tzerlike.core.archive import read_arrays
from tzerlike.core.case import TIR, Case
from tzerlike.core.errors import Fault
from tzerlike.core.finding import Finding
from tzerlike.execution.compare.evidence import Evidence
from tzerlike.systems.tvm_api import llvm_intrinsic_name
from tzerlike.tir.witness.verdict import Deposition, WitnessQuestion, depositions

OBJECTION = "WitnessObjects"
"""The kind of a fault: of our two readings of a program, one is wrong."""


def heard(finding: Finding, evidence: Evidence) -> Deposition | None:
    """Return what the witness says of the values that wrong code was compared with; None for another finding."""
    asked = finding.kind == "wrong-code" and finding.case.harness == TIR
    return testimony(finding.case, evidence) if asked else None


def testimony(case: Case, evidence: Evidence) -> Deposition:
    """Return what the witness says of what the interpreter computes of the case's program."""
    with tempfile.TemporaryDirectory(prefix="tzerlike-") as directory:
        archive = Path(directory) / "inputs.npz"
        archive.write_bytes(evidence.archive)
        (said,) = depositions([WitnessQuestion(case.ir, read_arrays(archive))], llvm_intrinsic_name)
    return said


def objection_fault(finding: Finding, said: Deposition) -> Fault:
    """The fault that is kept in place of a finding that the witness objects to."""
    return Fault(OBJECTION, (finding.signature,), f"{finding.title}\n{said.reason}\n", "ask the witness")
