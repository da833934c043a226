"""The findings on a campaign's page: one that unfolds for each, to be linked to by its signature."""

from __future__ import annotations

from html import escape
from itertools import groupby

from tzerlike.reporting.overview import Overview
from tzerlike.reporting.shown import ShownFinding


def findings_section(overview: Overview) -> str:
    """Return the findings by kind; a sentence where there are none."""
    parts = [_kind(kind, list(group)) for kind, group in groupby(overview.findings, lambda each: each.kind)]
    if overview.more:
        words = ", ".join(f"{count} {kind}" for kind, count in sorted(overview.more.items()))
        parts.append(f'<p class="soft">Not shown here, in findings/: {escape(words)}.</p>')
    return "".join(parts) or '<p class="soft">None so far.</p>'


def _kind(kind: str, findings: list[ShownFinding]) -> str:
    count = f"<small>{len(findings)}</small>"
    return f'<h3 id="kind-{escape(kind)}">{escape(kind)} {count}</h3>{"".join(map(_finding, findings))}'


def _finding(finding: ShownFinding) -> str:
    # The anchor lies inside, where a browser unfolds what is around it when a link leads there.
    return (
        f'<details class="finding {escape(finding.kind)}"><summary><span class="title">{escape(finding.title)}</span>'
        f'<code class="soft">{escape(finding.signature)}</code></summary>'
        f'<div class="inside" id="{escape(finding.signature)}">{_inside(finding)}</div></details>'
    )


def _inside(finding: ShownFinding) -> str:
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in finding.facts)
    guilty = f"<dt>guilty</dt><dd>{escape(finding.guilty)}</dd>" if finding.guilty else ""
    link = f'<dt>signature</dt><dd><a href="#{escape(finding.signature)}">{escape(finding.signature)}</a></dd>'
    where = f"<dt>bundle</dt><dd><code>findings/{escape(finding.directory)}</code></dd>"
    blocks = (
        ("Message", escape(finding.message)),
        ("Program, reduced" if finding.reduced else "Program", escape(finding.program)),
        ("Before and after the guilty pass", diff_lines(finding.diff)),
        ("Backtrace, innermost frame first", escape(finding.backtrace)),
    )
    shown = "".join(_block(title, content) for title, content in blocks if content)
    return f'<dl class="facts">{facts}{guilty}{link}{where}</dl>{shown}'


def _block(title: str, content: str) -> str:
    """A heading and text that scrolls, also by keyboard; `content` is escaped already."""
    return f'<h4>{escape(title)}</h4><pre tabindex="0" role="region" aria-label="{escape(title)}">{content}</pre>'


def diff_lines(diff: str) -> str:
    """Return the HTML of a unified diff, a class on each line that is added, removed or a place."""
    lines = []
    for line in diff.splitlines():
        heading = line.startswith(("--- ", "+++ "))
        style = "at" if heading else {"+": "add", "-": "del", "@": "at"}.get(line[:1])
        lines.append(f'<span class="{style}">{escape(line)}</span>' if style else escape(line))
    return "\n".join(lines)
