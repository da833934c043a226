"""The texts of a bundle of a model."""

from __future__ import annotations

from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.findings.bundles.bundle import Texts
from tzerlike.findings.repro import replaying
from tzerlike.graph.model import read_model


def texts(finding: Finding, limits: Limits) -> Texts:
    return Texts(f'"""\n{read_model(finding.case.ir)}\n"""\n', replaying(finding.title))
