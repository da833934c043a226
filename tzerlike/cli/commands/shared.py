"""Options and output that several commands share."""

from __future__ import annotations

import sys
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tzerlike.systems import TVM

_WHOLE = 100_000
"""Columns that no row fills."""


def comma_separated(text: str) -> tuple[str, ...]:
    """The names of a comma-separated list."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


unconfined_option = click.option(
    "--unconfined", is_flag=True, help="Run even if this machine cannot confine a case; for trusted cases only."
)
"""The option of commands that run cases from elsewhere."""

tvm_option = click.option("--tvm", default="", help="A TVM from `tzerlike tvm list`.  [default: the installed TVM]")
"""The option of commands that work on one of several builds."""

system_option = click.option(
    "--system", default=TVM.name, show_default=True, help="Compiler under test, or plugin:name."
)
"""The option of commands that are given no bundle or campaign, which would name the compiler."""


against_option = click.option(
    "--against",
    default="",
    help="Another TVM from `tzerlike tvm list`, or installed: prefer code that it does not have, and report which "
    "findings it also shows.",
)
"""The option of commands that tell a regression from what has been there before."""


def print_table(columns: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    """Print rows as a table: numbers to the right; long texts are folded on a terminal, and whole elsewhere."""
    table = Table(box=None, padding=(0, 1))
    for column in columns:
        numeric = bool(rows) and isinstance(rows[0].get(column, 0), int)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(row.get(column, ""))) for column in columns))
    if sys.stdout.isatty():
        Console().print(table)
        return
    console = Console(width=_WHOLE, color_system=None)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())
