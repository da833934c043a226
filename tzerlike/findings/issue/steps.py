"""The steps of a report: how to run its test, or its repro.py."""

from __future__ import annotations

import re

from tzerlike.core.observation import Stage
from tzerlike.findings.issue.headline import headline
from tzerlike.findings.issue.layout import code, fenced, fold
from tzerlike.findings.issue.listing import pasted
from tzerlike.findings.issue.opening import (
    CASE_FILE,
    CHARACTERS,
    LOADS_JSON,
    by_calls,
    program_first,
    says_program,
    test_first,
    whole_test,
)
from tzerlike.findings.issue.paste import self_contained
from tzerlike.findings.issue.pytest_file import TEST_FILE
from tzerlike.findings.issue.results import blamed, has_no_end
from tzerlike.findings.issue.subject import Subject
from tzerlike.findings.repro import manner_of, needed_by, quotable

_FOLDED_LINES = 500
"""Lines of a file that a report shows, folded."""

_FAR_SHORTER = 2
"""How many times longer a program was that is said to be reduced."""


def steps(subject: Subject) -> list[str]:
    """The lines of the section on how to reproduce a finding."""
    lines: list[str] = []
    shorter = len(subject.script.splitlines())
    if subject.original_lines >= _FAR_SHORTER * shorter > 0:
        lines += [f"The program was reduced from {subject.original_lines} lines to {shorter}.", ""]
    if subject.test:
        lines += _test_lines(subject)
    else:
        lines += _script_lines(subject)
    if not subject.script and by_calls(subject.test):
        lines += ["", "TVM cannot print the program."]
    elif not subject.script and not LOADS_JSON.search(subject.test):
        lines += ["", f"TVM cannot print the program; the attached {CASE_FILE} has it."]
    elif subject.script and not pasted(subject.script) and not subject.test:
        lines += ["", "TVM cannot print the program. In the notation of tzerlike it is:", "", *fenced(subject.script)]
    elif not program_first(subject) and not says_program(subject) and pasted(subject.script):
        lines += ["", f"The program ({shorter} lines) is in the attached module.py."]
    return lines


def _script_lines(subject: Subject) -> list[str]:
    """How to run repro.py; its first line says what the title of the issue does."""
    manner = manner_of(subject.repro)
    whole = self_contained(subject.repro, subject.files)
    if not whole or not _folded(whole):
        return [f"Run the attached `repro.py`{_beside(subject.repro)} {manner}."]
    whole = re.sub(r'\A"""[^\n"]*', lambda _: f'"""{quotable(headline(subject))}', whole)
    ends = " A limit on its CPU time ends it." if subject.finding.kind == "hang" else ""
    run = f"Save this as `repro.py` and run `python repro.py` {manner}.{ends}{_other_form(subject, 'script', whole)}"
    return [run, "", *fold("repro.py", whole)]


def _other_form(subject: Subject, what: str, text: str) -> str:
    """Why a test or a script does not hold the program as TVMScript."""
    if not (LOADS_JSON.search(text) or by_calls(text)) or test_first(subject):
        return ""
    made = "builds it by calls" if by_calls(text) else "loads it from JSON"
    if subject.script and (by_calls(text) or subject.seen.stage is Stage.TEXT):
        return f" The program above is what TVM prints, which does not give the program back; the {what} {made}."
    why = "TVM does not parse the program it prints" if subject.script else "TVM cannot print this program"
    return f" {why}, so the {what} {made}."


def _test_lines(subject: Subject) -> list[str]:
    what = {
        "crash": "pytest itself crashes",
        "hang": "an alarm ends it",
        "oom": "it hits a memory limit",
    }.get(subject.finding.kind, _no_end(subject.test) if has_no_end(blamed(subject)) else "it fails")
    moment = "until the bug is fixed" if subject.same == subject.runs else "when the bug shows, not in every run"
    needs = needed_by(subject.test)
    if "nvrtc_log(" in subject.test:
        needs = "tvm, numpy and NVRTC (CUDA's, or NVIDIA's packages for pip)"
    elif "nvcc.compile_cuda(" in subject.test:
        needs = "tvm, numpy and a CUDA compiler"
    run = f"run `pytest {TEST_FILE}`. It needs {needs}; {what} {moment}."
    if "lowered = Lowered()" in subject.test:
        run += " It runs the lowered kernel thread by thread in Python, without a GPU."
    run += _other_form(subject, "test", subject.test)
    if test_first(subject):
        return [f"Save the test above as `{TEST_FILE}` and {run}"]
    whole = whole_test(subject)
    if not whole or not _folded(whole):
        return [f"With the attached `{TEST_FILE}`{_beside(subject.test)}, {run}"]
    return [f"Save this as `{TEST_FILE}` and {run}", "", *fold(TEST_FILE, whole)]


def _no_end(test: str) -> str:
    """How the test of a build that does not end comes out: those of older bundles have no limit."""
    return "an alarm ends it" if "signal.alarm(" in test else "it does not end"


def _beside(text: str) -> str:
    """The files that a script reads, which are to be attached as well."""
    names = dict.fromkeys(re.findall(r'with_name\("([\w.]+)"\)', text))
    return f" with {' and '.join(map(code, names))} beside it" if names else ""


def _folded(text: str) -> bool:
    return len(text.splitlines()) <= _FOLDED_LINES and len(text) <= CHARACTERS
