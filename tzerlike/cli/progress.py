"""A progress bar with an estimate for long tasks, on stderr if that is a terminal; otherwise nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from tzerlike.core.progress import Steps, untold
from tzerlike.core.untrusted import one_line

_AT = 40


@contextmanager
def progress(what: str, console: Console | None = None) -> Iterator[Steps]:
    """Yield what is told how far the work is. The bar is gone at the end; what is printed meanwhile stands above."""
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield untold
        return
    columns = (
        *(TextColumn("{task.description}"), BarColumn(bar_width=20), MofNCompleteColumn(), TimeElapsedColumn()),
        *(TextColumn("left"), TimeRemainingColumn(), TextColumn("[dim]{task.fields[doing]}", markup=True)),
    )
    with Progress(*columns, console=console, transient=True, redirect_stdout=sys.stdout.isatty()) as bar:
        task = bar.add_task(what, total=None, doing="")

        def tell(done: int, total: int, doing: str) -> None:
            bar.update(task, completed=done, total=total, doing=escape(one_line(doing, _AT)))

        yield tell
