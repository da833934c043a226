"""Stored cases of any harness, including those of plug-ins."""

from __future__ import annotations

from pathlib import Path

from tzerlike.core.case import TIR, Case
from tzerlike.core.errors import UserError
from tzerlike.core.harness import HARNESSES, HarnessRow
from tzerlike.core.stored import StoredCase, stored_case
from tzerlike.core.untrusted import read_json
from tzerlike.plugins import harness_named


def read_case(path: Path) -> StoredCase:
    """Read a corpus file or a bundle's case.json; UserError in one line when it is not one, or may not be run."""
    stored = stored_case(path)
    try:
        require_runnable(stored.case)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    return stored


def require_runnable(case: Case) -> None:
    """UserError in one line unless the harness of `case` is known and lets it run."""
    harness = harness_named(case.harness)
    if harness.check:
        harness.load("check")(case)


def harness_of(bundle: Path) -> HarnessRow:
    """Return the harness that a bundle's case.json names; that of tensor IR where it names none or cannot be read.

    UserError where it is a plug-in's that is not installed.
    """
    try:
        data = read_json(bundle / "case.json")
    except UserError:
        data = None
    inner = data.get("case") if isinstance(data, dict) else None
    named = [each["harness"] for each in (data, inner) if isinstance(each, dict) and "harness" in each]
    return harness_named(named[0]) if named and isinstance(named[0], str) else HARNESSES[TIR]
