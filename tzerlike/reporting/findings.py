"""The findings on a campaign's page: a card for each, with its signature as anchor, tier 1 first."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape

from tzerlike.reporting.colour import coloured
from tzerlike.reporting.document import text_block
from tzerlike.reporting.overview import Overview
from tzerlike.reporting.shown import ShownFinding
from tzerlike.reporting.tracker import search_of
from tzerlike.systems import under_test

_STEP = 24
"""Cards that are seen at once, until the reader asks for all."""

_KINDS = ("wrong-code", "crash", "hang", "oom", "ice-on-valid", "invalid-ir", "slow-code")
"""In the order in which a reader wants them."""

_TIERS = {
    1: (
        "Tier 1",
        "Users can meet these: TVM's defaults or one schedule primitive, on an ordinary program.",
    ),
    2: ("Tier 2", "These need an unusual order of passes, an option, or an odd program."),
    0: ("Without a tier", "What they need was not determined."),
}


def findings_section(overview: Overview) -> str:
    """Return the findings by tier and kind, with what filters them; a sentence where there are none."""
    findings = sorted(overview.findings, key=_place)
    parts = [_filters(findings)] if findings else []
    for tier, (title, meaning) in _TIERS.items():
        group = [finding for finding in findings if finding.tier == tier]
        if group:
            cards = "".join(_card(finding, overview.name) for finding in group)
            heading = f'<h3>{title} <small>{len(group)}</small></h3><p class="soft">{meaning}</p>'
            parts.append(f'<section class="tier">{heading}<div class="cards">{cards}</div></section>')
    if findings:
        parts.append(f'<button type="button" class="more" data-step="{_STEP}" hidden>Show all</button>')
    if overview.more:
        words = ", ".join(f"{count} {kind}" for kind, count in sorted(overview.more.items()))
        parts.append(f'<p class="soft">Not shown here, in findings/: {escape(words)}.</p>')
    return "".join(parts) or '<p class="soft">None so far.</p>'


def kinds_in_order(kinds: Iterable[str]) -> list[str]:
    """Return kinds of findings in the order in which a reader wants them, unknown ones last."""
    return sorted(kinds, key=lambda kind: (_rank(kind), kind))


def _rank(kind: str) -> int:
    return _KINDS.index(kind) if kind in _KINDS else len(_KINDS)


def _place(finding: ShownFinding) -> tuple[int, int, str]:
    return list(_TIERS).index(finding.tier), _rank(finding.kind), finding.title


def _filters(findings: Sequence[ShownFinding]) -> str:
    kinds = Counter(finding.kind for finding in findings)
    tiers = Counter(finding.tier for finding in findings)
    return (
        '<form class="filters panel" hidden><label>Search '
        '<input type="search" name="words" placeholder="pass, message, program ..."></label>'
        f"<fieldset><legend>Kinds</legend>"
        f"{_chips('kind', ((name, name, kinds[name]) for name in kinds_in_order(kinds)))}"
        f"</fieldset><fieldset><legend>Tiers</legend>"
        f"{_chips('tier', ((str(tier), title, tiers[tier]) for tier, (title, _) in _TIERS.items() if tiers[tier]))}"
        '</fieldset><output aria-live="polite"></output></form>'
    )


def _chips(name: str, choices: Iterable[tuple[str, str, int]]) -> str:
    return "".join(
        f'<label class="chip {escape(value)}"><input type="checkbox" name="{name}" value="{escape(value)}" checked>'
        f"{escape(title)} <b>{count}</b></label>"
        for value, title, count in choices
    )


def _card(finding: ShownFinding, campaign: str) -> str:
    signature = escape(finding.signature)
    due = f'<span class="due">due to <code>{escape(finding.culprit)}</code></span>' if finding.culprit else ""
    command = shlex.join(("tzerlike", "replay", f"{campaign}/findings/{finding.directory}"))
    program = text_block("Program, reduced" if finding.reduced else "Program", coloured(finding.program))
    pass_name = finding.guilty.partition(":")[0] or "the culprit pass"
    picture = _folded("As a graph", f'<div class="scroll" tabindex="0">{finding.picture}</div>')
    diff = _folded(f"Before and after {pass_name}", text_block("Difference", diff_lines(finding.diff)))
    return (
        f'<article class="finding {escape(finding.kind)}" id="{signature}" data-kind="{escape(finding.kind)}" '
        f'data-tier="{finding.tier}"><h4><a href="#{signature}">{escape(finding.title)}</a></h4>'
        f'<p class="tags"><span class="kind">{escape(finding.kind)}</span>{due}<code>{signature}</code>'
        f"{_known(finding)}</p>"
        f"{program if finding.program else ''}{picture if finding.picture else ''}{diff if finding.diff else ''}"
        f"{_folded('Details', _details(finding))}"
        f'<div class="command"><code tabindex="0">{escape(command)}</code>'
        f'<button type="button" class="copy" aria-label="Copy the replay command of {signature}" hidden>Copy</button>'
        "</div></article>"
    )


def _known(finding: ShownFinding) -> str:
    """A link to what the tracker of the compiler has of a finding."""
    address = search_of(under_test().tracker, finding.title)
    return f'<a href="{escape(address)}" rel="noreferrer">Reported already?</a>' if address else ""


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def _details(finding: ShownFinding) -> str:
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in finding.facts)
    guilty = f"<dt>guilty</dt><dd>{escape(finding.guilty)}</dd>" if finding.guilty else ""
    where = f"<dt>bundle</dt><dd><code>findings/{escape(finding.directory)}</code></dd>"
    blocks = (("Message", finding.message), ("Backtrace, innermost frame first", finding.backtrace))
    shown = "".join(text_block(title, escape(content)) for title, content in blocks if content)
    return f'<dl class="facts">{facts}{guilty}{where}</dl>{shown}'


def diff_lines(diff: str) -> str:
    """Return the HTML of a unified diff, a class on each line that is added, removed or a place."""
    lines = []
    for line in diff.splitlines():
        heading = line.startswith(("--- ", "+++ "))
        style = "at" if heading else {"+": "add", "-": "del", "@": "at"}.get(line[:1])
        lines.append(f'<span class="{style}">{escape(line)}</span>' if style else escape(line))
    return "\n".join(lines)
