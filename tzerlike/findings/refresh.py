"""The report of a bundle, updated with the reduced program and the culprit pass once they are known."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tzerlike.core.archive import read_arrays
from tzerlike.core.errors import UserError
from tzerlike.core.storage import write_atomic
from tzerlike.core.untrusted import SCRIPT_BYTES, one_line, read_bytes
from tzerlike.execution.cuda.memcheck import SANITIZER_REPORT
from tzerlike.execution.diagnosis.walk import Change
from tzerlike.findings.bundle_tier import tier_of
from tzerlike.findings.bundles.bisection import read_bisection
from tzerlike.findings.bundles.bundle import Bundle, Record, read_record
from tzerlike.findings.cases import harness_of
from tzerlike.findings.issue.listing import inputs_text
from tzerlike.findings.issue.markdown import report
from tzerlike.findings.issue.pytest_file import TEST_FILE
from tzerlike.findings.issue.subject import CHANGED, PASS_SHOWN, Guilt, Subject, as_shown
from tzerlike.findings.reduction.place import reduced_in
from tzerlike.findings.replay import load_bundle
from tzerlike.oracles.ill_typed import wrong_in_words
from tzerlike.passes.naming import short_name
from tzerlike.tir.interpreter.verdict import RULES

REPORT = "report.md"

_READ = ("case.json", "inputs.npz")
_NO_SCRIPT = "# TVM cannot print this module"


def report_of(path: Path) -> str:
    """Return the report of a bundle; UserError where something that it needs does not read.

    That of a finding of no case is the one written with it.
    """
    if not harness_of(path).has_cases:
        return _text(path / REPORT)
    try:
        return report(_subject(path))
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        why = one_line(f"{type(error).__name__}: {error}")
        raise UserError(f"{path}: there is no report of it, its files do not fit together ({why})") from error


def refresh_report(path: Path) -> None:
    """Write a bundle's report.md anew, and that of its reduced bundle, each whole or not at all."""
    if not harness_of(path).has_cases:
        return
    text, reduced = report_of(path), reduced_in(path)
    for place in (path, reduced) if reduced is not None else (path,):
        write_atomic(place / REPORT, text)


def _subject(path: Path) -> Subject:
    reduced = reduced_in(path)
    best = path if reduced is None else reduced
    record, bundle = read_record(path), load_bundle(best)
    assert isinstance(bundle, Bundle)
    test, memcheck = best / TEST_FILE, path / SANITIZER_REPORT
    return Subject(
        finding=bundle.signed,
        case=as_shown(bundle.stored.case, bundle.environment),
        seen=bundle.observation,
        runs=bundle.confirmed.runs,
        same=bundle.confirmed.same,
        environment=record.environment,
        script=_script(best),
        test=_text(test) if test.exists() else "",
        guilt=_guilt(record, reduced is not None, bundle),
        original_lines=len(_script(path).splitlines()) if reduced is not None else 0,
        memcheck=_text(memcheck) if memcheck.exists() else "",
        tier=tier_of(record, bundle),
        witness=bundle.confirmed.witness,
        held=bundle.environment,
        inputs=inputs_text(_arrays(best / "inputs.npz"), _script(best)),
        files={name: read_bytes(best / name, SCRIPT_BYTES) for name in _READ if (best / name).exists()},
        memory=bundle.limits.memory,
        repro=_text(best / "repro.py") if (best / "repro.py").exists() else "",
    )


_TOLD = {
    Change.ILL_TYPED: "after it the program is ill-typed",
    Change.RESULT: "after it the program computes something else",
}
"""What a culprit pass does, where the report has said already in what way."""

_MOST_LINES = 20
"""Of a program that a pass leaves as it was, or dies in: a reader has the program itself."""


def _guilt(record: Record, reduced: bool, bundle: Bundle) -> Guilt | None:
    """None where no bisection found anything, one of another finding, or no more than the report says of the origin; of
    another program, its verdict alone."""
    bisection = read_bisection(record.path)
    if bisection is None or not bisection.guilty or bisection.signature != record.signature:
        return None
    told, results = _TOLD.get(bisection.change, ""), bundle.observation.results
    if bundle.observation.origin is not None and not bisection.diff:
        return None
    if (
        bisection.change is Change.NONE
        and results is not None
        and short_name(bisection.guilty) == short_name(results.guilty)
    ):
        return None
    what = told or bisection.what + bisection.where * (not _shown_by_both(bundle))
    if PASS_SHOWN in bundle.environment or not bisection.of(bundle.stored.case.id, reduced=reduced):
        return Guilt(bisection.guilty, what)
    detail = next((line.strip() for line in bisection.detail.splitlines() if line.strip()), "")
    rule, _, place = detail.partition(": ")
    if bisection.change is Change.ILL_TYPED and place and bundle.kind == "wrong-code":
        what = f"{told}: it has {wrong_in_words(place)}"
    if told or detail in bisection.line():
        detail = ""
    elif bisection.change is Change.UNDEFINED and rule in RULES:
        what, detail = f"after it {RULES[rule][1].partition(', or ')[0]}", place
    changed = CHANGED in bisection.diff
    diff = bisection.diff if changed or len(bisection.diff.splitlines()) <= _MOST_LINES else ""
    return Guilt(bisection.guilty, f"{what} ({detail})" if detail else what, diff)


def _shown_by_both(bundle: Bundle) -> bool:
    """Whether the default build is as wrong as the baseline build, which is the one that is bisected then."""
    results = bundle.observation.results
    return results is not None and results.blame == "both"


def _script(path: Path) -> str:
    text = _text(path / "module.py")
    return "" if text.startswith(_NO_SCRIPT) else text


def _arrays(path: Path) -> Mapping[str, NDArray[Any]]:
    return read_arrays(path) if path.exists() else {}


def _text(path: Path) -> str:
    return read_bytes(path, SCRIPT_BYTES).decode(errors="replace")
