"""An outcome as a few lines of Markdown, for the summary of a step."""

from __future__ import annotations

import re

from tzerlike.core.untrusted import one_line
from tzerlike.reporting.ci.outcome import CiOutcome, Item, Status

_MOST_ROWS = 20
_MOST_NOTES = 10
_BAR = re.compile(r"\\*\|")


def summary(outcome: CiOutcome) -> str:
    """Return the summary: the verdict, the facts, and a table of what fails; it is short whatever the outcome."""
    lines = [f"## tzerlike {outcome.mode}: {outcome.verdict}", ""]
    if outcome.facts:
        lines += [", ".join(f"{_plain(key)} {_plain(value)}" for key, value in outcome.facts), ""]
    failing = outcome.failing
    if failing:
        lines += ["| kind | what | bundle |", "|---|---|---|"]
        lines += [_row(item) for item in failing[:_MOST_ROWS]]
        if len(failing) > _MOST_ROWS:
            lines.append(f"| | and {len(failing) - _MOST_ROWS} more | |")
        lines.append("")
    beside = {
        Status.KNOWN: "known",
        Status.CARRIED: "seen in earlier runs",
        Status.ELSEWHERE: "on the other TVM too",
    }
    for status, words in beside.items():
        count = sum(item.status is status for item in outcome.items)
        if count:
            lines += [f"{count} {words}.", ""]
    notes = [f"- {_plain(note)}" for note in outcome.notes[:_MOST_NOTES]]
    if len(outcome.notes) > _MOST_NOTES:
        notes.append(f"- and {len(outcome.notes) - _MOST_NOTES} more")
    return "\n".join([*lines, *notes]).rstrip() + "\n"


def _row(item: Item) -> str:
    what = one_line(item.title, 160) + (f" — {one_line(item.detail, 80)}" if item.detail else "")
    return f"| {_plain(item.kind)} | {_code(what)} | {_code(one_line(item.path.name, 120))} |"


def _code(text: str) -> str:
    """A code span that keeps to its cell: nothing in it is read as Markdown or HTML.

    Two backslashes before a bar would let it end the cell.
    """
    return "`" + _BAR.sub(r"\\|", text.replace("`", "'")) + "`"


def _plain(text: str) -> str:
    """Text in which nothing is read as Markdown or HTML, on one line."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|!~&" else c for c in one_line(text, 200))
