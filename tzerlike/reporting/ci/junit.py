"""An outcome as JUnit XML: one test case for the run itself, and one for each finding or bundle."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tzerlike.reporting.ci.outcome import CiOutcome, Item, Status

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no way to write, not even escaped."""

_LONGEST = 20_000


def junit_xml(outcome: CiOutcome) -> str:
    """Return the document; findings that are known or were carried over count as skipped."""
    mode, seconds = _legal(outcome.mode), f"{outcome.seconds:.3f}"
    counts = {
        "name": f"tzerlike {mode}",
        "tests": str(len(outcome.items) + 1),
        "failures": str(len(outcome.failing)),
        "errors": "0",
        "time": seconds,
    }
    skipped = sum(item.status in (Status.KNOWN, Status.CARRIED, Status.ELSEWHERE) for item in outcome.items)
    root = Element("testsuites", counts)
    suite = SubElement(root, "testsuite", counts, skipped=str(skipped))
    properties = SubElement(suite, "properties")
    for key, value in (*outcome.facts, *(("note", note) for note in outcome.notes)):
        SubElement(properties, "property", name=_legal(key), value=_legal(value))
    SubElement(suite, "testcase", classname="tzerlike", name=mode, time=seconds)
    for item in outcome.items:
        _add_case(suite, item)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, "unicode")}\n'


def _add_case(suite: Element, item: Item) -> None:
    kind, title = _legal(item.kind), _legal(item.title)
    case = SubElement(suite, "testcase", classname=f"tzerlike.{kind}", name=title, time="0")
    if item.status.fails:
        text = "\n".join([item.title, *([item.detail] if item.detail else []), f"bundle: {item.path}"])
        SubElement(case, "failure", message=title, type=kind).text = _legal(text)
    elif item.status is not Status.EXPECTED:
        reason = f"{item.status.value}: {item.detail}" if item.detail else item.status.value
        SubElement(case, "skipped", message=_legal(reason))


def _legal(value: str) -> str:
    """`value`, not too long, with what XML cannot hold spelt out."""
    return _ILLEGAL.sub(lambda match: f"\\x{ord(match[0]):02x}", value[:_LONGEST])
