"""Bundles of the arithmetic harness: the same files as any bundle, with their own kind of case.json."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tzerlike.arith.case import ArithCase
from tzerlike.arith.inspect import AnalysisOutcome
from tzerlike.arith.regression import analysis_regression_test
from tzerlike.arith.report import arith_report
from tzerlike.arith.repro import analysis_repro_script, module_source
from tzerlike.core.archive import no_arrays
from tzerlike.core.finding import Signed
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Observation
from tzerlike.core.storage import json_text
from tzerlike.findings.bundles.bundle import Confirmation, observation_text, store_bundle
from tzerlike.findings.issue.pytest_file import TEST_FILE
from tzerlike.systems.text import script_for


def write_arith_bundle(
    directory: Path,
    finding: Signed,
    case: ArithCase,
    seen: Observation,
    outcome: AnalysisOutcome | None,
    limits: Limits,
    confirmation: Confirmation,
    environment: Mapping[str, Any],
) -> Path | None:
    """Write a bundle whole or not at all; None when its signature has one already."""
    test = analysis_regression_test(finding, case.check, case.problem, outcome, limits)
    files: dict[str, str | bytes] = {
        "case.json": json_text(case.to_json()),
        "module.py": module_source(case.problem),
        "inputs.npz": no_arrays(),
        "observation.json": observation_text(finding, seen, limits, confirmation, environment),
        "repro.py": analysis_repro_script(finding, case.check, case.problem, outcome, limits),
        TEST_FILE: test,
        "report.md": arith_report(
            finding, case, seen, outcome, confirmation.runs, confirmation.same, environment, test, confirmation.tier
        ),
    }
    version = str(environment.get("tvm", ""))
    return store_bundle(
        directory,
        finding,
        {
            name: script_for(version, text) if isinstance(text, str) and not name.endswith(".json") else text
            for name, text in files.items()
        },
    )
