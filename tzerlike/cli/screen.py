"""The status screen, the plain lines that replace it where there is no terminal, and silence."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tzerlike.campaign.supervisor import FINDING, View
from tzerlike.core.units import duration
from tzerlike.findings.faults.book import tally, warning

_BARS = "▁▂▃▄▅▆▇█"
_PLAIN_EVERY = 10.0
_LOW = 30
"""Lines from which on there is room for more than the last event."""

_FACTS = 12
"""Lines of the live screen that are no table's: frame, facts, last finding and problem."""


class Screen(AbstractContextManager["Screen"]):
    """Shows a campaign while it runs; used as a context manager around it. This one shows nothing."""

    def __exit__(self, *_: object) -> None:
        return None

    def show(self, view: View) -> None:
        """Show where the campaign is."""

    def tell(self, line: str) -> None:
        """Show an event."""


class PlainScreen(Screen):
    """One line every ten seconds and one per event."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown = 0.0
        self._status = ""

    def show(self, view: View) -> None:
        if view.status != self._status and view.status != "fuzzing":
            self.tell(f"{view.status} ...")
        self._status = view.status
        if view.stats and time.monotonic() - self._shown >= _PLAIN_EVERY:
            self._shown = time.monotonic()
            self.tell(stats_line(view.stats))

    def tell(self, line: str) -> None:
        print_line(self._console, line)


class RichScreen(Screen):
    """The live screen; what was reported while it was up is printed again once it is gone, but for the findings."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, refresh_per_second=4, screen=True)
        self._reported: list[str] = []

    def __enter__(self) -> RichScreen:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()
        for line in self._reported:
            if line.startswith(FINDING):
                continue
            print_line(self._console, line)

    def show(self, view: View) -> None:
        width, height = self._console.size
        lines = self._reported[-1:] if height < _LOW else self._reported[-5:]
        self._live.update(Group(render(view, width, height - len(lines)), *(_cut(line, "dim") for line in lines)))

    def tell(self, line: str) -> None:
        self._reported.append(line)


def print_line(console: Console, line: str) -> None:
    """Print a line as it is, however long."""
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def make_screen(kind: str, console: Console) -> Screen:
    """Return the screen for `rich`, `plain` or `none`; rich falls back to plain where there is no terminal."""
    if kind == "none":
        return Screen()
    if kind == "rich" and console.is_terminal:
        return RichScreen(console)
    return PlainScreen(console)


def stats_line(stats: Mapping[str, Any]) -> str:
    """The campaign in a line."""
    share = f" ({stats['coverage'] / stats['coverage_total']:.2%})" if stats["coverage_total"] else ""
    findings = ", ".join(f"{n} {kind}" for kind, n in stats["findings"].items()) or "none"
    faults = tally(stats)
    return (
        f"{duration(stats['elapsed_s'])}  {stats['iterations']} iterations ({stats['iterations_per_s']:.1f}/s)  "
        f"coverage {stats['coverage']}{share}  corpus {stats['corpus']}  valuable {stats['valuable_tests']}  "
        f"valid {stats['valid_rate']:.0%}  findings {findings}{f'  faults {faults}' if faults else ''}"
    )


def render(view: View, width: int, height: int) -> RenderableType:
    """The live screen of a view, in `width` columns and `height` lines."""
    stats = view.stats
    config = view.config
    if not stats or not stats["workers"]:
        return Panel(Text(f"{view.status} ..."), title="tzerlike", subtitle=f"seed {config.seed}")
    wide = width >= 100
    # What the facts and the last lines leave, for tables beside or above each other, each with two lines of its own.
    room = height - _FACTS
    rows = min(8, room - 2) if wide else min(5, room // 2 - 2)
    tables = [_yield_table(name, stats[name], rows) for name in ("mutators", "passes") if rows > 0]
    parts: list[RenderableType] = [_facts(view), Columns(tables, expand=True) if wide else Group(*tables)]
    if stats["last_finding"]:
        parts.append(_cut(f"last finding  {stats['last_finding']}", "bold red"))
    if stats["problems"]:
        parts.append(_cut(f"problem  {stats['problems'][-1]}", "yellow"))
    return Panel(
        Group(*parts),
        title=f"tzerlike · {config.target} · {stats['coverage_backend']}",
        subtitle=f"{view.status} · seed {config.seed} · jobs {config.jobs} · Ctrl-C saves",
    )


def _cut(line: str, style: str) -> Text:
    return Text(line, style=style, overflow="ellipsis", no_wrap=True)


def _facts(view: View) -> Table:
    stats = view.stats
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    budget = view.config.budget
    done = min(1.0, stats["elapsed_s"] / budget) if budget else 1.0
    table.add_row("elapsed", f"{duration(stats['elapsed_s'])} of {duration(budget)} ({done:.0%})")
    table.add_row("iterations", f"{stats['iterations']:,}   {stats['iterations_per_s']:.1f} a second")
    total = stats["coverage_total"]
    share = f" of {total:,} ({stats['coverage'] / total:.2%})" if total else ""
    table.add_row("coverage", f"{stats['coverage']:,}{share}  {sparkline([p.blocks for p in view.curve], 24)}")
    waiting = f"   {stats['seeds_pending']:,} seeds to come" if stats["seeds_pending"] else ""
    table.add_row("corpus", f"{stats['corpus']:,}   {stats['valuable_tests']:,} valuable tests{waiting}")
    table.add_row("valid", f"{stats['valid_rate']:.0%}   {stats['exits'].get('rejected', 0):,} rejected")
    findings = Text(", ".join(f"{n} {kind}" for kind, n in stats["findings"].items()) or "none yet")
    if stats["findings"]:
        findings.stylize("bold red")
    table.add_row("findings", findings)
    if faults := tally(stats):
        style = "bold yellow" if warning(stats) else "yellow"
        table.add_row("faults", Text(f"{faults} of tzerlike's own, in faults/", style=style))
    return table


def _yield_table(title: str, yields: Mapping[str, Mapping[str, int]], rows: int) -> Table:
    table = Table(title=f"best {title}", title_justify="left", box=None, padding=(0, 1), title_style="bold")
    table.add_column("name", overflow="ellipsis", no_wrap=True, max_width=28)
    for name in ("tried", "valid", "valuable"):
        table.add_column(name, justify="right", no_wrap=True)
    best = sorted(yields.items(), key=lambda item: (-item[1]["valuable"], item[0]))[:rows]
    for name, row in best:
        valid = f"{row['valid'] / row['tried']:.0%}" if row["tried"] else "-"
        table.add_row(name, f"{row['tried']:,}", valid, f"{row['valuable']:,}")
    return table


def sparkline(values: list[int], width: int) -> str:
    """Draw the trend of `values` in at most `width` characters."""
    if len(values) < 2:
        return ""
    step = max(1, len(values) / width)
    picked = [values[min(len(values) - 1, int(i * step))] for i in range(min(width, len(values)))]
    picked[-1] = values[-1]
    low, high = min(picked), max(picked)
    scale = (len(_BARS) - 1) / (high - low) if high > low else 0
    return "".join(_BARS[round((value - low) * scale)] for value in picked)
