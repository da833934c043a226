"""A campaign as one self-contained page: no network access, no extra font. The findings come first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from itertools import pairwise

from tzerlike.campaign.stats import CurvePoint
from tzerlike.core.units import duration
from tzerlike.plugins import harness_named
from tzerlike.reporting.document import document
from tzerlike.reporting.findings import findings_section, kinds_in_order
from tzerlike.reporting.overview import Overview, YieldRow
from tzerlike.reporting.plot import curve_chart, share_bar

_BREAKS = re.compile(r"(?<=[a-z][._])(?=\w)|(?<=[a-z])(?=[A-Z])")
_ROWS = 12
"""Rows of a table that are seen at once; the others are folded."""

_MOST_ROWS = 500
_NOTES = 20
_NAME = 300
"""Characters of a name that a table shows."""


def page(overview: Overview) -> str:
    """Return the page's HTML."""
    sections = (
        ("findings", "Findings", findings_section(overview)),
        ("over-time", "Over time", _charts(overview)),
        ("time", "Time by stage", _stages(overview)),
        ("yields", "Yield of mutators and passes", _yields(overview)),
        ("outcomes", "Outcomes", _outcomes(overview)),
        ("faults", "Internal faults of tzerlike", _faults(overview)),
    )
    present = [(name, title, body) for name, title, body in sections if body]
    links = "".join(f'<a href="#{name}">{title}</a>' for name, title, _ in present)
    body = "".join(f'<section id="{name}"><h2>{title}</h2>{content}</section>' for name, title, content in present)
    header = (
        f'<h1>{escape(overview.name)}</h1><p class="soft">{escape(subtitle(overview))}</p>'
        f'<nav aria-label="Sections">{links}</nav>{_tiles(overview)}{_notes(overview)}'
    )
    return document(f"{overview.name}: tzerlike campaign", header, body, _footer(overview))


def subtitle(overview: Overview) -> str:
    """One line on what was fuzzed, and how."""
    config, environment = overview.config, overview.environment
    words = [f"TVM {environment['tvm']}"] if environment.get("tvm") else []
    if config is not None:
        harness = harness_named(config.harness)
        words += [harness.culprit or f"target {config.target}", f"seed {config.seed}"]
        words.append(f"{config.jobs} job{'s' * (config.jobs > 1)}")
        words += [f"oracles {', '.join(config.oracles)}"] if harness.has_cases else []
    return " · ".join(map(str, words)) or "The configuration of this campaign cannot be read"


def _tiles(overview: Overview) -> str:
    if not overview.stats:
        return ""
    cases = overview.config is None or harness_named(overview.config.harness).has_cases
    iterations, elapsed = overview.number("iterations"), overview.number("elapsed_s")
    tiles = [
        ("Elapsed", duration(elapsed), f"of {duration(overview.config.budget)}" if overview.config else ""),
        ("Iterations", f"{iterations:,.0f}", f"{overview.number('iterations_per_s'):,.1f} a second"),
        ("Valid", f"{overview.number('valid_rate'):.0%}", "of the cases compile" if cases else "are defined"),
    ]
    if overview.covers:
        covered, total = overview.number("coverage"), overview.number("coverage_total")
        tiles.append(("Coverage", f"{covered:,.0f}", f"{covered / total:.2%} of {total:,.0f}"))
        valuable = f"{overview.number('valuable_tests'):,.0f} valuable tests"
        tiles.append(("Corpus", f"{overview.number('corpus'):,.0f}", valuable))
    kinds = overview.kinds
    words = ", ".join(f"{kinds[kind]} {kind}" for kind in kinds_in_order(kinds)) or "none so far"
    tiles.append(("Findings", f"{sum(kinds.values()):,}", words))
    items = (
        f'<div class="tile"><dt>{escape(name)}</dt><dd>{escape(value)}<small>{escape(more)}</small></dd></div>'
        for name, value, more in tiles
    )
    return f'<dl class="tiles">{"".join(items)}</dl>'


def _notes(overview: Overview) -> str:
    problems = overview.stats.get("problems")
    lines = [*overview.notes, *(map(str, problems) if isinstance(problems, list) else ())]
    shown = [line[:_NAME] for line in lines[:_NOTES]]
    if len(lines) > _NOTES:
        shown.append(f"... and {len(lines) - _NOTES} more")
    return "".join(f'<p class="note card">{escape(line)}</p>' for line in shown)


def _charts(overview: Overview) -> str:
    curve = overview.curve
    if len(curve) < 2 or curve[-1].elapsed_s <= curve[0].elapsed_s:
        return '<p class="soft">There is no curve yet.</p>' if overview.stats else ""

    def chart(title: str, unit: str, value: Callable[[CurvePoint], int]) -> str:
        return curve_chart(title, [(p.elapsed_s, value(p)) for p in curve], unit, whole)

    backend = str(overview.stats.get("coverage_backend", ""))
    charts = []
    if overview.covers:
        unit = "edges" if backend == "sancov" else "basic blocks"
        charts.append(chart("Coverage", f"{unit} of TVM reached by cases that compile", lambda p: p.blocks))
        for name, (_, total) in overview.libraries.items():
            of_it = partial(_reached, name)
            charts.append(chart(f"Coverage of {name}", f"of {total:,} {unit}", of_it))
    charts.append(curve_chart("Throughput", speeds(curve), "iterations a second", lambda value: f"{value:,.3g}"))
    if overview.covers:
        charts.append(chart("Corpus", "cases", lambda p: p.corpus))
    charts.append(chart("Findings", "unique", lambda p: p.findings))
    hint = "" if overview.covers else '<p class="soft">This campaign has no coverage and no corpus.</p>'
    return f'{hint}<div class="grid2">{"".join(charts)}</div>'


def _reached(library: str, point: CurvePoint) -> int:
    return point.libraries.get(library, 0)


def speeds(curve: Sequence[CurvePoint], windows: int = 60) -> list[tuple[float, float]]:
    """Return iterations a second over windows of the curve, each at its end."""
    step = max(1, len(curve) // windows)
    chosen = [*curve[::step], curve[-1]]
    points = [
        (later.elapsed_s, max(0, later.iterations - before.iterations) / (later.elapsed_s - before.elapsed_s))
        for before, later in pairwise(chosen)
        if later.elapsed_s > before.elapsed_s
    ]
    return [(curve[0].elapsed_s, points[0][1]), *points]


def whole(value: float) -> str:
    """A count in few characters: 980, 12.5k, 1.25M."""
    for size, letter in ((1e6, "M"), (1e4, "k")):
        if value >= size:
            return f"{value / (1e3 if letter == 'k' else size):.3g}{letter}"
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


def _stages(overview: Overview) -> str:
    seconds = overview.seconds()
    total = sum(seconds.values())
    if not total:
        return ""
    rows = (
        [
            f'<td class="name">{escape(_words(name))}</td><td class="n">{value:,.1f} s</td>',
            f'<td class="n">{value / total:.1%}</td><td class="wide">{share_bar(value / max(seconds.values()))}</td>',
        ]
        for name, value in seconds.items()
    )
    head = '<th>stage</th><th class="n">time</th><th class="n">share</th><th></th>'
    jobs = f", {overview.config.jobs} workers added up" if overview.config and overview.config.jobs > 1 else ""
    return (
        f'<p class="soft">Wall-clock time{jobs}.</p><div class="card scroll">{_table(head, map("".join, rows))}</div>'
    )


def _yields(overview: Overview) -> str:
    parts = []
    for key in ("mutators", "passes"):
        rows = [row for row in overview.yields(key) if row.tried]
        if rows:
            parts.append(
                f'<div class="card"><h3>{key.capitalize()}</h3>{_folded(_YIELD_HEAD, _yield_rows(rows))}</div>'
            )
    if not parts:
        return ""
    hint = "Valuable: compiled, and reached code that no case had reached before."
    return f'<p class="soft">{hint}</p><div class="grid2">{"".join(parts)}</div>'


_YIELD_HEAD = (
    '<th>name</th><th class="n">tried</th><th class="n">valid</th><th class="n">valuable</th>'
    '<th class="n" title="valuable cases per hundred tries">per 100</th>'
)


def _yield_rows(rows: Sequence[YieldRow]) -> Iterator[str]:
    for row in rows:
        yield (
            f'<td class="name">{breakable(row.name[:_NAME])}</td><td class="n">{row.tried:,}</td>'
            f'<td class="n">{row.valid / row.tried:.0%}</td><td class="n">{row.valuable:,}</td>'
            f'<td class="n">{100 * row.valuable / row.tried:.1f}</td>'
        )


_OUTCOMES = (
    ("exits", "Exits"),
    ("verdicts", "Verdicts of the interpreter"),
    ("kernels", "Kernels run on the GPU"),
    ("rejected_labels", "Rejections by reason"),
    ("internal_errors", "Internal errors"),
    ("unconfirmed", "Not confirmed"),
    ("witness", "Verdicts of the witness on wrong code"),
    ("rejected", "Rejections by message"),
)


def _outcomes(overview: Overview) -> str:
    parts = []
    for key, title in _OUTCOMES:
        counts = {name: count for name, count in overview.counts(key).items() if count}
        if counts:
            wide = " whole" if key == "rejected" else ""
            parts.append(f'<div class="card{wide}"><h3>{title}</h3>{_folded(_COUNT_HEAD, _count_rows(counts))}</div>')
    return f'<div class="grid2">{"".join(parts)}</div>' if parts else ""


_COUNT_HEAD = '<th>outcome</th><th class="n">cases</th><th></th>'


def _count_rows(counts: Mapping[str, int]) -> Iterator[str]:
    most = max(counts.values())
    for name, count in counts.items():
        shown = name if len(name) <= _NAME else f"{name[:_NAME]} ..."
        yield (
            f'<td class="name">{breakable(shown)}</td><td class="n">{count:,}</td>'
            f'<td class="wide">{share_bar(count / most)}</td>'
        )


def _faults(overview: Overview) -> str:
    rows = (
        f'<td class="name">{breakable(row.title[:_NAME] or row.signature)}</td><td class="name">{escape(row.signature)}'
        f'</td><td class="n">{row.count:,}</td>'
        for row in overview.faults
    )
    if not overview.faults:
        return ""
    hint = "Each ended one case or one check of a case. They are kept under faults/; please report them."
    head = '<th>what</th><th>signature</th><th class="n">times</th>'
    return f'<p class="soft">{hint}</p><div class="card">{_folded(head, rows)}</div>'


def _folded(head: str, rows: Iterator[str]) -> str:
    """A table whose later rows are folded away."""
    all_rows = list(rows)
    first, rest = all_rows[:_ROWS], all_rows[_ROWS:_MOST_ROWS]
    table = f'<div class="scroll">{_table(head, first)}</div>'
    if not rest:
        return table
    more = f'<div class="scroll">{_table(head, rest)}</div>'
    return f'{table}<details class="fold"><summary>{len(all_rows) - _ROWS} more</summary>{more}</details>'


def _table(head: str, rows: Iterator[str] | Sequence[str]) -> str:
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def breakable(name: str) -> str:
    """Return the HTML of a name in which a line may end, behind a point or before a capital: `tirx.|Lower|Intrin`."""
    return _BREAKS.sub("<wbr>", escape(name))


def _words(name: str) -> str:
    return name.replace("_", " ")[:_NAME]


def _footer(overview: Overview) -> str:
    known = sorted(overview.environment.items())
    facts = ", ".join(f"{_words(name)} {value}" for name, value in known if isinstance(value, str | int))
    return f"<p>{escape(facts)}</p>" if facts else ""
