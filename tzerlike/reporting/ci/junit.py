"""An outcome as JUnit XML: one test case for the run itself, and one for each finding or bundle."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape

from tzerlike.reporting.ci.outcome import Item, Outcome, Status

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no way to write, not even escaped."""

_LONGEST = 20_000


def junit_xml(outcome: Outcome) -> str:
    """Return the document; findings that are known or were carried over count as skipped."""
    failures = len(outcome.failing)
    skipped = sum(item.status in (Status.KNOWN, Status.CARRIED) for item in outcome.items)
    counts = f'tests="{len(outcome.items) + 1}" failures="{failures}" errors="0" time="{outcome.seconds:.3f}"'
    name = _attribute(f"tzerlike {outcome.mode}")
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<testsuites name={name} {counts}>",
        f'  <testsuite name={name} {counts} skipped="{skipped}">',
        "    <properties>",
        *(
            f"      <property name={_attribute(key)} value={_attribute(value)}/>"
            for key, value in (*outcome.facts, *(("note", note) for note in outcome.notes))
        ),
        "    </properties>",
        f'    <testcase classname="tzerlike" name={_attribute(outcome.mode)} time="{outcome.seconds:.3f}"/>',
    ]
    for item in outcome.items:
        lines += _case(item)
    return "\n".join([*lines, "  </testsuite>", "</testsuites>", ""])


def _case(item: Item) -> list[str]:
    head = f"    <testcase classname={_attribute(f'tzerlike.{item.kind}')} name={_attribute(item.title)}"
    if item.status.fails:
        text = "\n".join([item.title, *([item.detail] if item.detail else []), f"bundle: {item.path}"])
        failure = f"<failure message={_attribute(item.title)} type={_attribute(item.kind)}>"
        return [f'{head} time="0">', f"      {failure}{_text(text)}</failure>", "    </testcase>"]
    if item.status is Status.EXPECTED:
        return [f'{head} time="0"/>']
    reason = _attribute(f"{item.status.value}: {item.detail}" if item.detail else item.status.value)
    return [f'{head} time="0">', f"      <skipped message={reason}/>", "    </testcase>"]


def _text(value: str) -> str:
    return escape(_legal(value))


def _attribute(value: str) -> str:
    """The value in quotation marks; line ends and tabs are escaped, since a reader turns bare ones into blanks."""
    ends = {'"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
    return f'"{escape(_legal(value), ends)}"'


def _legal(value: str) -> str:
    """`value`, not too long, with what XML cannot hold spelt out."""
    return _ILLEGAL.sub(lambda match: f"\\x{ord(match[0]):02x}", value[:_LONGEST])
