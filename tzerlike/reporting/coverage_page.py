"""Coverage as a page to browse: a tree of directories and files, all files, and the passes."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from tzerlike.coverage.source.show import Ranges, percent, ranges_text
from tzerlike.coverage.source.totals import Row
from tzerlike.reporting.document import document
from tzerlike.reporting.plot import share_bar

_ORDERS = {
    "name": "name",
    "missing": "most blocks missing",
    "most": "most blocks reached",
    "lowest": "lowest share",
    "highest": "highest share",
}


def coverage_page(
    title: str,
    whole: Row,
    directories: Sequence[Row],
    files: Sequence[Row],
    passes: Sequence[Row],
    unreached: Mapping[str, Ranges],
    *,
    tried: frozenset[str] = frozenset(),
) -> str:
    """Return the page. A pass of `tried` has run, whatever is known of the blocks of its constructor."""
    never = [row.name for row in passes if not row.covered and row.name not in tried]
    lines = {name: ranges_text(ranges) for name, ranges in unreached.items()}
    compared = whole.other is not None
    views = (
        ("tree", "Directories", _tree(directories, files, lines)),
        ("files", "Files", "".join(_leaf(row, row.name, lines.get(row.name, "")) for row in files)),
        ("passes", "Passes", "".join(_leaf(row, row.name, "", row.name in tried) for row in passes)),
    )
    sections = "".join(
        f'<section class="view{" compared" * compared}" id="{name}"><h2>{heading}</h2>'
        f'<ul class="rows">{rows}</ul></section>'
        for name, heading, rows in views
        if rows
    )
    choices = "".join(f'<option value="{name}">{heading}</option>' for name, heading, rows in views if rows)
    return document(title, _header(title, whole, never, len(passes)), (_sorter(choices) if choices else "") + sections)


def _header(title: str, whole: Row, never: Sequence[str], passes: int) -> str:
    words = f"{whole.covered:,} of {whole.total:,} blocks ({percent(whole)})"
    if whole.other is not None:
        words += (
            f"; the other campaign reached {whole.other:,}: {whole.unique:,} only here, {whole.missed:,} only there"
        )
    parts = [f'<h1>{escape(title)}</h1><p class="soft">{escape(words)}.</p>']
    if passes:
        names = ", ".join(f"<code>{escape(name)}</code>" for name in never)
        summary = f"Passes never reached: {len(never)} of {passes}"
        parts.append(
            f'<details class="card fold"><summary>{summary}</summary><p>{names}</p></details>'
            if never
            else f'<p class="card">{summary}.</p>'
        )
    return "".join(parts)


def _sorter(choices: str) -> str:
    orders = "".join(f'<option value="{name}">{words}</option>' for name, words in _ORDERS.items())
    return (
        f'<form class="sorter panel" hidden><label>Show <select name="view">{choices}</select></label>'
        f'<label>sorted by <select name="order">{orders}</select></label>'
        '<label>Search <input type="search" name="words" placeholder="simplify, src/tirx ..."></label>'
        '<output aria-live="polite"></output></form>'
    )


def _tree(directories: Sequence[Row], files: Sequence[Row], lines: Mapping[str, str]) -> str:
    """The directories that files are in, one in the other, and files of none at the end."""
    inside: dict[str, list[Row]] = {}
    for row in files:
        inside.setdefault("" if row.name.startswith("/") else posixpath.dirname(row.name), []).append(row)
    below: dict[str, list[Row]] = {}
    for row in directories:
        below.setdefault(posixpath.dirname(row.name), []).append(row)
    used = _holding(inside)

    def level(directory: str) -> Iterator[str]:
        for row in below.get(directory, ()):
            if row.name in used:
                content = "".join(level(row.name))
                name = escape(posixpath.basename(row.name))
                opened = " open" if directory == "" else ""
                yield (
                    f'<li {_data(row)}><details{opened}><summary class="row"><span>{name}/</span>{_numbers(row)}'
                    f'</summary><ul class="rows">{content}</ul></details></li>'
                )
        for row in inside.get(directory, ()):
            yield _leaf(row, posixpath.basename(row.name) if directory else row.name, lines.get(row.name, ""))

    return "".join(level(""))


def _holding(inside: Iterable[str]) -> set[str]:
    """The directories that have one of `inside` below them, those themselves among them."""
    found = set()
    for directory in inside:
        while directory and directory not in found:
            found.add(directory)
            directory = posixpath.dirname(directory)
    return found


def _leaf(row: Row, name: str, lines: str, tried: bool = False) -> str:
    where = f" <small>{escape(row.where)}</small>" if row.where else ""
    said = " <small>tried; the location of its code is unknown</small>" if tried and not row.covered else ""
    more = (
        f'<details class="fold"><summary>lines not reached</summary><p>{escape(lines)}</p></details>' if lines else ""
    )
    shown = "(unknown file)" if name == "?" else name
    return (
        f'<li {_data(row)}><div class="row"><span>{escape(shown)}{where}{said}</span>{_numbers(row)}</div>{more}</li>'
    )


def _data(row: Row) -> str:
    return f'data-name="{escape(row.name)}" data-covered="{row.covered}" data-total="{row.total}"'


def _numbers(row: Row) -> str:
    share = share_bar(row.covered / row.total if row.total else 0)
    other = ""
    if row.other is not None:
        other = f'<span class="n counts">{row.unique:,} only here, {row.missed:,} only there</span>'
    return (
        f'<span class="share">{share}</span><span class="n">{percent(row)}</span>'
        f'<span class="n counts">{row.covered:,} of {row.total:,}</span>{other}'
    )
