"""The status screen, the plain lines that replace it without a terminal, and silence."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tzerlike.campaign.announcing import FINDING
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.stats import CurvePoint
from tzerlike.campaign.supervisor import View, Wishes
from tzerlike.cli.keys import Keys
from tzerlike.core.errors import UserError
from tzerlike.core.units import duration
from tzerlike.core.untrusted import one_line
from tzerlike.findings.bundles.bundle import read_record
from tzerlike.findings.faults.book import tally, warning
from tzerlike.reporting.findings import kinds_in_order
from tzerlike.reporting.shown import title_of_report

_BARS = "▁▂▃▄▅▆▇█"
_PLAIN_EVERY = 10.0
_LOW = 30
"""Lines from which on there is room for more than the last event."""

_ROWS = 16
"""Rows of the tables of mutators and passes at most."""

_FEW = 8
"""Workers whose speeds are shown one by one."""


class Screen(AbstractContextManager["Screen"]):
    """Shows a campaign while it runs; used as a context manager around it. This one shows nothing.

    `wishes` is what whoever watches asks of the campaign.
    """

    def __init__(self) -> None:
        self.wishes = Wishes()

    def __exit__(self, *_: object) -> None:
        return None

    def show(self, view: View) -> None:
        """Show where the campaign is."""

    def tell(self, line: str) -> None:
        """Show an event."""


class PlainScreen(Screen):
    """One line every ten seconds and one per event."""

    def __init__(self, console: Console) -> None:
        super().__init__()
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
        # A log on a full disk, or one that nobody reads any more, which rich would exit for, ends no campaign.
        with suppress(OSError, SystemExit):
            print_line(self._console, line)


class RichScreen(Screen):
    """The live screen; what was reported while it was up is printed again once it is gone, but for the findings.

    `f` lists the findings and goes back, `p` pauses and goes on, `q` ends.
    """

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console
        self._live = Live(console=console, refresh_per_second=4, screen=True)
        self._keys = Keys()
        self._reported: list[str] = []
        self._listing = False
        self._lines = FindingLines()

    def __enter__(self) -> RichScreen:
        self._live.start()
        self._keys.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._keys.__exit__()
        self._live.stop()
        for line in self._reported:
            if line.startswith(FINDING):
                continue
            print_line(self._console, line)

    def show(self, view: View) -> None:
        for key in self._keys.pressed().lower():
            self.press(key)
        width, height = self._console.size
        keys = KEYS.replace("pause", "resume") if self.wishes.pause else KEYS
        help_line = keys if self._keys.heard else "Ctrl-C saves"
        if self._listing:
            self._live.update(listing(view, self._lines.of(view.directory), width, height))
            return
        said = [line for line in self._reported if not line.startswith(FINDING)]
        lines = said[-1:] if height < _LOW else said[-5:]
        drawn = render(view, width, height - len(lines), help_line, self._lines.of(view.directory))
        self._live.update(Group(drawn, *(_cut(line, "dim") for line in lines)))

    def press(self, key: str) -> None:
        """Do what a key is for."""
        if key == "q":
            self.wishes.end = True
        elif key == "p":
            self.wishes.pause = not self.wishes.pause
        elif key == "f":
            self._listing = not self._listing

    def tell(self, line: str) -> None:
        self._reported.append(line)


KEYS = "f findings · p pause · q end"


class FindingLines:
    """A line for each bundle of a campaign, the newest first; each is read once."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, str]] = {}

    def of(self, directory: CampaignDir) -> list[str]:
        for path in directory.bundles() if directory.findings.is_dir() else ():
            if path.name not in self._known:
                with suppress(UserError, OSError):
                    record = read_record(path)
                    tier = f"tier {record.tier}" if record.tier else "      "
                    title = one_line(title_of_report(path) or record.title, 200)
                    self._known[path.name] = (
                        path.stat().st_mtime,
                        f"{tier}  {record.signature}  {record.kind:12}  {title}",
                    )
        return [line for _, line in sorted(self._known.values(), reverse=True)]


def listing(view: View, lines: Sequence[str], width: int, height: int) -> RenderableType:
    """The findings as a screen of so many columns and lines; a narrow one has titles in the place of kinds."""
    room = height - 2
    if width < _WIDE:
        lines = [_SIGNED.sub(r"\1\2  ", line) for line in lines]
    shown = list(lines) if len(lines) <= room else [*lines[: room - 1], f"... and {len(lines) - room + 1} more"]
    body = Group(*(Text(line, overflow="ellipsis", no_wrap=True) for line in shown or ["none yet"]))
    findings = f"{len(lines)} finding{'' if len(lines) == 1 else 's'}"
    return Panel(body, title=f"{findings}, the newest first", subtitle=f"{view.status} · f back")


def print_line(console: Console, line: str) -> None:
    """Print a line as it is, however long."""
    console.print(line, markup=False, emoji=False, highlight=False, soft_wrap=True)


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


_WIDE = 100
"""Columns from which on there is room for all that is known."""

_FRAME = 2
"""Lines of the frame."""

_SIGNED = re.compile(r"^(tier \d  |        )([0-9a-f]{12})  [\w-]+ +")
"""What a line of a finding has before its title: its tier, if it is known, its id and its kind."""


def render(
    view: View, width: int, height: int, keys: str = "Ctrl-C saves", findings: Sequence[str] = ()
) -> RenderableType:
    """The live screen of a view, in `width` columns and `height` lines; `findings` are lines, the newest first."""
    stats = view.stats
    config = view.config
    if not stats or not stats["workers"]:
        return Panel(Text(f"{view.status} ..."), title="tzerlike", subtitle=f"seed {config.seed}")
    if width < _WIDE:
        findings = [_SIGNED.sub(r"\1", line) for line in findings]
    facts = _facts(view, width >= _WIDE)
    last = [*findings] or [line for line in [stats["last_finding"]] if line]
    # The lines that are left: half for more findings, the rest for the tables, and what they do not need for findings.
    spare = height - _FRAME - facts.row_count - bool(last) - bool(stats["problems"])
    rows = min(_ROWS, spare - min(len(last[1:]), spare // 2) - 2, max(len(stats["mutators"]), len(stats["passes"])))
    parts: list[RenderableType] = [facts]
    if rows > 0:
        spare -= rows + 2
        parts.append(_side_by_side(*(_yield_table(name, stats[name], rows, width) for name in ("mutators", "passes"))))
    if last:
        parts.append(_cut(f"last finding  {last[0]}", "bold red"))
        parts += [_cut(f"              {line}", "red") for line in last[1 : 1 + max(0, spare)]]
    if stats["problems"]:
        parts.append(_cut(f"problem  {stats['problems'][-1]}", "yellow"))
    return Panel(
        Group(*parts),
        title=f"tzerlike · {config.target} · {stats['coverage_backend']}",
        subtitle=f"{view.status} · {keys} · seed {config.seed}",
    )


def _cut(line: str, style: str = "") -> Text:
    return Text(line, style=style, overflow="ellipsis", no_wrap=True)


def _facts(view: View, wide: bool) -> Table:
    stats = view.stats
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True, min_width=len("iterations"))
    table.add_column()
    budget = view.config.budget
    done = min(1.0, stats["elapsed_s"] / budget) if budget else 1.0
    table.add_row("elapsed", _cut(f"{duration(stats['elapsed_s'])} of {duration(budget)} ({done:.0%})"))
    table.add_row(
        "iterations", _cut(f"{stats['iterations']:,}   {stats['iterations_per_s']:.1f} a second{_speeds(view)}")
    )
    total = stats["coverage_total"]
    share = f" of {total:,} ({stats['coverage'] / total:.2%})" if total else ""
    curve = f"  {sparkline([p.blocks for p in view.curve], 24)}" if wide else ""
    table.add_row("coverage", _cut(f"{stats['coverage']:,}{share}{_since(view, lambda p: p.blocks, 'new')}{curve}"))
    waiting = f"   {stats['seeds_pending']:,} seeds left" if stats["seeds_pending"] else ""
    table.add_row("corpus", _cut(f"{stats['corpus']:,}   {stats['valuable_tests']:,} valuable{waiting}"))
    table.add_row("valid", _cut(f"{stats['valid_rate']:.0%}   {stats['exits'].get('rejected', 0):,} rejected"))
    found = stats["findings"]
    findings = _cut(", ".join(f"{found[kind]} {kind}" for kind in kinds_in_order(found)) or "none yet")
    if found:
        findings.stylize("bold red")
        ago = _since(view, lambda p: p.findings, "last")
        findings = _cut(f"{sum(found.values())}{ago}   ").append_text(findings)
    table.add_row("findings", findings)
    if confirmed := [f"worker {core.slot} (iteration {core.in_hand})" for core in view.cores if core.in_hand >= 0]:
        table.add_row("confirming", _cut(f"what was found by {', '.join(confirmed)}"))
    if faults := tally(stats):
        style = "bold yellow" if warning(stats) else "yellow"
        table.add_row("faults", _cut(f"{faults} of tzerlike itself, in faults/", style))
    return table


def _speeds(view: View) -> str:
    """The speed of each worker, or the range of many."""
    speeds = [core.speed for core in view.cores]
    if len(speeds) < 2:
        return ""
    if len(speeds) <= _FEW:
        return f" ({' + '.join(f'{speed:.1f}' for speed in speeds)})"
    return f" ({min(speeds):.1f} to {max(speeds):.1f} by worker)"


def _since(view: View, value: Callable[[CurvePoint], int], word: str) -> str:
    """How long ago a value of the curve rose for the last time; nothing where it has not risen."""
    for before, point in zip(view.curve[-2::-1], view.curve[:0:-1], strict=False):
        if value(point) > value(before):
            ago = max(0.0, view.stats["elapsed_s"] - point.elapsed_s)
            return f", {word} {duration(ago)} ago" if ago >= 1 else f", {word} just now"
    return ""


def _side_by_side(*tables: Table) -> Table:
    grid = Table.grid(expand=True)
    for _ in tables:
        grid.add_column(ratio=1)
    grid.add_row(*tables)
    return grid


def _yield_table(title: str, yields: Mapping[str, Mapping[str, int]], rows: int, width: int) -> Table:
    """The names that brought most; in a narrow screen without what was tried and valid."""
    table = Table(title=f"best {title}", title_justify="left", box=None, padding=(0, 1), title_style="bold")
    numbers, taken = (("tried", "valid", "valuable"), 29) if width >= _WIDE else (("valuable",), 14)
    table.add_column("name", overflow="ellipsis", no_wrap=True, max_width=max(8, width // 2 - taken))
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    best = sorted(yields.items(), key=lambda item: (-item[1]["valuable"], item[0]))[:rows]
    for name, row in best:
        tried = (f"{row['tried']:,}", f"{row['valid'] / row['tried']:.0%}" if row["tried"] else "-")
        table.add_row(name, *(tried if width >= _WIDE else ()), f"{row['valuable']:,}")
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
