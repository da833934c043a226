"""Coverage as text, and as a page to look through."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from tzerlike.coverage.source.totals import Row

Ranges = Sequence[tuple[int, int]]


def percent(row: Row) -> str:
    return f"{100 * row.covered / row.total:.1f}%" if row.total else ""


def ranges_text(ranges: Ranges) -> str:
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def coverage_page(
    title: str,
    whole: Row,
    directories: Sequence[Row],
    files: Sequence[Row],
    passes: Sequence[Row],
    unreached: dict[str, Ranges],
) -> str:
    """Return one HTML page that needs nothing else: totals, passes, directories, files with the lines not reached."""
    never = [row for row in passes if not row.covered]
    parts = [
        _HEAD.format(title=html.escape(title)),
        f"<p>{whole.covered:,} of {whole.total:,} blocks ({percent(whole)}).</p>",
        f"<h2>Passes that no case has reached: {len(never)} of {len(passes)}</h2><p>",
        ", ".join(html.escape(row.name) for row in never),
        "</p><h2>Directories</h2>",
        _table(directories),
        "<h2>Files</h2>",
        _table(files, {name: ranges_text(ranges) for name, ranges in unreached.items()}),
        "</body></html>\n",
    ]
    return "\n".join(parts)


def _table(rows: Iterable[Row], lines: dict[str, str] | None = None) -> str:
    head = "<tr><th>name<th>reached<th>of<th><th>" + ("lines not reached" if lines else "")
    body = [
        f"<tr><td>{html.escape(row.name)}<td class=n>{row.covered:,}<td class=n>{row.total:,}"
        f"<td><progress max={row.total} value={row.covered}></progress> {percent(row)}"
        + (f"<td class=l>{lines.get(row.name, '')}" if lines else "")
        for row in rows
    ]
    return "\n".join(["<table>", head, *body, "</table>"])


_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 14px/1.4 sans-serif; margin: 2em; max-width: 80em }}
td {{ padding: 1px 8px; vertical-align: top }} th {{ text-align: left; padding: 1px 8px }}
.n {{ text-align: right; font-variant-numeric: tabular-nums }} .l {{ color: #666; font-size: 12px }}
</style></head><body><h1>{title}</h1>"""
