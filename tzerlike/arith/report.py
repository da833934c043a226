"""The report of an arithmetic finding as an issue."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tzerlike.arith.case import ArithCase
from tzerlike.arith.claims import Counterexample
from tzerlike.arith.inspect import AnalysisOutcome
from tzerlike.arith.model import Expr, Variable
from tzerlike.core.finding import Signed
from tzerlike.core.observation import Observation
from tzerlike.findings.issue.layout import code, cut, environment_lines, fenced, fold, found_by, trace, triage
from tzerlike.findings.issue.messages import reason
from tzerlike.findings.issue.pytest_file import TEST_FILE
from tzerlike.findings.issue.titles import title

_VALUES = 8
_INLINE_LINES = 60
"""Lines of a test that a report shows unfolded."""

_ROOM = 67
"""Characters of a title behind what all have in front."""

_SPOKEN = {
    "int_set_relaxed": "int_set with a domain",
    "rewrite_simplify_extended": "rewrite_simplify with all extensions",
    "can_prove_symbolic": "can_prove with SYMBOLIC_BOUND",
    "iter_map_surjective": "iter_map_simplify (Surjective)",
}
"""Checks that are not called as what they ask."""

_TIERS = {
    1: "Signed index types and small numbers are enough to show it, and TVM's own passes ask such questions.",
    2: "It was only seen with numbers near the limits of a type, with constants that fold, or with a rare option.",
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
    wrong = None if outcome is None or outcome.wrong is None else _in_words(outcome.wrong, case)
    ending = {"crash": "pytest itself crashes", "hang": "an alarm ends it"}.get(finding.kind, "it fails")
    short = len(test.splitlines()) <= _INLINE_LINES
    saved = "Save the test above" if short else "Save this"
    parts = [
        [f"# {title('Arith', _headline(finding, case, seen, wrong), _in_short(finding, case, seen))}"],
        fenced(test if short else _asked(test), "python"),
        ["### Expected behavior", "", _expected(finding, wrong), "", *_problem(case)],
        ["### Actual behavior", "", *_actual(finding, case, seen, wrong)],
        ["### Environment", "", *environment_lines(environment)],
        [
            "### Steps to reproduce",
            "",
            f"{saved} as `{TEST_FILE}` and run `pytest {TEST_FILE}`; {ending} until the bug is fixed.",
            *([] if short else ["", *fold(TEST_FILE, test)]),
        ],
        triage(["tir:arith"]),
        [found_by(environment, finding.signature, runs, same, _TIERS.get(tier, ""))],
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _asked(test: str) -> str:
    """What a test asks TVM, without what it holds the answer to."""
    head, _, rest = test.partition("\n\n\n")
    body = textwrap.dedent(rest.partition("\ndef test_")[2].partition(":\n")[2].partition("\n\n\n")[0]).strip("\n")
    lines = body.splitlines()
    kept = [node for node in ast.parse(body).body if not isinstance(node, ast.Assert | ast.FunctionDef)]
    asked = ["\n".join(lines[node.lineno - 1 : node.end_lineno]) for node in kept]
    imports = [line for line in head.splitlines() if "tvm" in line and line != "import tvm.testing"]
    return "\n".join([*imports, "", *asked, *(["print(result)"] if "result = " in body else [])])


def _in_words(wrong: Counterexample, case: ArithCase) -> Counterexample:
    """A counterexample with the values of a condition as such."""
    if any(root.dtype != "bool" for root in case.problem.roots):
        return wrong
    words = {"0": "False", "1": "True"}
    return replace(wrong, expected=words.get(wrong.expected, wrong.expected), got=words.get(wrong.got, wrong.got))


def _headline(finding: Signed, case: ArithCase, seen: Observation, wrong: Counterexample | None) -> str:
    subject = " and ".join(_bare(_SPREAD.sub(r"\1", str(root))) for root in case.problem.roots)
    name = spoken(case.check)
    if wrong is not None and len(case.problem.roots) == 1:
        texts = [
            f"{name} gives {wrong.got}, not {wrong.expected}, for {subject}{_where(wrong)}",
            *_rewritten(name, subject, case.problem.roots[0], wrong),
            f"{name} is wrong about {subject}{_where(wrong)}",
        ]
        return next((text for text in texts if len(text) <= _ROOM), f"{name} is wrong about {subject}")
    if wrong is not None:
        return f"{name} is wrong about {subject}"
    text = f"{name} {_verb(finding, seen)} {subject}"
    why = f"{text}: {reason(seen.message)}" if finding.kind == "ice-on-valid" else text
    return why if len(why) <= _ROOM else text


def _rewritten(name: str, subject: str, root: Expr, wrong: Counterexample) -> list[str]:
    """What an expression becomes that is rewritten, the longest words first; nothing of one that is bounded."""
    start = f"{root} == "
    result = _bare(wrong.claim.removeprefix(start))
    if not wrong.claim.startswith(start) or " where " in result or "(mod " in result:
        return []
    turned = f"{name} turns {subject} into {result}"
    return [f"{turned}{_where(wrong)}", turned, f"{name}: {subject} -> {result}"]


_SPREAD = re.compile(r"\bBroadcast\((-?\d+), \d+\)")
"""A number in all lanes of a vector."""


def _verb(finding: Signed, seen: Observation) -> str:
    """What an analysis does with an expression; one that takes long may end, which nobody waited for."""
    verbs = {"crash": "crashes on", "ice-on-valid": "fails on", "wrong-code": "is wrong about"}
    if finding.kind == "hang":
        return f"takes over {int(seen.elapsed)} s on"
    return verbs.get(finding.kind, "runs out of memory on")


def _in_short(finding: Signed, case: ArithCase, seen: Observation) -> str:
    """What TVM says, or the operators, of an expression that is too long for a title."""
    text = " ".join(str(root) for root in case.problem.roots)
    # Functions tell more than signs.
    operators = sorted(dict.fromkeys(_OPERATORS.findall(text)), key=lambda name: not name[0].isalpha())
    operators = operators[:_FEW] or ["constants"]
    verb = _verb(finding, seen)
    named = " and ".join((", ".join(operators[:-1]), operators[-1])).removeprefix(" and ")
    name = spoken(case.check)
    texts = [f"{name} {verb} an expression with {named}", f"{name} {verb} {named}"]
    if finding.kind == "ice-on-valid":
        texts = [f"{name} fails: {reason(seen.message)}", *texts]
    return next((text for text in texts if len(text) <= _ROOM), f"{name.partition(' ')[0]} {verb} {named}")


_OPERATORS = re.compile(r"[A-Za-z]\w+(?=\()|(?<= )[^\w\s()]+(?= )")
_FEW = 3


def spoken(check: str) -> str:
    """The function of TVM's behind a check, and how it is asked."""
    return _SPOKEN.get(check, check)


def _bare(text: str) -> str:
    """An expression without the parentheses around all of it."""
    depth = [text[: i + 1].count("(") - text[: i + 1].count(")") for i in range(len(text))]
    return text[1:-1] if text.startswith("(") and 0 not in depth[:-1] else text


def _where(wrong: Counterexample) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in wrong.assignment.items())
    return f" at {values}" if values else ""


def _expected(finding: Signed, wrong: Counterexample | None) -> str:
    if wrong is None:
        soon = " in a reasonable time" * (finding.kind == "hang")
        return f"The analysis returns an answer{soon}: the expression is defined for all values of its variables."
    value = f"At {_at(wrong)} the value of the expression is" if wrong.assignment else "The value of the expression is"
    return f"{value} {wrong.expected}. Nothing overflows or divides by zero there."


def _then(wrong: Counterexample) -> str:
    """What an answer comes to at the counterexample, unless it is a bound, which says so itself."""
    at = f" at {_at(wrong)}" if wrong.assignment else ""
    value = f"the value is {code(wrong.expected)}"
    if wrong.claim.endswith(f" {wrong.got}"):
        return f", but{at} {value}"
    return f". This gives {code(wrong.got)}{at}, where {value}"


def _at(wrong: Counterexample) -> str:
    return ", ".join(code(f"{name} = {value}") for name, value in wrong.assignment.items())


def _problem(case: ArithCase) -> list[str]:
    roots = [f"- expression: {code(_bare(str(root)))}, {root.dtype}" for root in case.problem.roots]
    variables = [f"- variable: {code(each.name)}, {each.dtype}, {_reported(each)}" for each in case.problem.variables]
    constraints = [f"- under the constraint {code(_bare(str(given)))}" for given in case.problem.constraints]
    return [*roots, *variables, *constraints]


def _reported(variable: Variable) -> str:
    values = list(variable.values)
    shown = str(values) if len(values) <= _VALUES else f"{values[0]}, {values[1]}, ... {values[-1]}"
    if len(values) == 1 and variable.told in ("range", "steps"):
        return f"bound to {values[0]}"
    if variable.told == "range":
        return f"bound to the range from {values[0]} to {values[-1]}"
    return f"bound to the range and modular set of {shown}" if variable.told == "steps" else "unbound"


def _last_words(message: str) -> str:
    """What a process says that dies: its signal, and of one that ends in abort() why."""
    signal, _, words = " ".join(message.split()).partition(" ")
    words = words.removeprefix("what():").strip(" :")
    return f"{signal}: {words}" if words else signal or "no message"


def _actual(finding: Signed, case: ArithCase, seen: Observation, wrong: Counterexample | None) -> list[str]:
    analysis = f"{code(spoken(case.check))} of {code('tvm.sym')}"
    if wrong is not None:
        return [f"{analysis} claims {code(wrong.claim)}{_then(wrong)}."]
    if finding.kind == "ice-on-valid":
        lines = [f"{analysis} raises:", "", *fenced(cut(seen.message, 10))]
    elif finding.kind == "crash":
        lines = [f"{analysis} crashes:", "", *fenced(cut(_last_words(seen.message), 4))]
    elif finding.kind == "hang":
        lines = [f"{analysis} is still running after {seen.elapsed:.0f} s of CPU time."]
    else:
        lines = [f"{analysis} runs out of memory."]
    if shown := trace(seen.backtrace):
        lines += ["", "Backtrace, innermost frame first:", "", *fenced("\n".join(shown))]
    return lines
