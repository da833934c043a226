"""What the report of a finding begins with: the program, or the test where that is short and says it all."""

from __future__ import annotations

import re

from tzerlike.findings.issue.calls import plain_calls, schedule_of
from tzerlike.findings.issue.headline import account_for
from tzerlike.findings.issue.listing import pasted
from tzerlike.findings.issue.paste import self_contained
from tzerlike.findings.issue.subject import Subject

_INLINE_LINES = 100
"""Lines of a test or a program that a report shows unfolded."""

_HELPER_LINES = 24
"""Lines above the function of a test that a report shows before the program."""

_PRINTED = "print(sch.mod.script())\n"

CHARACTERS = 26_000
"""Characters that a report shows of one file, folded if need be; GitHub takes 65,536. The rest is to be attached."""

CASE_FILE = "case.json"
_ARCHIVE = "inputs.npz"
LOADS_JSON = re.compile(r"\b[Mm]od(?:ule)? = tvm\.ir\.load_json\(")

_OWN_INTRINSIC = '"tzerlike.'
"""How the name of an intrinsic starts that nothing but the test registers."""


def calls_shown(subject: Subject) -> str:
    """The calls on a schedule that stand below the program at the top; "" where they are many, or where it cannot be
    pasted as it is."""
    account = account_for(subject)
    if account.language != "python" or not account.quoted or not program_first(subject):
        return ""
    calls = plain_calls(account.quoted)
    names = any(line.isidentifier() for line in calls.splitlines())  # of what TVM has no text for
    names |= _OWN_INTRINSIC in calls
    pasted_as_it_is = not names and not by_calls(subject.test) and not LOADS_JSON.search(subject.test)
    return calls if pasted_as_it_is and len(calls.splitlines()) <= account.lines else ""


def with_schedule(program: str, calls: str, *, printed: bool) -> str:
    """A program with the calls that schedule it, and what comes of them `printed`."""
    imported = re.sub(r"^from tvm", "from tvm import s_tir\nfrom tvm", program.rstrip(), count=1, flags=re.MULTILINE)
    return f"{imported}\n\n{schedule_of('Module', calls.splitlines())}\n{calls}\n{_PRINTED * printed}"


def program_first(subject: Subject) -> bool:
    """Whether the report begins with the program: it is short, and no test that is short says it."""
    return bool(subject.script) and not test_first(subject) and _inline(subject.script)


def test_first(subject: Subject) -> bool:
    """Whether the report begins with the test: it is short, and has the program and its inputs in it as text."""
    said = says_program(subject) and _ARCHIVE not in subject.test and not _helps(subject)
    return said and _inline(subject.test) and bool(whole_test(subject))


def _helps(subject: Subject) -> bool:
    """Whether most of a test is functions that look for the bug: a reader wants the program first."""
    helpers = subject.test.partition("\ndef test_")[0].splitlines()
    looks = any(line.startswith("def ") for line in helpers)
    return looks and len(helpers) > _HELPER_LINES and bool(pasted(subject.script)) and _inline(subject.script)


def says_program(subject: Subject) -> bool:
    """Whether the test has the program in it as people write it, or as calls."""
    return bool(subject.test) and f'"{CASE_FILE}"' not in subject.test and not LOADS_JSON.search(subject.test)


def whole_test(subject: Subject) -> str:
    """The test with the files that it reads inside; "" where one of them is missing."""
    return self_contained(subject.test, subject.files)


def by_calls(text: str) -> bool:
    """Whether a script makes its module by calls of constructors."""
    return "Module = tvm.IRModule({" in text


def _inline(text: str) -> bool:
    return len(text.splitlines()) <= _INLINE_LINES and len(text) <= CHARACTERS
