"""Writes an outcome in every format."""

from __future__ import annotations

import json
from pathlib import Path

from tzerlike.core.storage import make_directories, write_atomic
from tzerlike.reporting.ci.junit import junit_xml
from tzerlike.reporting.ci.markdown import summary
from tzerlike.reporting.ci.outcome import CiOutcome
from tzerlike.reporting.ci.sarif import sarif_log

JUNIT, SARIF, SUMMARY = "junit.xml", "results.sarif", "summary.md"


def write_files(outcome: CiOutcome, output: Path) -> None:
    """Write the three files into `output`; paths in SARIF are relative to the working directory. UserError if not."""
    make_directories("--output", output)
    texts = {
        JUNIT: junit_xml(outcome),
        SARIF: json.dumps(sarif_log(outcome, Path.cwd()), indent=1) + "\n",
        SUMMARY: summary(outcome),
    }
    for name, text in texts.items():
        write_atomic(output / name, text.encode("utf-8", "backslashreplace"))
