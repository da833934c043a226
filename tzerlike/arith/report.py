"""The report of an arithmetic finding as an issue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tzerlike.arith.case import ArithCase
from tzerlike.arith.claims import Counterexample
from tzerlike.arith.inspect import AnalysisOutcome
from tzerlike.arith.model import Variable
from tzerlike.core.finding import Signed
from tzerlike.core.observation import Observation
from tzerlike.findings.issue.layout import TRIAGE, code, cut, environment_lines, fenced, found_by, trace
from tzerlike.findings.issue.pytest_file import TEST_FILE

_VALUES = 8

_TIERS = {
    1: " Tier 1: signed index types and small numbers, and TVM's passes ask for this with default options.",
    2: " Tier 2: it takes overflow, constants that fold, or an option that hardly anybody uses.",
}


def arith_report(
    finding: Signed,
    case: ArithCase,
    seen: Observation,
    outcome: AnalysisOutcome | None,
    runs: int,
    same: int,
    environment: Mapping[str, Any],
    test: str,
    tier: int = 0,
) -> str:
    """Return the text of report.md; `runs` and `same` count the confirming runs and those that showed it again."""
    wrong = None if outcome is None else outcome.wrong
    ending = {"crash": "it takes pytest down with it", "hang": "an alarm ends it"}.get(finding.kind, "it fails")
    parts = [
        [f"# [Bug][Arith] {_headline(finding, case, seen, wrong)}"],
        ["### Expected behavior", "", _expected(wrong), "", *_problem(case)],
        ["### Actual behavior", "", *_actual(finding, case, seen, wrong)],
        ["### Steps to reproduce", "", f"`pytest {TEST_FILE}`, with tvm alone: {ending} as long as the bug is there."],
        fenced(test, "python"),
        ["### Environment", "", *environment_lines(environment)],
        TRIAGE,
        [found_by(environment, finding.signature, runs, same) + _TIERS.get(tier, "")],
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _headline(finding: Signed, case: ArithCase, seen: Observation, wrong: Counterexample | None) -> str:
    subject = " and ".join(map(str, case.problem.roots))
    if wrong is not None:
        text = f"{case.check}: wrong answer about {subject}"
        if len(case.problem.roots) == 1:
            text = f"{case.check}: {subject} is {wrong.expected} {_where(wrong)}, not {wrong.got}"
    else:
        words = {"crash": "crashes on", "hang": "does not end on", "ice-on-valid": "fails on"}
        text = f"{case.check} {words.get(finding.kind, 'runs out of memory on')} {subject}"
    return text if len(text) <= 150 else f"{text[:147]}..."


def _where(wrong: Counterexample) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in wrong.assignment.items())
    return f"at {values}" if values else "always"


def _expected(wrong: Counterexample | None) -> str:
    if wrong is None:
        return "The analysis ends with an answer: the expression is defined for all values of its variables."
    return f"At {_at(wrong)} the value is {wrong.expected}: nothing overflows or divides by zero there."


def _at(wrong: Counterexample) -> str:
    return ", ".join(code(f"{name} = {value}") for name, value in wrong.assignment.items()) or "all values"


def _problem(case: ArithCase) -> list[str]:
    roots = [f"- expression: {code(str(root))}, {root.dtype}" for root in case.problem.roots]
    variables = [f"- variable: {code(each.name)}, {each.dtype}, {_reported(each)}" for each in case.problem.variables]
    constraints = [f"- under the constraint {code(str(each))}" for each in case.problem.constraints]
    notes = ["", "Here `//` and `%%` are floordiv and floormod, `/` and `%` truncdiv and truncmod."]
    text = "".join(map(str, (*case.problem.roots, *case.problem.constraints)))
    return [*roots, *variables, *constraints, *(notes if "/" in text or "%" in text else [])]


def _reported(variable: Variable) -> str:
    values = list(variable.values)
    shown = str(values) if len(values) <= _VALUES else f"{values[0]}, {values[1]}, ... {values[-1]}"
    if variable.told == "range":
        return f"bound to the range from {values[0]} to {values[-1]}"
    return f"bound to the range and modular set of {shown}" if variable.told == "steps" else "unbound"


def _actual(finding: Signed, case: ArithCase, seen: Observation, wrong: Counterexample | None) -> list[str]:
    analysis = f"The analysis {code(case.check)} of {code('tvm.sym')}"
    if wrong is not None:
        return [f"{analysis} says {code(wrong.claim)}. At {_at(wrong)} the value would be {wrong.got}."]
    if finding.kind == "ice-on-valid":
        lines = [f"{analysis} raises:", "", *fenced(cut(seen.message, 10))]
    elif finding.kind == "crash":
        lines = [f"{analysis} kills the process:", "", *fenced(cut(seen.message or "no message", 4))]
    elif finding.kind == "hang":
        lines = [f"{analysis} is still at work after {seen.elapsed:.0f} s of processor time."]
    else:
        lines = [f"{analysis} runs out of memory."]
    if shown := trace(seen.backtrace):
        lines += ["", "Backtrace, innermost frame first:", "", *fenced("\n".join(shown))]
    return lines
